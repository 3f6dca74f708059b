/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL back end, on whatever OpenCL device there is (in CI: PoCL on the CPU) */
#include <check.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "device/internal/opencl.h"
#include "device_kernels.h"
#include "harness.h"
#include "runtime/devices.h"
#include "session/call.h"
#include "skip.h"

static const char two_kernels[] =
	"this text stands before the first delimiter and is not compiled\n"
	"// Function: scale\n"
	"__kernel void scale(__global const float *a, __global float *b, float alpha, int n) {\n"
	"  int i = get_global_id(0);\n  if (i < n) b[i] = a[i] * alpha;\n}\n"
	"// Function: widths\n"
	"__kernel void widths(__global double *out, char i8, uchar u8, short i16, int i32,\n"
	"                     long i64, uint u32, float f32, double f64) {\n"
	"  out[0] = i8; out[1] = u8; out[2] = i16; out[3] = i32;\n"
	"  out[4] = i64; out[5] = u32; out[6] = f32; out[7] = f64;\n}\n";

static struct mpk_device *device;
static char cache[] = "/tmp/check_device_XXXXXX";

static void setup(void)
{
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_device_open(MPK_DEVICE_OPENCL, 0, NULL, &device, &err), err);
}

static void teardown(void)
{
	mpk_device_close(device);
}

static struct table *table_with(const char *source)
{
	static struct table pool[2];
	static size_t used;

	ck_assert_uint_lt(used, MPK_ARRAY_COUNT(pool)); /* each test runs in its own process */
	struct table *t = &pool[used++];

	t->kernels.fmt = mpk_span_str("cl");
	t->kernels.data = mpk_span_str(source);
	return t;
}

/* A row for a kernel that the test does not ask for: loaders need one for each piece. */
static void table_add_idle(struct table *t, const char *key)
{
	table_add(t, &(struct table_row){ key, "handle", "" });
}

static struct mpk_device_module *load(struct table *t)
{
	return load_on(device, t);
}

START_TEST(devices_are_listed)
{
	struct mpk_device_list list = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_device *none = NULL;

	ck_assert_ok(mpk_device_list_add(&list, MPK_DEVICE_OPENCL, &err), err);
	ck_assert_uint_ge(list.count, 1);
	for (size_t i = 0; i < list.count; i++) {
		ck_assert_uint_eq(list.items[i].ordinal, i);
		ck_assert_str_ne(list.items[i].name, "");
		ck_assert_str_ne(list.items[i].platform, "");
		ck_assert_uint_gt(list.items[i].block_limit, 0);
		ck_assert_uint_gt(list.items[i].memory_bytes, 0);
	}
	ck_assert_int_eq(
		mpk_device_open(MPK_DEVICE_OPENCL, (unsigned)list.count, NULL, &none, &err),
		MPK_E_DEVICE);
	ck_assert_text(err, "no device opencl:");
	mpk_device_list_fini(&list);
}
END_TEST

START_TEST(copies_are_exact_and_bounded)
{
	struct mpk_error err = { 0 };
	void *a = floats_on(device, 8, 0, 1), *b = floats_on(device, 8, 0, 0);
	float got[8];

	ck_assert_ok(mpk_device_copy(device, &(struct mpk_device_copy){ b, 4, a, 8, 12 }, &err),
		     err);
	ck_assert_ok(mpk_device_read(device, b, 4, got, 12, &err), err);
	for (int i = 0; i < 3; i++)
		ck_assert_float_eq(got[i], (float)i + 2);
	ck_assert_int_eq(mpk_device_copy(device, &(struct mpk_device_copy){ a, 4, a, 0, 8 }, &err),
			 MPK_E_RANGE);
	ck_assert_int_eq(mpk_device_copy(device, &(struct mpk_device_copy){ b, 28, a, 0, 8 }, &err),
			 MPK_E_RANGE);
	ck_assert_int_eq(mpk_device_read(device, a, 8, got, 32, &err), MPK_E_RANGE);
	ck_assert_text(err, "copy of 32 bytes at 8 in a buffer of 32");
	ck_assert_int_eq(mpk_device_read(device, a, UINT64_MAX, got, 8, &err), MPK_E_RANGE);
	ck_assert_int_eq(mpk_device_write(device, a, 29, mpk_span_of(got, 4), &err), MPK_E_RANGE);
	ck_assert_ok(mpk_device_read(device, a, 1000, got, 0, &err), err);
	ck_assert_int_eq(mpk_device_set_stream(device, got, &err), MPK_E_UNSUPPORTED);
	mpk_device_free(device, a);
	mpk_device_free(device, b);
}
END_TEST

