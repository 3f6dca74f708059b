/* SPDX-License-Identifier: Apache-2.0 */
/* AMD's devices, modules and launches, against the HIP runtime of the tests (tests/fakes/fake_cuda.h); the code
 * objects are Clang's (tests/data/launch/make-hip.sh) */
#include <pthread.h>

#include "device_fake.h"
#include "robust.h"

#define DATA "tests/data/launch/"

static struct mpk_arena arena;

static void setup_hip(void)
{
	fake = open_fake("libamdhip64.so.6");
}

static void teardown_hip(void)
{
	teardown();
	mpk_arena_fini(&arena);
}

static struct mpk_span code_of(const char *name)
{
	char path[200];

	(void)snprintf(path, sizeof path, DATA "%s", name);
	return robust_load(&arena, path);
}

static struct table *saxpy_table(const char *name)
{
	struct table *t = table_of("hsaco", code_of(name));

	table_add(t, &(struct table_row){ "saxpy", "handle handle float32 int32",
					  "blockIdx.x threadIdx.x" });
	return t;
}

START_TEST(devices_are_described)
{
	struct mpk_device_list list = { 0 };
	struct mpk_error err = { 0 };

	fake->set_machine(2, 0, 70051831);
	fake->set_arch("gfx942:sramecc+:xnack-");
	ck_assert_ok(mpk_device_list_add(&list, MPK_DEVICE_ROCM, &err), err);
	ck_assert_uint_eq(list.count, 2);
	ck_assert_str_eq(list.items[1].name, "Imaginary GPU 1");
	ck_assert_str_eq(list.items[1].platform, "HIP 7.0");
	ck_assert_str_eq(list.items[1].arch, "gfx942:sramecc+:xnack-");
	ck_assert_uint_eq(list.items[1].ordinal, 1);
	ck_assert_uint_eq(list.items[1].sm, 0);
	ck_assert_uint_eq(list.items[1].memory_bytes, UINT64_C(16) << 30);
	ck_assert_uint_eq(list.items[1].shared_bytes, 64 * 1024);
	ck_assert_uint_eq(list.items[1].block_limit, 1024);
	ck_assert_uint_eq(list.items[1].compute_units, 132);
	ck_assert_int_eq(mpk_device_open(MPK_DEVICE_ROCM, 2, &device, &err), MPK_E_DEVICE);
	ck_assert_text(err, "no device rocm:2: there are rocm:0 to rocm:1");
	mpk_device_list_fini(&list);
}
END_TEST

START_TEST(no_gpu_is_one_line)
{
	struct mpk_error err = { 0 };

	fake->set_machine(0, 0, 60240092);
	ck_assert_int_eq(mpk_device_open(MPK_DEVICE_ROCM, 0, &device, &err), MPK_E_DEVICE);
	ck_assert_text(err, "no HIP here: the driver does not start: hipErrorNoDevice (100): the "
			    "driver finds no GPU");
}
END_TEST

/* HIP 5 has the older struct of properties alone, and does not unpack bundles. */
START_TEST(old_properties_are_read)
{
	struct mpk_error err = { 0 };
	struct mpk_device_module *module = NULL;

	fake->set_arch("gfx90a:sramecc+:xnack-");
	fake->set_machine(1, 0, 50221153);
	open_device_of(MPK_DEVICE_ROCM);
	ck_assert_str_eq(mpk_device_get_info(device)->platform, "HIP 5.2");
	ck_assert_str_eq(mpk_device_get_info(device)->arch, "gfx90a:sramecc+:xnack-");
	ck_assert_uint_eq(fake->calls("hipGetDeviceProperties"), 1);
	ck_assert_int_eq(
		mpk_device_load(device, &saxpy_table("kernels.packed")->kernels, &module, &err),
		MPK_E_LOAD);
	ck_assert_text(err, "hipErrorNotSupported (801)");
	ck_assert_text(err, "the code is a compressed bundle, which HIP unpacks from ROCm 6 on");
}
END_TEST

static void setup_old(void)
{
	fake = open_fake("old/libamdhip64.so.5");
}

