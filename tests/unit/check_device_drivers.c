/* SPDX-License-Identifier: Apache-2.0 */
/* What the back ends for GPUs have in common, a row for each driver, against the driver libraries of the tests
 * (tests/fakes/fake_cuda.h); what one of them has for itself is in check_device_cuda.c and check_device_rocm.c */
#include <pthread.h>

#include "device_fake.h"

enum { CUDA, HIP, DRIVERS, FAILURES = 11 };

static const struct driver {
	const char *library;
	enum mpk_device_kind kind;
	const char *code; /* of the kernels below */
	const char *set_arch;
	int set_sm, set_version;
	const char *device, *platform, *arch;
	unsigned sm;
	uint64_t shared_bytes;
	const char *init, *launch, *unload, *wait, *copy; /* symbols */
	const char *no_gpu, *invalid_value, *out_of_memory, *not_found;
	const char *failing[FAILURES]; /* symbols of a whole run; the first three open the device */
} drivers[] = {
	[CUDA] = {
		.library = "libcuda.so.1",
		.kind = MPK_DEVICE_CUDA,
		.code = "kernels.ptx",
		.set_sm = 89,
		.set_version = 12080,
		.device = "cuda",
		.platform = "CUDA driver 12.8",
		.arch = "sm_89",
		.sm = 89,
		.shared_bytes = 227 * 1024,
		.init = "cuInit",
		.launch = "cuLaunchKernel",
		.unload = "cuModuleUnload",
		.wait = "cuStreamSynchronize",
		.copy = "cuMemcpyDtoDAsync_v2",
		.no_gpu = "no CUDA here: the driver does not start: CUDA_ERROR_NO_DEVICE (100): "
			  "the driver finds no GPU",
		.invalid_value = "CUDA_ERROR_INVALID_VALUE (1)",
		.out_of_memory = "CUDA_ERROR_OUT_OF_MEMORY (2): out of device memory",
		.not_found = "CUDA_ERROR_NOT_FOUND (500)",
		.failing = { "cuDeviceGetCount", "cuDeviceGet", "cuDevicePrimaryCtxRetain",
			     "cuCtxSetCurrent", "cuMemAlloc_v2", "cuMemcpyHtoD_v2",
			     "cuModuleLoadDataEx", "cuModuleGetFunction", "cuLaunchKernel",
			     "cuStreamSynchronize", "cuMemcpyDtoH_v2" },
	},
	[HIP] = {
		.library = "libamdhip64.so.6",
		.kind = MPK_DEVICE_ROCM,
		.code = "kernels.bundle",
		.set_arch = "gfx90a:sramecc+:xnack-",
		.set_version = 70051831,
		.device = "rocm",
		.platform = "HIP 7.0",
		.arch = "gfx90a:sramecc+:xnack-",
		.shared_bytes = 64 * 1024,
		.init = "hipInit",
		.launch = "hipModuleLaunchKernel",
		.unload = "hipModuleUnload",
		.wait = "hipStreamSynchronize",
		.copy = "hipMemcpyDtoDAsync",
		.no_gpu = "no HIP here: the driver does not start: hipErrorNoDevice (100): the "
			  "driver finds no GPU",
		.invalid_value = "hipErrorInvalidValue (1)",
		.out_of_memory = "hipErrorOutOfMemory (2): out of device memory",
		.not_found = "hipErrorNotFound (500): the code has no kernel of this name",
		.failing = { "hipGetDeviceCount", "hipDeviceGet", "hipSetDevice", "hipMalloc",
			     "hipMemcpyHtoD", "hipModuleLoadDataEx", "hipModuleGetFunction",
			     "hipModuleLaunchKernel", "hipStreamSynchronize", "hipMemcpyDtoH" },
	},
};

static const struct driver *d;

static void begin(int driver)
{
	d = &drivers[driver];
	fake = open_fake(d->library);
}

