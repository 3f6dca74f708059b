/* SPDX-License-Identifier: Apache-2.0 */
/* device nodes of a tree: kernels called alone, tensors on devices, over and over, textures */
#include "device_fake.h"
#include "elf/image.h"
#include "executor/executor.h"
#include "globals.h"
#include "harness.h"
#include "io/mapping.h"
#include "runtime/devices.h"
#include "runtime/internal/runtime.h"
#include "runtime/library.h"
#include "runtime/runtime.h"
#include "skip.h"
#include "workspace.h"

/* A file of the test data, opened as minspect does. */
struct file {
	struct mpk_mapping map;
	struct mpk_arena arena;
	struct mpk_image image;
	struct mpk_tree tree;
};

static char cache[] = "/tmp/check_run_devices_XXXXXX";

static void file_open(struct file *f, const char *path)
{
	struct mpk_error err = { 0 };

	*f = (struct file){ .map.fd = -1 };
	ck_assert_ok(mpk_mapping_open(path, &f->map, &err), err);
	ck_assert_ok(mpk_image_open(f->map.bytes, NULL, &f->arena, &f->image, &err), err);
	ck_assert_ok(mpk_blob_read(f->image.blob, f->image.gen, &f->arena, &f->tree, &err), err);
}

static void file_close(struct file *f)
{
	mpk_mapping_close(&f->map);
	mpk_arena_fini(&f->arena);
}

static struct mpk_tensor *tensor_of(int64_t count, float value)
{
	static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };
	struct mpk_error err = { 0 };
	struct mpk_tensor *t = NULL;

	ck_assert_ok(mpk_tensor_create(f32, &count, 1, MPK_STORAGE_PRIVATE, &t, &err), err);
	for (int64_t i = 0; i < count; i++)
		((float *)t->dl.data)[i] = value * (float)(i + 1);
	return t;
}

/* y = alpha * x + y by the file's saxpy kernel, from nothing to nothing */
static void saxpy_once(const struct mpk_tree *tree, enum mpk_dl_device type)
{
	struct mpk_kernel_extents extents = { .grid = { 1 }, .block = { 256 } };
	struct mpk_runtime *runtime = NULL;
	struct mpk_kernel_set kernels = { 0 };
	struct mpk_kernel_found found;
	struct mpk_error err = { 0 };
	struct mpk_tensor *x = tensor_of(8, 1), *y = tensor_of(8, 10), *sent[2];

	ck_assert_ok(mpk_runtime_create(&(struct mpk_runtime_options){ 0 }, &runtime, &err), err);
	struct mpk_devices *devices = mpk_runtime_devices(runtime);

	kernels.runtime = runtime;
	kernels.tree = tree;
	ck_assert_ok(mpk_kernel_set_find(&kernels, "saxpy_kernel", &extents,
					 (struct mpk_dldevice){ 0 }, &found, &err),
		     err);
	/* the function keeps what it needs */
	mpk_kernel_set_fini(&kernels);
	ck_assert_int_eq(found.where.type, (int)type);
	ck_assert_ok(mpk_devices_send(devices, x, found.where, &sent[0], &err), err);
	ck_assert_ok(mpk_devices_send(devices, y, found.where, &sent[1], &err), err);
	struct mpk_value values[] = { mpk_value_of_tensor(sent[0]), mpk_value_of_tensor(sent[1]),
				      mpk_value_of_float(2), mpk_value_of_int(6) };
	struct mpk_value result = { 0 };

	struct mpk_args args = { values, NULL, 4 };

	ck_assert_ok(mpk_function_call(found.function, &args, &result, &err), err);
	ck_assert_ok(mpk_devices_fetch(devices, &sent[1]->dl, y, &err), err);
	for (int i = 0; i < 8; i++)
		ck_assert_float_eq(((float *)y->dl.data)[i],
				   (float)(i + 1) * (i < 6 ? 12.0f : 10.0f));
	for (int i = 0; i < 2; i++)
		mpk_tensor_drop(sent[i]);
	mpk_tensor_drop(x);
	mpk_tensor_drop(y);
	mpk_function_drop(found.function);
	mpk_runtime_destroy(runtime);
}

START_TEST(cuda_a_thousand_times)
{
	const char *first;
	struct file f;

	fake = open_fake("libcuda.so.1");
	file_open(&f, "tests/data/cuda/fatbin/saxpy_cuda.so");
	for (int i = 0; i < 1000; i++) {
		saxpy_once(&f.tree, MPK_DL_CUDA);
		ck_assert_uint_eq(fake->live(), 0);
	}
	ck_assert_uint_eq(fake->calls("cuLaunchKernel"), 1000);
	ck_assert_msg(fake->misuses(&first) == 0, "%s", first);
	file_close(&f);
}
END_TEST

