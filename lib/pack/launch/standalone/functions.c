/* SPDX-License-Identifier: Apache-2.0 */
/* functions.c - launch functions: copy tensors from host memory, allocate temporaries, and launch
 * the kernels one after another
 *
 * Every failure leaves through one exit, which frees what was allocated. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "launch/standalone/loader.h"
#include "launch/standalone/names.h"

/* --- calls of a driver, one thread at a time -------------------------------------------------- */

/* Protects the drivers: they are loaded once, and an OpenCL kernel object stores its arguments. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns the low bits of a kernel argument, in the width that the kernel declares. */
static uint64_t narrowed(const unsigned char type[2], uint64_t cell)
{
	double real;
	float single;
	uint32_t word;

	memcpy(&real, &cell, sizeof real);
	if (type[0] == MPK_DTYPE_BFLOAT)
		return mpk_f64_to_bf16(real);
	if (type[0] != MPK_DTYPE_FLOAT || type[1] == 64)
		return cell;
	if (type[1] == 16)
		return mpk_f64_to_f16(real);
	single = (float)real;
	memcpy(&word, &single, sizeof word);
	return word;
}

/* A driver copies the first bytes of the value, as many as the argument has. So on big-endian
 * machines the low bytes of an integer are moved to the front. */
static uint64_t as_copied(const unsigned char type[2], uint64_t bits)
{
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ || type[1] >= 64)
		return bits;
	return bits << (64 - (type[1] + 7u) / 8 * 8);
}

int mpk_sa_start(const struct mpk_sa_driver *driver, struct mpk_sa_launch *l, const uint64_t *cells)
{
	const struct mpk_sa_kernel *k = l->kernel;
	int rc;

	for (unsigned i = 0; i < k->arg_count; i++) {
		l->values[i] = as_copied(k->types[i], narrowed(k->types[i], cells[i]));
		l->args[i] = &l->values[i];
	}
	pthread_mutex_lock(&lock);
	rc = driver->launch(l);
	pthread_mutex_unlock(&lock);
	return rc;
}

/* Allocates device memory, and copies host memory into it unless that is NULL. Returns NULL after
 * raising an error. */
static void *sa_device_alloc(const struct mpk_sa_run *r, const void *from, int64_t bytes)
{
	void *p;

	pthread_mutex_lock(&lock);
	p = mpk_sa_device_of(r)->driver->alloc(r->device, bytes, from);
	pthread_mutex_unlock(&lock);
	return p;
}

/* Frees device memory, after copying it to host memory unless that is NULL. */
static int sa_device_release(const struct mpk_sa_run *r, void *data, void *to, int64_t bytes)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = mpk_sa_device_of(r)->driver->release(r->device, data, to, bytes);
	pthread_mutex_unlock(&lock);
	return rc;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* Copies a host tensor to the device for the kernels. An empty tensor is not copied, and its host
 * pointer is not passed to the device. */
static int sa_stage(const struct mpk_sa_run *r, const struct mpk_sa_param *p, struct mpk_sa_slot *s)
{
	int64_t bytes = (int64_t)((uint64_t)s->count * (uint64_t)p->bytes);
	const void *host = s->data;

	if (!s->dl || !mpk_sa_on_host(s->dl))
		return 0;
	s->data = NULL;
	if (!bytes)
		return 0;
	s->copy = sa_device_alloc(r, p->flags & MPK_SA_READ ? host : NULL, bytes);
	s->data = s->copy;
	return s->copy ? 0 : -1;
}

/* Sizes come from the caller's shapes, so each multiplication is checked for overflow. */
static int sa_temp_bytes(const struct mpk_sa_run *r, const struct mpk_sa_param *t, int64_t *bytes)
{
	*bytes = t->bytes;
	for (int32_t d = 0; d < t->rank; d++) {
		int64_t extent;

		if (mpk_sa_eval(r, t->dims + d, &extent))
			return -1;
		if (extent < 0)
			return mpk_sa_refuse("ValueError",
					     "%s: temporary '%s': dimension %d is %lld",
					     mpk_sa_text(r->f->name), mpk_sa_text(t->name), d,
					     (long long)extent);
		if (__builtin_mul_overflow(*bytes, extent, bytes))
			return mpk_sa_refuse("ValueError", "%s: temporary '%s' is too large",
					     mpk_sa_text(r->f->name), mpk_sa_text(t->name));
	}
	return 0;
}

