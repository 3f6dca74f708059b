/* SPDX-License-Identifier: Apache-2.0 */
/* What HIP alone has, against the HIP runtime of the tests (tests/fakes/fake_cuda.h); the code objects are Clang's
 * (tests/data/launch/make-hip.sh). What CUDA has, too, is in check_device_drivers.c */
#include "device_fake.h"

static void setup_hip(void)
{
	fake = open_fake("libamdhip64.so.6");
}

static void setup_old(void)
{
	fake = open_fake("old/libamdhip64.so.5");
}

static struct table *saxpy_table(const char *name)
{
	struct table *t = code_table(name);

	table_add(t, &(struct table_row){ "saxpy", "handle handle float32 int32",
					  "blockIdx.x threadIdx.x" });
	return t;
}

/* HIP 5 has the older struct of properties alone, and does not unpack bundles. */
START_TEST(old_properties_are_read)
{
	struct mpk_error err = { 0 };
	struct mpk_device_module *module = NULL;

	fake->set_arch("gfx90a:sramecc+:xnack-");
	fake->set_machine(1, 0, 50221153);
	open_device_of(MPK_DEVICE_ROCM);
	ck_assert_str_eq(device->info.platform, "HIP 5.2");
	ck_assert_str_eq(device->info.arch, "gfx90a:sramecc+:xnack-");
	ck_assert_uint_eq(fake->calls("hipGetDeviceProperties"), 1);
	ck_assert_int_eq(
		mpk_device_load(device, &saxpy_table("kernels.packed")->kernels, &module, &err),
		MPK_E_LOAD);
	ck_assert_text(err, "hipErrorNotSupported (801)");
	ck_assert_text(err, "the code is a compressed bundle, which HIP unpacks from ROCm 6 on");
}
END_TEST

/* The image for the device, by processor and features; none is a sentence that names all. */
START_TEST(images_are_chosen)
{
	static const struct {
		const char *name, *arch;
		bool runs;
	} rows[] = {
		{ "kernels.bundle", "gfx906:sramecc+:xnack-", true },
		{ "kernels.bundle", "gfx90a:sramecc+:xnack+", true },
		{ "kernels.bundle", "gfx90a:sramecc-:xnack-", true },
		{ "kernels.bundle", "gfx1100", true },
		{ "kernels.bundle", "gfx908:sramecc+:xnack-", false },
		{ "kernels.bundle", "gfx1101", false },
		{ "kernels.hsaco", "gfx90a:sramecc+:xnack+", true },
		{ "kernels.hsaco", "gfx90a:sramecc+:xnack-", false },
		{ "kernels.hsaco", "gfx906:sramecc+:xnack-", false },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct table t = { .kernels = { .fmt = mpk_span_str("hsaco") } };
		struct mpk_device_module *module = NULL;
		struct mpk_error err = { 0 };

		fake->set_arch(rows[i].arch);
		open_device_of(MPK_DEVICE_ROCM);
		t.kernels.data = code_of(rows[i].name);
		enum mpk_code wanted = rows[i].runs ? MPK_OK : MPK_E_LOAD;

		ck_assert_msg(mpk_device_check(&device->info, &t.kernels, &err) == wanted,
			      "%s on %s: %s", rows[i].name, rows[i].arch, err.text);
		ck_assert_int_eq(mpk_device_load(device, &t.kernels, &module, &err), wanted);
		if (!rows[i].runs) {
			ck_assert_text(err, rows[i].arch);
			ck_assert_text(err, "the code is for gfx");
		}
		mpk_device_close(device);
		device = NULL;
	}
}
END_TEST

/* Where the driver does not say what the device is, it chooses itself. */
START_TEST(a_device_without_a_target_decides_itself)
{
	struct mpk_error err = { 0 };
	struct mpk_device_module *module = NULL;

	fake->inject("hipGetDevicePropertiesR0600", 1, 1);
	open_device_of(MPK_DEVICE_ROCM);
	ck_assert_str_eq(device->info.arch, "");
	ck_assert_ok(mpk_device_load(device, &saxpy_table("kernels.hsaco")->kernels, &module, &err),
		     err);
}
END_TEST

