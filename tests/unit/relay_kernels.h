/* SPDX-License-Identifier: Apache-2.0 */
/* relay_kernels.h - what programs of the Relay VM call in the tests of its machine, and one of them
 *
 * A test has one program, one model and one error at a time.
 */
#ifndef MPK_TESTS_UNIT_RELAY_KERNELS_H
#define MPK_TESTS_UNIT_RELAY_KERNELS_H

#include "executor/plan/plan.h"
#include "relay_made.h"

/* --- kernels, in the convention of TVM 0.8 to 0.19 ----------------------------------------- */

static int calls;

#define KERNEL(name)                                                                               \
	HARNESS_FN int name(union mpk_tvm_value *args, int *codes, int count,                      \
			    union mpk_tvm_value *result, int *result_code, void *resource)
#define UNUSED                                                                                     \
	((void)args, (void)codes, (void)result, (void)result_code, (void)resource, (void)count)
#define TENSOR(i) ((struct mpk_dltensor *)args[i].v_handle)
#define FLOATS(i) ((float *)mpk_dltensor_data(TENSOR(i)))
#define NUMBERS(i) ((int64_t *)mpk_dltensor_data(TENSOR(i)))

HARNESS_FN int64_t elements(const struct mpk_dltensor *t)
{
	int64_t n = 1;

	for (int i = 0; i < t->ndim; i++)
		n *= t->shape[i];
	return n;
}

/* out = a + b; of b's one element where it has one */
KERNEL(add)
{
	UNUSED;
	calls++;
	if (count != 3 || codes[0] != MPK_TVM_DLTENSOR || TENSOR(2)->dtype.code != MPK_DTYPE_FLOAT)
		return -1;
	for (int64_t i = 0; i < elements(TENSOR(2)); i++)
		FLOATS(2)[i] = FLOATS(0)[i] + FLOATS(1)[elements(TENSOR(1)) == 1 ? 0 : i];
	return 0;
}

/* out[i] = a[i % n]: fills what it is given */
KERNEL(tile)
{
	UNUSED;
	calls++;
	for (int64_t i = 0; i < elements(TENSOR(1)); i++)
		FLOATS(1)[i] = FLOATS(0)[i % elements(TENSOR(0))];
	return 0;
}

/* arithmetic on single int64 */
KERNEL(decrement)
{
	UNUSED;
	calls++;
	*NUMBERS(1) = *NUMBERS(0) - 1;
	return 0;
}

KERNEL(is_zero)
{
	UNUSED;
	*(uint8_t *)mpk_dltensor_data(TENSOR(1)) = *NUMBERS(0) == 0;
	return 0;
}

/* shape functions and the kernels that make bytes of a shape */
static int shape_calls;

KERNEL(shape_func_double)
{
	UNUSED;
	shape_calls++;
	for (int64_t i = 0; i < elements(TENSOR(1)); i++)
		NUMBERS(1)[i] = 2 * NUMBERS(0)[i];
	return 0;
}

KERNEL(shape_func_same)
{
	UNUSED;
	shape_calls++;
	NUMBERS(1)[0] = *NUMBERS(0);
	return 0;
}

KERNEL(bytes_of)
{
	UNUSED;
	shape_calls++;
	*NUMBERS(1) = 4;
	for (int64_t i = 0; i < elements(TENSOR(0)); i++)
		*NUMBERS(1) *= NUMBERS(0)[i];
	return 0;
}

/* number(out): another one in each call */
KERNEL(draw)
{
	static int64_t drawn;

	UNUSED;
	*NUMBERS(0) = ++drawn;
	return 0;
}

/* how many arguments; whether each has the type of its place */
static int last_count;

KERNEL(note)
{
	UNUSED;
	calls++;
	last_count = count;
	for (int i = 0; i < count; i++)
		if (codes[i] != MPK_TVM_DLTENSOR)
			return -1;
	return 0;
}

KERNEL(refuse)
{
	UNUSED;
	return -1;
}

static const struct made_kernel kernels[] = {
	{ .name = "add", .compiled = add },
	{ .name = "tile", .compiled = tile },
	{ .name = "decrement", .compiled = decrement },
	{ .name = "is_zero", .compiled = is_zero },
	{ .name = "shape_func_double", .compiled = shape_func_double },
	{ .name = "shape_func_same", .compiled = shape_func_same },
	{ .name = "bytes_of", .compiled = bytes_of },
	{ .name = "draw", .compiled = draw },
	{ .name = "note", .compiled = note },
	{ .name = "fail", .compiled = refuse },
	{ .name = NULL },
};

static struct program p;
static struct model m;
static struct mpk_error err;

HARNESS_FN struct mpk_plan_stats plan_stats(void)
{
	return mpk_plans_get_stats(machine_of(&m)->plans);
}

HARNESS_FN struct mpk_value run(const struct mpk_value *args, size_t count)
{
	struct mpk_value result;

	ck_assert_ok(model_call(&m, "main", args, count, &result, &err), err);
	return result;
}

HARNESS_FN void run_fails(const struct mpk_value *args, size_t count, const char *why)
{
	struct mpk_value result;

	ck_assert_int_eq(model_call(&m, "main", args, count, &result, &err), MPK_E_RAISED);
	ck_assert_text(err, why);
}

/* --- a program ----------------------------------------------------------------------------- */

/* main(x): y = x + [1, 2, 3, 4]; z = y + x; return (z, y) */
HARNESS_FN void sum_program(enum mpk_relay_layout layout)
{
	program_init(&p, layout);
	(void)function(&p, "main", 8, "x");
	load(&p, float_const(&p, 4, 1), 1);
	floats(&p, 4, 3);
	CALL(&p, "add", 0, 1, 3);
	floats(&p, 4, 5);
	CALL(&p, "add", 3, 0, 5);
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 2, 6, 5, 3);
	RET(&p, 6);
}

HARNESS_FN void check_sum(float x, const struct mpk_value *result)
{
	ck_assert_int_eq(result->kind, MPK_VALUE_ARRAY);
	ck_assert_int_eq(result->array->tag, 0);
	ck_assert_uint_eq(result->array->count, 2);
	for (size_t i = 0; i < 4; i++) {
		float at = x + (float)i, y = at + 1 + (float)i;

		ck_assert_float_eq(float_at(&result->array->items[0], i), y + at);
		ck_assert_float_eq(float_at(&result->array->items[1], i), y);
	}
}

#endif
