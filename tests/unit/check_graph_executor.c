/* SPDX-License-Identifier: Apache-2.0 */
/* What the graph executor does with inputs and parameters: how they are named, where they lie. Graphs are
 * made by hand; real models of TVM 0.18 are in tests/cli. */
#include "base/native.h"
#include "graph_made.h"

/* --- inputs --------------------------------------------------------------------------------- */

START_TEST(inputs_by_position_and_by_name)
{
	struct mpk_value values[] = { f32_made(4, 1), f32_made(4, 10) };
	const struct mpk_span swapped[] = { mpk_span_str("y"), mpk_span_str("x") };
	const struct mpk_span mixed[] = { mpk_span_str("y"), { 0 } };
	const struct mpk_span *names[] = { NULL, swapped, mixed };
	struct made_model m;

	open_graph(&m, ADD_TWICE);
	for (int i = 0; i < 3; i++) {
		struct mpk_value r = made_call(&m, values, names[i], 2);

		for (size_t k = 0; k < 4; k++)
			ck_assert_float_eq(element(&r, k), 2 * (float)(11 + 2 * k));
		/* y is what came by name */
		ck_assert_int_eq(r.tensor->dl.ndim, 1);
		mpk_value_drop(&r);
	}
	mpk_value_drop(&values[0]);
	mpk_value_drop(&values[1]);
	made_close(&m);
}
END_TEST

/* What lies well is used where it lies; kernels see the caller's own memory. */
START_TEST(inputs_are_not_copied)
{
	struct mpk_value x = f32_made(4, 1), r;
	struct made_model m;

	open_graph(&m, GRAPH(INPUT("x") "," OPERATOR("out", "twice", "1", "0", "[0,0,0]"), "0",
			     "[1,0,0]", "0,1,2", F32 "," F32, "0,1", "[4],[4]", ""));
	r = made_call(&m, &x, NULL, 1);
	ck_assert_ptr_eq(seen.args[0].data, x.tensor->dl.data);
	ck_assert_ptr_eq(seen.args[1].data, mpk_dltensor_data(&r.tensor->dl));
	mpk_value_drop(&r);
	mpk_value_drop(&x);
	made_close(&m);
}
END_TEST

/* Kernels take alignment, an offset of 0 and compact rows for granted. */
START_TEST(inputs_that_lie_badly_are_copied)
{
	struct mpk_value whole = f32_made(9, 0), r;
	int64_t shape[] = { 4 }, strides[] = { 2 };
	struct mpk_dltensor shifted = whole.tensor->dl, stepped = whole.tensor->dl;
	const struct mpk_dltensor *cases[] = { &shifted, &stepped };
	struct made_model m;

	shifted.byte_offset = 4;
	shifted.shape = stepped.shape = shape;
	shifted.strides = NULL;
	stepped.strides = strides;
	open_graph(&m, GRAPH(INPUT("x") "," OPERATOR("out", "twice", "1", "0", "[0,0,0]"), "0",
			     "[1,0,0]", "0,1,2", F32 "," F32, "0,1", "[4],[4]", ""));
	for (int i = 0; i < 2; i++) {
		struct mpk_error err = { 0 };
		struct mpk_tensor *t = NULL;
		struct mpk_value x;

		ck_assert_ok(mpk_tensor_wrap(cases[i], NULL, &t, &err), err);
		x = mpk_value_of_tensor(t);
		r = made_call(&m, &x, NULL, 1);
		for (size_t k = 0; k < 4; k++)
			ck_assert_float_eq(element(&r, k), i ? (float)(4 * k) : (float)(2 * k + 2));
		mpk_value_drop(&r);
		mpk_value_drop(&x);
	}
	/* and back to memory of the caller */
	r = call_one(&m, 4, 5);
	ck_assert_float_eq(element(&r, 0), 10);
	mpk_value_drop(&r);
	mpk_value_drop(&whole);
	made_close(&m);
}
END_TEST

