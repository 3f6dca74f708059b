/* SPDX-License-Identifier: Apache-2.0 */
/* Data types and closures of the Relay VM */
#include "relay_kernels.h"

enum { NIL = -2013265920, CONS = -2013265919 };

/* build(n, x, list): n times Cons(x, list)
 * sum(list, s): match list: Nil -> s; Cons(head, tail) -> sum(tail, s + head); else Fatal
 * main(n, x, zero) = sum(build(n, x, Nil), zero) */
static void list_program(void)
{
	program_init(&p, MPK_RELAY_14);
	int64_t build = function(&p, "build", 10, "n x list");
	CONSTI(&p, 0, 3);
	IF(&p, 0, 3, 1, 2);
	RET(&p, 2);
	CONSTI(&p, 8, 3);
	storage(&p, 3, 4);
	CONSTI(&p, 0, 3);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 4, 3, 0, 64, 1, 0, 5);
	CALL(&p, "decrement", 0, 5);
	OP(&p, MPK_RELAY_ALLOC_ADT, CONS, 2, 6, 1, 2);
	OP(&p, MPK_RELAY_INVOKE, build, 3, 7, 5, 1, 6);
	RET(&p, 7);

	int64_t sum = function(&p, "sum", 12, "list s");
	OP(&p, MPK_RELAY_GET_TAG, 0, 2);
	CONSTI(&p, NIL, 3);
	IF(&p, 2, 3, 1, 2);
	RET(&p, 1);
	CONSTI(&p, CONS, 3);
	IF(&p, 2, 3, 2, 1);
	OP(&p, MPK_RELAY_FATAL);
	OP(&p, MPK_RELAY_GET_FIELD, 0, 0, 4);
	OP(&p, MPK_RELAY_GET_FIELD, 0, 1, 5);
	floats(&p, 2, 7);
	CALL(&p, "add", 4, 1, 7);
	OP(&p, MPK_RELAY_INVOKE, sum, 2, 8, 5, 7);
	RET(&p, 8);

	(void)function(&p, "main", 8, "n x zero");
	OP(&p, MPK_RELAY_ALLOC_ADT, NIL, 0, 3);
	OP(&p, MPK_RELAY_INVOKE, build, 3, 4, 0, 1, 3);
	OP(&p, MPK_RELAY_INVOKE, sum, 2, 5, 4, 2);
	RET(&p, 5);
}

START_TEST(lists_are_built_and_matched)
{
	list_program();
	model_open(&m, &p, kernels);
	for (int64_t n = 0; n <= 50000; n = 10 * n + 5) {
		struct mpk_value args[3] = { number_tensor(n), float_tensor(2, 1),
					     float_tensor(2, 0) };
		struct mpk_value result = run(args, 3);

		ck_assert_float_eq(float_at(&result, 0), (float)n);
		ck_assert_float_eq(float_at(&result, 1), (float)(2 * n + 1));
		mpk_value_drop(&result);
		for (int i = 0; i < 3; i++)
			mpk_value_drop(&args[i]);
	}
	model_close(&m);
}
END_TEST

/* A caller passes a data type and gets one; a constructor that the match does not have is fatal. */
START_TEST(data_types_cross_the_boundary)
{
	struct mpk_value args[2] = { { 0 }, float_tensor(2, 0) }, list, result;

	list_program();
	model_open(&m, &p, kernels);
	for (int i = 0; i < 4; i++) {
		ck_assert_ok(mpk_value_of_array(2, &list, &err), err);
		list.array->tag = CONS;
		list.array->items[0] = float_tensor(2, 4);
		ck_assert_ok(mpk_value_of_array(0, &list.array->items[1], &err), err);
		list.array->items[1].array->tag = NIL;
		args[0] = list;
		ck_assert_ok(model_call(&m, "sum", args, 2, &result, &err), err);
		ck_assert_float_eq(float_at(&result, 1), 6);
		mpk_value_drop(&result);
		list.array->items[1].array->tag = 77;
		ck_assert_int_eq(model_call(&m, "sum", args, 2, &result, &err), MPK_E_RAISED);
		ck_assert_text(err, "a match has no case for this value (sum, instruction 6)");
		mpk_value_drop(&args[0]);
	}
	/* a tag is part of what a plan depends on: the recursion ends where the list does */
	ck_assert_uint_gt(plan_stats().replayed, 0);
	mpk_value_drop(&args[1]);

	struct mpk_value build[3] = { number_tensor(3), float_tensor(2, 1), { 0 } };

	ck_assert_ok(mpk_value_of_array(0, &build[2], &err), err);
	build[2].array->tag = NIL;
	ck_assert_ok(model_call(&m, "build", build, 3, &result, &err), err);
	ck_assert_int_eq(result.array->tag, CONS);
	ck_assert_int_eq(result.array->items[1].array->items[1].array->items[1].array->tag, NIL);
	mpk_value_drop(&result);
	for (int i = 0; i < 3; i++)
		mpk_value_drop(&build[i]);
	model_close(&m);
}
END_TEST

