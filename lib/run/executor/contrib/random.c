/* SPDX-License-Identifier: Apache-2.0 */
/* random.c - random numbers from SplitMix64, with one stream for each runtime
 *
 * Results must be the same in each run of a program, so a stream begins with seed 0 and not with
 * the time. The state of SplitMix64 (Steele, Lea, Flood 2014) is one word, so a call with its own
 * seeds can cheaply have its own stream. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/lock.h"
#include "executor/contrib/contrib.h"
#include "runtime/devices.h"
#include "value/element.h"

/* State of a runtime's stream; its functions hold references. */
struct engine {
	atomic_uint refs;
	pthread_mutex_t lock;
	uint64_t state;
};

/* State of one call. */
struct drawing {
	struct mpk_contrib_args args;
	struct mpk_runtime *runtime;
	uint64_t *state; /* state of the runtime's stream, or the call's own */
	uint64_t own;
	double a, b;   /* for floats: the range from a to b, or mean a and deviation b */
	int64_t low;   /* for integers: the lowest number */
	uint64_t span; /* for integers: how many numbers */
};

typedef enum mpk_code random_fn(struct drawing *d, struct mpk_error *err);

struct random_function {
	struct mpk_function base;
	struct mpk_runtime *runtime;
	struct engine *engine;
	random_fn *fn;
};

/* The finalizer of SplitMix64: changing any input bit changes each output bit with probability one
 * half. */
static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Adds the golden ratio of 2^64 to the state, and mixes the state to a number. */
static uint64_t draw(struct drawing *d)
{
	return mix(*d->state += UINT64_C(0x9e3779b97f4a7c15));
}

/* Makes a double in [0, 1) from 53 bits. */
static double draw_real(struct drawing *d)
{
	return (double)(draw(d) >> 11) * 0x1p-53;
}

/* --- tensors ------------------------------------------------------------------------------- */

/* Sets the members of e that hold numbers. */
typedef void number_fn(struct drawing *d, struct mpk_element *e);

static void contrib_random_fill(struct drawing *d, const struct mpk_tensor *t, number_fn *number)
{
	struct mpk_element e = { .class = mpk_element_class(t->dl.dtype) };
	size_t each = mpk_dtype_bytes(t->dl.dtype);
	uint8_t *data = mpk_dltensor_data(&t->dl);

	for (uint64_t i = 0, n = mpk_tensor_count(t); i < n; i++) {
		number(d, &e);
		mpk_element_store(t->dl.dtype, e, data + i * each);
	}
}

static enum mpk_code take_output(const struct drawing *d, struct mpk_tensor **out,
				 enum mpk_element_class *class, struct mpk_error *err)
{
	MPK_TRY(mpk_contrib_tensor(&d->args, d->args.count - 1, out, err));
	*class = mpk_element_is_plain((*out)->dl.dtype) ? mpk_element_class((*out)->dl.dtype)
							: MPK_ELEMENT_NONE;
	if (mpk_dltensor_is_compact(&(*out)->dl))
		return MPK_OK;
	return mpk_contrib_raise(&d->args, err, "TypeError", "the output must be compact");
}

static enum mpk_code random_wrong_type(const struct drawing *d, const struct mpk_tensor *out,
				       struct mpk_error *err)
{
	char type[MPK_DTYPE_TEXT];

	return mpk_contrib_raise(&d->args, err, "TypeError", "no such numbers of type %s",
				 mpk_dtype_print(out->dl.dtype, type));
}

/* Fills an output; for a device the numbers are made on the host and copied. */
static enum mpk_code fill_output(struct drawing *d, struct mpk_tensor *out, number_fn *number,
				 struct mpk_error *err)
{
	struct mpk_tensor *host;
	enum mpk_code code;

	if (mpk_dldevice_is_host(out->dl.device)) {
		contrib_random_fill(d, out, number);
		return MPK_OK;
	}
	MPK_TRY(mpk_tensor_create(out->dl.dtype, out->dl.shape, (size_t)out->dl.ndim,
				  MPK_STORAGE_PRIVATE, &host, err));
	contrib_random_fill(d, host, number);
	code = mpk_devices_copy(mpk_runtime_devices(d->runtime), &host->dl, &out->dl, host->bytes,
				err);
	mpk_tensor_drop(host);
	return code;
}