static struct table *table_with(const char *key, const char *types, const char *tags)
{
	struct table *t = code_table(d->code);

	table_add(t, &(struct table_row){ key, types, tags });
	return t;
}

/* saxpy(x, y, a, n): y += a * x */
static struct mpk_device_kernel *saxpy_on(struct mpk_device *on)
{
	return kernel_of(load_on(on, table_with("saxpy", "handle handle float32 int32",
						"blockIdx.x threadIdx.x")),
			 "saxpy");
}

static void launch_saxpy(struct mpk_device_kernel *kernel, const void *x, const void *y, double a,
			 uint64_t n)
{
	uint64_t slots[] = { slot_at(x), slot_at(y), slot_of(a), n, 1, 128 };
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_device_launch(kernel, slots, 6, &err), err);
}

START_TEST(devices_are_described)
{
	struct mpk_device_list list = { 0 };
	struct mpk_error err = { 0 };
	char text[80];

	begin(_i);
	fake->set_machine(2, d->set_sm, d->set_version);
	if (d->set_arch)
		fake->set_arch(d->set_arch);
	ck_assert_ok(mpk_device_list_add(&list, d->kind, &err), err);
	ck_assert_uint_eq(list.count, 2);
	ck_assert_str_eq(list.items[1].name, "Imaginary GPU 1");
	ck_assert_str_eq(list.items[1].platform, d->platform);
	ck_assert_str_eq(list.items[1].arch, d->arch);
	ck_assert_uint_eq(list.items[1].ordinal, 1);
	ck_assert_uint_eq(list.items[1].sm, d->sm);
	ck_assert_uint_eq(list.items[1].memory_bytes, UINT64_C(16) << 30);
	ck_assert_uint_eq(list.items[1].shared_bytes, d->shared_bytes);
	ck_assert_uint_eq(list.items[1].block_limit, 1024);
	ck_assert_uint_eq(list.items[1].compute_units, 132);
	ck_assert_int_eq(mpk_device_open(d->kind, 2, NULL, &device, &err), MPK_E_DEVICE);
	(void)snprintf(text, sizeof text, "no device %s:2: there are %s:0 to %s:1", d->device,
		       d->device, d->device);
	ck_assert_text(err, text);
	mpk_device_list_fini(&list);
}
END_TEST

START_TEST(no_gpu_is_one_line)
{
	struct mpk_error err = { 0 };

	begin(_i);
	fake->set_machine(0, 0, d->set_version);
	ck_assert_int_eq(mpk_device_open(d->kind, 0, NULL, &device, &err), MPK_E_DEVICE);
	ck_assert_text(err, d->no_gpu);
	ck_assert_ptr_null(strchr(err.text, '\n'));
	/* The answer stays the same, and the driver is not asked again. */
	ck_assert_int_eq(mpk_device_open(d->kind, 0, NULL, &device, &err), MPK_E_DEVICE);
	ck_assert_uint_eq(fake->calls(d->init), 1);
}
END_TEST

/* PTX of two kinds, whose kernels take an integer of 32 and of 64 bits; a bare code object, a bundle of which one image
 * is chosen, and one that the driver unpacks. */
