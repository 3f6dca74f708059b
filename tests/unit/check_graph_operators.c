/* SPDX-License-Identifier: Apache-2.0 */
/* What the graph executor does with each kind of operator, and on which device. Graphs are made by hand,
 * with kernels that the test can look into. */
#include "graph_made.h"
#include "skip.h"

/* --- operators ------------------------------------------------------------------------------ */

/* A reshape in place is no step: the next operator sees the same memory in another shape. Where its
 * output lies elsewhere, it is a copy. */
START_TEST(reshapes)
{
	static const char *const graphs[] = {
		GRAPH(INPUT("x") "," OPERATOR("r", "__nop", "1", "0", "[0,0,0]") "," OPERATOR(
			      "out", "twice", "1", "0", "[1,0,0]"),
		      "0", "[2,0,0]", "0,1,2,3", F32 "," F32 "," F32, "0,0,1", "[4],[2,2],[2,2]",
		      ""),
		GRAPH(INPUT("x") "," OPERATOR("r", "__nop", "1", "0", "[0,0,0]") "," OPERATOR(
			      "out", "twice", "1", "0", "[1,0,0]"),
		      "0", "[2,0,0]", "0,1,2,3", F32 "," F32 "," F32, "0,2,1", "[4],[2,2],[2,2]",
		      ""),
	};

	for (int i = 0; i < 2; i++) {
		struct mpk_value x = f32_made(4, 1), r;
		struct made_model m;

		open_graph(&m, graphs[i]);
		r = made_call(&m, &x, NULL, 1);
		ck_assert_int_eq(seen.args[0].ndim, 2);
		ck_assert_int_eq(seen.args[0].data == x.tensor->dl.data, i == 0);
		ck_assert_int_eq(r.tensor->dl.ndim, 2);
		ck_assert_float_eq(element(&r, 3), 8);
		mpk_value_drop(&r);
		mpk_value_drop(&x);
		made_close(&m);
	}
}
END_TEST

START_TEST(copies)
{
	struct mpk_value x = f32_made(4, 1), r;
	struct made_model m;

	open_graph(&m,
		   GRAPH(INPUT("x") "," OPERATOR("c", "__copy", "1", "0", "[0,0,0]") "," OPERATOR(
				 "out", "twice", "1", "0", "[1,0,0]"),
			 "0", "[2,0,0]", "0,1,2,3", F32 "," F32 "," F32, "0,1,2", "[4],[4],[4]",
			 ""));
	r = made_call(&m, &x, NULL, 1);
	ck_assert_ptr_ne(seen.args[0].data, x.tensor->dl.data);
	ck_assert_float_eq(element(&r, 3), 8);
	mpk_value_drop(&r);
	mpk_value_drop(&x);
	made_close(&m);
}
END_TEST

START_TEST(flattened_operators_see_one_dimension)
{
	struct made_model m;
	struct mpk_value r, x;
	struct mpk_error err = { 0 };
	static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };
	const int64_t shape[] = { 2, 3 };
	struct mpk_tensor *t = NULL;

	open_graph(&m,
		   GRAPH(INPUT("x") "," OPERATOR("a", "twice", "1", "1", "[0,0,0]") "," OPERATOR(
				 "out", "twice", "1", "0", "[1,0,0]"),
			 "0", "[2,0,0]", "0,1,2,3", F32 "," F32 "," F32, "0,1,2",
			 "[2,3],[2,3],[2,3]", ""));
	ck_assert_ok(mpk_tensor_create(f32, shape, 2, MPK_STORAGE_PRIVATE, &t, &err), err);
	x = mpk_value_of_tensor(t);
	((float *)t->dl.data)[5] = 1;
	r = made_call(&m, &x, NULL, 1);
	/* the second one is not flattened */
	ck_assert_int_eq(seen.args[0].ndim, 2);
	ck_assert_float_eq(element(&r, 5), 4);
	ck_assert_int_eq(r.tensor->dl.ndim, 2);
	mpk_value_drop(&r);
	made_close(&m);
	open_graph(&m, GRAPH(INPUT("x") "," OPERATOR("out", "twice", "1", "1", "[0,0,0]"), "0",
			     "[1,0,0]", "0,1,2", F32 "," F32, "0,1", "[2,3],[2,3]", ""));
	r = made_call(&m, &x, NULL, 1);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(seen.args[i].ndim, 1);
		ck_assert_int_eq(seen.extents[i], 6);
	}
	ck_assert_int_eq(r.tensor->dl.ndim, 2);
	mpk_value_drop(&r);
	mpk_value_drop(&x);
	made_close(&m);
}
END_TEST

