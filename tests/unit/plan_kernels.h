/* SPDX-License-Identifier: Apache-2.0 */
/* plan_kernels.h - what the random programs of plan_program.h call
 *
 * Each writes what follows from all that it is given: the bytes of tensors, their types and extents, and
 * integers. Most are there twice, as code at an address and as a function without one.
 */
#ifndef MPK_TESTS_UNIT_PLAN_KERNELS_H
#define MPK_TESTS_UNIT_PLAN_KERNELS_H

#include <inttypes.h>

#include "model_made.h"

enum { OPERANDS = 8 };

/* What is not in the machine but changes with its calls. */
struct world {
	uint64_t count;
	struct mpk_value kept;
	struct mpk_function *h;
};

static struct world *world; /* of the machine that is called */

struct operands {
	const struct mpk_dltensor *tensors[OPERANDS];
	size_t count;
	uint64_t numbers; /* all integers in one */
};

HARNESS_FN uint64_t bytes_of(const struct mpk_dltensor *t)
{
	uint64_t bytes = t->dtype.bits / 8;

	for (int32_t i = 0; i < t->ndim; i++)
		bytes *= (uint64_t)t->shape[i];
	return bytes;
}

HARNESS_FN uint64_t stir_in(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
	return sum ^ sum >> 29;
}

/* Types and extents count, too: a plan must pass them. */
HARNESS_FN uint64_t sum_of(uint64_t sum, const struct mpk_dltensor *t)
{
	const uint8_t *p = mpk_dltensor_data(t);

	sum = stir_in(sum, (uint64_t)t->dtype.code << 8 | t->dtype.bits);
	for (int32_t i = 0; i < t->ndim; i++)
		sum = stir_in(sum, (uint64_t)t->shape[i]);
	for (uint64_t i = 0; i < bytes_of(t); i++)
		sum = stir_in(sum, p[i]);
	return sum;
}

HARNESS_FN void write_all(const struct mpk_dltensor *t, uint64_t sum)
{
	uint8_t *p = mpk_dltensor_data(t);

	for (uint64_t i = 0; i < bytes_of(t); i++) {
		sum = stir_in(sum, i);
		p[i] = (uint8_t)(sum >> 40);
	}
}

HARNESS_FN void mix(const struct operands *o)
{
	const struct mpk_dltensor *out = o->tensors[o->count - 1];
	uint64_t sum = o->numbers;

	write_all(out, sum); /* first: an input that lies in its place by mistake is lost */
	for (size_t i = 0; i + 1 < o->count; i++) {
		sum = sum_of(sum, o->tensors[i]);
		write_all(out, sum);
	}
}

HARNESS_FN void stir(const struct operands *o)
{
	for (size_t i = 0; i < o->count; i++)
		for (size_t k = 0; k < o->count; k++)
			write_all(o->tensors[k], sum_of(o->numbers + k, o->tensors[i]));
}

HARNESS_FN void extents(const struct operands *o)
{
	int64_t *heap = mpk_dltensor_data(o->tensors[0]);

	heap[1] = heap[0] % 7;
}

HARNESS_FN void count(const struct operands *o)
{
	write_all(o->tensors[0], ++world->count);
}

HARNESS_FN struct operands operands_of(const struct mpk_args *args)
{
	struct operands o = { 0 };

	for (size_t i = 0; i < args->count; i++)
		if (args->values[i].kind == MPK_VALUE_TENSOR)
			o.tensors[o.count++] = &args->values[i].tensor->dl;
		else
			o.numbers = stir_in(o.numbers, (uint64_t)args->values[i].integer);
	return o;
}

HARNESS_FN struct operands packed_operands(const union mpk_tvm_value *args, const int *codes,
					   int count)
{
	struct operands o = { 0 };

	for (int i = 0; i < count; i++)
		if (codes[i] == MPK_TVM_DLTENSOR)
			o.tensors[o.count++] = args[i].v_handle;
		else
			o.numbers = stir_in(o.numbers, (uint64_t)args[i].v_int64);
	return o;
}

