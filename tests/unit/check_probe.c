/* formats/probe: files of every kind against what made them */
#include "robust.h"

#include "base/compiler.h"
#include "probe.h"

#define DEVICE "tests/data/device/"
#define ARCHIVE "tests/data/archive/"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

START_TEST(files)
{
	static const struct {
		const char *path;
		enum mpk_probe probe;
	} rows[] = {
		{ DEVICE "two.ptx", MPK_PROBE_PTX },
		{ DEVICE "two.sm_90.cubin", MPK_PROBE_CUBIN },
		{ DEVICE "two.sm_52.cuda12.cubin", MPK_PROBE_CUBIN },
		{ DEVICE "tiny.size.fatbin", MPK_PROBE_FATBIN },
		{ DEVICE "compute.spv", MPK_PROBE_SPIRV },
		{ DEVICE "compute_be.spv", MPK_PROBE_SPIRV },
		{ DEVICE "two.cu", MPK_PROBE_CUDA },
		{ DEVICE "README.md", MPK_PROBE_TEXT },
		{ ARCHIVE "gnu.a", MPK_PROBE_AR },
		{ ARCHIVE "thin.a", MPK_PROBE_AR },
		{ ARCHIVE "plain.tar", MPK_PROBE_TAR },
		{ ARCHIVE "plain.tar.gz", MPK_PROBE_GZIP },
		{ "tests/data/relax/gelu.so", MPK_PROBE_ELF },
		{ "tests/data/relax/gelu.in0.npy", MPK_PROBE_NPY },
		{ "tests/data/formats/09_params.bin", MPK_PROBE_PARAMS },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		enum mpk_probe p = mpk_probe(robust_load(&arena, rows[i].path));

		ck_assert_msg(p == rows[i].probe, "%s is %s", rows[i].path, mpk_probe_name(p));
	}
}
END_TEST

START_TEST(beginnings)
{
	static const struct {
		const char *bytes;
		enum mpk_probe probe;
	} rows[] = {
		{ "", MPK_PROBE_EMPTY },
		{ "\1\2\3", MPK_PROBE_UNKNOWN },
		{ "PK\3\4", MPK_PROBE_ZIP },
		{ "MTLB....", MPK_PROBE_METALLIB },
		{ "xclbin2", MPK_PROBE_XCLBIN },
		{ "BC\xc0\xde", MPK_PROBE_BITCODE },
		{ "__CLANG_OFFLOAD_BUNDLE__", MPK_PROBE_HSACO },
		{ "\177ELF", MPK_PROBE_ELF },
		{ " \n{\"nodes\": []}", MPK_PROBE_JSON },
		{ "; ModuleID\nsource_filename = \"x\"", MPK_PROBE_LLVM },
		{ "__kernel void f() {}", MPK_PROBE_OPENCL },
		{ "kernel void f() { get_global_id(0); }", MPK_PROBE_OPENCL },
		{ "#include <metal_stdlib>\nkernel void f() {}", MPK_PROBE_METAL },
		{ "@compute @workgroup_size(1) fn f() {}", MPK_PROBE_WGSL },
		{ "extern \"C\" __global__ void f() {}", MPK_PROBE_CUDA },
		{ "hello", MPK_PROBE_TEXT },
	};
	static const uint8_t amd[20] = { 0x7f, 'E', 'L', 'F', 2, 1, [18] = 224 };
	static const uint8_t hexagon[20] = { 0x7f, 'E', 'L', 'F', 1, 1, [18] = 164 };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		ck_assert_msg(mpk_probe(mpk_span_str(rows[i].bytes)) == rows[i].probe, "row %zu",
			      i);
	ck_assert_int_eq(mpk_probe(mpk_span_of(amd, sizeof amd)), MPK_PROBE_HSACO);
	ck_assert_int_eq(mpk_probe(mpk_span_of(hexagon, sizeof hexagon)), MPK_PROBE_HEXAGON);
	for (int p = 0; p < MPK_PROBE_COUNT; p++)
		ck_assert_ptr_nonnull(mpk_probe_name((enum mpk_probe)p));
}
END_TEST