/* Rows of device memory have gaps that nothing here can close; the address is not looked at. */
START_TEST(rows_on_a_device_must_be_contiguous)
{
	int64_t shape[] = { 4 }, strides[] = { 2 };
	const struct mpk_dltensor dl = { .data = &strides,
					 .device = { MPK_DL_OPENCL, 0 },
					 .ndim = 1,
					 .dtype = { MPK_DTYPE_FLOAT, 32, 1 },
					 .shape = shape,
					 .strides = strides };
	struct mpk_error err = { 0 };
	struct mpk_tensor *t = NULL;
	struct made_model m;
	struct mpk_value x;

	ck_assert_ok(mpk_tensor_wrap(&dl, NULL, &t, &err), err);
	x = mpk_value_of_tensor(t);
	open_graph(&m, GRAPH(INPUT("x") "," OPERATOR("out", "twice", "1", "0", "[0,0,0]"), "0",
			     "[1,0,0]", "0,1,2", F32 "," F32, "0,1", "[4],[4]", ""));
	ck_assert_int_eq(try_call(&m, &x, 1, &err), MPK_E_UNSUPPORTED);
	ck_assert_text(err, "not contiguous");
	mpk_value_drop(&x);
	made_close(&m);
}
END_TEST

/* A planner that lets an operator write where its input lies means the model's memory. */
START_TEST(the_callers_tensor_is_never_written)
{
	struct mpk_value x = f32_made(4, 1), r;
	struct made_model m;

	open_graph(&m,
		   GRAPH(INPUT("x") "," OPERATOR("a", "twice", "1", "0", "[0,0,0]") "," OPERATOR(
				 "out", "twice", "1", "0", "[1,0,0]"),
			 "0", "[2,0,0]", "0,1,2,3", F32 "," F32 "," F32, "0,0,1", "[4],[4],[4]",
			 ""));
	for (int round = 0; round < 2; round++) {
		r = made_call(&m, &x, NULL, 1);
		for (size_t k = 0; k < 4; k++) {
			ck_assert_float_eq(element(&x, k), (float)(k + 1));
			ck_assert_float_eq(element(&r, k), 4 * (float)(k + 1));
		}
		mpk_value_drop(&r);
	}
	mpk_value_drop(&x);
	made_close(&m);
}
END_TEST

START_TEST(wrong_inputs_are_refused_before_a_kernel_runs)
{
	struct mpk_value values[] = { f32_made(4, 1), f32_made(5, 1) };
	struct mpk_error err = { 0 };
	struct made_model m;

	open_graph(&m, ADD_TWICE);
	seen.calls = 0;
	ck_assert_int_eq(try_call(&m, values, 2, &err), MPK_E_USAGE);
	ck_assert_text(err, "input 'y' takes float32[4], not float32[5]");
	ck_assert_int_eq(try_call(&m, values, 1, &err), MPK_E_USAGE);
	ck_assert_text(err, "input 'y' is missing");
	ck_assert_int_eq(seen.calls, 0);
	mpk_value_drop(&values[0]);
	mpk_value_drop(&values[1]);
	made_close(&m);
}
END_TEST

/* --- parameters ----------------------------------------------------------------------------- */

static size_t offset_of(struct mpk_span payload, const void *bytes, size_t len)
{
	const uint8_t *at = memmem(payload.data, payload.len, bytes, len);

	ck_assert_ptr_nonnull(at);
	return (size_t)(at - payload.data);
}

/* One pass over 1 GiB of parameters costs more than a small model's run: where they are aligned in
 * the file, kernels get them as they lie there; else they are copied once, not at every run. */
