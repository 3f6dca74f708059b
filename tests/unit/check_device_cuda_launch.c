/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA launches and copies, against the driver library of the tests (tests/fakes/fake_cuda.h) */
#include "device_fake.h"

START_TEST(vadd_runs)
{
	struct mpk_error err = { 0 };
	struct table *t = ptx_table(ptx);

	open_device();
	table_add(t, &(struct table_row){ "vadd_kernel", "handle handle handle",
					  "blockIdx.x threadIdx.x" });
	struct mpk_device_kernel *vadd = kernel_of(load(t), "vadd_kernel");
	void *a = floats_on(device, 1024, 0, 1), *b = floats_on(device, 1024, 5, 2);
	void *c = floats_on(device, 1024, 0, 0), *d = floats_on(device, 1024, 0, 0);
	uint64_t slots[] = { slot_at(a), slot_at(b), slot_at(c), 8, 128 };
	float got[1024];

	ck_assert_ok(mpk_device_launch(vadd, slots, 5, &err), err);
	ck_assert_ok(mpk_device_sync(device, &err), err);
	ck_assert_ok(mpk_device_copy(device, &(struct mpk_device_copy){ d, 0, c, 0, 4096 }, &err),
		     err);
	ck_assert_ok(mpk_device_read(device, d, 0, got, sizeof got, &err), err);
	for (int i = 0; i < 1024; i++)
		ck_assert_float_eq(got[i], (float)(3 * i + 5));
	ck_assert_uint_eq(fake->last_launch()->grid[0], 8);
	ck_assert_uint_eq(fake->last_launch()->block[0], 128);
	ck_assert_uint_eq(fake->last_launch()->attribute_count, 0);
	ck_assert_uint_eq(fake->calls("cuFuncSetAttribute"), 0);
	mpk_device_free(device, a);
	mpk_device_free(device, b);
	mpk_device_free(device, c);
	mpk_device_free(device, d);
}
END_TEST

START_TEST(scalars_are_narrowed)
{
	struct mpk_error err = { 0 };
	struct table *t = ptx_table(ptx);

	open_device();
	table_add(t, &(struct table_row){ "saxpy_kernel", "handle handle float32 int64",
					  "blockIdx.x threadIdx.x" });
	struct mpk_device_kernel *saxpy = kernel_of(load(t), "saxpy_kernel");
	void *x = floats_on(device, 300, 0, 1), *y = floats_on(device, 300, 1, 0);
	uint64_t slots[] = { slot_at(x), slot_at(y), slot_of(0.1), 290, 2, 256 };
	float got[300];

	ck_assert_ok(mpk_device_launch(saxpy, slots, 6, &err), err);
	ck_assert_ok(mpk_device_read(device, y, 0, got, sizeof got, &err), err);
	for (int i = 0; i < 300; i++)
		ck_assert_float_eq(got[i], i < 290 ? (float)i * 0.1f + 1 : 1);
	mpk_device_free(device, x);
	mpk_device_free(device, y);
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

START_TEST(limits_name_both_sides)
{
	static const struct {
		uint64_t slots[4];
		const char *text;
	} rows[] = {
		{ { 1, 1, 1, 1025 },
		  "block dimension x is 1025, but Imaginary GPU 0 allows at "
		  "most 1024" },
		{ { 1, 65536, 1, 1 }, "grid dimension y is 65536" },
		{ { UINT64_C(1) << 40, 1, 1, 1 }, "grid dimension x is 1099511627776" },
		{ { 1, 1, 65, 1 }, "block dimension z is 65" },
		{ { 1, 1, 2, 1024 }, "a block of 1024x1x2 = 2048 threads" },
	};
	struct table *t = ptx_table(ptx);

	open_device();
	table_add(t, &(struct table_row){ "spin_kernel", "",
					  "blockIdx.x blockIdx.y threadIdx.z threadIdx.x" });
	struct mpk_device_kernel *spin = kernel_of(load(t), "spin_kernel");

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_error err = { 0 };

		ck_assert_int_eq(mpk_device_launch(spin, rows[i].slots, 4, &err), MPK_E_RAISED);
		ck_assert_text(err, rows[i].text);
	}
	ck_assert_uint_eq(fake->calls("cuLaunchKernel"), 0);
}
END_TEST