/* second(a, b) = b; main(x, y): f = second with x captured; return (f(y), f)
 * Captured values come before the arguments. */
START_TEST(captured_values_come_first)
{
	struct mpk_value args[2] = { float_tensor(2, 10), float_tensor(2, 20) }, result, again;

	program_init(&p, (enum mpk_relay_layout)_i);
	int64_t second = function(&p, "second", 2, "a b");
	RET(&p, 1);
	if (_i == MPK_RELAY_08) /* it writes devices of what is captured alone */
		p.funcs[0].param_devices.len = 8;
	(void)function(&p, "main", 8, "x y");
	OP(&p, MPK_RELAY_ALLOC_CLOSURE, second, 1, 2, 0);
	OP(&p, MPK_RELAY_INVOKE_CLOSURE, 2, 1, 3, 1);
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 2, 4, 3, 2);
	RET(&p, 4);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 4; i++) {
		result = run(args, 2);
		ck_assert_float_eq(float_at(&result.array->items[0], 0), 20);
		/* the closure outlives the call, and is called from outside */
		struct mpk_value f = mpk_value_hold(result.array->items[1]);

		mpk_value_drop(&result);
		ck_assert_int_eq(f.kind, MPK_VALUE_FUNCTION);
		again = (struct mpk_value){ 0 };
		ck_assert_ok(mpk_function_call(f.function, &(struct mpk_args){ args, NULL, 1 },
					       &again, &err),
			     err);
		ck_assert_float_eq(float_at(&again, 0), 10);
		mpk_value_drop(&again);
		ck_assert_int_eq(mpk_function_call(f.function, &(struct mpk_args){ args, NULL, 2 },
						   &again, &err),
				 MPK_E_USAGE);
		ck_assert_text(err, "2 values for 1 input");
		mpk_value_drop(&f);
	}
	mpk_value_drop(&args[0]);
	mpk_value_drop(&args[1]);
	model_close(&m);
}
END_TEST

/* A closure in a closure in a closure...: freeing them does not recurse. */
START_TEST(closures_nest_deep)
{
	struct mpk_value x = float_tensor(1, 1), result;

	program_init(&p, MPK_RELAY_14);
	int64_t f = function(&p, "f", 1, "a");
	RET(&p, 0);
	(void)function(&p, "main", 2, "x");
	OP(&p, MPK_RELAY_ALLOC_CLOSURE, f, 1, 0, 0);
	GOTO(&p, -1);
	(void)function(&p, "pairs", 2, "x");
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 1, 0, 0);
	GOTO(&p, -1);
	model_open(&m, &p, kernels);
	ck_assert_ok(model_call(&m, "f", &x, 1, &result, &err), err);
	mpk_value_drop(&result);
	machine_of(&m)->step_limit = 1000000;
	run_fails(&x, 1, "a loop without end");
	ck_assert_int_eq(model_call(&m, "pairs", &x, 1, &result, &err), MPK_E_RAISED);
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("relay_data");
	TCase *tc = tcase_create("relay_data");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, lists_are_built_and_matched);
	tcase_add_test(tc, data_types_cross_the_boundary);
	tcase_add_loop_test(tc, captured_values_come_first, 0, MPK_RELAY_LAYOUTS);
	tcase_add_test(tc, closures_nest_deep);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
