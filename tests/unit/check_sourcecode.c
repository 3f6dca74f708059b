/* SPDX-License-Identifier: Apache-2.0 */
/* formats/sourcecode: texts of TVM's code generators, and what else the languages allow */
#include "robust.h"

#include "base/compiler.h"
#include "sourcecode/sourcecode.h"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static struct mpk_source_code read_source(struct mpk_span text,
					  enum mpk_source_code_language language)
{
	struct mpk_error err = { 0 };
	struct mpk_source_code s;

	ck_assert_msg(mpk_source_code_read(text, language, &arena, &s, &err) == MPK_OK, "%u:%u: %s",
		      err.at.line, err.at.column, err.text);
	return s;
}

/* The part of a blob from a text on, up to the blob's last '}'. */
static struct mpk_span text_of(const char *path, const char *from)
{
	struct mpk_span blob = robust_load(&arena, path);
	const uint8_t *at = memmem(blob.data, blob.len, from, strlen(from));
	const uint8_t *end = memrchr(blob.data, '}', blob.len);

	ck_assert_ptr_nonnull(at);
	ck_assert(end > at);
	return mpk_span_of(at, (size_t)(end + 1 - at));
}

static void assert_kernel(const struct mpk_source_code *s, const char *name, size_t params)
{
	const struct mpk_source_code_kernel *k = NULL;

	for (size_t i = 0; i < s->kernel_count && !k; i++)
		if (mpk_span_is(s->kernels[i].name, name))
			k = &s->kernels[i];

	ck_assert_msg(k != NULL, "no kernel %s", name);
	ck_assert_msg(k->param_count == params, "%s: %zu parameters", name, k->param_count);
}

static void assert_group(const struct mpk_source_code_kernel *k, uint32_t x, uint32_t y, uint32_t z)
{
	ck_assert_uint_eq(k->group[0], x);
	ck_assert_uint_eq(k->group[1], y);
	ck_assert_uint_eq(k->group[2], z);
}

#define FORMATS "tests/data/formats/"

START_TEST(of_tvm)
{
	static const struct {
		const char *path, *from, *kernel;
		enum mpk_source_code_language language;
		size_t params;
	} rows[] = {
		{ FORMATS "01_opencl_scale.blob", "// Function", "scale_kernel",
		  MPK_SOURCE_CODE_OPENCL, 4 },
		{ FORMATS "04_metal.blob", "#include", "add_kernel", MPK_SOURCE_CODE_METAL, 5 },
		{ FORMATS "05_webgpu.blob", "//-----", "add_kernel", MPK_SOURCE_CODE_WGSL, 3 },
		{ FORMATS "02_cuda_source_dynshmem.blob", "#ifdef", "rev_kernel",
		  MPK_SOURCE_CODE_CUDA, 2 },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_source_code s =
			read_source(text_of(rows[i].path, rows[i].from), rows[i].language);

		ck_assert_uint_eq(s.kernel_count, 1);
		assert_kernel(&s, rows[i].kernel, rows[i].params);
		if (rows[i].language == MPK_SOURCE_CODE_WGSL)
			assert_group(&s.kernels[0], 4, 1, 1);
	}
}
END_TEST

START_TEST(opencl)
{
	static const char text[] =
		"#define __kernel_like __kernel \\\n  void no(\n"
		"/* __kernel void no() {} */ // kernel void no() {}\n"
		"constant char s[] = \"__kernel void no() {\"; char c = '\"';\n"
		"__kernel void declared(int a);\n"
		"__kernel __attribute__((vec_type_hint(float4))) __attribute__((reqd_work_group_size(8,\n"
		" 4, 2))) void first(__global float* a, __constant int (*f)[3], float4 b) { ; }\n"
		"kernel void second(void) {}\nvoid helper(int x) {}\n"
		"kernel void third() { }\n";
	struct mpk_source_code s = read_source(mpk_span_str(text), MPK_SOURCE_CODE_OPENCL);

	ck_assert_uint_eq(s.kernel_count, 3);
	assert_kernel(&s, "first", 3);
	assert_kernel(&s, "second", 0);
	assert_kernel(&s, "third", 0);
	assert_group(&s.kernels[0], 8, 4, 2);
	assert_group(&s.kernels[1], 0, 0, 0);
	ck_assert_uint_eq(s.kernels[0].line, 7);
	ck_assert(mpk_span_starts(s.kernels[0].params, "__global float* a"));
	ck_assert_uint_eq(s.kernels[0].params.data[s.kernels[0].params.len - 1], 'b');
	ck_assert_uint_eq(s.kernels[1].line, 8);
}
END_TEST

START_TEST(wgsl)
{
	static const char text[] =
		"@workgroup_size(2u, 3) @compute fn a(@builtin(x) p : vec3<u32>, q : array<f32, 4>,) {}\n"
		"@compute @workgroup_size(N) fn b() -> u32 { }\n"
		"fn plain(a : f32) {}\n";
	struct mpk_source_code s = read_source(mpk_span_str(text), MPK_SOURCE_CODE_WGSL);

	ck_assert_uint_eq(s.kernel_count, 2);
	assert_kernel(&s, "b", 0);
	assert_group(&s.kernels[0], 2, 3, 1);
	assert_group(&s.kernels[1], 0, 0, 0);
}
END_TEST