/* Kernels of these releases check that a bool has one bit; everybody else says eight. */
START_TEST(bools_are_what_kernels_call_them)
{
	static const struct mpk_dtype boolean = { MPK_DTYPE_BOOL, 8, 1 };
	static const char *const graphs[] = {
#define NEGATE(type)                                                                               \
	GRAPH(INPUT("x") "," OPERATOR("out", "negate", "1", "0", "[0,0,0]"), "0", "[1,0,0]",       \
	      "0,1,2", type "," type, "0,1", "[4],[4]", "")
		NEGATE("\"bool\""),
		NEGATE("\"uint1\""),
	};
	struct mpk_error err = { 0 };
	struct mpk_tensor *t = NULL;
	struct mpk_value x;

	ck_assert_ok(mpk_tensor_create(boolean, four, 1, MPK_STORAGE_PRIVATE, &t, &err), err);
	((uint8_t *)t->dl.data)[2] = 1;
	x = mpk_value_of_tensor(t);
	for (int i = 0; i < 2; i++) {
		struct made_model m;
		struct mpk_value r;

		open_graph(&m, graphs[i]);
		r = made_call(&m, &x, NULL, 1);
		ck_assert_int_eq(seen.args[0].dtype.code, MPK_DTYPE_UINT);
		ck_assert_int_eq(seen.args[0].dtype.bits, 1);
		ck_assert(mpk_dtype_equal(r.tensor->dl.dtype, boolean));
		ck_assert_mem_eq(r.tensor->dl.data, "\1\1\0\1", 4);
		mpk_value_drop(&r);
		made_close(&m);
	}
	mpk_value_drop(&x);
}
END_TEST

START_TEST(tensors_without_elements_reach_their_kernel)
{
	struct made_model m;
	struct mpk_value r;

	open_graph(&m, GRAPH(INPUT("x") "," OPERATOR("out", "twice", "1", "0", "[0,0,0]"), "0",
			     "[1,0,0]", "0,1,2", F32 "," F32, "0,1", "[0],[0]", ""));
	seen.calls = 0;
	r = call_one(&m, 0, 0);
	ck_assert_int_eq(seen.calls, 1);
	ck_assert_uint_eq(mpk_tensor_count(r.tensor), 0);
	mpk_value_drop(&r);
	made_close(&m);
}
END_TEST

/* c = a + b, by a function that is no host code */
static enum mpk_code add_values(struct mpk_runtime *runtime, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err)
{
	(void)runtime, (void)err;
	ck_assert_uint_eq(args->count, 3);
	for (size_t k = 0; k < 4; k++)
		((float *)args->values[2].tensor->dl.data)[k] =
			element(&args->values[0], k) + element(&args->values[1], k);
	*result = mpk_value_of_int(0);
	return MPK_OK;
}

/* What no import has may be a global function of the runtime. */
START_TEST(functions_that_are_no_host_code)
{
	static const struct mpk_global globals[] = { { "tvm.contrib.add", add_values } };
	struct made_model m = { 0 };
	struct mpk_value x = f32_made(4, 1), r;
	struct mpk_error err = { 0 };

	made_load(&m, "GraphRuntimeFactory",
		  made_payload(&m.arena,
			       &(struct made_factory){
				       .graph = GRAPH(
					       INPUT("x") "," OPERATOR("out", "tvm.contrib.add",
								       "1", "0", "[0,0,0],[0,0,0]"),
					       "0", "[1,0,0]", "0,1,2", F32 "," F32, "0,1",
					       "[4],[4]", "") },
			       0),
		  kernels);
	ck_assert_ok(mpk_runtime_add_globals(m.runtime, globals, 1, &err), err);
	ck_assert_ok(made_find(&m, &err), err);
	r = made_call(&m, &x, NULL, 1);
	ck_assert_float_eq(element(&r, 3), 8);
	mpk_value_drop(&r);
	mpk_value_drop(&x);
	made_close(&m);
}
END_TEST

START_TEST(a_kernel_that_raises)
{
	struct mpk_value x = f32_made(4, 1), r;
	struct mpk_error err = { 0 };
	struct made_model m;

	open_graph(&m,
		   GRAPH(INPUT("x") "," OPERATOR("f", "raise", "1", "0", "[0,0,0]") "," OPERATOR(
				 "out", "twice", "1", "0", "[0,0,0]"),
			 "0", "[2,0,0]", "0,1,2,3", F32 "," F32 "," F32, "0,1,2", "[4],[4],[4]",
			 ""));
	is_failing = true;
	ck_assert_int_eq(try_call(&m, &x, 1, &err), MPK_E_RAISED);
	is_failing = false;
	r = made_call(&m, &x, NULL, 1);
	ck_assert_float_eq(element(&r, 0), 2);
	mpk_value_drop(&r);
	mpk_value_drop(&x);
	made_close(&m);
}
END_TEST

/* --- devices -------------------------------------------------------------------------------- */