/* Random numbers for a device are drawn on the host and sent there. */
START_TEST(random_numbers_on_a_device)
{
	static const struct mpk_dldevice cuda = { MPK_DL_CUDA, 0 };
	struct mpk_runtime *runtime = NULL;
	struct mpk_error err = { 0 };
	struct mpk_value result = { 0 };
	struct mpk_tensor *host = tensor_of(64, 100), *sent = NULL;
	const float *got = host->dl.data;
	int differ = 0;

	fake = open_fake("libcuda.so.1");
	ck_assert_ok(mpk_runtime_create(&(struct mpk_runtime_options){ 0 }, &runtime, &err), err);
	ck_assert_ok(mpk_executors_add(runtime, &err), err);
	ck_assert_ok(mpk_devices_send(mpk_runtime_devices(runtime), host, cuda, &sent, &err), err);
	struct mpk_value values[] = { mpk_value_of_float(-2), mpk_value_of_float(3),
				      mpk_value_of_tensor(sent) };

	ck_assert_ok(mpk_function_call(global_named(runtime, "tvm.contrib.random.uniform"),
				       &(struct mpk_args){ values, NULL, 3 }, &result, &err),
		     err);
	ck_assert_ok(mpk_devices_fetch(mpk_runtime_devices(runtime), &sent->dl, host, &err), err);
	for (int i = 0; i < 64; i++) {
		ck_assert(got[i] >= -2 && got[i] < 3);
		differ += got[i] != got[0];
	}
	ck_assert_int_gt(differ, 60);
	mpk_tensor_drop(sent);
	mpk_tensor_drop(host);
	mpk_runtime_destroy(runtime);
	ck_assert_uint_eq(fake->live(), 0);
}
END_TEST

/* Given back it is there for the next; what nobody gives back goes with the runtime. */
START_TEST(scratch_of_a_device)
{
	struct mpk_context context = { .convention = MPK_CONV_FFI }, before;
	struct mpk_runtime *others = NULL;
	struct mpk_error err = { 0 };
	void *a, *b;

	fake = open_fake("libcuda.so.1");
	ck_assert_ok(mpk_runtime_create(&(struct mpk_runtime_options){ 0 }, &context.runtime, &err),
		     err);
	ck_assert_ok(mpk_runtime_create(&(struct mpk_runtime_options){ 0 }, &others, &err), err);
	ck_assert_ptr_null(workspace_take(MPK_DL_CUDA, 0, 1000)); /* for nobody */
	before = mpk_context_swap(context);
	a = workspace_take(MPK_DL_CUDA, 0, 1000);
	b = workspace_take(MPK_DL_CUDA, 0, 1000);
	ck_assert_ptr_nonnull(a);
	ck_assert(b && a != b);
	ck_assert_int_eq(workspace_give(MPK_DL_CUDA, 1, a), 0); /* not of that device */
	ck_assert_ptr_ne(workspace_take(MPK_DL_CUDA, 0, 1000), a);
	ck_assert_int_eq(workspace_give(MPK_DL_CUDA, 0, a), 0);
	ck_assert_ptr_eq(workspace_take(MPK_DL_CUDA, 0, 1000), a);
	mpk_runtime_destroy(others); /* takes nothing of these along */
	ck_assert_int_eq(workspace_give(MPK_DL_CUDA, 0, b), 0);
	ck_assert_ptr_eq(workspace_take(MPK_DL_CUDA, 0, 1000), b);
	(void)mpk_context_swap(before);
	mpk_runtime_destroy(context.runtime);
	ck_assert_uint_eq(fake->live(), 0);
}
END_TEST

static bool has_opencl(struct mpk_error *err)
{
	struct mpk_device_list list = { 0 };
	bool found = mpk_device_list_add(&list, MPK_DEVICE_OPENCL, err) == MPK_OK;

	mpk_device_list_fini(&list);
	return found;
}

static long resident_pages(void)
{
	long size = 0, resident = 0;
	FILE *statm = fopen("/proc/self/statm", "r");

	ck_assert_ptr_nonnull(statm);
	ck_assert_int_eq(fscanf(statm, "%ld %ld", &size, &resident), 2);
	fclose(statm);
	return resident;
}

/* The driver compiles once and keeps what it needs; after that nothing may grow. */
START_TEST(opencl_again_and_again)
{
	struct mpk_error err = { 0 };
	struct file f;

	if (!has_opencl(&err))
		SKIP_TEST("%s", err.text);
	file_open(&f, "tests/data/cuda/saxpy_opencl.so");
	for (int i = 0; i < 20; i++)
		saxpy_once(&f.tree, MPK_DL_OPENCL);
	long before = resident_pages();

	for (int i = 0; i < 100; i++)
		saxpy_once(&f.tree, MPK_DL_OPENCL);
	long more = resident_pages() - before;

	file_close(&f);
#if MPK_IS_ADDRESS_SANITIZED
	/* it keeps freed memory for a while, and reports leaks itself */
	(void)more;
	SKIP_TEST("memory is not counted under a sanitizer");
#else
	ck_assert_int_lt(more, 2048); /* 8 MiB: the driver's own caches */
#endif
}
END_TEST