static int sa_allocate(const struct mpk_sa_run *r, int32_t i)
{
	const struct mpk_sa_param *t = &mpk_sa_params[r->f->temps + i];
	int64_t bytes;

	if (sa_temp_bytes(r, t, &bytes))
		return -1;
	if (!bytes)
		return 0;
	r->temps[i] = sa_device_alloc(r, NULL, bytes);
	if (!r->temps[i])
		return mpk_sa_refuse(
			"RuntimeError", "%s: no device memory for temporary '%s' of %lld bytes",
			mpk_sa_text(r->f->name), mpk_sa_text(t->name), (long long)bytes);
	return 0;
}

/* Frees a copy, after copying the results back if the call succeeded. */
static int sa_unstage(const struct mpk_sa_run *r, int32_t i, int success)
{
	const struct mpk_sa_param *p = &mpk_sa_params[r->f->params + i];
	struct mpk_sa_slot *s = &r->slots[i];
	void *copy = s->copy, *host;

	if (!copy)
		return 0;
	s->copy = NULL; /* a later failure calls this function again */
	host = (void *)((uintptr_t)s->dl->data + s->dl->offset);
	return sa_device_release(r, copy, success && p->flags & MPK_SA_WRITTEN ? host : NULL,
				 (int64_t)((uint64_t)s->count * (uint64_t)p->bytes));
}

static int sa_release(const struct mpk_sa_run *r, int success)
{
	for (int32_t i = 0; i < r->f->param_count; i++)
		if (sa_unstage(r, i, success) && success)
			return -1;
	for (int32_t i = r->f->temp_count; i-- > 0;) {
		if (r->temps[i])
			(void)sa_device_release(r, r->temps[i], NULL, 0);
		r->temps[i] = NULL;
	}
	return 0;
}

/* --- kernels ---------------------------------------------------------------------------------- */

static int sa_extent(const struct mpk_sa_run *r, int32_t expr, const char *what, int64_t low,
		     int64_t high, int64_t *out)
{
	*out = 1;
	if (expr == MPK_SA_NONE)
		return 0;
	if (mpk_sa_eval(r, expr, out))
		return -1;
	if (*out < low || *out > high)
		return mpk_sa_refuse("ValueError", "%s: %s '%s' is %lld; it must be %lld to %lld",
				     mpk_sa_text(r->f->name), what,
				     mpk_sa_text(mpk_sa_exprs[expr].text), (long long)*out,
				     (long long)low, (long long)high);
	return 0;
}

static int sa_extents(const struct mpk_sa_run *r, const struct mpk_sa_step *s, int64_t out[9])
{
	static const char *const names[9] = { MPK_SA_AXIS_NAMES };
	static const int64_t cuda[9] = { MPK_SA_CUDA_EXTENTS };
	int is_cuda = mpk_sa_device_of(r)->type == MPK_DL_CUDA;

	for (int i = 0; i < 9; i++)
		if (sa_extent(r, s->extents[i], names[i], i >= 3, is_cuda ? cuda[i] : INT32_MAX,
			      &out[i]))
			return -1;
	if (is_cuda && out[3] * out[4] * out[5] > MPK_SA_CUDA_THREADS)
		return mpk_sa_refuse("ValueError",
				     "%s: a block of %lld threads; at most %d are possible",
				     mpk_sa_text(r->f->name), (long long)out[3] * out[4] * out[5],
				     MPK_SA_CUDA_THREADS);
	return 0;
}

/* Whether a tensor or temporary of the kernel has no elements; -1 after an error. For a missing
 * optional tensor, its dimensions decide. */
static int sa_is_empty(const struct mpk_sa_run *r, const struct mpk_sa_arg *a)
{
	int is_param = a->kind == MPK_SA_ARG_PARAM, empty = 0;
	const struct mpk_sa_param *p =
		&mpk_sa_params[(is_param ? r->f->params : r->f->temps) + a->index];
	int64_t extent;

	if (is_param && r->slots[a->index].dl)
		return r->slots[a->index].empty;
	if (p->flags & MPK_SA_ANY_SHAPE)
		return 1;
	for (int32_t d = 0; d < p->rank; d++) {
		if (mpk_sa_eval(r, p->dims + d, &extent))
			return -1;
		empty |= extent == 0;
	}
	return empty;
}

/* Returns 1 if there is nothing to do, because the grid or every tensor of the step is empty; -1
 *         after an error. */