START_TEST(parameters_are_used_where_they_lie)
{
	const struct mpk_tensor_record record = weight_record();
	const struct made_factory f = {
		.graph = ADD_WEIGHT, .params = &record, .param_names = weight_name, .param_count = 1
	};
	struct mpk_arena arena = { 0 };
	size_t at = offset_of(made_payload(&arena, &f, 0), stored_weights, sizeof stored_weights);

	for (size_t shift = 0; shift < 64; shift += 4) {
		struct made_model m = { 0 };
		struct mpk_error err = { 0 };
		const void *first = NULL;

		made_load(&m, "GraphExecutorFactory", made_payload(&m.arena, &f, at + shift),
			  kernels);
		ck_assert_ok(made_find(&m, &err), err);
		for (int round = 0; round < 2; round++) {
			struct mpk_value r = call_one(&m, 4, 1);

			for (size_t k = 0; k < 4; k++)
				ck_assert_float_eq(element(&r, k), weights[k] + (float)(k + 1));
			/* where numbers are turned around, a copy is used */
			ck_assert_int_eq(seen.args[1].data == m.payload.data + at,
					 shift == 0 && !MPK_BIG_ENDIAN);
			ck_assert(!first || seen.args[1].data == first);
			first = seen.args[1].data;
			mpk_value_drop(&r);
		}
		made_close(&m);
	}
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(a_parameter_may_be_replaced_by_name)
{
	const struct mpk_tensor_record record = weight_record();
	const struct made_factory f = {
		.graph = ADD_WEIGHT, .params = &record, .param_names = weight_name, .param_count = 1
	};
	const struct mpk_span names[] = { { 0 }, mpk_span_str("w") };
	struct mpk_value values[] = { f32_made(4, 1), f32_made(4, 0) };
	struct made_model m;

	made_open(&m, &f, kernels);
	/* for that call alone */
	for (size_t round = 0; round < 3; round++) {
		struct mpk_value r = made_call(&m, values, names, round == 1 ? 2 : 1);

		ck_assert_float_eq(element(&r, 1), round == 1 ? 3 : 202);
		mpk_value_drop(&r);
	}
	mpk_value_drop(&values[0]);
	mpk_value_drop(&values[1]);
	made_close(&m);
}
END_TEST

static float linked_weights[4] __attribute__((aligned(64))) = { 7, 8, 9, 10 };
static void *linked_at;

/* handle of the parameter in storage 0 */
KERNEL(lookup)
{
	UNUSED_KERNEL_ARGS;
	ck_assert_int_eq(count, 1);
	ck_assert_int_eq(codes[0], MPK_TVM_INT);
	result->v_handle = args[0].v_int64 == 0 ? linked_at : NULL;
	*result_code = result->v_handle ? MPK_TVM_HANDLE : MPK_TVM_NULL;
	return 0;
}

static const struct made_kernel linked_kernels[] = {
	{ "add", add },
	{ "_lookup_linked_param", lookup },
	{ NULL, NULL },
};

START_TEST(linked_parameters_are_no_inputs)
{
	const struct made_factory f = { .graph = ADD_WEIGHT };
	struct made_model m;
	struct mpk_value r;

	linked_at = linked_weights;
	made_open(&m, &f, linked_kernels);
	r = call_one(&m, 4, 1);
	ck_assert_float_eq(element(&r, 3), 14);
	ck_assert_ptr_eq(seen.args[1].data, linked_weights);
	mpk_value_drop(&r);
	made_close(&m);
}
END_TEST

/* A library that answers with a pointer to somewhere would have the memory of that place read. */
START_TEST(linked_parameters_lie_in_the_library)
{
	struct made_model m = { 0 };
	struct mpk_error err = { 0 };

	linked_at = malloc(64);
	made_load(&m, "GraphExecutorFactory",
		  made_payload(&m.arena, &(struct made_factory){ .graph = ADD_WEIGHT }, 0),
		  linked_kernels);
	ck_assert_int_eq(made_find(&m, &err), MPK_E_CORRUPT);
	ck_assert_text(err, "linked parameter");
	free(linked_at);
	made_close(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("graph_executor");
	TCase *tc = tcase_create("graph_executor");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, inputs_by_position_and_by_name);
	tcase_add_test(tc, inputs_are_not_copied);
	tcase_add_test(tc, inputs_that_lie_badly_are_copied);
	tcase_add_test(tc, rows_on_a_device_must_be_contiguous);
	tcase_add_test(tc, the_callers_tensor_is_never_written);
	tcase_add_test(tc, wrong_inputs_are_refused_before_a_kernel_runs);
	tcase_add_test(tc, parameters_are_used_where_they_lie);
	tcase_add_test(tc, a_parameter_may_be_replaced_by_name);
	tcase_add_test(tc, linked_parameters_are_no_inputs);
	tcase_add_test(tc, linked_parameters_lie_in_the_library);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
