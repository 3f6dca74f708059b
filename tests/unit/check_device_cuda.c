/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA devices and modules, against the driver library of the tests (tests/fakes/fake_cuda.h) */
#include "device_fake.h"

START_TEST(devices_are_described)
{
	struct mpk_device_list list = { 0 };
	struct mpk_error err = { 0 };

	fake->set_machine(2, 89, 12080);
	ck_assert_ok(mpk_device_list_add(&list, MPK_DEVICE_CUDA, &err), err);
	ck_assert_uint_eq(list.count, 2);
	ck_assert_str_eq(list.items[1].name, "Imaginary GPU 1");
	ck_assert_str_eq(list.items[1].platform, "CUDA driver 12.8");
	ck_assert_str_eq(list.items[1].arch, "sm_89");
	ck_assert_uint_eq(list.items[1].ordinal, 1);
	ck_assert_uint_eq(list.items[1].memory_bytes, UINT64_C(16) << 30);
	ck_assert_uint_eq(list.items[1].shared_bytes, 227 * 1024);
	ck_assert_int_eq(mpk_device_open(MPK_DEVICE_CUDA, 2, &device, &err), MPK_E_DEVICE);
	ck_assert_text(err, "no device cuda:2: there are cuda:0 to cuda:1");
	mpk_device_list_fini(&list);
}
END_TEST

START_TEST(no_gpu_is_one_line)
{
	struct mpk_error err = { 0 };

	fake->set_machine(0, 90, 12040);
	ck_assert_int_eq(mpk_device_open(MPK_DEVICE_CUDA, 0, &device, &err), MPK_E_DEVICE);
	ck_assert_text(err, "no CUDA here: ");
	ck_assert_text(err, "CUDA_ERROR_NO_DEVICE (100): the driver finds no GPU");
	ck_assert_ptr_null(strchr(err.text, '\n'));
	/* The answer stays the same, and the driver is not asked again. */
	ck_assert_int_eq(mpk_device_open(MPK_DEVICE_CUDA, 0, &device, &err), MPK_E_DEVICE);
	ck_assert_uint_eq(fake->calls("cuInit"), 1);
}
END_TEST

START_TEST(driver_mismatch_has_its_cause)
{
	struct mpk_error err = { 0 };

	fake->inject("cuInit", 1, 803);
	ck_assert_int_eq(mpk_device_open(MPK_DEVICE_CUDA, 0, &device, &err), MPK_E_DEVICE);
	ck_assert_text(err, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): libcuda.so.1 and the kernel");
}
END_TEST

START_TEST(bad_code_is_explained)
{
	static const struct {
		const char *ptx;
		enum mpk_code code;
		const char *texts[3];
	} rows[] = {
		{ PTX("50", "syntax error"),
		  MPK_E_LOAD,
		  { "CUDA_ERROR_INVALID_PTX (218)", "Parsing error near 'syntax'", "line 5" } },
		{ PTX("100", ENTRY("vadd_kernel")),
		  MPK_E_LOAD,
		  { "CUDA_ERROR_NO_BINARY_FOR_GPU (209)", "the device is sm_90",
		    "the code is sm_100 (PTX 7.0)" } },
		{ "not code at all", MPK_E_LOAD, { "CUDA_ERROR_INVALID_IMAGE (200)", "", "" } },
		{ "", MPK_E_CORRUPT, { "no code", "", "" } },
	};

	open_device();
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_device_module *module = NULL;
		struct mpk_error err = { 0 };
		struct table *t = ptx_table(rows[i].ptx);

		ck_assert_int_eq(mpk_device_load(device, &t->kernels, &module, &err), rows[i].code);
		for (int k = 0; k < 3; k++)
			ck_assert_text(err, rows[i].texts[k]);
		ck_assert_ptr_null(module);
	}
}
END_TEST

START_TEST(missing_and_odd_kernels)
{
	struct mpk_device_kernel *kernel = NULL;
	struct mpk_error err = { 0 };
	struct table *t = ptx_table(ptx);

	open_device();
	table_add(t, &(struct table_row){ "nowhere", "handle", "" });
	table_add(t, &(struct table_row){ "vadd_kernel", "handle handle", "" });
	table_add(t, &(struct table_row){ "saxpy_kernel", "handle handle float64 int64", "" });
	table_add(t, &(struct table_row){ "rev_kernel", "handle handle int32", "" });
	table_add(t, &(struct table_row){ "helper", "", "" });
	struct mpk_device_module *module = load(t);

	ck_assert_int_eq(mpk_device_get_kernel(module, mpk_span_str("nowhere"), &kernel, &err),
			 MPK_E_LOAD);
	ck_assert_text(err, "kernel 'nowhere': CUDA_ERROR_NOT_FOUND (500)");
	ck_assert_int_eq(mpk_device_get_kernel(module, mpk_span_str("vadd_kernel"), &kernel, &err),
			 MPK_E_CONFLICT);
	ck_assert_text(err, "more parameters in its code than the 2");
	ck_assert_int_eq(mpk_device_get_kernel(module, mpk_span_str("saxpy_kernel"), &kernel, &err),
			 MPK_E_CONFLICT);
	ck_assert_text(err, "parameter 2 has 4 bytes in the code, but 8");
	ck_assert_int_eq(mpk_device_get_kernel(module, mpk_span_str("rev_kernel"), &kernel, &err),
			 MPK_E_CONFLICT);
	ck_assert_text(err, "2 parameters in its code, but 3");
	ck_assert_int_eq(mpk_device_get_kernel(module, mpk_span_str("helper"), &kernel, &err),
			 MPK_E_LOAD);
	ck_assert_text(err, "kernel 'helper': the PTX defines it as .func");
	ck_assert_ptr_null(kernel);
}
END_TEST

