/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic shapes and several devices in the Relay VM */
#include "relay_kernels.h"
#include "skip.h"

/* --- dynamic shapes ------------------------------------------------------------------------ */

/* main(x): y = tile(x) of twice its length, sized as TVM's compiler does it. Registers 1 to 9. */
static void dynamic_program(void)
{
	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 12, "x");
	OP(&p, MPK_RELAY_SHAPE_OF, 0, 1);
	CONSTI(&p, 8, 2);
	storage(&p, 2, 3);
	CONSTI(&p, 0, 2);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 3, 2, 0, 64, 1, 1, 4, 1); /* the shape */
	KILL(&p, 3);
	CALL(&p, "shape_func_double", 1, 4);
	CONSTI(&p, 8, 2);
	storage(&p, 2, 3);
	CONSTI(&p, 0, 2);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 3, 2, 0, 64, 1, 0, 5); /* the bytes */
	KILL(&p, 3);
	CALL(&p, "bytes_of", 4, 5);
	storage(&p, 5, 6);
	OP(&p, MPK_RELAY_ALLOC_TENSOR_REG, 6, 2, 4, 2, 32, 1, 7);
	KILL(&p, 6);
	CALL(&p, "tile", 0, 7);
}

/* Shapes that follow from the inputs' are computed when a plan is recorded, not when it runs. */
START_TEST(shape_functions_are_left_out_of_plans)
{
	dynamic_program();
	RET(&p, 7);
	model_open(&m, &p, kernels);
	for (int round = 0; round < 5; round++) {
		shape_calls = 0;
		for (int64_t n = 1; n <= 20; n++) {
			struct mpk_value x = float_tensor(n, (float)round), result = run(&x, 1);

			ck_assert_int_eq(result.tensor->dl.shape[0], 2 * n);
			for (int64_t i = 0; i < 2 * n; i++)
				ck_assert_float_eq(float_at(&result, (size_t)i),
						   (float)(round + i % n));
			mpk_value_drop(&result);
			mpk_value_drop(&x);
		}
		ck_assert_int_eq(shape_calls, round < 2 ? 40 : 0);
	}
	ck_assert_uint_eq(plan_stats().recorded, 20);
	ck_assert_uint_eq(plan_stats().replayed, 60);
	model_close(&m);
}
END_TEST

/* A shape that is returned, or given to a kernel, is what it was; the caller's copy is his own. */
START_TEST(known_tensors_are_values_too)
{
	dynamic_program();
	CALL(&p, "decrement", 5, 1); /* writes over the shape of x, which is known */
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 2, 8, 1, 4);
	RET(&p, 8);
	(void)function(&p, "shape", 4, "x");
	OP(&p, MPK_RELAY_SHAPE_OF, 0, 1);
	RET(&p, 1);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 6; i++) {
		struct mpk_value x = float_tensor(3, 1), result = run(&x, 1);

		ck_assert_int_eq(number_at(&result.array->items[0], 0), 23);
		ck_assert_int_eq(number_at(&result.array->items[1], 0), 6);
		mpk_value_drop(&result);
		ck_assert_ok(model_call(&m, "shape", &x, 1, &result, &err), err);
		ck_assert_int_eq(number_at(&result, 0), 3);
		*(int64_t *)result.tensor->dl.data = 1000; /* he may write it */
		mpk_value_drop(&result);
		mpk_value_drop(&x);
	}
	model_close(&m);
}
END_TEST

/* main(x): reshape x to the shape (length / 2 is not computed here: 2, 3), and back by what a tensor
 * says. The view is the input's memory. */
