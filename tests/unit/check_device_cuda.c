/* CUDA back end against the driver library of the tests (tests/fakes/fake_cuda.h) */
#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "device/cuda.h"
#include "device_kernels.h"
#include "fake_cuda.h"

#define PTX(target, entries) \
	"//\n.version 7.0\n.target sm_" target "\n.address_size 64\n" entries

static const char ptx[] = PTX("50", ".visible .entry vadd_kernel(\n)\n.visible .entry "
			      "saxpy_kernel(\n)\n.visible .entry rev_kernel(\n)\n"
			      ".visible .entry spin_kernel()\n.visible .func helper()\n");

static char fakes[4000];
static const struct fake_cuda_probe *fake;
static struct mpk_device *device;

/* The first library of that soname stands for all: the back end's dlopen finds this one. */
static const struct fake_cuda_probe *open_fake(const char *name)
{
	char path[4100];
	struct fake_cuda_probe *probe;

	(void)snprintf(path, sizeof path, "%s/%s", fakes, name);
	void *handle = dlopen(path, RTLD_NOW);

	ck_assert_msg(handle != NULL, "%s", dlerror());
	probe = dlsym(handle, "fake_cuda_probe");
	ck_assert_ptr_nonnull(probe);
	return probe;
}

static void open_device(void)
{
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_device_open(MPK_DEVICE_CUDA, 0, &device, &err), err);
}

static void setup(void)
{
	fake = open_fake("libcuda.so.1");
}

/* After every test: nothing was misused and nothing is left. */
static void teardown(void)
{
	const char *first;

	mpk_device_close(device);
	ck_assert_msg(fake->misuses(&first) == 0, "%s", first);
	ck_assert_uint_eq(fake->live(), 0);
}

static struct table *table_of(const char *fmt, struct mpk_span data)
{
	static struct table pool[4];
	static size_t used;

	ck_assert_uint_lt(used, MPK_ARRAY_COUNT(pool)); /* each test runs in its own process */
	struct table *t = &pool[used++];

	t->kernels.fmt = mpk_span_str(fmt);
	t->kernels.data = data;
	return t;
}

/* The text without its NUL: whoever hands it to the driver must add one. */
static struct table *ptx_table(const char *text)
{
	static char exact[4][4096];
	static size_t used;
	char *copy = exact[used++];

	memset(copy, 'X', sizeof exact[0]);
	memcpy(copy, text, strlen(text));
	return table_of("ptx", mpk_span_of(copy, strlen(text)));
}

static struct mpk_device_module *load(struct table *t)
{
	struct mpk_device_module *module = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_device_load(device, &t->kernels, &module, &err), err);
	return module;
}