/* --- the functions ------------------------------------------------------------------------- */

/* Arguments: [seed, seed2,] a, b, output of floats. The seeds are allowed since 0.24. */
static enum mpk_code draw_reals(struct drawing *d, number_fn *number, struct mpk_error *err)
{
	enum mpk_element_class class;
	int64_t seeds[2] = { 0, 0 };
	struct mpk_tensor *out;
	size_t count = d->args.count;

	if (count != 5)
		MPK_TRY(mpk_contrib_arity(&d->args, 3, 3, err));
	for (size_t i = 0; count == 5 && i < 2; i++)
		MPK_TRY(mpk_contrib_int(&d->args, i, &seeds[i], err));
	MPK_TRY(mpk_contrib_float(&d->args, count - 3, &d->a, err));
	MPK_TRY(mpk_contrib_float(&d->args, count - 2, &d->b, err));
	MPK_TRY(take_output(d, &out, &class, err));
	if (class != MPK_ELEMENT_FLOAT)
		return random_wrong_type(d, out, err);
	if (seeds[0] || seeds[1]) {
		d->own = mix((uint64_t)seeds[0]) ^ mix(mix((uint64_t)seeds[1]));
		d->state = &d->own;
	}
	return fill_output(d, out, number, err);
}

static void uniform_number(struct drawing *d, struct mpk_element *e)
{
	e->f = d->a + (d->b - d->a) * draw_real(d);
}

static enum mpk_code uniform(struct drawing *d, struct mpk_error *err)
{
	return draw_reals(d, uniform_number, err);
}

/* The method of Box and Muller makes two numbers from a radius and an angle; uses one of them. */
static void normal_number(struct drawing *d, struct mpk_element *e)
{
	/* 1 - x is in (0, 1], which avoids the logarithm of 0 */
	double radius = sqrt(-2 * log(1 - draw_real(d)));

	e->f = d->a + d->b * radius * cos(6.283185307179586 * draw_real(d));
}

static enum mpk_code normal(struct drawing *d, struct mpk_error *err)
{
	return draw_reals(d, normal_number, err);
}

static void integer_number(struct drawing *d, struct mpk_element *e)
{
	e->u = (uint64_t)d->low + draw(d) % d->span;
	e->i = (int64_t)e->u;
}

/* Whether an integer type can represent a value. */
static bool random_fits(struct mpk_dtype t, int64_t value)
{
	if (t.code == MPK_DTYPE_UINT)
		return value >= 0 && (t.bits > 62 || value < INT64_C(1) << t.bits);
	return t.bits > 63 ||
	       (value >= -(INT64_C(1) << (t.bits - 1)) && value < INT64_C(1) << (t.bits - 1));
}

static enum mpk_code randint(struct drawing *d, struct mpk_error *err)
{
	enum mpk_element_class class;
	struct mpk_tensor *out;
	int64_t high;

	MPK_TRY(mpk_contrib_arity(&d->args, 3, 3, err));
	MPK_TRY(mpk_contrib_int(&d->args, 0, &d->low, err));
	MPK_TRY(mpk_contrib_int(&d->args, 1, &high, err));
	MPK_TRY(take_output(d, &out, &class, err));
	if (class != MPK_ELEMENT_INT && class != MPK_ELEMENT_UINT)
		return random_wrong_type(d, out, err);
	if (d->low >= high || !random_fits(out->dl.dtype, d->low) ||
	    !random_fits(out->dl.dtype, high - 1))
		return mpk_contrib_raise(
			&d->args, err, "ValueError",
			"the output has no integers from %" PRId64 " below %" PRId64, d->low, high);
	/* unsigned, because high - low may exceed 2^63 */
	d->span = (uint64_t)high - (uint64_t)d->low;
	return fill_output(d, out, integer_number, err);
}