/* The same work at an address and without one. */
#define BOTH(name)                                                                                 \
	HARNESS_FN enum mpk_code name##_function(const struct mpk_args *args,                      \
						 struct mpk_value *result, struct mpk_error *e)    \
	{                                                                                          \
		const struct operands o = operands_of(args);                                       \
                                                                                                   \
		(void)result, (void)e;                                                             \
		name(&o);                                                                          \
		return MPK_OK;                                                                     \
	}                                                                                          \
	HARNESS_FN int name##_compiled(union mpk_tvm_value *args, int *codes, int arg_count,       \
				       union mpk_tvm_value *result, int *result_code,              \
				       void *resource)                                             \
	{                                                                                          \
		const struct operands o = packed_operands(args, codes, arg_count);                 \
                                                                                                   \
		(void)result, (void)result_code, (void)resource;                                   \
		name(&o);                                                                          \
		return 0;                                                                          \
	}
BOTH(mix)
BOTH(stir)
BOTH(extents)
BOTH(count)

HARNESS_FN enum mpk_code lengths(const struct mpk_args *args, struct mpk_value *result,
				 struct mpk_error *e)
{
	int64_t *heap = mpk_dltensor_data(&args->values[0].tensor->dl);

	(void)result, (void)e;
	heap[1] = (int64_t)(++world->count % 7);
	return MPK_OK;
}

HARNESS_FN enum mpk_code refuse(const struct mpk_args *args, struct mpk_value *result,
				struct mpk_error *e)
{
	const struct operands o = operands_of(args);
	uint64_t sum = sum_of(0, o.tensors[0]);

	(void)result;
	if (sum % 8)
		return MPK_OK;
	return mpk_fail(e, MPK_E_RAISED, "ValueError: not %" PRIx64 ", %" PRIx64, sum, o.numbers);
}

HARNESS_FN enum mpk_code keep(const struct mpk_args *args, struct mpk_value *result,
			      struct mpk_error *e)
{
	(void)result, (void)e;
	mpk_value_drop(&world->kept);
	world->kept = mpk_value_hold(args->values[0]);
	return MPK_OK;
}

HARNESS_FN enum mpk_code recall(const struct mpk_args *args, struct mpk_value *result,
				struct mpk_error *e)
{
	const struct operands o = operands_of(args);
	bool is_kept = world->kept.kind == MPK_VALUE_TENSOR;

	(void)result, (void)e;
	write_all(o.tensors[0], is_kept ? sum_of(o.numbers, &world->kept.tensor->dl) : 0);
	return MPK_OK;
}

HARNESS_FN enum mpk_code call_back(const struct mpk_args *args, struct mpk_value *result,
				   struct mpk_error *e)
{
	struct mpk_value pair[2] = { args->values[0], args->values[0] }, got = { 0 };

	(void)result;
	MPK_TRY(mpk_function_call(world->h, &(struct mpk_args){ pair, NULL, 2 }, &got, e));
	mpk_value_drop(&got);
	return MPK_OK;
}

HARNESS_FN enum mpk_code maybe(const struct mpk_args *args, struct mpk_value *result,
			       struct mpk_error *e)
{
	const struct operands o = operands_of(args);
	uint64_t sum = sum_of(0, o.tensors[0]);

	(void)e;
	if (sum % 2)
		*result = mpk_value_of_int((int64_t)(sum % 64));
	return MPK_OK;
}

static const struct made_kernel plan_kernels[] = {
	{ .name = "mix_compiled", .compiled = mix_compiled },
	{ .name = "mix", .call = mix_function },
	{ .name = "stir_compiled", .compiled = stir_compiled },
	{ .name = "stir", .call = stir_function },
	{ .name = "extents_compiled", .compiled = extents_compiled },
	{ .name = "extents", .call = extents_function },
	{ .name = "lengths", .call = lengths },
	{ .name = "count_compiled", .compiled = count_compiled },
	{ .name = "count", .call = count_function },
	{ .name = "refuse", .call = refuse },
	{ .name = "keep", .call = keep },
	{ .name = "recall", .call = recall },
	{ .name = "call_back", .call = call_back },
	{ .name = "maybe", .call = maybe },
	{ .name = NULL },
};

#endif