START_TEST(saxpy_runs)
{
	static const struct {
		int driver;
		const char *code, *key, *types;
	} rows[] = {
		{ CUDA, "kernels.ptx", "saxpy", "handle handle float32 int32" },
		{ CUDA, NULL, "saxpy_kernel", "handle handle float32 int64" },
		{ HIP, "kernels.hsaco", "saxpy", "handle handle float32 int32" },
		{ HIP, "kernels.bundle", "saxpy", "handle handle float32 int32" },
		{ HIP, "kernels.packed", "saxpy", "handle handle float32 int32" },
	};
	enum { COUNT = 1000, USED = 990 };
	struct mpk_error err = { 0 };
	float got[COUNT];

	begin(rows[_i].driver);
	open_device_of(d->kind);
	struct table *t = rows[_i].code ? code_table(rows[_i].code) : ptx_table(ptx);

	table_add(t, &(struct table_row){ rows[_i].key, rows[_i].types, "blockIdx.x threadIdx.x" });
	struct mpk_device_kernel *saxpy = kernel_of(load(t), rows[_i].key);
	void *x = floats_on(device, COUNT, 0, 1), *y = floats_on(device, COUNT, 1, 0);
	void *z = floats_on(device, COUNT, 0, 0);
	uint64_t slots[] = { slot_at(x), slot_at(y), slot_of(0.1), USED, 4, 256 };
	struct mpk_device_copy copy = { z, 0, y, 0, sizeof got };

	ck_assert_ok(mpk_device_launch(saxpy, slots, 6, &err), err);
	ck_assert_ok(mpk_device_sync(device, &err), err);
	ck_assert_ok(mpk_device_copy(device, &copy, &err), err);
	ck_assert_ok(mpk_device_read(device, z, 0, got, sizeof got, &err), err);
	for (int i = 0; i < COUNT; i++)
		ck_assert_float_eq(got[i], i < USED ? (float)i * 0.1f + 1 : 1);
	ck_assert_uint_eq(fake->last_launch()->grid[0], 4);
	ck_assert_uint_eq(fake->last_launch()->block[0], 256);
	ck_assert_uint_eq(fake->last_launch()->attribute_count, 0);
	ck_assert_uint_eq(fake->calls("cuFuncSetAttribute"), 0);
	mpk_device_free(device, x);
	mpk_device_free(device, y);
	mpk_device_free(device, z);
}
END_TEST

START_TEST(bad_code_is_explained)
{
	static const struct {
		int driver;
		const char *fmt, *data;
		enum mpk_code code;
		const char *texts[3];
	} rows[] = {
		{ CUDA,
		  "ptx",
		  PTX("50", "syntax error"),
		  MPK_E_LOAD,
		  { "CUDA_ERROR_INVALID_PTX (218)", "Parsing error near 'syntax'", "line 5" } },
		{ CUDA,
		  "ptx",
		  PTX("100", ENTRY("vadd_kernel")),
		  MPK_E_LOAD,
		  { "CUDA_ERROR_NO_BINARY_FOR_GPU (209)", "the device is sm_90",
		    "the code is sm_100 (PTX 7.0)" } },
		{ CUDA,
		  "ptx",
		  "not code at all",
		  MPK_E_LOAD,
		  { "CUDA_ERROR_INVALID_IMAGE (200)", "", "" } },
		{ CUDA, "ptx", "", MPK_E_CORRUPT, { "no code", "", "" } },
		{ HIP,
		  "hsaco",
		  "not code at all",
		  MPK_E_LOAD,
		  { "hipErrorInvalidImage (200)", "", "" } },
		{ HIP,
		  "hsaco",
		  "__CLANG_OFFLOAD_BUNDLE__ and no more",
		  MPK_E_LOAD,
		  { "the code is neither a code object nor a bundle of them", "", "" } },
		{ HIP, "hsaco", "", MPK_E_CORRUPT, { "no code", "", "" } },
		{ HIP,
		  "ptx",
		  "x",
		  MPK_E_UNSUPPORTED,
		  { "format 'ptx' is not one that HIP runs (hsaco, hip)", "", "" } },
	};

	begin(_i);
	open_device_of(d->kind);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_device_module *module = NULL;
		struct mpk_error err = { 0 };
		struct mpk_kernels k = { .fmt = mpk_span_str(rows[i].fmt) };

		if (rows[i].driver != _i)
			continue;
		/* without a NUL, which PTX must get from whoever hands it to the driver */
		k.data = exact_copy(rows[i].data);
		ck_assert_int_eq(mpk_device_load(device, &k, &module, &err), rows[i].code);
		for (int n = 0; n < 3; n++)
			ck_assert_text(err, rows[i].texts[n]);
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
		{ { "nowhere", "handle", "" }, MPK_E_LOAD, "kernel 'nowhere': " },
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

	begin(_i);
	struct table *t = code_table(d->code);

	open_device_of(d->kind);
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
		if (rows[i].code == MPK_E_LOAD)
			ck_assert_text(err, d->not_found);
		ck_assert_ptr_null(kernel);
	}
}
END_TEST