static struct mpk_device_kernel *kernel_of(struct mpk_device_module *module, const char *key)
{
	struct mpk_device_kernel *kernel = NULL;
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_device_get_kernel(module, mpk_span_str(key), &kernel, &err), err);
	return kernel;
}

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
	ck_assert_int_eq(mpk_device_launch(rev, slots, 5, &err), MPK_E_RANGE);
	ck_assert_text(err, "233472 bytes of dynamic and 0 of static shared memory, but Imaginary "
			    "GPU 0 allows at most 232448");
	slots[4] = UINT64_C(1) << 62;
	ck_assert_int_eq(mpk_device_launch(rev, slots, 5, &err), MPK_E_RANGE);
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
	table_add(t, &(struct table_row){
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
	ck_assert_int_eq(mpk_device_launch(spin, slots, 4, &err), MPK_E_RANGE);
	ck_assert_text(err, "CUDA_ERROR_INVALID_CLUSTER_SIZE");
}
END_TEST

START_TEST(limits_name_both_sides)
{
	static const struct {
		uint64_t slots[4];
		const char *text;
	} rows[] = {
		{ { 1, 1, 1, 1025 }, "block dimension x is 1025, but Imaginary GPU 0 allows at "
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

		ck_assert_int_eq(mpk_device_launch(spin, rows[i].slots, 4, &err), MPK_E_RANGE);
		ck_assert_text(err, rows[i].text);
	}
	ck_assert_uint_eq(fake->calls("cuLaunchKernel"), 0);
}
END_TEST

START_TEST(bad_code_is_explained)
{
	static const struct {
		const char *ptx;
		enum mpk_code code;
		const char *texts[3];
	} rows[] = {
		{ PTX("50", "syntax error"), MPK_E_LOAD,
		  { "CUDA_ERROR_INVALID_PTX (218)", "Parsing error near 'syntax'", "line 5" } },
		{ PTX("100", ".visible .entry vadd_kernel()"), MPK_E_LOAD,
		  { "CUDA_ERROR_NO_BINARY_FOR_GPU (209)", "sm_90", "" } },
		{ "not code at all", MPK_E_LOAD, { "CUDA_ERROR_INVALID_IMAGE (200)", "", "" } },
		{ "", MPK_E_CORRUPT, { "no code", "", "" } },
	};

	open_device();
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_device_module *module = NULL;
		struct mpk_error err = { 0 };
		struct table *t = ptx_table(rows[i].ptx);

		ck_assert_int_eq(mpk_device_load(device, &t->kernels, &module, &err),
				 rows[i].code);
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
	ck_assert_int_eq(mpk_device_get_kernel(module, mpk_span_str("vadd_kernel"), &kernel,
					       &err), MPK_E_CONFLICT);
	ck_assert_text(err, "more parameters in its code than the 2");
	ck_assert_int_eq(mpk_device_get_kernel(module, mpk_span_str("saxpy_kernel"), &kernel,
					       &err), MPK_E_CONFLICT);
	ck_assert_text(err, "parameter 2 has 4 bytes in the code, but 8");
	ck_assert_int_eq(mpk_device_get_kernel(module, mpk_span_str("rev_kernel"), &kernel,
					       &err), MPK_E_CONFLICT);
	ck_assert_text(err, "2 parameters in its code, but 3");
	ck_assert_int_eq(mpk_device_get_kernel(module, mpk_span_str("helper"), &kernel, &err),
			 MPK_E_LOAD);
	ck_assert_text(err, "kernel 'helper': CUDA_ERROR_NOT_FOUND (500)");
	ck_assert_ptr_null(kernel);
}
END_TEST

/* A fault shows at the next call and is the module's fault, not the device's. */
START_TEST(faults_are_raised)
{
	struct mpk_error err = { 0 };
	struct table *t = ptx_table(ptx);
	float got[4];

	open_device();
	table_add(t, &(struct table_row){ "vadd_kernel", "handle handle handle",
					  "threadIdx.x" });
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

/* Each driver call of a full run fails once: the error is reported, nothing leaks. */
START_TEST(every_failure_is_cleaned_up)
{
	static const char *const symbols[] = {
		"cuDeviceGetCount", "cuDeviceGet", "cuDevicePrimaryCtxRetain",
		"cuCtxSetCurrent", "cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuModuleLoadDataEx",
		"cuModuleGetFunction", "cuLaunchKernel", "cuStreamSynchronize",
		"cuMemcpyDtoH_v2",
	};
	struct table *t = ptx_table(ptx);
	struct mpk_device_module *module = NULL;
	struct mpk_device_kernel *kernel = NULL;
	struct mpk_error err = { 0 };
	float got[4] = { 0 };
	void *a = NULL;

	table_add(t, &(struct table_row){ "vadd_kernel", "handle handle handle",
					  "threadIdx.x" });
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
	ck_assert_msg(code == MPK_E_DEVICE, "%s: code %d", symbols[_i], code);
	ck_assert_text(err, "CUDA_ERROR_OUT_OF_MEMORY (2): out of device memory");
	if (device)
		mpk_device_free(device, a);
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
			 MPK_E_DEVICE);
	ck_assert_text(err, "it must be 11.6 or later");
	mpk_device_close(device);
	device = NULL;
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, devices_are_described);
	tcase_add_test(tc, no_gpu_is_one_line);
	tcase_add_test(tc, driver_mismatch_has_its_cause);
	tcase_add_test(tc, vadd_runs);
	tcase_add_test(tc, scalars_are_narrowed);
	tcase_add_test(tc, shared_memory_is_asked_for_once);
	tcase_add_test(tc, launch_attributes_in_tvms_order);
	tcase_add_test(tc, limits_name_both_sides);
	tcase_add_test(tc, bad_code_is_explained);
	tcase_add_test(tc, missing_and_odd_kernels);
	tcase_add_test(tc, faults_are_raised);
	tcase_add_loop_test(tc, every_failure_is_cleaned_up, 0, 11);
	tcase_add_test(tc, streams_are_waited_for_before_copies);
	tcase_add_test(tc, modules_can_be_loaded_again_and_again);
}

/* <dir>/tests/unit/check_device_cuda -> <dir>/tests/fakes */
static bool find_fakes(void)
{
	char self[3900];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

	if (len <= 0)
		return false;
	self[len] = '\0';
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(self, '/');

		if (slash)
			*slash = '\0';
	}
	(void)snprintf(fakes, sizeof fakes, "%s/fakes", self);
	return true;
}

int main(void)
{
	Suite *s = suite_create("device_cuda");
	TCase *tc = tcase_create("fake driver"), *old = tcase_create("old driver");
	SRunner *r = srunner_create(s);

	if (!find_fakes())
		return 1;
	tcase_add_checked_fixture(tc, setup, teardown);
	add_tests(tc);
	tcase_add_test(old, old_drivers_launch_plainly);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, old);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