START_TEST(kernels_of_a_split_source_run)
{
	struct mpk_error err = { 0 };
	struct table *t = table_with(two_kernels);

	table_add(t, &(struct table_row){ "scale", "handle handle float32 int32",
					  "blockIdx.x threadIdx.x tir.use_dyn_shared_memory" });
	table_add_idle(t, "widths");
	struct mpk_device_module *module = load(t);
	struct mpk_device_kernel *scale = kernel_of(module, "scale");
	void *a = floats_on(device, 100, 0, 1), *b = floats_on(device, 100, -1, 0);
	uint64_t slots[] = { slot_at(a), slot_at(b), slot_of(2.5), 90, 4, 32, 4096 };
	float got[100];

	ck_assert_ptr_eq(kernel_of(module, "scale"), scale);
	ck_assert_ok(mpk_device_launch(scale, slots, 7, &err), err);
	ck_assert_ok(mpk_device_sync(device, &err), err);
	ck_assert_ok(mpk_device_read(device, b, 0, got, sizeof got, &err), err);
	for (int i = 0; i < 100; i++)
		ck_assert_float_eq(got[i], i < 90 ? (float)i * 2.5f : -1);
	mpk_device_free(device, a);
	mpk_device_free(device, b);
	mpk_device_unload(module);
}
END_TEST

/* A copy stands between two launches without anybody waiting. */
START_TEST(copies_are_queued_with_kernels)
{
	enum { N = 1 << 16 };
	struct mpk_error err = { 0 };
	struct table *t = table_with(two_kernels);
	static float got[N];

	table_add(t, &(struct table_row){ "scale", "handle handle float32 int32",
					  "blockIdx.x threadIdx.x" });
	table_add_idle(t, "widths");
	struct mpk_device_kernel *scale = kernel_of(load(t), "scale");
	void *a = floats_on(device, N, 1, 0), *b = floats_on(device, N, 0, 0);
	uint64_t slots[] = { slot_at(a), slot_at(b), slot_of(2), N, N / 64, 64 };

	for (int i = 0; i < 10; i++) {
		ck_assert_ok(mpk_device_launch(scale, slots, 6, &err), err);
		ck_assert_ok(
			mpk_device_copy(device,
					&(struct mpk_device_copy){ a, 0, b, 0, N * sizeof *got },
					&err),
			err);
	}
	ck_assert_ok(mpk_device_read(device, a, 0, got, sizeof got, &err), err);
	for (int i = 0; i < N; i++)
		ck_assert_float_eq(got[i], 1024);
	mpk_device_free(device, a);
	mpk_device_free(device, b);
}
END_TEST

START_TEST(every_width_arrives)
{
	static const double want[] = { -3, 200, -30000, -2000000000, -9e15, 4e9, 0.1f, 0.1 };
	struct mpk_error err = { 0 };
	struct table *t = table_with(two_kernels);

	table_add(t, &(struct table_row){ "widths",
					  "handle int8 uint8 int16 int32 int64 uint32 "
					  "float32 float64",
					  "blockIdx.x" });
	table_add_idle(t, "scale");
	struct mpk_device_kernel *widths = kernel_of(load(t), "widths");
	void *out = floats_on(device, 16, 0, 0);
	uint64_t slots[] = { slot_at(out),
			     (uint64_t)-3,
			     200,
			     (uint64_t)-30000,
			     (uint64_t)-2000000000,
			     (uint64_t)-9000000000000000,
			     4000000000u,
			     slot_of(0.1),
			     slot_of(0.1),
			     1 };
	double got[8];

	ck_assert_ok(mpk_device_launch(widths, slots, 10, &err), err);
	ck_assert_ok(mpk_device_read(device, out, 0, got, sizeof got, &err), err);
	for (int i = 0; i < 8; i++)
		ck_assert_msg(got[i] == want[i], "argument %d: %.17g, not %.17g", i + 1, got[i],
			      want[i]);
	mpk_device_free(device, out);
	/* the module is unloaded by mpk_device_close */
}
END_TEST

