/* SPDX-License-Identifier: Apache-2.0 */
/* What CUDA alone has, against the driver library of the tests (tests/fakes/fake_cuda.h); what HIP has, too, is in
 * check_device_drivers.c */
#include "device_fake.h"

START_TEST(driver_mismatch_has_its_cause)
{
	struct mpk_error err = { 0 };

	fake->inject("cuInit", 1, 803);
	ck_assert_int_eq(mpk_device_open(MPK_DEVICE_CUDA, 0, NULL, &device, &err), MPK_E_DEVICE);
	ck_assert_text(err, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): libcuda.so.1 and the kernel");
}
END_TEST

START_TEST(functions_are_no_kernels)
{
	struct mpk_device_kernel *kernel = NULL;
	struct mpk_error err = { 0 };
	struct table *t = ptx_table(ptx);

	open_device();
	table_add(t, &(struct table_row){ "helper", "", "" });
	ck_assert_int_eq(mpk_device_get_kernel(load(t), mpk_span_str("helper"), &kernel, &err),
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
		struct mpk_device_info info = device->info;
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

START_TEST(shared_memory_is_asked_for_once)
{
	struct mpk_error err = { 0 };
	struct table *t = ptx_table(ptx);

	open_device();
	table_add(t, &(struct table_row){ "rev_kernel", "handle handle",
					  "blockIdx.x threadIdx.x tirx.use_dyn_shared_memory" });
	struct mpk_device_kernel *rev = kernel_of(load(t), "rev_kernel");
	void *a = floats_on(device, 64, 0, 1), *b = floats_on(device, 64, 0, 0);
	uint64_t slots[] = { slot_at(a), slot_at(b), 1, 64, 256 };
	float got[64];

	ck_assert_ok(mpk_device_launch(rev, slots, 5, &err), err);
	ck_assert_ok(mpk_device_read(device, b, 0, got, sizeof got, &err), err);
	ck_assert_float_eq(got[0], 63);
	ck_assert_float_eq(got[63], 0);
	ck_assert_uint_eq(fake->calls("cuFuncSetAttribute"), 0);
	for (int i = 0; i < 3; i++) {
		slots[4] = 100 * 1024;
		ck_assert_ok(mpk_device_launch(rev, slots, 5, &err), err);
		ck_assert_uint_eq(fake->last_launch()->shared_bytes, 100 * 1024);
	}
	ck_assert_uint_eq(fake->calls("cuFuncSetAttribute"), 1);
	slots[4] = 227 * 1024;
	ck_assert_ok(mpk_device_launch(rev, slots, 5, &err), err);
	ck_assert_uint_eq(fake->calls("cuFuncSetAttribute"), 2);
	slots[4] = 228 * 1024;
	ck_assert_int_eq(mpk_device_launch(rev, slots, 5, &err), MPK_E_RAISED);
	ck_assert_text(err, "233472 bytes of dynamic and 0 of static shared memory, but Imaginary "
			    "GPU 0 allows at most 232448");
	slots[4] = UINT64_C(1) << 62;
	ck_assert_int_eq(mpk_device_launch(rev, slots, 5, &err), MPK_E_RAISED);
	mpk_device_free(device, a);
	mpk_device_free(device, b);
}
END_TEST

START_TEST(launch_attributes_in_tvms_order)
{
	struct mpk_error err = { 0 };
	struct table *t = ptx_table(ptx);
	uint64_t slots[] = { 32, 16, 2, 128 };

	open_device();
	table_add(
		t,
		&(struct table_row){
			"spin_kernel", "",
			"tirx.use_cooperative_launch blockIdx.x clusterCtaIdx.x "
			"tirx.use_programtic_dependent_launch preferredClusterCtaIdx.y threadIdx.x" });
	struct mpk_device_kernel *spin = kernel_of(load(t), "spin_kernel");

	ck_assert_ok(mpk_device_launch(spin, slots, 4, &err), err);
	const struct fake_launch *l = fake->last_launch();

	ck_assert_uint_eq(l->attribute_count, 4);
	ck_assert_uint_eq(l->attributes[0].id, MPK_CU_LAUNCH_CLUSTER);
	ck_assert_uint_eq(l->attributes[0].x, 16);
	ck_assert_uint_eq(l->attributes[0].y, 1);
	ck_assert_uint_eq(l->attributes[1].id, MPK_CU_LAUNCH_PREFERRED_CLUSTER);
	ck_assert_uint_eq(l->attributes[1].y, 2);
	ck_assert_uint_eq(l->attributes[2].id, MPK_CU_LAUNCH_PROGRAMMATIC);
	ck_assert_uint_eq(l->attributes[3].id, MPK_CU_LAUNCH_COOPERATIVE);
	ck_assert_uint_eq(l->attributes[3].x, 1);
	/* 16 blocks in a cluster are more than every GPU runs: allowed once, on purpose */
	ck_assert_uint_eq(fake->calls("cuFuncSetAttribute"), 1);
	slots[0] = 33;
	ck_assert_int_eq(mpk_device_launch(spin, slots, 4, &err), MPK_E_RAISED);
	ck_assert_text(err, "CUDA_ERROR_INVALID_CLUSTER_SIZE");
}
END_TEST

/* A fault shows at the next call and is the module's fault, not the device's. */
START_TEST(faults_are_raised)
{
	struct mpk_error err = { 0 };
	struct table *t = ptx_table(ptx);
	float got[4];

	open_device();
	table_add(t, &(struct table_row){ "vadd_kernel", "handle handle handle", "threadIdx.x" });
	struct mpk_device_kernel *vadd = kernel_of(load(t), "vadd_kernel");
	void *a = floats_on(device, 4, 0, 0);
	uint64_t slots[] = { slot_at(a), slot_at(a), slot_at(a), 5 }; /* one more than is there */

	ck_assert_ok(mpk_device_launch(vadd, slots, 4, &err), err);
	ck_assert_int_eq(mpk_device_sync(device, &err), MPK_E_RAISED);
	ck_assert_text(err, "CUDA_ERROR_ILLEGAL_ADDRESS (700): a kernel read or wrote outside");
	ck_assert_int_eq(mpk_device_read(device, a, 0, got, sizeof got, &err), MPK_E_RAISED);
	mpk_device_free(device, a);
}
END_TEST

/* A driver of CUDA 11.0 has neither extended launches nor a way to ask for parameters. */
START_TEST(old_drivers_launch_plainly)
{
	struct mpk_error err = { 0 };
	struct table *t = ptx_table(ptx);
	uint64_t slots[] = { 1 };

	fake = open_fake("old/libcuda.so.1");
	open_device();
	table_add(t, &(struct table_row){ "spin_kernel", "int32", "threadIdx.x" });
	table_add(t, &(struct table_row){ "vadd_kernel", "",
					  "tir.use_cooperative_launch threadIdx.x" });
	struct mpk_device_module *module = load(t);
	uint64_t two[] = { 7, 1 };

	ck_assert_ok(mpk_device_launch(kernel_of(module, "spin_kernel"), two, 2, &err), err);
	ck_assert_int_eq(mpk_device_launch(kernel_of(module, "vadd_kernel"), slots, 1, &err),
			 MPK_E_RAISED);
	ck_assert_text(err, "it must be 11.6 or later");
	mpk_device_close(device);
	device = NULL;
}
END_TEST

int main(void)
{
	Suite *s = suite_create("device_cuda");
	TCase *tc = tcase_create("fake driver"), *old = tcase_create("old driver");
	SRunner *r = srunner_create(s);

	if (!find_fakes())
		return 1;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, driver_mismatch_has_its_cause);
	tcase_add_test(tc, functions_are_no_kernels);
	tcase_add_test(tc, architectures_are_judged);
	tcase_add_test(tc, shared_memory_is_asked_for_once);
	tcase_add_test(tc, launch_attributes_in_tvms_order);
	tcase_add_test(tc, faults_are_raised);
	tcase_add_test(old, old_drivers_launch_plainly);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, old);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