START_TEST(cuda)
{
	static const char text[] =
		"extern \"C\" __global__ void __launch_bounds__(128, 2) k1(float* a, int n);\n"
		"extern \"C\" __global__ void __launch_bounds__(128) k1(float* a, int n) {}\n"
		"template <int N, class T> __global__ void __cluster_dims__(2, 1, 1)\n"
		"k2(std::pair<int, T> a, float (&b)[N]) { k1<<<1, 2>>>(b, N); }\n"
		"__device__ int d(int x) { return x; }\n";
	struct mpk_source_code s = read_source(mpk_span_str(text), MPK_SOURCE_CODE_CUDA);

	ck_assert_uint_eq(s.kernel_count, 2);
	assert_kernel(&s, "k1", 2);
	assert_kernel(&s, "k2", 2);
}
END_TEST

START_TEST(refuses)
{
	struct mpk_source_code s = { .kernel_count = 7 };
	struct mpk_error err;

	ck_assert_int_eq(mpk_source_code_read(mpk_span_str("\n kernel void f(int a\n"),
					      MPK_SOURCE_CODE_OPENCL, &arena, &s, &err),
			 MPK_E_SYNTAX);
	ck_assert_str_eq(err.text, "OpenCL C: this parenthesis is not closed");
	ck_assert_uint_eq(err.at.line, 2);
	ck_assert_uint_eq(err.at.column, 15);
	ck_assert_int_eq(
		mpk_source_code_read(mpk_span_str("/*"), MPK_SOURCE_CODE_METAL, &arena, &s, &err),
		MPK_E_SYNTAX);
	ck_assert_int_eq(mpk_source_code_read(mpk_span_of("a\0b", 3), MPK_SOURCE_CODE_CUDA, &arena,
					      &s, &err),
			 MPK_E_CORRUPT);
	ck_assert_uint_eq(err.at.offset, 1);
	ck_assert_uint_eq(s.kernel_count, 7);
	ck_assert_int_eq(mpk_source_code_read(mpk_span_of("\0\0", 2), MPK_SOURCE_CODE_CUDA, &arena,
					      &s, &err),
			 MPK_OK);
	ck_assert_uint_eq(s.kernel_count, 0);
}
END_TEST

START_TEST(split)
{
	static const char text[] = "dropped // Function: a\nA\nAA\n// Function: b\n"
				   "// Function: a\nlast";
	const struct mpk_source_code_piece *p;
	size_t n;

	ck_assert_int_eq(mpk_source_code_split(mpk_span_str(text), &arena, &p, &n, NULL), MPK_OK);
	ck_assert_uint_eq(n, 3);
	ck_assert(mpk_span_is(p[0].name, "a") && mpk_span_is(p[0].text, "A\nAA\n"));
	ck_assert(mpk_span_is(p[1].name, "b") && mpk_span_is(p[1].text, ""));
	ck_assert(mpk_span_is(p[2].name, "a") && mpk_span_is(p[2].text, "last"));
	ck_assert_ptr_eq(p[2].text.data, text + p[2].off);
	ck_assert_int_eq(mpk_source_code_split(mpk_span_str("none"), &arena, &p, &n, NULL), MPK_OK);
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(
		mpk_source_code_split(mpk_span_str("// Function: end"), &arena, &p, &n, NULL),
		MPK_OK);
	ck_assert_uint_eq(n, 1);
	ck_assert(mpk_span_is(p[0].name, "end") && p[0].text.len == 0);
	ck_assert_int_eq(mpk_source_code_split(mpk_span_of(NULL, 0), &arena, &p, &n, NULL), MPK_OK);
	ck_assert_uint_eq(n, 0);
}
END_TEST

static enum mpk_code try_all(struct mpk_span bytes, struct mpk_error *err)
{
	const struct mpk_source_code_piece *pieces;
	struct mpk_arena a = { 0 };
	struct mpk_source_code s;
	enum mpk_code code = MPK_OK;
	size_t n;

	for (int l = MPK_SOURCE_CODE_OPENCL; code == MPK_OK && l <= MPK_SOURCE_CODE_CUDA; l++)
		code = mpk_source_code_read(bytes, (enum mpk_source_code_language)l, &a, &s, err);
	ck_assert_int_eq(mpk_source_code_split(bytes, &a, &pieces, &n, NULL), MPK_OK);
	mpk_arena_fini(&a);
	return code;
}

START_TEST(hostile)
{
	static const char *const paths[] = {
		"tests/data/device/two.cu",
		FORMATS "04_metal.blob",
		FORMATS "05_webgpu.blob",
		FORMATS "01_opencl_scale.blob",
	};

	robust_check(paths[_i], try_all, 5000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sourcecode");
	TCase *tc = tcase_create("sourcecode");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, of_tvm);
	tcase_add_test(tc, opencl);
	tcase_add_test(tc, wgsl);
	tcase_add_test(tc, cuda);
	tcase_add_test(tc, refuses);
	tcase_add_test(tc, split);
	tcase_add_loop_test(tc, hostile, 0, 4);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
