/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of plans (executor/plan/plan.h), each with the smallest program that breaks where it is not kept.
 * Random programs: check_plan_random.c. */
#include "executor/executor.h"
#include "executor/plan/plan.h"
#include "executor/relax/internal/relax.h"
#include "relax_made.h"

static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };

/* --- kernels --------------------------------------------------------------------------------- */

static int compiled_calls;

static float *floats(const struct mpk_args *args, size_t i)
{
	return mpk_dltensor_data(&args->values[i].tensor->dl);
}

/* out = 10 * in + 1 */
static enum mpk_code next(const struct mpk_args *args, struct mpk_value *result,
			  struct mpk_error *err)
{
	(void)result, (void)err;
	for (uint64_t i = 0; i < mpk_tensor_count(args->values[1].tensor); i++)
		floats(args, 1)[i] = 10 * floats(args, 0)[i] + 1;
	return MPK_OK;
}

/* out = the first stride of in */
static enum mpk_code stride(const struct mpk_args *args, struct mpk_value *result,
			    struct mpk_error *err)
{
	(void)result, (void)err;
	floats(args, 1)[0] = (float)args->values[0].tensor->dl.strides[0];
	return MPK_OK;
}

static enum mpk_code compiled(const struct mpk_args *args, struct mpk_value *result,
			      struct mpk_error *err)
{
	(void)args, (void)result, (void)err;
	compiled_calls++;
	return MPK_OK;
}

static const struct made_kernel kernels[] = {
	{ .name = "next", .call = next },
	{ .name = "stride", .call = stride },
	{ .name = "__vmtir__body", .call = compiled },
	{ .name = NULL },
};

/* --- programs -------------------------------------------------------------------------------- */

static const int64_t four = 4, small = 16, large = 512;

/* A program, and the numbers of what it is made of. */
struct words {
	struct made m;
	int64_t storage, tensor, copy, null, next, stride, invoke, body;
	int64_t small, large, shape, u8, f32;
};

static int64_t shape_const(struct made *m, const int64_t *extents)
{
	return made_const(m, (struct mpk_relax_const){ .kind = MPK_RELAX_SHAPE,
						       .u.shape = mpk_span_of(extents, 8) });
}

static int64_t type_const(struct made *m, struct mpk_dtype type)
{
	return made_const(m, (struct mpk_relax_const){ .kind = MPK_RELAX_DTYPE, .u.dtype = type });
}

static void words_init(struct words *w)
{
	memset(w, 0, sizeof *w);
	w->storage = made_packed(&w->m, "vm.builtin.alloc_storage");
	w->tensor = made_packed(&w->m, "vm.builtin.alloc_tensor");
	w->copy = made_packed(&w->m, "vm.builtin.copy");
	w->null = made_packed(&w->m, "vm.builtin.null_value");
	w->invoke = made_packed(&w->m, "vm.builtin.invoke_closure");
	w->next = made_packed(&w->m, "next");
	w->stride = made_packed(&w->m, "stride");
	w->small = shape_const(&w->m, &small);
	w->large = shape_const(&w->m, &large);
	w->shape = shape_const(&w->m, &four);
	w->u8 = type_const(&w->m, (struct mpk_dtype){ MPK_DTYPE_UINT, 8, 1 });
	w->f32 = type_const(&w->m, f32);
}

static void put_storage(struct words *w, int64_t dst, int64_t bytes)
{
	CALL(&w->m, dst, w->storage, VM, CONST(bytes), INT(0), CONST(w->u8));
}

static void put_tensor(struct words *w, int64_t dst, int64_t storage)
{
	CALL(&w->m, dst, w->tensor, REG(storage), INT(0), CONST(w->shape), CONST(w->f32));
}

/* A tensor of one row with some stride from row to row. */
static struct mpk_value row(float first, int64_t row_stride)
{
	static const int64_t extents[] = { 1, 4 };
	struct mpk_value v = { .kind = MPK_VALUE_TENSOR };
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_tensor_create(f32, extents, 2, MPK_STORAGE_PRIVATE, &v.tensor, &err), err);
	for (int i = 0; i < 4; i++)
		((float *)v.tensor->dl.data)[i] = first + (float)i;
	v.tensor->dl.strides[0] = row_stride;
	return v;
}

static float first_of(struct model *m, float x, int64_t row_stride)
{
	struct mpk_value arg = row(x, row_stride), result;
	struct mpk_error err = { 0 };
	float got;

	ck_assert_ok(model_call(m, "main", &arg, 1, &result, &err), err);
	ck_assert_int_eq(result.kind, MPK_VALUE_TENSOR);
	got = *(const float *)mpk_dltensor_data(&result.tensor->dl);
	mpk_value_drop(&result);
	mpk_value_drop(&arg);
	return got;
}