START_TEST(defaults_follow_the_tree)
{
	static const struct {
		const char *path;
		int32_t type;
	} rows[] = {
		{ "tests/data/cuda/saxpy_opencl.so", MPK_DL_OPENCL },
		{ "tests/data/cuda/ptx/saxpy_cuda.so", MPK_DL_CUDA },
		{ "tests/data/formats/06_relax_vm.so", MPK_DL_CPU },
	};
	struct mpk_dldevice where = { 99, 0 };
	struct mpk_error err = { 0 };
	struct file f;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		file_open(&f, rows[i].path);
		ck_assert_ok(mpk_devices_default(&f.tree, &where, &err), err);
		ck_assert_int_eq(where.type, rows[i].type);
		file_close(&f);
	}
	ck_assert_ok(mpk_devices_default(NULL, &where, &err), err);
	ck_assert_int_eq(where.type, MPK_DL_CPU);
	file_open(&f, "tests/data/formats/04_metal.blob");
	ck_assert_int_eq(mpk_devices_default(&f.tree, &where, &err), MPK_E_DEVICE);
	ck_assert_text(err, "'metal'");
	file_close(&f);
}
END_TEST

static enum mpk_code call_global(struct mpk_runtime *runtime, const char *name,
				 const struct mpk_value *values, size_t count,
				 struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_function *f = global_named(runtime, name);
	struct mpk_args args = { values, NULL, count };

	ck_assert_ptr_nonnull(f);
	return mpk_function_call(f, &args, result, err);
}

/* What module code calls to get an image, through the runtime's global functions: with the extents
 * that the compiler has flattened, of two dimensions up to TVM 0.22, of layers from 0.23 on. */
START_TEST(textures_by_name)
{
	static int64_t extents[] = { 5, 3, 2 };
	struct mpk_runtime *runtime = NULL;
	struct mpk_error err = { 0 };
	struct mpk_value scope = { 0 }, image = { 0 }, none = { 0 };

	if (!has_opencl(&err))
		SKIP_TEST("%s", err.text);
	ck_assert_ok(mpk_runtime_create(&(struct mpk_runtime_options){ 0 }, &runtime, &err), err);
	ck_assert_ok(mpk_value_of_text(MPK_VALUE_STR, mpk_span_str("global.texture"), &scope, &err),
		     err);
	struct mpk_value alloc[] = {
		mpk_value_of_int(4),
		mpk_value_of_int(0),
		mpk_value_of_int(2),
		mpk_value_of_int(32),
		scope,
		mpk_value_of_int(2),
		mpk_value_of_opaque(extents),
		mpk_value_of_int(128),
	};
	static const char name[] = "device_api.opencl.alloc_nd";

	for (int64_t count = 7; count <= 8; count++) {
		alloc[5] = mpk_value_of_int(count - 5);
		ck_assert_ok(call_global(runtime, name, alloc, (size_t)count, &image, &err), err);
		ck_assert_int_eq(image.kind, MPK_VALUE_OPAQUE);
		struct mpk_value release[] = { alloc[0], alloc[1], scope, image };

		ck_assert_ok(
			call_global(runtime, "device_api.opencl.free_nd", release, 4, &none, &err),
			err);
	}
	ck_assert_int_eq(call_global(runtime, name, alloc, 6, &none, &err), MPK_E_RAISED);
	ck_assert_int_eq(call_global(runtime, name, alloc, 7, &none, &err), MPK_E_RAISED);
	ck_assert_text(err, "3 extents of an image");
	alloc[7] = mpk_value_of_int(32);
	ck_assert_int_eq(call_global(runtime, name, alloc, 8, &none, &err), MPK_E_RAISED);
	ck_assert_text(err, "a pixel of 32 bits");
	alloc[7] = mpk_value_of_int(64);
	extents[2] = 0;
	ck_assert_int_eq(call_global(runtime, name, alloc, 8, &none, &err), MPK_E_RAISED);
	ck_assert_text(err, "extent 2 is 0");
	mpk_value_drop(&scope);
	mpk_runtime_destroy(runtime);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("run_devices");
	TCase *tc = tcase_create("run_devices");
	SRunner *r = srunner_create(s);

	if (!find_fakes() || !mkdtemp(cache))
		return 1;
	setenv("POCL_CACHE_DIR", cache, 1);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, cuda_a_thousand_times);
	tcase_add_test(tc, scratch_of_a_device);
	tcase_add_test(tc, random_numbers_on_a_device);
	tcase_add_test(tc, opencl_again_and_again);
	tcase_add_test(tc, defaults_follow_the_tree);
	tcase_add_test(tc, textures_by_name);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	folder_remove(cache);
	return failed != 0;
}