/* A bare code object, a bundle of which one image is chosen, and one that the driver unpacks. */
START_TEST(saxpy_runs)
{
	static const char *const names[] = { "kernels.hsaco", "kernels.bundle", "kernels.packed" };
	struct mpk_error err = { 0 };
	float got[300];

	open_device_of(MPK_DEVICE_ROCM);
	struct mpk_device_kernel *saxpy = kernel_of(load(saxpy_table(names[_i])), "saxpy");
	void *x = floats_on(device, 300, 0, 1), *y = floats_on(device, 300, 1, 0);
	uint64_t slots[] = { slot_at(x), slot_at(y), slot_of(0.1), 290, 2, 256 };

	ck_assert_ok(mpk_device_launch(saxpy, slots, 6, &err), err);
	ck_assert_ok(mpk_device_read(device, y, 0, got, sizeof got, &err), err);
	for (int i = 0; i < 300; i++)
		ck_assert_float_eq(got[i], i < 290 ? (float)i * 0.1f + 1 : 1);
	ck_assert_uint_eq(fake->last_launch()->grid[0], 2);
	ck_assert_uint_eq(fake->last_launch()->block[0], 256);
	mpk_device_free(device, x);
	mpk_device_free(device, y);
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

		ck_assert_msg(mpk_device_check(mpk_device_get_info(device), &t.kernels, &err) ==
				      wanted,
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
	ck_assert_str_eq(mpk_device_get_info(device)->arch, "");
	ck_assert_ok(mpk_device_load(device, &saxpy_table("kernels.hsaco")->kernels, &module, &err),
		     err);
}
END_TEST

START_TEST(bad_code_is_explained)
{
	static const struct {
		const char *fmt, *data;
		enum mpk_code code;
		const char *text;
	} rows[] = {
		{ "hsaco", "not code at all", MPK_E_LOAD, "hipErrorInvalidImage (200)" },
		{ "hsaco", "__CLANG_OFFLOAD_BUNDLE__ and no more", MPK_E_LOAD,
		  "the code is neither a code object nor a bundle of them" },
		{ "hsaco", "", MPK_E_CORRUPT, "no code" },
		{ "ptx", "x", MPK_E_UNSUPPORTED,
		  "format 'ptx' is not one that HIP runs (hsaco, hip)" },
	};

	open_device_of(MPK_DEVICE_ROCM);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_kernels k = { .fmt = mpk_span_str(rows[i].fmt),
					 .data = mpk_span_str(rows[i].data) };
		struct mpk_device_module *module = NULL;
		struct mpk_error err = { 0 };

		ck_assert_int_eq(mpk_device_load(device, &k, &module, &err), rows[i].code);
		ck_assert_text(err, rows[i].text);
		ck_assert_ptr_null(module);
	}
}
END_TEST

/* The driver reads as many arguments as the code has, whatever the table says. */
START_TEST(missing_and_odd_kernels)
{
	static const struct {
		struct table_row row;
		enum mpk_code code;
		const char *text;
	} rows[] = {
		{ { "nowhere", "handle", "" },
		  MPK_E_LOAD,
		  "kernel 'nowhere': hipErrorNotFound (500): the code has no kernel of this name" },
		{ { "saxpy", "handle handle", "" },
		  MPK_E_CONFLICT,
		  "more parameters in its code than the 2" },
		{ { "transpose", "handle handle float64 int32", "" },
		  MPK_E_CONFLICT,
		  "parameter 2 has 4 bytes in the code, but 8" },
		{ { "reduce", "handle handle int64 int32", "" },
		  MPK_E_CONFLICT,
		  "3 parameters in its code, but 4" },
	};
	struct table *t = table_of("hsaco", code_of("kernels.bundle"));

	open_device_of(MPK_DEVICE_ROCM);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		table_add(t, &rows[i].row);
	struct mpk_device_module *module = load(t);

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_device_kernel *kernel = NULL;
		struct mpk_error err = { 0 };

		ck_assert_int_eq(
			mpk_device_get_kernel(module, mpk_span_str(rows[i].row.key), &kernel, &err),
			rows[i].code);
		ck_assert_text(err, rows[i].text);
		ck_assert_ptr_null(kernel);
	}
}
END_TEST