START_TEST(streams_are_waited_for_before_copies)
{
	struct mpk_error err = { 0 };
	struct table *t = ptx_table(ptx);
	uint64_t slots[] = { 1 };
	int stream; /* any address: the fake only compares it */

	open_device();
	table_add(t, &(struct table_row){ "spin_kernel", "", "threadIdx.x" });
	struct mpk_device_kernel *spin = kernel_of(load(t), "spin_kernel");
	void *a = floats_on(device, 4, 0, 0);

	ck_assert_ok(mpk_device_set_stream(device, &stream, &err), err);
	ck_assert_ok(mpk_device_launch(spin, slots, 1, &err), err);
	ck_assert_ptr_eq(fake->last_launch()->stream, &stream);
	unsigned before = fake->calls("cuStreamSynchronize");
	float got[4];

	ck_assert_ok(mpk_device_read(device, a, 0, got, sizeof got, &err), err);
	ck_assert_uint_eq(fake->calls("cuStreamSynchronize"), before + 1);
	/* a write waits on both sides: the fake finds a launch that might come before its bytes */
	ck_assert_ok(mpk_device_launch(spin, slots, 1, &err), err);
	ck_assert_ok(mpk_device_write(device, a, 0, mpk_span_of(got, sizeof got), &err), err);
	ck_assert_ok(mpk_device_launch(spin, slots, 1, &err), err);
	ck_assert_ok(mpk_device_set_stream(device, NULL, &err), err);
	ck_assert_ok(mpk_device_launch(spin, slots, 1, &err), err);
	mpk_device_free(device, a);
}
END_TEST

/* Copies within the device stand in the queue of the kernels; nobody waits for them. */
START_TEST(copies_are_queued)
{
	struct mpk_error err = { 0 };
	struct table *t = ptx_table(ptx);
	uint64_t slots[] = { 1 };
	int stream;
	float got[2];

	open_device();
	table_add(t, &(struct table_row){ "spin_kernel", "", "threadIdx.x" });
	struct mpk_device_kernel *spin = kernel_of(load(t), "spin_kernel");
	void *a = floats_on(device, 4, 1, 1), *b = floats_on(device, 4, 0, 0);
	struct mpk_device_copy copy = { b, 8, a, 4, 8 }, onto = { a, 4, a, 8, 8 };
	unsigned waits = fake->calls("cuStreamSynchronize");

	ck_assert_ok(mpk_device_launch(spin, slots, 1, &err), err);
	ck_assert_ok(mpk_device_copy(device, &copy, &err), err);
	ck_assert_ptr_eq(fake->last_stream(), NULL);
	ck_assert_uint_eq(fake->calls("cuStreamSynchronize"), waits);
	ck_assert_ok(mpk_device_set_stream(device, &stream, &err), err);
	ck_assert_uint_eq(fake->calls("cuStreamSynchronize"), waits + 1);
	ck_assert_ok(mpk_device_launch(spin, slots, 1, &err), err);
	ck_assert_ok(mpk_device_copy(device, &copy, &err), err);
	ck_assert_ptr_eq(fake->last_stream(), &stream);
	ck_assert_uint_eq(fake->calls("cuStreamSynchronize"), waits + 1);
	ck_assert_ok(mpk_device_read(device, b, 8, got, sizeof got, &err), err);
	ck_assert_float_eq(got[0], 2);
	ck_assert_float_eq(got[1], 3);
	ck_assert_int_eq(mpk_device_copy(device, &onto, &err), MPK_E_RANGE);
	ck_assert_text(err, "the ranges overlap");
	fake->inject("cuMemcpyDtoDAsync_v2", 1, MPK_CU_INVALID_VALUE);
	ck_assert_int_eq(mpk_device_copy(device, &copy, &err), MPK_E_RAISED);
	ck_assert_text(err, "cannot copy 8 bytes on cuda:0: CUDA_ERROR_INVALID_VALUE (1)");
	mpk_device_free(device, a);
	mpk_device_free(device, b);
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
	Suite *s = suite_create("device_cuda_launch");
	TCase *tc = tcase_create("fake driver"), *old = tcase_create("old driver");
	SRunner *r = srunner_create(s);

	if (!find_fakes())
		return 1;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, vadd_runs);
	tcase_add_test(tc, scalars_are_narrowed);
	tcase_add_test(tc, shared_memory_is_asked_for_once);
	tcase_add_test(tc, launch_attributes_in_tvms_order);
	tcase_add_test(tc, limits_name_both_sides);
	tcase_add_test(tc, streams_are_waited_for_before_copies);
	tcase_add_test(tc, copies_are_queued);
	tcase_add_test(tc, faults_are_raised);
	tcase_add_test(old, old_drivers_launch_plainly);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, old);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