/* TVM up to 0.7 wrote one program without delimiters. */
START_TEST(whole_source_holds_all_kernels)
{
	static const char source[] =
		"__kernel void one(__global int *p) { p[get_global_id(0)] += 1; }\n"
		"__kernel void two(__global int *p) { p[get_global_id(0)] *= 2; }\n";
	struct mpk_error err = { 0 };
	struct table *t = table_with(source);

	table_add(t, &(struct table_row){ "two", "handle", "threadIdx.x" });
	table_add(t, &(struct table_row){ "one", "handle", "threadIdx.x" });
	struct mpk_device_module *module = load(t);
	void *p = floats_on(device, 4, 0, 0);
	uint64_t slots[] = { slot_at(p), 4 };
	int32_t got[4];

	ck_assert_ok(mpk_device_launch(kernel_of(module, "one"), slots, 2, &err), err);
	ck_assert_ok(mpk_device_launch(kernel_of(module, "two"), slots, 2, &err), err);
	ck_assert_ok(mpk_device_read(device, p, 0, got, sizeof got, &err), err);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(got[i], 2);
	mpk_device_free(device, p);
	mpk_device_unload(module);
}
END_TEST

/* Three-dimensional launches: each work item counts itself at its own place. */
START_TEST(three_axes_in_the_order_of_the_tags)
{
	static const char source[] =
		"// Function: mark\n__kernel void mark(__global int *p) {\n"
		"  size_t i = (get_global_id(2) * get_global_size(1) + get_global_id(1)) *\n"
		"             get_global_size(0) + get_global_id(0);\n"
		"  p[i] = get_local_size(0) * 100 + get_local_size(1) * 10 + get_local_size(2);\n"
		"}\n";
	struct mpk_error err = { 0 };
	struct table *t = table_with(source);

	table_add(t, &(struct table_row){ "mark", "handle",
					  "threadIdx.z blockIdx.y threadIdx.x "
					  "blockIdx.x" });
	void *p = floats_on(device, 48, 0, 0);
	uint64_t slots[] = { slot_at(p), 2, 4, 3, 2 };
	int32_t got[48];

	ck_assert_ok(mpk_device_launch(kernel_of(load(t), "mark"), slots, 5, &err), err);
	ck_assert_ok(mpk_device_read(device, p, 0, got, sizeof got, &err), err);
	for (int i = 0; i < 48; i++)
		ck_assert_int_eq(got[i], 312);
	mpk_device_free(device, p);
}
END_TEST

START_TEST(limits_name_both_sides)
{
	struct mpk_error err = { 0 };
	struct table *t = table_with(two_kernels);

	table_add(t, &(struct table_row){ "scale", "handle handle float32 int32",
					  "blockIdx.x threadIdx.x threadIdx.y" });
	table_add_idle(t, "widths");
	struct mpk_device_kernel *scale = kernel_of(load(t), "scale");
	void *a = floats_on(device, 4, 0, 1);
	uint64_t slots[] = { slot_at(a), slot_at(a), 0, 0, 1, 1 << 20, 1 };

	ck_assert_int_eq(mpk_device_launch(scale, slots, 7, &err), MPK_E_RAISED);
	ck_assert_text(err, "kernel 'scale': block dimension x is 1048576");
	slots[5] = slots[6] = 2048;
	ck_assert_int_eq(mpk_device_launch(scale, slots, 7, &err), MPK_E_RAISED);
	ck_assert_text(err, "at most");
	slots[4] = UINT64_C(1) << 62;
	slots[5] = 16;
	slots[6] = 1;
	ck_assert_int_eq(mpk_device_launch(scale, slots, 7, &err), MPK_E_RAISED);
	ck_assert_text(err, "grid is too large");
	mpk_device_free(device, a);
}
END_TEST