/* LDS needs no leave, but has a limit, as the threads along an axis have. */
START_TEST(limits_name_both_sides)
{
	static const struct {
		uint64_t slots[5];
		const char *text;
	} rows[] = {
		{ { 1, 1, 1025, 1, 0 },
		  "block dimension x is 1025, but Imaginary GPU 0 allows at most 1024" },
		{ { 1, 65536, 1, 1, 0 }, "grid dimension y is 65536" },
		{ { 1u << 24, 1, 256, 1, 0 },
		  "16777216 blocks of 256 threads along x, but Imaginary GPU 0 allows at most "
		  "4294967295 threads" },
		{ { 1, 1, 1024, 2, 0 }, "a block of 1024x2x1 = 2048 threads" },
		{ { 1, 1, 64, 1, 65537 },
		  "65537 bytes of dynamic and 0 of static shared memory, but Imaginary GPU 0 "
		  "allows at most 65536" },
	};
	struct table *t = table_of("hsaco", code_of("kernels.bundle"));
	struct mpk_error err = { 0 };

	open_device_of(MPK_DEVICE_ROCM);
	table_add(t, &(struct table_row){ "reduce", "handle handle int64",
					  "blockIdx.x blockIdx.y threadIdx.x threadIdx.y "
					  "tirx.use_dyn_shared_memory" });
	struct mpk_device_kernel *reduce = kernel_of(load(t), "reduce");

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		uint64_t slots[8] = { 0 };

		memcpy(slots + 3, rows[i].slots, sizeof rows[i].slots);
		ck_assert_int_eq(mpk_device_launch(reduce, slots, 8, &err), MPK_E_RAISED);
		ck_assert_text(err, rows[i].text);
	}
	void *x = floats_on(device, 256, 0, 1), *part = floats_on(device, 1, 0, 0);
	uint64_t slots[] = { slot_at(x), slot_at(part), 256, 1, 1, 256, 1, 65536 };
	float got = 0;

	ck_assert_ok(mpk_device_launch(reduce, slots, 8, &err), err);
	ck_assert_uint_eq(fake->last_launch()->shared_bytes, 65536);
	ck_assert_ok(mpk_device_read(device, part, 0, &got, sizeof got, &err), err);
	ck_assert_float_eq(got, 255 * 128);
	mpk_device_free(device, x);
	mpk_device_free(device, part);
}
END_TEST