static int sa_is_idle(const struct mpk_sa_run *r, const struct mpk_sa_step *s,
		      const int64_t extents[9])
{
	int tensors = 0, all = 1;

	for (unsigned i = 0; i < mpk_sa_kernels[s->kernel].arg_count; i++) {
		const struct mpk_sa_arg *a = &mpk_sa_args[s->args + (int32_t)i];
		int empty;

		if (a->kind != MPK_SA_ARG_PARAM && a->kind != MPK_SA_ARG_TEMP)
			continue;
		empty = sa_is_empty(r, a);
		if (empty < 0)
			return -1;
		tensors = 1;
		all &= empty;
	}
	return !extents[0] || !extents[1] || !extents[2] || (tensors && all);
}

/* Sets the extents for which the kernel has tags; without a cluster its extents are 1. */
static int sa_give_extents(const struct mpk_sa_run *r, const struct mpk_sa_step *s,
			   const int64_t extents[9], struct mpk_sa_launch *l)
{
	int64_t shared = 0;

	for (unsigned i = 0; i < MPK_SA_TAG_SHARED; i++)
		l->extent[i] = 1;
	for (unsigned i = 0; i < l->kernel->tag_count; i++) {
		unsigned tag = l->kernel->tags[i];

		if (tag < MPK_SA_TAG_PREFERRED_CLUSTER)
			l->extent[tag] = (unsigned)extents[tag];
		else if (tag == MPK_SA_TAG_SHARED && s->extents[9] != MPK_SA_NONE &&
			 sa_extent(r, s->extents[9], "shared", 0, INT32_MAX, &shared))
			return -1;
	}
	l->shared = (unsigned)shared;
	return 0;
}

/* Checks extents first. Launches nothing if tensors are empty, because drivers refuse a grid of
 * 0. */
static int sa_step(const struct mpk_sa_run *r, const struct mpk_sa_step *s)
{
	struct mpk_sa_launch l;
	uint64_t cells[MPK_SA_ARGS_MAX];
	int64_t extents[9];
	int idle;

	if (sa_extents(r, s, extents))
		return -1;
	idle = sa_is_idle(r, s, extents);
	if (idle)
		return idle < 0 ? -1 : 0;
	l.kernel = &mpk_sa_kernels[s->kernel];
	l.index = (unsigned)s->kernel;
	l.device = r->device;
	if (l.kernel->arg_count > MPK_SA_ARGS_MAX)
		return mpk_sa_fail("kernel %s: more than %d arguments", l.kernel->name,
				   MPK_SA_ARGS_MAX);
	if (mpk_sa_fill(r, s, cells) || sa_give_extents(r, s, extents, &l))
		return -1;
	return mpk_sa_start(mpk_sa_device_of(r)->driver, &l, cells);
}

static int sa_run(struct mpk_sa_run *r)
{
	const struct mpk_sa_function *f = r->f;

	if (mpk_sa_check(r))
		return -1;
	for (int32_t i = 0; i < f->param_count; i++)
		if (sa_stage(r, &mpk_sa_params[f->params + i], &r->slots[i]))
			return -1;
	for (int32_t i = 0; i < f->temp_count; i++)
		if (sa_allocate(r, i))
			return -1;
	for (int32_t i = 0; i < f->step_count; i++)
		if (sa_step(r, &mpk_sa_steps[f->steps + i]))
			return -1;
	return sa_release(r, 1);
}

int mpk_sa_call(const struct mpk_sa_function *f, const mpk_sa_cell *args, const int *codes,
		int32_t count)
{
	size_t bytes = (size_t)f->param_count * sizeof(struct mpk_sa_slot) +
		       (size_t)f->temp_count * sizeof(void *);
	struct mpk_sa_run r = { .f = f, .args = args, .codes = codes, .count = count };
	uint64_t few[256]; /* enough for most functions */
	void *memory = bytes > sizeof few ? malloc(bytes) : few;
	int status;

	if (!memory)
		return mpk_sa_fail("out of memory");
	memset(memory, 0, bytes);
	r.slots = memory;
	r.temps = (void **)(r.slots + f->param_count);
	status = sa_run(&r);
	if (status)
		(void)sa_release(&r, 0);
	if (memory != few)
		free(memory);
	return status;
}

#ifndef MPK_SA_LEGACY
struct sa_bytes { /* TVMFFIByteArray */
	const char *data;
	size_t size;
};

extern __attribute__((weak)) int TVMFFIStringFromByteArray(const struct sa_bytes *bytes,
							   struct mpk_sa_any *out);

int mpk_sa_describe(const struct mpk_sa_function *f, struct mpk_sa_any *result)
{
	struct sa_bytes schema = { mpk_sa_text(f->schema), (size_t)f->schema_bytes };

	if (!TVMFFIStringFromByteArray || TVMFFIStringFromByteArray(&schema, result))
		return -1;
	return 0;
}
#endif