START_TEST(failures_name_the_kernel)
{
	static const char source[] =
		"// Function: broken\n__kernel void broken(__global float *p) { p[0] = nowhere; }\n"
		"// Function: fewer\n__kernel void fewer(__global float *p) { p[0] = 1; }\n"
		"// Function: renamed\n__kernel void other(__global float *p) { p[0] = 1; }\n"
		"// Function: idle\n__kernel void idle(__global float *p) {}\n";
	struct mpk_device_kernel *kernel = NULL;
	struct mpk_error err = { 0 };
	struct table *t = table_with(source);

	table_add(t, &(struct table_row){ "broken", "handle", "" });
	table_add(t, &(struct table_row){ "fewer", "handle handle", "" });
	table_add(t, &(struct table_row){ "renamed", "handle", "" });
	table_add(t, &(struct table_row){ "absent", "handle", "" });
	struct mpk_device_module *module = load(t);

	ck_assert_int_eq(mpk_device_get_kernel(module, mpk_span_str("broken"), &kernel, &err),
			 MPK_E_LOAD);
	ck_assert_text(err, "kernel 'broken' does not build");
	ck_assert_text(err, "nowhere");
	ck_assert_int_eq(mpk_device_get_kernel(module, mpk_span_str("fewer"), &kernel, &err),
			 MPK_E_CONFLICT);
	ck_assert_text(err, "1 parameters in its code, but 2");
	ck_assert_int_eq(mpk_device_get_kernel(module, mpk_span_str("renamed"), &kernel, &err),
			 MPK_E_LOAD);
	ck_assert_text(err, "CL_INVALID_KERNEL_NAME");
	ck_assert_int_eq(mpk_device_get_kernel(module, mpk_span_str("absent"), &kernel, &err),
			 MPK_E_LOAD);
	ck_assert_text(err, "no code for it");
	ck_assert_int_eq(mpk_device_get_kernel(module, mpk_span_str("broker"), &kernel, &err),
			 MPK_E_NOTFOUND);
	ck_assert_text(err, "did you mean 'broken'");
	ck_assert_ptr_null(kernel);
	mpk_device_unload(module);
}
END_TEST

/* TVM from 0.8 on wants a line for each kernel; a module of the legacy generation without any may be
 * older. */
START_TEST(sources_that_tvm_refuses)
{
	static const char bare[] = "__kernel void scale(__global float *p) { p[0] = 1; }\n";
	struct mpk_device_module *module = NULL;
	struct mpk_error err = { 0 };
	struct table *t = table_with(bare);

	table_add_idle(t, "scale");
	t->kernels.gen = MPK_GEN_CURRENT;
	ck_assert_int_eq(mpk_device_load(device, &t->kernels, &module, &err), MPK_E_LOAD);
	ck_assert_text(err, "has no '// Function: NAME' lines");
	ck_assert_ptr_null(strstr(err.text, "--"));
	mpk_hint_add(&err);
	ck_assert_text(err, "mpack edit --replace");
	t->kernels.gen = MPK_GEN_LEGACY;
	ck_assert_ok(mpk_device_load(device, &t->kernels, &module, &err), err);
	mpk_device_unload(module);
	t->kernels.data = mpk_span_str(two_kernels);
	ck_assert_int_eq(mpk_device_load(device, &t->kernels, &module, &err), MPK_E_LOAD);
	ck_assert_text(err, "has 2 '// Function: NAME' lines for 1 kernels");
}
END_TEST

