/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - measures the operators of a model and adds up their times by name and device, while
 * an application wants it
 *
 * The time of an operator within another counts only for the inner one. Sessions may run in
 * parallel, so each thread has its own stack of running operators. A failed operator has no end
 * event, so each call restores the depth that it found.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "library/internal/library.h"

enum { OPEN_MAX = 64 }; /* maximum depth of nested operators; deeper ones are not measured */

static _Thread_local struct {
	unsigned depth;
	struct {
		int64_t start, within; /* nanoseconds */
	} items[OPEN_MAX];
} open_operators;

unsigned mpk_run_open_operators(void)
{
	return open_operators.depth;
}

void mpk_run_close_operators(unsigned depth)
{
	open_operators.depth = depth;
}

static void profile_empty(struct mpk_run_profile *p)
{
	mpk_strmap_fini(&p->index);
	mpk_arena_fini(&p->arena);
	free(p->rows);
	p->rows = NULL;
	p->count = p->cap = 0;
}

void mpk_run_profile_fini(struct mpk_run_profile *p)
{
	profile_empty(p);
	(void)pthread_mutex_destroy(&p->lock);
}

static enum mpk_code wait_for(const struct mpk_run_profile *p, struct mpk_dldevice device,
			      struct mpk_error *err)
{
	if (mpk_dldevice_is_host(device))
		return MPK_OK;
	return mpk_devices_sync(mpk_runtime_devices(p->model->runtime), err);
}

/* Waits for earlier work, which is not this operator's. */
static enum mpk_code profile_begin(struct mpk_observer *self, const struct mpk_operator *op,
				   struct mpk_error *err)
{
	unsigned at = open_operators.depth++;

	MPK_TRY(wait_for((struct mpk_run_profile *)self, mpk_run_operator_device(op, NULL), err));
	if (at < OPEN_MAX) {
		open_operators.items[at].within = 0;
		open_operators.items[at].start = mpk_clock();
	}
	return MPK_OK;
}

/* Finds the row for a name and device; the caller holds the lock. */
static enum mpk_code find_row(struct mpk_run_profile *p, const struct mpk_operator *op,
			      struct mpk_dldevice device, struct mpkr_profile_row **out,
			      struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf key = { 0 };
	char *kept, *name;
	size_t at;

	mpk_strbuf_printf(&key, "%d %d %d ", (int)op->kind, device.type, device.id);
	mpk_strbuf_put_span(&key, op->name);
	MPK_TRY(mpk_strbuf_status(&key, err));
	if (mpk_strmap_find(&p->index, mpk_span_of(key.data, key.len), &at)) {
		*out = &p->rows[at];
		return MPK_OK;
	}
	kept = mpk_arena_copy(&p->arena, key.data, key.len);
	name = mpk_arena_text(&p->arena, op->name);
	MPK_TRY_ALLOC(kept && name && MPK_VEC_ROOM(p->rows, p->count, p->cap), err);
	MPK_TRY_ALLOC(mpk_strmap_put(&p->index, mpk_span_of(kept, key.len), p->count, &at) > 0,
		      err);
	p->rows[p->count] = (struct mpkr_profile_row){ .size = sizeof *p->rows,
						       .name = name,
						       .kind = mpk_run_operator_kind(op->kind),
						       .device = { device.type, device.id } };
	*out = &p->rows[p->count++];
	return MPK_OK;
}

static enum mpk_code add_up(struct mpk_run_profile *p, const struct mpk_operator *op,
			    struct mpk_dldevice device, int64_t took, struct mpk_error *err)
{
	struct mpkr_profile_row *r;
	enum mpk_code code;

	(void)pthread_mutex_lock(&p->lock);
	code = find_row(p, op, device, &r, err);
	if (code == MPK_OK) {
		r->min_nanoseconds =
			r->calls && r->min_nanoseconds < took ? r->min_nanoseconds : took;
		r->max_nanoseconds = r->max_nanoseconds > took ? r->max_nanoseconds : took;
		r->total_nanoseconds += took;
		r->calls++;
	}
	(void)pthread_mutex_unlock(&p->lock);
	return code;
}

static enum mpk_code profile_end(struct mpk_observer *self, const struct mpk_operator *op,
				 const struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_run_profile *p = (struct mpk_run_profile *)self;
	struct mpk_dldevice device = mpk_run_operator_device(op, result);
	unsigned at = open_operators.depth ? --open_operators.depth : 0;
	int64_t took, within;

	if (at >= OPEN_MAX)
		return MPK_OK;
	MPK_TRY(wait_for(p, device, err));
	took = mpk_clock() - open_operators.items[at].start;
	within = open_operators.items[at].within;
	if (at)
		open_operators.items[at - 1].within += took;
	return add_up(p, op, device, took > within ? took - within : 0, err);
}

/* --- for callers ---------------------------------------------------------------------------------- */

void mpk_run_profile_init(struct mpk_run_profile *p, struct mpkr_model *model)
{
	p->base = (struct mpk_observer){ .begin = profile_begin, .end = profile_end };
	p->model = model;
	(void)pthread_mutex_init(&p->lock, NULL);
}

void mpkr_profile(mpkr_model *model, int is_on)
{
	if (!model)
		return;
	if (is_on)
		profile_empty(&model->profile);
	model->profile.is_on = is_on != 0;
	mpk_run_set_observers(model);
}

static int longest_first(const void *a, const void *b)
{
	const struct mpkr_profile_row *const *x = a, *const *y = b;

	if ((*x)->total_nanoseconds != (*y)->total_nanoseconds)
		return (*x)->total_nanoseconds < (*y)->total_nanoseconds ? 1 : -1;
	return *x < *y ? -1 : *x > *y;
}

/* The caller holds the lock. */
static enum mpk_code row_at(const struct mpk_run_profile *p, size_t i, struct mpkr_profile_row *out,
			    struct mpk_error *err)
{
	const struct mpkr_profile_row **order =
		calloc(p->count + 1, sizeof(struct mpkr_profile_row *));
	int64_t total = 0;

	MPK_TRY_ALLOC(order, err);
	if (i >= p->count) {
		free(order);
		return mpk_fail(err, MPK_E_NOTFOUND, "a profile of %zu rows has no row %zu",
				p->count, i);
	}
	for (size_t k = 0; k < p->count; k++) {
		order[k] = &p->rows[k];
		total += p->rows[k].total_nanoseconds;
	}
	qsort(order, p->count, sizeof *order, longest_first);
	*out = *order[i];
	out->share = total ? (double)out->total_nanoseconds / (double)total : 0;
	free(order);
	return MPK_OK;
}

int mpkr_profile_at(mpkr_model *model, size_t i, struct mpkr_profile_row *out,
		    struct mpkr_error *err)
{
	struct mpkr_profile_row row = { 0 };
	struct mpk_error failure;
	enum mpk_code code;

	if (!model || !out || out->size < sizeof out->size)
		return mpk_run_misuse("a pointer that is needed is NULL, or a size is not set",
				      err);
	(void)pthread_mutex_lock(&model->profile.lock);
	code = row_at(&model->profile, i, &row, &failure);
	(void)pthread_mutex_unlock(&model->profile.lock);
	if (code != MPK_OK)
		return mpk_run_report(&failure, err);
	mpk_run_hand_over(out, out->size, &row, sizeof row);
	return MPKR_OK;
}