/* Makes numbers from 1 to 10 for measuring kernels, so that nothing divides by zero. */
static void any_number(struct drawing *d, struct mpk_element *e)
{
	e->f = 1 + 9 * draw_real(d);
	e->i = (int64_t)e->f;
	e->u = (uint64_t)e->i;
}

static enum mpk_code random_fill(struct drawing *d, struct mpk_error *err)
{
	enum mpk_element_class class;
	struct mpk_tensor *out;

	MPK_TRY(mpk_contrib_arity(&d->args, 1, 1, err));
	MPK_TRY(take_output(d, &out, &class, err));
	if (class == MPK_ELEMENT_NONE)
		return random_wrong_type(d, out, err);
	return fill_output(d, out, any_number, err);
}

static enum mpk_code seed(struct drawing *d, struct mpk_error *err)
{
	int64_t number;

	MPK_TRY(mpk_contrib_arity(&d->args, 1, 1, err));
	MPK_TRY(mpk_contrib_int(&d->args, 0, &number, err));
	*d->state = (uint64_t)number;
	return MPK_OK;
}

/* --- as functions of a runtime ------------------------------------------------------------- */

static enum mpk_code random_call(struct mpk_function *self, const struct mpk_args *args,
				 struct mpk_value *result, struct mpk_error *err)
{
	struct random_function *f = (struct random_function *)self;
	struct drawing d = {
		.args = { self->name, args->values, args->count },
		.runtime = f->runtime,
		.state = &f->engine->state,
	};
	enum mpk_code code;

	(void)result;
	(void)pthread_mutex_lock(&f->engine->lock);
	code = f->fn(&d, err);
	(void)pthread_mutex_unlock(&f->engine->lock);
	return code;
}

/* The functions of a runtime share the engine, and the last one frees it. */
static void engine_drop(struct engine *e)
{
	if (mpk_refs_drop(&e->refs))
		return;
	(void)pthread_mutex_destroy(&e->lock);
	free(e);
}

static void random_destroy(struct mpk_function *self)
{
	engine_drop(((struct random_function *)self)->engine);
	free(self);
}

static const struct {
	const char *name;
	random_fn *fn;
} functions[] = {
	{ "tvm.contrib.random.normal", normal },
	{ "tvm.contrib.random.randint", randint },
	{ "tvm.contrib.random.random_fill", random_fill },
	{ "tvm.contrib.random.random_fill_for_measure", random_fill },
	{ "tvm.contrib.random.seed", seed },
	{ "tvm.contrib.random.uniform", uniform },
};

static enum mpk_code random_add_all(struct mpk_runtime *runtime, struct engine *engine,
				    struct mpk_error *err)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(functions); i++) {
		struct random_function *f = calloc(1, sizeof *f);

		MPK_TRY_ALLOC(f, err);
		f->base = (struct mpk_function){ .refs = 1,
						 .name = functions[i].name,
						 .call = random_call,
						 .destroy = random_destroy };
		f->runtime = runtime;
		f->engine = engine;
		f->fn = functions[i].fn;
		mpk_refs_hold(&engine->refs);
		MPK_TRY(mpk_runtime_add_function(runtime, &f->base, err));
	}
	return MPK_OK;
}

/* --- all families of tvm.contrib.*, added to a runtime ---------------------------------------- */

/* Families of functions; those of random numbers have a state and are added below. */
static const struct mpk_contrib_globals *const contribs[] = { &mpk_contrib_sort,
							      &mpk_contrib_blas };

enum mpk_code mpk_contrib_add_globals(struct mpk_runtime *runtime, struct mpk_error *err)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(contribs); i++)
		MPK_TRY(mpk_runtime_add_globals(runtime, contribs[i]->rows, contribs[i]->count,
						err));

	/* the functions share one stream, so they are created together */
	struct engine *engine = calloc(1, sizeof *engine);
	enum mpk_code code;

	MPK_TRY_ALLOC(engine, err);
	atomic_init(&engine->refs, 1);
	(void)pthread_mutex_init(&engine->lock, NULL);
	code = random_add_all(runtime, engine, err);
	engine_drop(engine);
	return code;
}