/* What runs where, without asking the driver. */
START_TEST(architectures_are_judged)
{
	static const struct {
		const char *target;
		unsigned sm;
		bool runs;
	} rows[] = {
		{ "50", 90, true },     { "90", 90, true },    { "100", 90, false },
		{ "90a", 90, true },    { "90a", 100, false }, { "100f", 103, true },
		{ "100f", 120, false },
	};

	open_device();
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_error err = { 0 };
		struct mpk_device_info info = *mpk_device_get_info(device);
		char text[200];
		struct mpk_kernels k = { .fmt = mpk_span_str("ptx") };

		(void)snprintf(text, sizeof text,
			       ".version 8.8\n.target sm_%s\n"
			       ".address_size 64\n.visible .entry k()\n{\nret;\n}\n",
			       rows[i].target);
		k.data = mpk_span_str(text);
		info.sm = rows[i].sm;
		ck_assert_msg(mpk_device_check(&info, &k, &err) ==
				      (rows[i].runs ? MPK_OK : MPK_E_LOAD),
			      "%s on %u: %s", rows[i].target, rows[i].sm, err.text);
	}
}
END_TEST

/* Each driver call of a full run fails once: the error is reported, nothing leaks. */
START_TEST(every_failure_is_cleaned_up)
{
	static const char *const symbols[] = {
		"cuDeviceGetCount",    "cuDeviceGet",         "cuDevicePrimaryCtxRetain",
		"cuCtxSetCurrent",     "cuMemAlloc_v2",       "cuMemcpyHtoD_v2",
		"cuModuleLoadDataEx",  "cuModuleGetFunction", "cuLaunchKernel",
		"cuStreamSynchronize", "cuMemcpyDtoH_v2",
	};
	struct table *t = ptx_table(ptx);
	struct mpk_device_module *module = NULL;
	struct mpk_device_kernel *kernel = NULL;
	struct mpk_error err = { 0 };
	float got[4] = { 0 };
	void *a = NULL;

	table_add(t, &(struct table_row){ "vadd_kernel", "handle handle handle", "threadIdx.x" });
	open_device();
	mpk_device_close(device);
	device = NULL;
	fake->inject(symbols[_i], 1, 2);
	/* The first step that fails ends the run, as in a program. */
	enum mpk_code code = mpk_device_open(MPK_DEVICE_CUDA, 0, &device, &err);

	if (code == MPK_OK)
		code = mpk_device_alloc(device, sizeof got, &a, &err);
	if (code == MPK_OK)
		code = mpk_device_write(device, a, 0, mpk_span_of(got, sizeof got), &err);
	if (code == MPK_OK)
		code = mpk_device_load(device, &t->kernels, &module, &err);
	if (code == MPK_OK)
		code = mpk_device_get_kernel(module, mpk_span_str("vadd_kernel"), &kernel, &err);
	uint64_t slots[] = { slot_at(a), slot_at(a), slot_at(a), 4 };

	if (code == MPK_OK)
		code = mpk_device_launch(kernel, slots, 4, &err);
	if (code == MPK_OK)
		code = mpk_device_sync(device, &err);
	if (code == MPK_OK)
		code = mpk_device_read(device, a, 0, got, sizeof got, &err);
	/* a device that does not open is missing; later failures are the call's */
	ck_assert_msg(code == (_i < 3 ? MPK_E_DEVICE : MPK_E_RAISED), "%s: code %d", symbols[_i],
		      code);
	ck_assert_text(err, "CUDA_ERROR_OUT_OF_MEMORY (2): out of device memory");
	if (device)
		mpk_device_free(device, a);
}
END_TEST

START_TEST(modules_can_be_loaded_again_and_again)
{
	struct mpk_error err = { 0 };
	struct table *t = ptx_table(ptx);
	uint64_t slots[] = { 1 };

	table_add(t, &(struct table_row){ "spin_kernel", "", "threadIdx.x" });
	open_device();
	for (int i = 0; i < 200; i++) {
		struct mpk_device_module *module = load(t);
		struct mpk_device_kernel *spin = kernel_of(module, "spin_kernel");

		ck_assert_ok(mpk_device_launch(spin, slots, 1, &err), err);
		mpk_device_unload(module);
	}
	ck_assert_uint_eq(fake->calls("cuModuleUnload"), 200);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("device_cuda");
	TCase *tc = tcase_create("fake driver");
	SRunner *r = srunner_create(s);

	if (!find_fakes())
		return 1;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, devices_are_described);
	tcase_add_test(tc, no_gpu_is_one_line);
	tcase_add_test(tc, driver_mismatch_has_its_cause);
	tcase_add_test(tc, bad_code_is_explained);
	tcase_add_test(tc, missing_and_odd_kernels);
	tcase_add_test(tc, architectures_are_judged);
	tcase_add_loop_test(tc, every_failure_is_cleaned_up, 0, 11);
	tcase_add_test(tc, modules_can_be_loaded_again_and_again);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