static struct mpk_plan_stats stats_of(const struct model *m)
{
	return mpk_plans_get_stats(
		((struct mpk_relax_vm *)mpk_node_machine((const struct mpk_node_module *)m->root))
			->plans);
}

/* --- rules ----------------------------------------------------------------------------------- */

/* s = storage; y = tensor in s; next(x, y); s2 = copy of s; return tensor in s2: what is in y. */
START_TEST(a_copy_of_a_storage_is_that_storage)
{
	struct words w;
	struct model m = { 0 };

	words_init(&w);
	(void)made_function(&w.m, "main", 1, 5);
	put_storage(&w, 1, w.small);
	put_tensor(&w, 2, 1);
	CALL(&w.m, VOID, w.next, REG(0), REG(2));
	CALL(&w.m, 3, w.copy, REG(1));
	put_tensor(&w, 4, 3);
	RET(&w.m, REG(4));
	model_open(&m, &w.m, kernels);
	for (int i = 0; i < 6; i++)
		ck_assert_float_eq(first_of(&m, (float)i, 4), (float)(10 * i + 1));
	ck_assert_uint_eq(stats_of(&m).replayed, 4);
	model_close(&m);
}
END_TEST

/* a and c are small, and b, which is large, lies where a did: when that place is made larger, a moves
 * with it, and c is not where a was. */
START_TEST(a_slot_that_grows_moves_for_all)
{
	struct words w;
	struct model m = { 0 };

	words_init(&w);
	(void)made_function(&w.m, "main", 1, 7);
	put_storage(&w, 1, w.small);
	put_storage(&w, 2, w.large);
	put_storage(&w, 3, w.small);
	put_tensor(&w, 4, 1);
	put_tensor(&w, 5, 2);
	put_tensor(&w, 6, 3);
	CALL(&w.m, VOID, w.next, REG(0), REG(6)); /* c */
	CALL(&w.m, VOID, w.next, REG(6), REG(4)); /* a */
	CALL(&w.m, VOID, w.next, REG(0), REG(5)); /* b */
	RET(&w.m, REG(6));
	model_open(&m, &w.m, kernels);
	for (int i = 0; i < 6; i++)
		ck_assert_float_eq(first_of(&m, (float)i, 4), (float)(10 * i + 1));
	ck_assert_uint_eq(stats_of(&m).replayed, 4);
	model_close(&m);
}
END_TEST

/* Of one row any stride is compact, and a kernel sees it. */
START_TEST(strides_are_those_of_the_call)
{
	struct words w;
	struct model m = { 0 };

	words_init(&w);
	(void)made_function(&w.m, "main", 1, 3);
	put_storage(&w, 1, w.small);
	put_tensor(&w, 2, 1);
	CALL(&w.m, VOID, w.stride, REG(0), REG(2));
	RET(&w.m, REG(2));
	model_open(&m, &w.m, kernels);
	for (int i = 0; i < 4; i++)
		ck_assert_float_eq(first_of(&m, 0, 4), 4);
	ck_assert_float_eq(first_of(&m, 0, 100), 100);
	ck_assert_float_eq(first_of(&m, 0, 4), 4);
	ck_assert_uint_eq(stats_of(&m).replayed, 3);
	model_close(&m);
}
END_TEST

/* What compiled functions do is not known, whoever calls them. */
START_TEST(compiled_functions_are_called_each_time)
{
	struct words w;
	struct model m = { 0 };

	words_init(&w);
	w.body = (int64_t)w.m.func_count;
	w.m.funcs[w.m.func_count++] = (struct mpk_relax_func){ .kind = MPK_RELAX_TIR,
							       .name = mpk_span_str("body"),
							       .register_file_size = 1 };
	(void)made_function(&w.m, "main", 1, 2);
	CALL(&w.m, VOID, w.invoke, VM, FUNC(w.body));
	RET(&w.m, REG(0));
	model_open(&m, &w.m, kernels);
	compiled_calls = 0;
	for (int i = 0; i < 6; i++)
		ck_assert_float_eq(first_of(&m, (float)i, 4), (float)i);
	ck_assert_int_eq(compiled_calls, 6);
	ck_assert_uint_eq(stats_of(&m).recorded, 0);
	model_close(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("plan_rules");
	TCase *tc = tcase_create("plan_rules");
	SRunner *r = srunner_create(s);

	tcase_add_test(tc, a_copy_of_a_storage_is_that_storage);
	tcase_add_test(tc, a_slot_that_grows_moves_for_all);
	tcase_add_test(tc, strides_are_those_of_the_call);
	tcase_add_test(tc, compiled_functions_are_called_each_time);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
