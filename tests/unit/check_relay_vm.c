/* SPDX-License-Identifier: Apache-2.0 */
/* The machine of the Relay VM: plans, calls of kernels, control flow. Data types and closures:
 * check_relay_data.c; dynamic shapes and devices: check_relay_shapes.c; loading and broken byte code:
 * check_relay_load.c; inputs: check_relay_inputs.c; a whole model: check_relay_model.c */
#include "relay_kernels.h"

/* --- straight lines ------------------------------------------------------------------------ */

/* As byte code, recorded, replayed: the same numbers, and kernels are called each time. */
START_TEST(a_plan_gives_what_byte_code_gave)
{
	sum_program((enum mpk_relay_layout)_i);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 10; i++) {
		struct mpk_value x = float_tensor(4, (float)i), result = run(&x, 1);

		check_sum((float)i, &result);
		ck_assert_int_eq(calls, 2 * (i + 1));
		mpk_value_drop(&result);
		mpk_value_drop(&x);
	}
	ck_assert_uint_eq(plan_stats().recorded, 1);
	ck_assert_uint_eq(plan_stats().replayed, 8);
	model_close(&m);
}
END_TEST

/* A result belongs to the caller until he drops it. */
START_TEST(a_held_result_is_not_overwritten)
{
	struct mpk_value results[6];

	sum_program(MPK_RELAY_14);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 6; i++) {
		struct mpk_value x = float_tensor(4, (float)i);

		results[i] = run(&x, 1);
		mpk_value_drop(&x);
	}
	for (int i = 0; i < 6; i++) {
		check_sum((float)i, &results[i]);
		mpk_value_drop(&results[i]);
	}
	model_close(&m);
}
END_TEST

static struct mpk_allocator_stats allocator_stats(void)
{
	struct mpk_allocator *allocator = NULL;

	ck_assert_ok(mpk_devices_allocator(mpk_runtime_devices(m.runtime),
					   (struct mpk_dldevice){ MPK_DL_CPU, 0 }, &allocator,
					   &err),
		     err);
	return mpk_allocator_get_stats(allocator);
}

static struct mpk_allocator_stats steady_state(const struct mpk_value *arg)
{
	struct mpk_allocator_stats warm = { 0 };

	for (int i = 0; i < 100; i++) {
		if (i == 10)
			warm = allocator_stats();
		struct mpk_value result = run(arg, 1);

		mpk_value_drop(&result);
	}
	return warm;
}

/* By its plan a step asks for no memory; as byte code it gets back what it gave. */
START_TEST(a_steady_state_allocates_nothing)
{
	struct mpk_value x = float_tensor(4, 1), n = number_tensor(3);
	struct mpk_allocator_stats warm;

	sum_program(MPK_RELAY_14);
	model_open(&m, &p, kernels);
	warm = steady_state(&x);
	ck_assert_uint_eq(allocator_stats().given, warm.given);
	ck_assert_uint_eq(allocator_stats().held_bytes, warm.held_bytes);
	model_close(&m);

	/* main(n): a tensor of n floats: its shape is content, so it stays byte code */
	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 8, "n");
	CONSTI(&p, 8, 1);
	storage(&p, 1, 2);
	CONSTI(&p, 0, 1);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 2, 1, 0, 64, 1, 1, 3, 1);
	CALL(&p, "shape_func_same", 0, 3);
	CONSTI(&p, 64, 4);
	storage(&p, 4, 5);
	OP(&p, MPK_RELAY_ALLOC_TENSOR_REG, 5, 1, 3, 2, 32, 1, 6);
	RET(&p, 6);
	model_open(&m, &p, kernels);
	warm = steady_state(&n);
	ck_assert_uint_gt(allocator_stats().given, warm.given);
	ck_assert_uint_eq(allocator_stats().allocated, warm.allocated);
	ck_assert_uint_eq(allocator_stats().held_bytes, warm.held_bytes);
	ck_assert_uint_eq(plan_stats().replayed, 0);
	model_close(&m);
	mpk_value_drop(&x);
	mpk_value_drop(&n);
}
END_TEST

/* Two tensors in one storage, at bytes 0 and 64: the second has an offset, as TVM's have. */
START_TEST(tensors_share_a_storage)
{
	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 8, "x");
	CONSTI(&p, 128, 1);
	storage(&p, 1, 2);
	CONSTI(&p, 0, 3);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 2, 3, 2, 32, 1, 1, 4, 4);
	CONSTI(&p, 64, 3);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 2, 3, 2, 32, 1, 1, 5, 4);
	KILL(&p, 2);
	CALL(&p, "add", 0, 0, 4);
	CALL(&p, "add", 4, 0, 5);
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 2, 6, 4, 5);
	RET(&p, 6);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 4; i++) {
		struct mpk_value x = float_tensor(4, (float)i), result = run(&x, 1);

		ck_assert_uint_eq(result.array->items[1].tensor->dl.byte_offset, 64);
		ck_assert_float_eq(float_at(&result.array->items[0], 3), 2 * (float)(i + 3));
		ck_assert_float_eq(float_at(&result.array->items[1], 3), 3 * (float)(i + 3));
		mpk_value_drop(&result);
		mpk_value_drop(&x);
	}
	ck_assert_uint_eq(plan_stats().replayed, 2);
	model_close(&m);
}
END_TEST