START_TEST(reshaped_tensors_are_views)
{
	struct mpk_value x = float_tensor(6, 1);

	program_init(&p, MPK_RELAY_14);
	p.const_numbers[0] = 2;
	p.const_numbers[1] = 3;
	int64_t shape = number_const(&p, 2);
	p.const_shapes[shape][0] = 2;
	p.consts[shape].tensor.shape = p.const_shapes[shape];
	p.consts[shape].tensor.ndim = 1;
	p.consts[shape].tensor.data.len = 16;
	(void)function(&p, "main", 6, "x");
	load(&p, shape, 1);
	OP(&p, MPK_RELAY_RESHAPE_TENSOR, 0, 1, 2);
	RET(&p, 2);
	(void)function(&p, "by_content", 6, "x s");
	OP(&p, MPK_RELAY_RESHAPE_TENSOR, 0, 1, 2);
	RET(&p, 2);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 4; i++) {
		struct mpk_value result = run(&x, 1);

		ck_assert_int_eq(result.tensor->dl.ndim, 2);
		ck_assert_int_eq(result.tensor->dl.shape[1], 3);
		ck_assert_ptr_eq(result.tensor->dl.data, x.tensor->dl.data);
		mpk_value_drop(&result);
	}
	ck_assert_uint_eq(plan_stats().replayed, 2);

	/* out of content: another shape in each call, never a plan; too large is an error */
	for (int64_t n = 1; n <= 8; n++) {
		int64_t one = 1;
		struct mpk_value args[2] = { x, number_tensor(n) }, result;
		struct mpk_dltensor list = args[1].tensor->dl;
		struct mpk_tensor *t;

		list.ndim = 1;
		list.shape = &one;
		list.strides = NULL;
		ck_assert_ok(mpk_tensor_wrap(&list, args[1].tensor->storage, &t, &err), err);
		mpk_value_drop(&args[1]);
		args[1] = mpk_value_of_tensor(t);
		enum mpk_code code = model_call(&m, "by_content", args, 2, &result, &err);

		if (n <= 6) {
			ck_assert_ok(code, err);
			ck_assert_int_eq(result.tensor->dl.shape[0], n);
			mpk_value_drop(&result);
		} else {
			ck_assert_int_eq(code, MPK_E_RAISED);
			ck_assert_text(err, "a view of");
		}
		mpk_value_drop(&args[1]);
	}
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* A kernel without inputs may give another number each time: its result is never taken as known. */
START_TEST(kernels_without_inputs_are_called)
{
	struct mpk_value x = float_tensor(1, 1);
	int64_t last = 0;

	program_init(&p, MPK_RELAY_14);
	(void)function(&p, "main", 6, "x");
	CONSTI(&p, 8, 1);
	storage(&p, 1, 2);
	CONSTI(&p, 0, 1);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 2, 1, 0, 64, 1, 0, 3);
	OP(&p, MPK_RELAY_INVOKE_PACKED, packed(&p, "draw"), 1, 1, 3);
	RET(&p, 3);
	model_open(&m, &p, kernels);
	for (int i = 0; i < 5; i++) {
		struct mpk_value result = run(&x, 1);

		ck_assert_int_gt(number_at(&result, 0), last);
		last = number_at(&result, 0);
		mpk_value_drop(&result);
	}
	ck_assert_uint_eq(plan_stats().replayed, 3);
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* --- devices ------------------------------------------------------------------------------- */

/* main(x): y = copy of x on device 1; z = copy of y on device 0; w = z + x */
static void copy_program(int32_t type)
{
	program_init(&p, MPK_RELAY_14);
	p.devices[p.device_count++] = (struct mpk_relay_device){ .type = type };
	(void)function(&p, "main", 8, "x");
	OP(&p, MPK_RELAY_DEVICE_COPY, 0, 0, 1, 1);
	OP(&p, MPK_RELAY_DEVICE_COPY, 1, 1, 0, 2);
	floats(&p, 4, 4);
	CALL(&p, "add", 2, 0, 4);
	OP(&p, MPK_RELAY_ALLOC_ADT, 0, 2, 5, 4, 1);
	RET(&p, 5);
	(void)function(&p, "wrong", 8, "x");
	OP(&p, MPK_RELAY_DEVICE_COPY, 0, 1, 0, 1);
	RET(&p, 1);
}

static void check_copies(void)
{
	for (int i = 0; i < 5; i++) {
		struct mpk_value x = float_tensor(4, (float)i), result = run(&x, 1);

		ck_assert_float_eq(float_at(&result.array->items[0], 3), 2 * (float)(i + 3));
		ck_assert_ptr_ne(result.array->items[1].tensor->dl.data, x.tensor->dl.data);
		mpk_value_drop(&result);
		mpk_value_drop(&x);
	}
	ck_assert_uint_eq(plan_stats().replayed, 3);
}

START_TEST(copies_are_new_tensors)
{
	copy_program(MPK_DL_CPU);
	model_open(&m, &p, kernels);
	check_copies();
	model_close(&m);
}
END_TEST