START_TEST(formats_it_cannot_run)
{
	struct mpk_device_module *module = NULL;
	struct mpk_error err = { 0 };
	struct mpk_kernels ptx = { .fmt = mpk_span_str("ptx") };
	struct mpk_kernels spirv = { .layout = MPK_KERNELS_OPENCL_SPIRV };

	ck_assert_int_eq(mpk_device_load(device, &ptx, &module, &err), MPK_E_UNSUPPORTED);
	ck_assert_text(err, "format 'ptx' is not one that OpenCL runs");
	if (!device->info.takes_spirv) {
		ck_assert_int_eq(mpk_device_load(device, &spirv, &module, &err), MPK_E_UNSUPPORTED);
		ck_assert_text(err, "SPIR-V");
	}
}
END_TEST

/* A binary that the driver itself gave for a source is a device binary of any format. */
START_TEST(device_binaries_run)
{
	struct mpk_error err = { 0 };
	struct table *t = table_with(two_kernels), *b = table_with("");
	struct mpk_opencl_kernel *kernel;
	__typeof__(&clGetProgramInfo) get_info;
	void *address = dlsym(dlopen("libOpenCL.so.1", RTLD_NOW), "clGetProgramInfo");
	struct mpk_span source;
	cl_program program = NULL;
	unsigned char *binary;
	size_t bytes = 0;

	table_add(t, &(struct table_row){ "scale", "handle handle float32 int32",
					  "blockIdx.x threadIdx.x" });
	table_add_idle(t, "widths");
	*b = *t;
	kernel = (struct mpk_opencl_kernel *)kernel_of(load(t), "scale");
	ck_assert_ok(mpk_opencl_program_for(&kernel->base, &program, &source, &err), err);
	memcpy(&get_info, &address, sizeof get_info);
	ck_assert_int_eq(get_info(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL),
			 CL_SUCCESS);
	binary = malloc(bytes);
	ck_assert_int_eq(get_info(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL),
			 CL_SUCCESS);
	b->kernels.fmt = mpk_span_str("aocx");
	b->kernels.data = mpk_span_of(binary, bytes);
	b->kernels.functions = t->functions;
	void *a = floats_on(device, 8, 1, 1);
	uint64_t slots[] = { slot_at(a), slot_at(a), slot_of(3), 8, 1, 8 };
	float got[8];

	ck_assert_ok(mpk_device_launch(kernel_of(load(b), "scale"), slots, 6, &err), err);
	ck_assert_ok(mpk_device_read(device, a, 0, got, sizeof got, &err), err);
	for (int i = 0; i < 8; i++)
		ck_assert_float_eq(got[i], ((float)i + 1) * 3);
	mpk_device_free(device, a);
	memset(binary, 0, bytes);
	struct mpk_device_kernel *none = NULL;

	ck_assert_int_eq(mpk_device_get_kernel(load(b), mpk_span_str("scale"), &none, &err),
			 MPK_E_LOAD);
	ck_assert_text(err, "CL_INVALID_BINARY");
	free(binary);
}
END_TEST