START_TEST(limits_name_both_sides)
{
	static const struct {
		int driver; /* DRIVERS: both */
		uint64_t slots[6];
		const char *text;
	} rows[] = {
		{ DRIVERS,
		  { 1, 1, 1025, 1, 1, 0 },
		  "block dimension x is 1025, but Imaginary GPU 0 allows at most 1024" },
		{ DRIVERS, { 1, 65536, 1, 1, 1, 0 }, "grid dimension y is 65536" },
		{ CUDA, { UINT64_C(1) << 40, 1, 1, 1, 1, 0 }, "grid dimension x is 1099511627776" },
		{ CUDA, { 1, 1, 1, 1, 65, 0 }, "block dimension z is 65" },
		{ DRIVERS, { 1, 1, 1024, 2, 1, 0 }, "a block of 1024x2x1 = 2048 threads" },
		{ HIP,
		  { 1u << 24, 1, 256, 1, 1, 0 },
		  "16777216 blocks of 256 threads along x, but Imaginary GPU 0 allows at most "
		  "4294967295 threads" },
		{ HIP,
		  { 1, 1, 64, 1, 1, 65537 },
		  "65537 bytes of dynamic and 0 of static shared memory, but Imaginary GPU 0 "
		  "allows at most 65536" },
	};
	struct mpk_error err = { 0 };

	begin(_i);
	open_device_of(d->kind);
	struct mpk_device_kernel *reduce =
		kernel_of(load(table_with("reduce", "handle handle int64",
					  "blockIdx.x blockIdx.y threadIdx.x threadIdx.y "
					  "threadIdx.z tirx.use_dyn_shared_memory")),
			  "reduce");
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		uint64_t slots[9] = { 0 };

		if (rows[i].driver != _i && rows[i].driver != DRIVERS)
			continue;
		memcpy(slots + 3, rows[i].slots, sizeof rows[i].slots);
		ck_assert_int_eq(mpk_device_launch(reduce, slots, 9, &err), MPK_E_RAISED);
		ck_assert_text(err, rows[i].text);
	}
	ck_assert_uint_eq(fake->calls(d->launch), 0);
	void *x = floats_on(device, 256, 0, 1), *part = floats_on(device, 1, 0, 0);
	uint64_t slots[] = { slot_at(x), slot_at(part), 256, 1, 1, 256, 1, 1, d->shared_bytes };
	float got = 0;

	ck_assert_ok(mpk_device_launch(reduce, slots, 9, &err), err);
	ck_assert_uint_eq(fake->last_launch()->shared_bytes, d->shared_bytes);
	ck_assert_ok(mpk_device_read(device, part, 0, &got, sizeof got, &err), err);
	ck_assert_float_eq(got, 255 * 128);
	mpk_device_free(device, x);
	mpk_device_free(device, part);
}
END_TEST

/* A device is entered before each call, whichever the thread used before. */
START_TEST(two_devices_take_turns)
{
	struct mpk_device *devices[2];
	struct mpk_error err = { 0 };
	struct mpk_device_kernel *kernels[2];
	void *data[2];

	begin(_i);
	fake->set_machine(2, d->set_sm, d->set_version);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_ok(mpk_device_open(d->kind, i, NULL, &devices[i], &err), err);
		kernels[i] = saxpy_on(devices[i]);
		data[i] = floats_on(devices[i], 8, 1, 0);
	}
	for (unsigned i = 0; i < 8; i++) {
		launch_saxpy(kernels[i % 2], data[i % 2], data[i % 2], 1, 8);
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

	launch_saxpy(kernel, x, x, 0, 8);
	mpk_device_free(device, x);
	return NULL;
}