/* device_index says the type of an entry's device: copies lead from the one to the other. Which device
 * of that type it is need not be said. */
START_TEST(entries_on_two_devices)
{
	static const struct mpk_dldevice opencl = { MPK_DL_OPENCL, 0 };
	struct mpk_value x = f32_made(4, 1), r;
	struct mpk_device *device = NULL;
	struct made_model m = { 0 };
	struct mpk_error err = { 0 };

	made_load(
		&m, "GraphExecutorFactory",
		made_payload(
			&m.arena,
			&(struct made_factory){
				.graph = GRAPH(
					INPUT("x") "," OPERATOR("there", "__copy", "1", "0", "[0,0,0]") "," OPERATOR(
						"again", "__copy", "1", "0",
						"[1,0,0]") "," OPERATOR("back", "__copy", "1", "0",
									"[2,0,0]") "," OPERATOR("out",
												"twice",
												"1",
												"0",
												"[3,0,0]"),
					"0", "[4,0,0],[2,0,0]", "0,1,2,3,4,5",
					F32 "," F32 "," F32 "," F32 "," F32, "0,1,2,3,4",
					"[4],[4],[4],[4],[4]",
					",\"device_index\":[\"list_int\",[1,4,4,1,1]]") },
			0),
		kernels);
	if (mpk_devices_get(mpk_runtime_devices(m.runtime), opencl, &device, &err) != MPK_OK) {
		mpk_value_drop(&x);
		made_close(&m);
		SKIP_TEST("no OpenCL device: %s", err.text);
	}
	ck_assert_ok(made_find(&m, &err), err);
	for (int round = 0; round < 3; round++) {
		struct mpk_value host = f32_made(4, 0);

		if (round == 2) {
			mpk_function_drop(m.run);
			ck_assert_ok(mpk_runtime_set_devices(m.runtime, &opencl, 1, false, &err),
				     err);
			ck_assert_ok(made_find(&m, &err), err);
		}

		r = made_call(&m, &x, NULL, 1);
		ck_assert_int_eq(r.array->items[0].tensor->dl.device.type, MPK_DL_CPU);
		ck_assert_float_eq(element(&r.array->items[0], 3), 8);
		ck_assert_int_eq(r.array->items[1].tensor->dl.device.type, MPK_DL_OPENCL);
		ck_assert_ok(mpk_devices_fetch(mpk_runtime_devices(m.runtime),
					       &r.array->items[1].tensor->dl, host.tensor, &err),
			     err);
		ck_assert_float_eq(element(&host, 3), 4);
		mpk_value_drop(&host);
		mpk_value_drop(&r);
	}
	mpk_value_drop(&x);
	made_close(&m);
}
END_TEST

/* A model that is looked up after the runtime's devices changed lives there; who has the function
 * from before keeps it. */
START_TEST(devices_are_those_of_the_look_up)
{
	static const struct mpk_dldevice opencl = { MPK_DL_OPENCL, 0 };
	struct mpk_function *on_cpu;
	struct mpk_device *device = NULL;
	struct mpk_error err = { 0 };
	struct made_model m;
	struct mpk_value r;

	/* no kernel runs: an input comes back */
	open_graph(&m, GRAPH(INPUT("x"), "0", "[0,0,0]", "0,1", F32, "0", "[4]", ""));
	if (mpk_devices_get(mpk_runtime_devices(m.runtime), opencl, &device, &err) != MPK_OK) {
		made_close(&m);
		SKIP_TEST("no OpenCL device: %s", err.text);
	}
	on_cpu = m.run;
	ck_assert_ok(mpk_runtime_set_devices(m.runtime, &opencl, 1, false, &err), err);
	ck_assert_ok(made_find(&m, &err), err);
	r = call_one(&m, 4, 1);
	ck_assert_int_eq(r.tensor->dl.device.type, MPK_DL_OPENCL);
	mpk_value_drop(&r);
	mpk_function_drop(m.run);
	m.run = on_cpu;
	r = call_one(&m, 4, 1);
	ck_assert_int_eq(r.tensor->dl.device.type, MPK_DL_CPU);
	mpk_value_drop(&r);
	made_close(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("graph_operators");
	TCase *tc = tcase_create("graph_operators");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, reshapes);
	tcase_add_test(tc, copies);
	tcase_add_test(tc, flattened_operators_see_one_dimension);
	tcase_add_test(tc, bools_are_what_kernels_call_them);
	tcase_add_test(tc, tensors_without_elements_reach_their_kernel);
	tcase_add_test(tc, functions_that_are_no_host_code);
	tcase_add_test(tc, a_kernel_that_raises);
	tcase_add_test(tc, entries_on_two_devices);
	tcase_add_test(tc, devices_are_those_of_the_look_up);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