START_TEST(textures_carry_pixels_between_kernels)
{
	static const char source[] =
		"// Function: fill\n__kernel void fill(__write_only image2d_t img) {\n"
		"  int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
		"  write_imagef(img, at, (float4)(at.x, at.y, at.x + at.y, 1));\n}\n"
		"// Function: sum\n__kernel void sum(__read_only image2d_t img,\n"
		"                                    __global float *out) {\n"
		"  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_FILTER_NEAREST;\n"
		"  int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
		"  float4 v = read_imagef(img, s, at);\n"
		"  out[at.y * get_global_size(0) + at.x] = v.x * 100 + v.y * 10 + v.z + v.w;\n}\n";
	static const int64_t shape[] = { 2, 3, 5, 4 };
	struct mpk_texture_tensor tensor = {
		.scope = mpk_span_str("global.texture"),
		.dtype = { MPK_DTYPE_FLOAT, 32, 1 },
		.shape = shape,
		.ndim = 4,
	};
	struct mpk_device_texture texture;
	struct mpk_error err = { 0 };
	struct table *t = table_with(source);
	void *image = NULL, *out = floats_on(device, 30, 0, 0);
	float got[30];

	table_add(t, &(struct table_row){ "fill", "handle", "blockIdx.x blockIdx.y" });
	table_add(t, &(struct table_row){ "sum", "handle handle", "blockIdx.x blockIdx.y" });
	struct mpk_device_module *module = load(t);

	ck_assert_ok(mpk_texture_of(&tensor, &texture, &err), err);
	ck_assert_ok(mpk_device_alloc_texture(device, &texture, &image, &err), err);
	uint64_t fill[] = { slot_at(image), 5, 6 }, sum[] = { slot_at(image), slot_at(out), 5, 6 };

	ck_assert_ok(mpk_device_launch(kernel_of(module, "fill"), fill, 3, &err), err);
	ck_assert_ok(mpk_device_launch(kernel_of(module, "sum"), sum, 4, &err), err);
	ck_assert_ok(mpk_device_read(device, out, 0, got, sizeof got, &err), err);
	for (int y = 0; y < 6; y++)
		for (int x = 0; x < 5; x++)
			ck_assert_float_eq(got[y * 5 + x], (float)(x * 101 + y * 11 + 1));
	/* as a whole, and nothing else */
	ck_assert_int_eq(mpk_device_read(device, image, 0, got, 4, &err), MPK_E_UNSUPPORTED);
	float pixels[30][4];

	ck_assert_ok(mpk_device_read(device, image, 0, pixels, sizeof pixels, &err), err);
	ck_assert_float_eq(pixels[29][2], 9);
	/* a driver would crash on a buffer where the source says image, and the other way */
	uint64_t swapped[] = { slot_at(out), slot_at(image), 5, 6 };

	ck_assert_int_eq(mpk_device_launch(kernel_of(module, "sum"), swapped, 4, &err),
			 MPK_E_RAISED);
	ck_assert_text(err, "argument 0 is an image (image2d_t), but got a buffer");
	swapped[0] = slot_at(image);
	ck_assert_int_eq(mpk_device_launch(kernel_of(module, "sum"), swapped, 4, &err),
			 MPK_E_RAISED);
	ck_assert_text(err, "argument 1 is a buffer, but got an image");
	mpk_device_free(device, image);
	mpk_device_free(device, out);
}
END_TEST

START_TEST(no_device)
{
	SKIP_TEST("no OpenCL device");
}
END_TEST

/* In a process of its own: whoever forks after a driver has started may not use it. */
static bool has_device(void)
{
	pid_t child = fork();
	int status = -1;

	if (child == 0) {
		struct mpk_device_list list = { 0 };

		_exit(mpk_device_list_add(&list, MPK_DEVICE_OPENCL, NULL) == MPK_OK ? 0 : 1);
	}
	(void)waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void)
{
	const TTest *const tests[] = {
		devices_are_listed,
		copies_are_exact_and_bounded,
		kernels_of_a_split_source_run,
		every_width_arrives,
		whole_source_holds_all_kernels,
		copies_are_queued_with_kernels,
		three_axes_in_the_order_of_the_tags,
		limits_name_both_sides,
		failures_name_the_kernel,
		formats_it_cannot_run,
		sources_that_tvm_refuses,
		device_binaries_run,
		textures_carry_pixels_between_kernels,
	};
	Suite *s = suite_create("device_opencl");
	TCase *tc = tcase_create("opencl");
	SRunner *r = srunner_create(s);

	/* An empty cache: what only happens when a kernel is really compiled must happen. */
	if (!mkdtemp(cache))
		return 1;
	setenv("POCL_CACHE_DIR", cache, 1);
	tcase_set_timeout(tc, 120);
	if (has_device()) {
		tcase_add_checked_fixture(tc, setup, teardown);
		for (size_t i = 0; i < MPK_ARRAY_COUNT(tests); i++)
			tcase_add_test(tc, tests[i]);
	} else {
		tcase_add_test(tc, no_device);
	}
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	folder_remove(cache);

	srunner_free(r);
	return failed != 0;
}