START_TEST(cooperative_launches_and_clusters)
{
	static const char *const tags[] = { "blockIdx.x threadIdx.x tirx.use_cooperative_launch",
					    "blockIdx.x threadIdx.x clusterCtaIdx.x" };
	struct mpk_error err = { 0 };

	open_device_of(MPK_DEVICE_ROCM);
	for (int i = 0; i < 2; i++) {
		struct table *t = table_of("hsaco", code_of("kernels.bundle"));

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

/* A device is entered before each call, whichever the thread used before. */
START_TEST(two_devices_take_turns)
{
	struct mpk_device *devices[2];
	struct mpk_error err = { 0 };
	struct mpk_device_kernel *kernels[2];
	void *data[2];

	fake->set_machine(2, 0, 60240092);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_ok(mpk_device_open(MPK_DEVICE_ROCM, i, &devices[i], &err), err);
		kernels[i] = kernel_of(load_on(devices[i], saxpy_table("kernels.bundle")), "saxpy");
		data[i] = floats_on(devices[i], 8, 1, 0);
	}
	for (unsigned i = 0; i < 8; i++) {
		uint64_t slots[] = {
			slot_at(data[i % 2]), slot_at(data[i % 2]), slot_of(1), 8, 1, 128
		};

		ck_assert_ok(mpk_device_launch(kernels[i % 2], slots, 6, &err), err);
		ck_assert_ok(mpk_device_sync(devices[i % 2], &err), err);
	}
	for (unsigned i = 0; i < 2; i++) {
		float got = 0;

		ck_assert_ok(mpk_device_read(devices[i], data[i], 0, &got, sizeof got, &err), err);
		ck_assert_float_eq(got, 16);
		mpk_device_free(devices[i], data[i]);
		mpk_device_close(devices[i]);
	}
}
END_TEST

static void *launch_elsewhere(void *kernel)
{
	void *x = floats_on(device, 8, 0, 1);
	uint64_t slots[] = { slot_at(x), slot_at(x), 0, 8, 1, 128 };

	ck_assert_int_eq(mpk_device_launch(kernel, slots, 6, NULL), MPK_OK);
	mpk_device_free(device, x);
	return NULL;
}

START_TEST(another_thread_launches)
{
	pthread_t thread;

	open_device_of(MPK_DEVICE_ROCM);
	struct mpk_device_kernel *saxpy = kernel_of(load(saxpy_table("kernels.bundle")), "saxpy");

	ck_assert_int_eq(pthread_create(&thread, NULL, launch_elsewhere, saxpy), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

/* A caller's stream gets launches and copies; host copies wait for it. */
START_TEST(streams_are_the_callers)
{
	struct mpk_error err = { 0 };
	int stream;

	open_device_of(MPK_DEVICE_ROCM);
	void *x = floats_on(device, 8, 1, 0), *y = floats_on(device, 8, 0, 0);

	ck_assert_ok(mpk_device_set_stream(device, &stream, &err), err);
	ck_assert_ok(mpk_device_copy(device, &(struct mpk_device_copy){ y, 0, x, 0, 32 }, &err),
		     err);
	ck_assert_ptr_eq(fake->last_stream(), &stream);
	float got[8] = { 0 };

	ck_assert_ok(mpk_device_read(device, y, 0, got, sizeof got, &err), err);
	ck_assert_float_eq(got[7], 1);
	mpk_device_free(device, x);
	mpk_device_free(device, y);
}
END_TEST

static const char *const symbols[] = {
	"hipGetDeviceCount",    "hipDeviceGet",
	"hipSetDevice",         "hipMalloc",
	"hipMemcpyHtoD",        "hipModuleLoadDataEx",
	"hipModuleGetFunction", "hipModuleLaunchKernel",
	"hipStreamSynchronize", "hipMemcpyDtoH",
};

/* Each driver call of a full run fails once: the error is reported, nothing leaks. */
START_TEST(every_failure_is_cleaned_up)
{
	struct table *t = saxpy_table("kernels.bundle");
	struct mpk_device_module *module = NULL;
	struct mpk_device_kernel *kernel = NULL;
	struct mpk_error err = { 0 };
	float got[4] = { 0 };
	void *a = NULL;

	open_device_of(MPK_DEVICE_ROCM);
	mpk_device_close(device);
	device = NULL;
	fake->inject(symbols[_i], 1, 2);
	enum mpk_code code = mpk_device_open(MPK_DEVICE_ROCM, 0, &device, &err);

	if (code == MPK_OK)
		code = mpk_device_alloc(device, sizeof got, &a, &err);
	if (code == MPK_OK)
		code = mpk_device_write(device, a, 0, mpk_span_of(got, sizeof got), &err);
	if (code == MPK_OK)
		code = mpk_device_load(device, &t->kernels, &module, &err);
	if (code == MPK_OK)
		code = mpk_device_get_kernel(module, mpk_span_str("saxpy"), &kernel, &err);
	uint64_t slots[] = { slot_at(a), slot_at(a), 0, 4, 1, 128 };

	if (code == MPK_OK)
		code = mpk_device_launch(kernel, slots, 6, &err);
	if (code == MPK_OK)
		code = mpk_device_sync(device, &err);
	if (code == MPK_OK)
		code = mpk_device_read(device, a, 0, got, sizeof got, &err);
	ck_assert_msg(code == (_i < 3 ? MPK_E_DEVICE : MPK_E_RAISED), "%s: code %d", symbols[_i],
		      code);
	ck_assert_text(err, "hipErrorOutOfMemory (2): out of device memory");
	if (device)
		mpk_device_free(device, a);
}
END_TEST

/* No code object, whatever is changed in it, is read beyond its end or loses memory. */
START_TEST(damaged_bundles_are_refused_or_left_to_the_driver)
{
	struct mpk_span bundle = code_of("kernels.bundle");
	uint8_t *copy = mpk_arena_alloc(&arena, bundle.len);

	open_device_of(MPK_DEVICE_ROCM);
	const struct mpk_device_info info = *mpk_device_get_info(device);

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
	tcase_add_checked_fixture(tc, setup_hip, teardown_hip);
	tcase_add_checked_fixture(old, setup_old, teardown_hip);
	tcase_add_test(old, old_properties_are_read);
	tcase_add_test(tc, devices_are_described);
	tcase_add_test(tc, no_gpu_is_one_line);
	tcase_add_loop_test(tc, saxpy_runs, 0, 3);
	tcase_add_test(tc, images_are_chosen);
	tcase_add_test(tc, a_device_without_a_target_decides_itself);
	tcase_add_test(tc, bad_code_is_explained);
	tcase_add_test(tc, missing_and_odd_kernels);
	tcase_add_test(tc, limits_name_both_sides);
	tcase_add_test(tc, cooperative_launches_and_clusters);
	tcase_add_test(tc, what_hip_lacks_is_said);
	tcase_add_test(tc, two_devices_take_turns);
	tcase_add_test(tc, another_thread_launches);
	tcase_add_test(tc, streams_are_the_callers);
	tcase_add_loop_test(tc, every_failure_is_cleaned_up, 0, (int)MPK_ARRAY_COUNT(symbols));
	tcase_add_test(tc, damaged_bundles_are_refused_or_left_to_the_driver);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, old);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