/* An input or a constant may be a result; it is the same memory. */
START_TEST(results_may_be_inputs_and_constants)
{
	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 3, "x");
	load(&p, float_const(&p, 2, 7), 1);
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 3, 2, 0, 1, 0);
	RET(&p, 2);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 4; i++) {
		struct mpk_value x = float_tensor(4, 1), result = run(&x, 1);

		ck_assert_ptr_eq(result.array->items[0].tensor->dl.data, x.tensor->dl.data);
		mpk_value_drop(&x);
		ck_assert_float_eq(float_at(&result.array->items[2], 3), 4);
		ck_assert_float_eq(float_at(&result.array->items[1], 1), 8);
		mpk_value_drop(&result);
	}
	model_close(&m);
}
END_TEST

/* --- calls of kernels ---------------------------------------------------------------------- */

/* Tuples are taken apart, one level deep; a tuple within a tuple is no argument. */
START_TEST(tuples_become_arguments)
{
	struct mpk_value x = float_tensor(2, 1);

	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 6, "x");
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 3, 1, 0, 0, 0);
	OP(&p, MPK_RELAY_INVOKE_PACKED, packed(&p, "note"), 3, 1, 1, 0, 1);
	RET(&p, 0);
	(void)function(&p, "nested", 6, "x");
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 1, 1, 0);
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 2, 2, 0, 1);
	OP(&p, MPK_RELAY_INVOKE_PACKED, packed(&p, "note"), 1, 0, 2);
	RET(&p, 0);
	(void)function(&p, "many", 6, "x");
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0);
	OP(&p, MPK_RELAY_INVOKE_PACKED, packed(&p, "note"), 6, 0, 1, 1, 1, 1, 1, 1);
	RET(&p, 0);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 4; i++) {
		struct mpk_value result = run(&x, 1);

		ck_assert_int_eq(last_count, 7);
		mpk_value_drop(&result);
		ck_assert_ok(model_call(&m, "many", &x, 1, &result, &err), err);
		ck_assert_int_eq(last_count, 48);
		mpk_value_drop(&result);
		ck_assert_int_eq(model_call(&m, "nested", &x, 1, &result, &err), MPK_E_RAISED);
		ck_assert_text(err, "TypeError: register 2 must hold a tensor");
	}
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* A kernel whose one output has no elements is left out; with two it is called. */
START_TEST(empty_outputs_are_left_out)
{
	struct mpk_value x = float_tensor(2, 1);

	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 6, "x");
	floats(&p, 0, 2);
	CALL(&p, "note", 0, 2);
	RET(&p, 2);
	(void)function(&p, "two", 6, "x");
	floats(&p, 0, 2);
	OP(&p, MPK_RELAY_INVOKE_PACKED, packed(&p, "note"), 3, 2, 0, 2, 2);
	RET(&p, 2);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 4; i++) {
		struct mpk_value result = run(&x, 1);

		ck_assert_int_eq(calls, i);
		ck_assert_uint_eq(result.tensor->bytes, 0);
		mpk_value_drop(&result);
		ck_assert_ok(model_call(&m, "two", &x, 1, &result, &err), err);
		ck_assert_int_eq(calls, i + 1);
		mpk_value_drop(&result);
	}
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* What a kernel raises comes through all frames, and the machine is as good as before. */
START_TEST(an_error_leaves_the_machine_whole)
{
	struct mpk_value x = float_tensor(4, 1), result;

	sum_program(MPK_RELAY_14);
	int64_t inner = function(&p, "inner", 2, "x");
	OP(&p, MPK_RELAY_INVOKE_PACKED, packed(&p, "fail"), 1, 1, 0);
	RET(&p, 0);
	(void)function(&p, "outer", 3, "x");
	OP(&p, MPK_RELAY_INVOKE, inner, 1, 1, 0);
	RET(&p, 1);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(model_call(&m, "outer", &x, 1, &result, &err), MPK_E_RAISED);
		result = run(&x, 1);
		check_sum(1, &result);
		mpk_value_drop(&result);
	}
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* --- control flow -------------------------------------------------------------------------- */