START_TEST(another_thread_launches)
{
	pthread_t thread;

	begin(_i);
	open_device_of(d->kind);
	ck_assert_int_eq(pthread_create(&thread, NULL, launch_elsewhere, saxpy_on(device)), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

START_TEST(streams_are_waited_for_before_copies)
{
	struct mpk_error err = { 0 };
	int stream; /* any address: the fake only compares it */

	begin(_i);
	open_device_of(d->kind);
	struct mpk_device_kernel *saxpy = saxpy_on(device);
	void *a = floats_on(device, 4, 0, 0);

	ck_assert_ok(mpk_device_set_stream(device, &stream, &err), err);
	launch_saxpy(saxpy, a, a, 0, 4);
	ck_assert_ptr_eq(fake->last_launch()->stream, &stream);
	unsigned before = fake->calls(d->wait);
	float got[4];

	ck_assert_ok(mpk_device_read(device, a, 0, got, sizeof got, &err), err);
	ck_assert_uint_eq(fake->calls(d->wait), before + 1);
	/* a write waits on both sides: the fake finds a launch that might come before its bytes */
	launch_saxpy(saxpy, a, a, 0, 4);
	ck_assert_ok(mpk_device_write(device, a, 0, mpk_span_of(got, sizeof got), &err), err);
	launch_saxpy(saxpy, a, a, 0, 4);
	ck_assert_ok(mpk_device_set_stream(device, NULL, &err), err);
	launch_saxpy(saxpy, a, a, 0, 4);
	mpk_device_free(device, a);
}
END_TEST

/* Copies within the device stand in the queue of the kernels; nobody waits for them. */
START_TEST(copies_are_queued)
{
	struct mpk_error err = { 0 };
	int stream;
	float got[2];
	char text[120];

	begin(_i);
	open_device_of(d->kind);
	struct mpk_device_kernel *saxpy = saxpy_on(device);
	void *a = floats_on(device, 4, 1, 1), *b = floats_on(device, 4, 0, 0);
	struct mpk_device_copy copy = { b, 8, a, 4, 8 }, onto = { a, 4, a, 8, 8 };
	unsigned waits = fake->calls(d->wait);

	launch_saxpy(saxpy, b, b, 0, 4);
	ck_assert_ok(mpk_device_copy(device, &copy, &err), err);
	ck_assert_ptr_eq(fake->last_stream(), NULL);
	ck_assert_uint_eq(fake->calls(d->wait), waits);
	ck_assert_ok(mpk_device_set_stream(device, &stream, &err), err);
	ck_assert_uint_eq(fake->calls(d->wait), waits + 1);
	launch_saxpy(saxpy, b, b, 0, 4);
	ck_assert_ok(mpk_device_copy(device, &copy, &err), err);
	ck_assert_ptr_eq(fake->last_stream(), &stream);
	ck_assert_uint_eq(fake->calls(d->wait), waits + 1);
	ck_assert_ok(mpk_device_read(device, b, 8, got, sizeof got, &err), err);
	ck_assert_float_eq(got[0], 2);
	ck_assert_float_eq(got[1], 3);
	ck_assert_int_eq(mpk_device_copy(device, &onto, &err), MPK_E_RANGE);
	ck_assert_text(err, "the ranges overlap");
	fake->inject(d->copy, 1, MPK_CU_INVALID_VALUE);
	ck_assert_int_eq(mpk_device_copy(device, &copy, &err), MPK_E_RAISED);
	(void)snprintf(text, sizeof text, "cannot copy 8 bytes on %s:0: %s", d->device,
		       d->invalid_value);
	ck_assert_text(err, text);
	mpk_device_free(device, a);
	mpk_device_free(device, b);
}
END_TEST

/* Each driver call of a full run fails once: the error is reported, nothing leaks. */
START_TEST(every_failure_is_cleaned_up)
{
	int failing = _i % FAILURES;
	struct mpk_device_module *module = NULL;
	struct mpk_device_kernel *kernel = NULL;
	struct mpk_error err = { 0 };
	float got[4] = { 0 };
	void *a = NULL;

	begin(_i / FAILURES);
	if (!d->failing[failing])
		return;
	struct table *t = table_with("saxpy", "handle handle float32 int32", "threadIdx.x");

	open_device_of(d->kind);
	mpk_device_close(device);
	device = NULL;
	fake->inject(d->failing[failing], 1, 2);
	/* The first step that fails ends the run, as in a program. */
	enum mpk_code code = mpk_device_open(d->kind, 0, NULL, &device, &err);

	if (code == MPK_OK)
		code = mpk_device_alloc(device, sizeof got, &a, &err);
	if (code == MPK_OK)
		code = mpk_device_write(device, a, 0, mpk_span_of(got, sizeof got), &err);
	if (code == MPK_OK)
		code = mpk_device_load(device, &t->kernels, &module, &err);
	if (code == MPK_OK)
		code = mpk_device_get_kernel(module, mpk_span_str("saxpy"), &kernel, &err);
	uint64_t slots[] = { slot_at(a), slot_at(a), 0, 4, 128 };

	if (code == MPK_OK)
		code = mpk_device_launch(kernel, slots, 5, &err);
	if (code == MPK_OK)
		code = mpk_device_sync(device, &err);
	if (code == MPK_OK)
		code = mpk_device_read(device, a, 0, got, sizeof got, &err);
	/* a device that does not open is missing; later failures are the call's */
	ck_assert_msg(code == (failing < 3 ? MPK_E_DEVICE : MPK_E_RAISED), "%s: code %d",
		      d->failing[failing], code);
	ck_assert_text(err, d->out_of_memory);
	if (device)
		mpk_device_free(device, a);
}
END_TEST

START_TEST(modules_can_be_loaded_again_and_again)
{
	begin(_i);
	open_device_of(d->kind);
	struct table *t =
		table_with("saxpy", "handle handle float32 int32", "blockIdx.x threadIdx.x");
	void *x = floats_on(device, 8, 0, 1);

	for (int i = 0; i < 200; i++) {
		struct mpk_device_module *module = load(t);

		launch_saxpy(kernel_of(module, "saxpy"), x, x, 0, 8);
		mpk_device_unload(module);
	}
	ck_assert_uint_eq(fake->calls(d->unload), 200);
	mpk_device_free(device, x);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("device_drivers");
	TCase *tc = tcase_create("fake drivers");
	SRunner *r = srunner_create(s);

	if (!find_fakes())
		return 1;
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_loop_test(tc, devices_are_described, 0, DRIVERS);
	tcase_add_loop_test(tc, no_gpu_is_one_line, 0, DRIVERS);
	tcase_add_loop_test(tc, saxpy_runs, 0, 5);
	tcase_add_loop_test(tc, bad_code_is_explained, 0, DRIVERS);
	tcase_add_loop_test(tc, missing_and_odd_kernels, 0, DRIVERS);
	tcase_add_loop_test(tc, limits_name_both_sides, 0, DRIVERS);
	tcase_add_loop_test(tc, two_devices_take_turns, 0, DRIVERS);
	tcase_add_loop_test(tc, another_thread_launches, 0, DRIVERS);
	tcase_add_loop_test(tc, streams_are_waited_for_before_copies, 0, DRIVERS);
	tcase_add_loop_test(tc, copies_are_queued, 0, DRIVERS);
	tcase_add_loop_test(tc, every_failure_is_cleaned_up, 0, DRIVERS * FAILURES);
	tcase_add_loop_test(tc, modules_can_be_loaded_again_and_again, 0, DRIVERS);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