START_TEST(cooperative_launches_and_clusters)
{
	static const char *const tags[] = { "blockIdx.x threadIdx.x tirx.use_cooperative_launch",
					    "blockIdx.x threadIdx.x clusterCtaIdx.x" };
	struct mpk_error err = { 0 };

	open_device_of(MPK_DEVICE_ROCM);
	for (int i = 0; i < 2; i++) {
		struct table *t = code_table("kernels.bundle");

		table_add(t,
			  &(struct table_row){ "saxpy", "handle handle float32 int32", tags[i] });
		struct mpk_device_kernel *saxpy = kernel_of(load(t), "saxpy");
		void *x = floats_on(device, 4, 0, 1);
		uint64_t slots[] = { slot_at(x), slot_at(x), 0, 4, 2, 128, 2 };

		ck_assert_int_eq(mpk_device_launch(saxpy, slots, 6 + (size_t)i, &err),
				 i ? MPK_E_RAISED : MPK_OK);
		ck_assert_ok(mpk_device_sync(device, &err), err);
		mpk_device_free(device, x);
	}
	ck_assert_uint_eq(fake->calls("hipModuleLaunchCooperativeKernel"), 1);
	ck_assert_int_eq(mpk_device_sync(device, &err), MPK_OK);
}
END_TEST

START_TEST(what_hip_lacks_is_said)
{
	struct mpk_error err = { 0 };
	struct table *t = saxpy_table("kernels.bundle");

	open_device_of(MPK_DEVICE_ROCM);
	table_add(t, &(struct table_row){ "reduce", "handle handle int64",
					  "blockIdx.x tirx.use_programtic_dependent_launch" });
	uint64_t slots[] = { 0, 0, 0, 1 };

	ck_assert_int_eq(mpk_device_launch(kernel_of(load(t), "reduce"), slots, 4, &err),
			 MPK_E_RAISED);
	ck_assert_text(err,
		       "kernel 'reduce' needs a cluster or a programmatic launch, which HIP does "
		       "not have");
}
END_TEST

/* No code object, whatever is changed in it, is read beyond its end or loses memory. */
START_TEST(damaged_bundles_are_refused_or_left_to_the_driver)
{
	struct mpk_span bundle = code_of("kernels.bundle");
	uint8_t *copy = mpk_arena_alloc(&arena, bundle.len);

	open_device_of(MPK_DEVICE_ROCM);
	const struct mpk_device_info info = device->info;

	unsigned seen = 0;

	for (size_t i = 0; i < 600; i++) {
		struct mpk_kernels k = { .fmt = mpk_span_str("hsaco"),
					 .data = mpk_span_of(copy, bundle.len) };

		memcpy(copy, bundle.data, bundle.len);
		copy[i] ^= 0xff;
		seen |= 1u << mpk_device_check(&info, &k, NULL);
		k.data.len = i * 50;
		seen |= 1u << mpk_device_check(&info, &k, NULL);
	}
	ck_assert_uint_eq(seen, 1u << MPK_OK | 1u << MPK_E_LOAD);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("device_rocm");
	TCase *tc = tcase_create("fake driver"), *old = tcase_create("HIP 5");
	SRunner *r = srunner_create(s);

	if (!find_fakes())
		return 1;
	tcase_add_checked_fixture(tc, setup_hip, teardown);
	tcase_add_checked_fixture(old, setup_old, teardown);
	tcase_add_test(tc, images_are_chosen);
	tcase_add_test(tc, a_device_without_a_target_decides_itself);
	tcase_add_test(tc, cooperative_launches_and_clusters);
	tcase_add_test(tc, what_hip_lacks_is_said);
	tcase_add_test(tc, damaged_bundles_are_refused_or_left_to_the_driver);
	tcase_add_test(old, old_properties_are_read);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, old);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