START_TEST(formats)
{
	static const struct {
		const char *kind;
		enum mpk_probe probe;
		const char *format;
	} rows[] = {
		{ "cuda", MPK_PROBE_PTX, "ptx" },        { "cuda", MPK_PROBE_CUBIN, "cubin" },
		{ "cuda", MPK_PROBE_FATBIN, "fatbin" },  { "cuda", MPK_PROBE_CUDA, "cuda" },
		{ "opencl", MPK_PROBE_OPENCL, "cl" },    { "metal", MPK_PROBE_METAL, "metal" },
		{ "vulkan", MPK_PROBE_SPIRV, "vulkan" }, { "hip", MPK_PROBE_HSACO, "hsaco" },
		{ "webgpu", MPK_PROBE_WGSL, "wgsl" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		ck_assert_str_eq(mpk_probe_format(mpk_span_str(rows[i].kind), rows[i].probe),
				 rows[i].format);
	ck_assert_ptr_null(mpk_probe_format(mpk_span_str("cuda"), MPK_PROBE_SPIRV));
	ck_assert_ptr_null(mpk_probe_format(mpk_span_str("mine"), MPK_PROBE_PTX));
}
END_TEST

static enum mpk_code check(struct mpk_span bytes, const char *kind, const char *format,
			   struct mpk_error *err)
{
	*err = (struct mpk_error){ .code = MPK_OK };
	return mpk_probe_check(bytes, mpk_span_str(kind), mpk_span_str(format), err);
}

START_TEST(claims_that_hold)
{
	static const struct {
		const char *path, *kind, *format;
	} rows[] = {
		{ DEVICE "two.ptx", "cuda", "ptx" },
		{ DEVICE "two.ptx", "cuda", "" },
		{ DEVICE "two.sm_90.cubin", "cuda", "cubin" },
		{ DEVICE "tiny.none.fatbin", "cuda", "fatbin" },
		{ DEVICE "tiny.none.fatbin", "cuda", "cubin" },
		{ DEVICE "two.cu", "cuda", "cuda" },
		{ DEVICE "README.md", "opencl", "cl" },
		{ DEVICE "compute.spv", "vulkan", "spirv" },
		{ DEVICE "two.ptx", "opencl", "aocx" },
		{ DEVICE "two.ptx", "mine", "anything" },
	};
	struct mpk_error err;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		ck_assert_msg(check(robust_load(&arena, rows[i].path), rows[i].kind, rows[i].format,
				    &err) == MPK_OK,
			      "%s: %s", rows[i].path, err.text);
}
END_TEST

START_TEST(claims_that_fail)
{
	struct mpk_span cubin = robust_load(&arena, DEVICE "two.sm_90.cubin");
	struct mpk_span spirv = robust_load(&arena, DEVICE "compute.spv");
	struct mpk_error err;

	ck_assert_int_eq(check(cubin, "cuda", "ptx", &err), MPK_E_CORRUPT);
	ck_assert_str_eq(err.text,
			 "format \"ptx\" of kind \"cuda\" expects PTX text, but this is a "
			 "cubin (its format \"cubin\")");
	ck_assert_int_eq(check(spirv, "cuda", "ptx", &err), MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "format \"ptx\" of kind \"cuda\" expects PTX text, but this is "
				   "SPIR-V");
	ck_assert_int_eq(check(spirv, "cuda", "", &err), MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "a module of kind \"cuda\" cannot hold this: it is SPIR-V; "
				   "expected was PTX text or another of its formats");
	ck_assert_int_eq(check(spirv, "opencl", "cl", &err), MPK_E_CORRUPT);
	ck_assert_int_eq(check(mpk_span_str(""), "metal", "metal", &err), MPK_E_CORRUPT);
	/* the right format, but broken: what its reader says */
	cubin.len -= 100;
	ck_assert_int_eq(check(cubin, "cuda", "cubin", &err), MPK_E_CORRUPT);
	ck_assert_int_eq(strncmp(err.text, "cubin: ", 7), 0);
	ck_assert_int_eq(check(mpk_span_str(".version 8.0 .target 5"), "cuda", "ptx", &err),
			 MPK_E_SYNTAX);
}
END_TEST

START_TEST(kernels)
{
	static const struct {
		const char *path;
		size_t count;
		const char *first;
		bool complete;
	} rows[] = {
		{ DEVICE "two.ptx", 2, "scale", true },
		{ DEVICE "two.sm_75.cubin", 2, NULL, true },
		{ DEVICE "tiny.none.fatbin", 1, "tiny", true },
		{ DEVICE "tiny.size.fatbin", 0, NULL, false },
		{ DEVICE "compute.spv", 3, "plain", true },
		{ DEVICE "two.cu", 2, "scale", false },
		{ ARCHIVE "gnu.a", 0, NULL, false },
	};
	struct mpk_probe_names names;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_span bytes = robust_load(&arena, rows[i].path);

		ck_assert_int_eq(mpk_probe_kernels(bytes, &arena, &names, NULL), MPK_OK);
		ck_assert_msg(names.count == rows[i].count, "%s", rows[i].path);
		ck_assert_msg(names.complete == rows[i].complete, "%s", rows[i].path);
		if (rows[i].first)
			ck_assert_msg(mpk_span_is(names.names[0], rows[i].first), "%s",
				      rows[i].path);
	}
}
END_TEST

static enum mpk_code try_probe(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena a = { 0 };
	struct mpk_probe_names names;
	enum mpk_code code = mpk_probe_kernels(bytes, &a, &names, err);

	mpk_arena_fini(&a);
	return code;
}

START_TEST(hostile)
{
	static const char *const paths[] = { DEVICE "tiny.none.fatbin", DEVICE "two.cu" };

	robust_check(paths[_i], try_probe, 4000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("probe");
	TCase *tc = tcase_create("probe");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, files);
	tcase_add_test(tc, beginnings);
	tcase_add_test(tc, formats);
	tcase_add_test(tc, claims_that_hold);
	tcase_add_test(tc, claims_that_fail);
	tcase_add_test(tc, kernels);
	tcase_add_loop_test(tc, hostile, 0, 2);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