/* Through OpenCL and back. The runtime's first device is OpenCL, so parameters come from the host. */
START_TEST(copies_go_to_devices_and_back)
{
	struct mpk_dldevice opencl = { MPK_DL_OPENCL, 0 };
	struct mpk_value x = float_tensor(4, 1), result;
	struct mpk_device *device;

	copy_program(MPK_DL_OPENCL);
	model_open(&m, &p, kernels);
	if (mpk_devices_get(mpk_runtime_devices(m.runtime), opencl, &device, &err) != MPK_OK) {
		mpk_value_drop(&x);
		model_close(&m);
		SKIP_TEST("%s", err.text);
	}
	ck_assert_int_eq(model_call(&m, "main", &x, 1, &result, &err), MPK_E_LOAD);
	ck_assert_text(err, "compiled for opencl and was given no such device");
	ck_assert_ok(mpk_runtime_set_devices(m.runtime, &opencl, 1, false, &err), err);
	check_copies();
	ck_assert_int_eq(model_call(&m, "wrong", &x, 1, &result, &err), MPK_E_RAISED);
	ck_assert_text(err,
		       "a copy from device 0 of type 4 finds its tensor on device 0 of type 1");
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

/* --- images -------------------------------------------------------------------------------- */

/* main(x): an image of 8 x 16 texels on OpenCL, which a kernel is given; return x */
static void image_program(const char *scope)
{
	program_init(&p, MPK_RELAY_14);
	p.devices[p.device_count++] =
		(struct mpk_relay_device){ .type = MPK_DL_OPENCL, .scope = mpk_span_str(scope) };
	(void)function(&p, "main", 6, "x");
	OP(&p, MPK_RELAY_ALLOC_STORAGE, 1234567, 64, 2, 32, 1, 1, 3, 1, 8, 16, 4);
	CONSTI(&p, 0, 2);
	OP(&p, MPK_RELAY_ALLOC_TENSOR, 1, 2, 2, 32, 1, 3, 3, 8, 16, 4);
	KILL(&p, 1);
	CALL(&p, "note", 0, 3);
	RET(&p, 0);
	(void)function(&p, "sized", 6, "x");
	CONSTI(&p, 64, 1);
	OP(&p, MPK_RELAY_ALLOC_STORAGE, 1, 64, 2, 32, 1, 1, 0, 2);
	RET(&p, 0);
	(void)function(&p, "copied", 6, "x");
	OP(&p, MPK_RELAY_DEVICE_COPY, 0, 0, 1, 1);
	RET(&p, 1);
	int64_t constant = float_const(&p, 4, 1);

	p.const_devices[constant] = 1;
	(void)function(&p, "constant", 6, "x");
	load(&p, constant, 1);
	RET(&p, 1);
	(void)function(&p, "input", 6, "x");
	p.param_devices[p.func_count - 1][0] = 1;
	RET(&p, 0);
}

static const struct {
	const char *function;
	enum mpk_code code;
	const char *why;
} not_for_images[] = {
	{ "sized", MPK_E_RAISED, "a storage of scope 'global.texture' has no shape" },
	{ "copied", MPK_E_UNSUPPORTED, "a copy into an image" },
	{ "constant", MPK_E_UNSUPPORTED, "constant 0 is to be an image" },
	{ "input", MPK_E_UNSUPPORTED, "an input that is to be an image" },
};

/* Storages of a texture scope are images of their shape; what cannot be one is refused. */
START_TEST(storages_may_be_images)
{
	struct mpk_dldevice opencl = { MPK_DL_OPENCL, 0 };
	struct mpk_value x = float_tensor(4, 1), result;
	struct mpk_device *device;

	image_program("global.texture");
	model_open(&m, &p, kernels);
	if (mpk_devices_get(mpk_runtime_devices(m.runtime), opencl, &device, &err) != MPK_OK) {
		mpk_value_drop(&x);
		model_close(&m);
		SKIP_TEST("%s", err.text);
	}
	ck_assert_ok(mpk_runtime_set_devices(m.runtime, &opencl, 1, false, &err), err);
	for (int i = 0; i < 4; i++) {
		result = run(&x, 1);
		ck_assert_int_eq(last_count, 2);
		mpk_value_drop(&result);
	}
	ck_assert_uint_eq(plan_stats().unplannable, 1); /* a plan has no images */
	for (size_t i = 0; i < MPK_ARRAY_COUNT(not_for_images); i++) {
		ck_assert_int_eq(model_call(&m, not_for_images[i].function, &x, 1, &result, &err),
				 not_for_images[i].code);
		ck_assert_text(err, not_for_images[i].why);
	}
	mpk_value_drop(&x);
	model_close(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("relay_shapes");
	TCase *tc = tcase_create("relay_shapes");
	SRunner *r = srunner_create(s);

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, shape_functions_are_left_out_of_plans);
	tcase_add_test(tc, known_tensors_are_values_too);
	tcase_add_test(tc, reshaped_tensors_are_views);
	tcase_add_test(tc, kernels_without_inputs_are_called);
	tcase_add_test(tc, copies_are_new_tensors);
	tcase_add_test(tc, copies_go_to_devices_and_back);
	tcase_add_test(tc, storages_may_be_images);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