/* main(c, x): if c == 1: y = x + x else y = x; return y. Conditions of every width. */
START_TEST(branches_merge)
{
	static const struct mpk_dtype types[] = { { MPK_DTYPE_UINT, 1, 1 },
						  { MPK_DTYPE_INT, 8, 1 },
						  { MPK_DTYPE_INT, 16, 1 },
						  { MPK_DTYPE_INT, 32, 1 },
						  { MPK_DTYPE_INT, 64, 1 } };

	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 8, "c x");
	CONSTI(&p, 1, 2);
	IF(&p, 0, 2, 1, 9);
	floats(&p, 4, 4);
	CALL(&p, "add", 1, 1, 4);
	MOVE(&p, 4, 5);
	GOTO(&p, 2);
	MOVE(&p, 1, 5);
	RET(&p, 5);
	model_open(&m, &p, kernels);
	for (size_t t = 0; t < MPK_ARRAY_COUNT(types); t++)
		for (int i = 0; i < 8; i++) {
			struct mpk_value args[2] = { { .kind = MPK_VALUE_TENSOR },
						     float_tensor(4, 3) };
			struct mpk_value result;

			ck_assert_ok(mpk_tensor_create(types[t], NULL, 0, MPK_STORAGE_PRIVATE,
						       &args[0].tensor, &err),
				     err);
			mpk_native_store(args[0].tensor->dl.data, (uint64_t)(i % 2),
					 mpk_dtype_number_bytes(types[t]));
			result = run(args, 2);
			ck_assert_float_eq(float_at(&result, 0), i % 2 ? 6 : 3);
			mpk_value_drop(&result);
			mpk_value_drop(&args[0]);
			mpk_value_drop(&args[1]);
		}
	ck_assert_uint_eq(plan_stats().replayed, 0);
	ck_assert_uint_eq(plan_stats().unplannable, 1); /* tried once, and never again */
	model_close(&m);
}
END_TEST

/* main(n, x): if n == 0: return x; return main(n - 1, x + 1) */
static void loop_program(void)
{
	program_init(&p, MPK_RELAY_14);
	int64_t self = function(&p, "main", 12, "n x");
	CONSTI(&p, 0, 2);
	IF(&p, 0, 2, 1, 2);
	RET(&p, 1);
	CONSTI(&p, 8, 3);
	storage(&p, 3, 4);
	CONSTI(&p, 0, 3);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 4, 3, 0, 64, 1, 0, 5);
	KILL(&p, 4);
	CALL(&p, "decrement", 0, 5);
	KILL(&p, 0);
	floats(&p, 4, 7);
	load(&p, float_const(&p, 1, 1), 8);
	CALL(&p, "add", 1, 8, 7);
	KILL(&p, 1);
	OP(&p, MPK_RELAY_INVOKE, self, 2, 9, 5, 7);
	RET(&p, 9);
}

/* Loops are recursion: frames lie in the machine, not on the native stack. */
START_TEST(loops_are_recursion)
{
	static const int64_t lengths[] = { 0, 1, 7, 100000 };

	loop_program();
	model_open(&m, &p, kernels);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(lengths); i++) {
		struct mpk_value args[2] = { number_tensor(lengths[i]), float_tensor(4, 5) };
		struct mpk_value result = run(args, 2);

		ck_assert_float_eq(float_at(&result, 1), 6 + (float)lengths[i]);
		mpk_value_drop(&result);
		mpk_value_drop(&args[0]);
		mpk_value_drop(&args[1]);
	}
	model_close(&m);
}
END_TEST

START_TEST(what_has_no_end_is_an_error)
{
	struct mpk_value x = float_tensor(4, 1), result;

	sum_program(MPK_RELAY_14);
	int64_t self = function(&p, "deep", 3, "x");
	OP(&p, MPK_RELAY_INVOKE, self, 1, 1, 0);
	RET(&p, 1);
	(void)function(&p, "round", 3, "x");
	MOVE(&p, 0, 1);
	GOTO(&p, -1);
	model_open(&m, &p, kernels);
	ck_assert_int_eq(model_call(&m, "deep", &x, 1, &result, &err), MPK_E_RAISED);
	ck_assert_text(err, "recursion without end");
	machine_of(&m)->step_limit = 1000000;
	ck_assert_int_eq(model_call(&m, "round", &x, 1, &result, &err), MPK_E_RAISED);
	ck_assert_text(err, "a loop without end");
	result = run(&x, 1);
	check_sum(1, &result);
	mpk_value_drop(&result);
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("relay_vm");
	TCase *tc = tcase_create("relay_vm");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, a_plan_gives_what_byte_code_gave, 0, MPK_RELAY_LAYOUTS);
	tcase_add_test(tc, a_held_result_is_not_overwritten);
	tcase_add_test(tc, a_steady_state_allocates_nothing);
	tcase_add_test(tc, tensors_share_a_storage);
	tcase_add_test(tc, results_may_be_inputs_and_constants);
	tcase_add_test(tc, tuples_become_arguments);
	tcase_add_test(tc, empty_outputs_are_left_out);
	tcase_add_test(tc, an_error_leaves_the_machine_whole);
	tcase_add_test(tc, branches_merge);
	tcase_add_test(tc, loops_are_recursion);
	tcase_add_test(tc, what_has_no_end_is_an_error);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
