/* SPDX-License-Identifier: Apache-2.0 */
/* lib/know/code: what bytes are told to be, whether a module may claim it, what code says of itself;
 * files of every kind against what made them */
#include "robust.h"

#include "base/compiler.h"
#include "code/info.h"
#include "code/show.h"

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
		const struct mpk_code_format *format;
	} rows[] = {
		{ DEVICE "two.ptx", &mpk_format_ptx },
		{ DEVICE "two.sm_90.cubin", &mpk_format_cubin },
		{ DEVICE "two.sm_52.cuda12.cubin", &mpk_format_cubin },
		{ DEVICE "tiny.size.fatbin", &mpk_format_fatbin },
		{ DEVICE "compute.spv", &mpk_format_spirv },
		{ DEVICE "compute_be.spv", &mpk_format_spirv },
		{ DEVICE "two.cu", &mpk_format_cuda },
		{ DEVICE "README.md", &mpk_format_prose },
		{ DEVICE "compute.spvasm", &mpk_format_text },
		{ ARCHIVE "gnu.a", &mpk_format_archive },
		{ ARCHIVE "thin.a", &mpk_format_archive },
		{ ARCHIVE "plain.tar", &mpk_format_tar },
		{ ARCHIVE "plain.tar.gz", &mpk_format_gzip },
		{ "tests/data/relax/gelu.so", &mpk_format_elf },
		{ "tests/data/relax/gelu.in0.npy", &mpk_format_npy },
		{ "tests/data/formats/09_params.bin", &mpk_format_params },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		const struct mpk_code_format *f =
			mpk_code_format_of(robust_load(&arena, rows[i].path));

		ck_assert_msg(f == rows[i].format, "%s is %s", rows[i].path, f->name);
	}
}
END_TEST

START_TEST(beginnings)
{
	static const struct {
		const char *bytes;
		const struct mpk_code_format *format;
	} rows[] = {
		{ "", &mpk_format_empty },
		{ "\1\2\3", &mpk_format_unknown },
		{ "PK\3\4", &mpk_format_zip },
		{ "MTLB....", &mpk_format_metallib },
		{ "xclbin2", &mpk_format_xclbin },
		{ "BC\xc0\xde", &mpk_format_bitcode },
		{ "__CLANG_OFFLOAD_BUNDLE__", &mpk_format_offload },
		{ "CCOB\2\1\1\1", &mpk_format_offload },
		{ "\x10\xff\x10\xad", &mpk_format_offload },
		{ "\177ELF", &mpk_format_elf },
		{ " \n{\"nodes\": []}", &mpk_format_json },
		{ "; ModuleID\nsource_filename = \"x\"", &mpk_format_llvm },
		{ "__kernel void f() {}", &mpk_format_opencl },
		{ "kernel void f() { get_global_id(0); }", &mpk_format_opencl },
		{ "#include <metal_stdlib>\nkernel void f() {}", &mpk_format_metal },
		{ "@compute @workgroup_size(1) fn f() {}", &mpk_format_wgsl },
		{ "extern \"C\" __global__ void f() {}", &mpk_format_cuda },
		{ "hello", &mpk_format_text },
	};
	static const uint8_t amd[20] = { 0x7f, 'E', 'L', 'F', 2, 1, [18] = 224 };
	static const uint8_t hexagon[20] = { 0x7f, 'E', 'L', 'F', 1, 1, [18] = 164 };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		ck_assert_msg(mpk_code_format_of(mpk_span_str(rows[i].bytes)) == rows[i].format,
			      "row %zu", i);
	ck_assert_ptr_eq(mpk_code_format_of(mpk_span_of(amd, sizeof amd)), &mpk_format_hsaco);
	ck_assert_ptr_eq(mpk_code_format_of(mpk_span_of(hexagon, sizeof hexagon)),
			 &mpk_format_hexagon);
	/* a NUL at the end does not make a text another thing; words count in the beginning only */
	ck_assert_ptr_eq(mpk_code_format_of(mpk_span_of("__kernel\0", 10)), &mpk_format_opencl);
	ck_assert_ptr_eq(mpk_code_format_of(mpk_span_of("__kernel\0x", 10)), &mpk_format_unknown);
}
END_TEST

START_TEST(words_in_the_beginning)
{
	struct mpk_strbuf text = { 0 };

	while (text.len < 65536)
		mpk_strbuf_puts(&text, "// line\n");
	mpk_strbuf_puts(&text, "__kernel void f() {}");
	ck_assert_ptr_eq(mpk_code_format_of(mpk_span_of(text.data, text.len)), &mpk_format_text);
	ck_assert_ptr_eq(mpk_code_format_of(mpk_span_of(text.data + 100, text.len - 100)),
			 &mpk_format_opencl);
	mpk_strbuf_fini(&text);
}
END_TEST

/* Every row can be named in a message, and those that show kernels in a document. */
START_TEST(rows_are_whole)
{
	for (size_t i = 0; mpk_code_formats[i]; i++) {
		const struct mpk_code_format *f = mpk_code_formats[i];
		bool has_json = f->kernel_json || f->kernel_fact_count;

		ck_assert_ptr_nonnull(f->name);
		ck_assert_msg(f->magics[0] || f->words[0] || f->is, "%s has no sign", f->name);
		ck_assert_msg(has_json == !!f->kernel_text, "%s", f->name);
		ck_assert_msg(f->word || !has_json, "%s", f->name);
		for (size_t k = 0; k < f->kernel_fact_count; k++)
			ck_assert_msg(f->kernel_of && f->kernel_facts[k].tag <= MPK_FIGURE_COUNT,
				      "%s", f->name);
		ck_assert_msg(f->check ? f->about && f->verify : !f->about, "%s", f->name);
		for (size_t k = 0; k < i; k++)
			ck_assert_msg(!f->word || !mpk_code_formats[k]->word ||
					      strcmp(f->word, mpk_code_formats[k]->word) != 0,
				      "%s", f->word);
	}
}
END_TEST

START_TEST(labels)
{
	static const struct {
		const char *kind;
		const struct mpk_code_format *format;
		const char *label;
	} rows[] = {
		{ "cuda", &mpk_format_ptx, "ptx" },        { "cuda", &mpk_format_cubin, "cubin" },
		{ "cuda", &mpk_format_fatbin, "fatbin" },  { "cuda", &mpk_format_cuda, "cuda" },
		{ "opencl", &mpk_format_opencl, "cl" },    { "metal", &mpk_format_metal, "metal" },
		{ "vulkan", &mpk_format_spirv, "vulkan" }, { "hip", &mpk_format_hsaco, "hsaco" },
		{ "webgpu", &mpk_format_wgsl, "wgsl" },    { "cuda", &mpk_format_text, "cuda" },
		{ "metal", &mpk_format_text, "metal" },    { "rocm", &mpk_format_hsaco, "hsaco" },
		{ "opencl", &mpk_format_xclbin, "xclbin" }
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		ck_assert_str_eq(mpk_code_format_label(mpk_span_str(rows[i].kind), rows[i].format),
				 rows[i].label);
	ck_assert_ptr_null(mpk_code_format_label(mpk_span_str("cuda"), &mpk_format_spirv));
	ck_assert_ptr_null(mpk_code_format_label(mpk_span_str("vulkan"), &mpk_format_text));
	ck_assert_ptr_null(mpk_code_format_label(mpk_span_str("mine"), &mpk_format_ptx));
}
END_TEST

static enum mpk_code check(struct mpk_span bytes, const char *kind, const char *format,
			   struct mpk_error *err)
{
	*err = (struct mpk_error){ .code = MPK_OK };
	return mpk_code_format_check(bytes, mpk_span_str(kind), mpk_span_str(format), err);
}

/* Pages have words of the languages that they tell of; directives and manifests begin with '#', too. */
START_TEST(pages)
{
	static const struct {
		const char *text;
		const struct mpk_code_format *format;
	} rows[] = {
		{ "# Kernels\n```\n__kernel void k() {}\n```\n", &mpk_format_prose },
		{ "\xef\xbb\xbf\n## Names\n__global__\n", &mpk_format_prose },
		{ "#!/usr/bin/env python\ns = '__kernel'\n", &mpk_format_prose },
		{ "# T\n[![b](x)](y) __global__\n", &mpk_format_prose },
		{ "<!doctype html>__kernel", &mpk_format_markup },
		{ " <?xml version='1.0'?>__kernel", &mpk_format_markup },
		{ "<p>__global__", &mpk_format_markup },
		{ "#\n__kernel void k() {}", &mpk_format_opencl },
		{ "# 1 \"k.cl\"\n__kernel void k() {}", &mpk_format_opencl },
		{ "# define X\n__kernel void k() {}", &mpk_format_opencl },
		{ "#  ifdef X\n__global__ void k() {}", &mpk_format_cuda },
		{ "// # Title\n__kernel void k() {}", &mpk_format_opencl },
		{ "/*\n# Title\n```\n*/\n__kernel void k() {}", &mpk_format_opencl },
		{ "# of __kernel\n\n[package]\n", &mpk_format_opencl },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		const struct mpk_code_format *f = mpk_code_format_of(mpk_span_str(rows[i].text));

		ck_assert_msg(f == rows[i].format, "%s is %s", rows[i].text, f->name);
	}
}
END_TEST

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
		{ DEVICE "compute.spvasm", "opencl", "cl" },
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
	ck_assert_str_eq(err.text,
			 "a module of kind \"cuda\" cannot hold this: it is SPIR-V; "
			 "expected was PTX text or a cubin or a fatbin or CUDA C++ source");
	ck_assert_int_eq(check(spirv, "opencl", "cl", &err), MPK_E_CORRUPT);
	ck_assert_int_eq(check(robust_load(&arena, DEVICE "README.md"), "opencl", "cl", &err),
			 MPK_E_CORRUPT);
	ck_assert_int_eq(check(mpk_span_str(""), "metal", "metal", &err), MPK_E_CORRUPT);
	/* the right format, but broken: what its reader says */
	cubin.len -= 100;
	ck_assert_int_eq(check(cubin, "cuda", "cubin", &err), MPK_E_CORRUPT);
	ck_assert_int_eq(strncmp(err.text, "cubin: ", 7), 0);
	ck_assert_int_eq(check(mpk_span_str(".version 8.0 .target 5"), "cuda", "ptx", &err),
			 MPK_E_SYNTAX);
}
END_TEST

/* --- reading ------------------------------------------------------------------------ */

static struct mpk_code_info read_code(struct mpk_span bytes, const struct mpk_code_format *claimed)
{
	struct mpk_code_info info;

	ck_assert_int_eq(mpk_code_info_read(bytes, 0, claimed, &arena, &info, NULL), MPK_OK);
	return info;
}

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
		{ DEVICE "tiny.size.fatbin", 1, "tiny", true },
		{ DEVICE "compute.spv", 3, "plain", true },
		{ DEVICE "two.cu", 2, "scale", false },
		{ ARCHIVE "gnu.a", 0, NULL, false },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_code_info info = read_code(robust_load(&arena, rows[i].path), NULL);
		const struct mpk_code_info *lister = mpk_code_info_lister(&info);

		ck_assert_ptr_null(mpk_code_info_problem(&info));
		ck_assert_msg((lister ? lister->kernel_count : 0) == rows[i].count, "%s",
			      rows[i].path);
		ck_assert_msg((lister && lister->complete) == rows[i].complete, "%s", rows[i].path);
		if (!rows[i].first)
			continue;
		ck_assert_msg(mpk_span_is(lister->kernels[0].name, rows[i].first), "%s",
			      rows[i].path);
		ck_assert_int_eq(mpk_code_info_defines(&info, lister->kernels[0].name),
				 MPK_CODE_DEFINED);
	}
}
END_TEST

START_TEST(definitions)
{
	static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
				  ".func helper() { ret; }\n.entry k() { ret; }\n";
	static const char text[] = "void f(__kernel);\n#define K(x) x##_kernel\n";
	static const struct {
		const char *code, *name;
		enum mpk_code_defines defines;
	} rows[] = {
		{ ptx, "k", MPK_CODE_DEFINED },
		{ ptx, "helper", MPK_CODE_FUNCTION },
		{ ptx, "other", MPK_CODE_MISSING },
		{ ptx, "", MPK_CODE_POSSIBLE },
		{ ".version 7.0 .target 5", "k", MPK_CODE_POSSIBLE }, /* does not read */
		{ "__kernel void f() {}", "f", MPK_CODE_DEFINED },
		{ "__kernel void f() {}", "g", MPK_CODE_MISSING },
		{ text, "add_kernel", MPK_CODE_POSSIBLE },
		{ "no language, but names g", "g", MPK_CODE_POSSIBLE },
		{ "no language", "g", MPK_CODE_MISSING },
		{ "\177ELF", "g", MPK_CODE_POSSIBLE },
		{ "", "g", MPK_CODE_POSSIBLE },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_code_info info = read_code(mpk_span_str(rows[i].code), NULL);

		ck_assert_msg(mpk_code_info_defines(&info, mpk_span_str(rows[i].name)) ==
				      rows[i].defines,
			      "row %zu", i);
	}
}
END_TEST

/* A text without words of a language is read as what its module says. */
START_TEST(presumed_language)
{
	struct mpk_span text = mpk_span_str("kernel void f(float x) {}");
	struct mpk_code_info info = read_code(text, NULL);

	ck_assert_ptr_eq(info.format, &mpk_format_text);
	ck_assert_uint_eq(info.kernel_count, 0);
	info = read_code(text, &mpk_format_opencl);
	ck_assert_ptr_eq(info.format, &mpk_format_opencl);
	ck_assert(info.presumed);
	ck_assert_uint_eq(info.kernel_count, 1);
	ck_assert_uint_eq(info.kernels[0].param_count, 1);
	/* other claims, and other bytes, change nothing */
	info = read_code(text, &mpk_format_ptx);
	ck_assert_ptr_eq(info.format, &mpk_format_text);
	info = read_code(mpk_span_str("extern __global__ void f() {}"), &mpk_format_opencl);
	ck_assert_ptr_eq(info.format, &mpk_format_cuda);
	ck_assert(!info.presumed);
}
END_TEST

/* One broken image: its kernels are not known, and so not those of the whole. */
START_TEST(broken_image)
{
	enum { FIRST_IMAGE = 16 + 64 };
	struct mpk_span file = robust_load(&arena, DEVICE "tiny.none.fatbin");
	uint8_t *bytes = (uint8_t *)mpk_arena_copy(&arena, file.data, file.len);
	struct mpk_code_info info = read_code(file, NULL);

	ck_assert_uint_gt(info.image_count, 1);
	ck_assert_ptr_eq(info.main_image, &info.images[0]);
	bytes[FIRST_IMAGE] = 0;
	info = read_code(mpk_span_of(bytes, file.len), NULL);
	ck_assert_ptr_null(info.problem);
	ck_assert_ptr_nonnull(info.images[0].problem);
	ck_assert_ptr_eq(mpk_code_info_problem(&info), info.images[0].problem);
	ck_assert_ptr_null(mpk_code_info_lister(&info));
	ck_assert_int_eq(mpk_code_info_defines(&info, mpk_span_str("tiny")), MPK_CODE_DEFINED);
	ck_assert_int_eq(mpk_code_info_defines(&info, mpk_span_str("other")), MPK_CODE_POSSIBLE);
}
END_TEST

/* What a failed read leaves is empty, whatever it had found before. */
START_TEST(broken_is_empty)
{
	struct mpk_code_info info =
		read_code(mpk_span_str("__kernel void f() {}\n__kernel void g(int a"), NULL);

	ck_assert_ptr_nonnull(info.problem);
	ck_assert_int_eq(info.problem->code, MPK_E_SYNTAX);
	ck_assert_uint_eq(info.kernel_count, 0);
	ck_assert_ptr_null(info.content);
}
END_TEST

START_TEST(names_in_order)
{
	static const struct {
		struct mpk_span name;
		int other;
	} rows[] = { { { (const uint8_t *)"b", 1 }, 0 },    { { (const uint8_t *)"a", 1 }, 0 },
		     { { (const uint8_t *)"b", 1 }, 0 },    { { (const uint8_t *)"ab", 2 }, 0 },
		     { { (const uint8_t *)"\xff", 1 }, 0 }, { { NULL, 0 }, 0 } };
	struct mpk_names names;
	size_t row = 99;

	ck_assert_int_eq(
		mpk_names_of(rows, sizeof *rows, MPK_ARRAY_COUNT(rows), &arena, &names, NULL),
		MPK_OK);
	ck_assert(mpk_names_find(&names, mpk_span_str("b"), &row));
	ck_assert_uint_eq(row, 0);
	ck_assert(mpk_names_find(&names, mpk_span_str("ab"), &row));
	ck_assert_uint_eq(row, 3);
	ck_assert(mpk_names_find(&names, mpk_span_str("\xff"), &row));
	ck_assert_uint_eq(row, 4);
	ck_assert(mpk_names_find(&names, mpk_span_str(""), &row));
	ck_assert_uint_eq(row, 5);
	ck_assert(!mpk_names_find(&names, mpk_span_str("abc"), &row));
	ck_assert_uint_eq(row, 5);
	ck_assert_int_eq(mpk_names_of(NULL, 16, 0, &arena, &names, NULL), MPK_OK);
	ck_assert(!mpk_names_find(&names, mpk_span_str("a"), NULL));
}
END_TEST

static enum mpk_code try_read(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena a = { 0 };
	struct mpk_code_info info;
	enum mpk_code code = mpk_code_info_read(bytes, 0, NULL, &a, &info, err);
	const struct mpk_error *problem = code == MPK_OK ? mpk_code_info_problem(&info) : NULL;

	if (problem) {
		*err = *problem;
		code = problem->code;
	}
	mpk_arena_fini(&a);
	return code;
}

START_TEST(hostile)
{
	static const char *const paths[] = { DEVICE "tiny.none.fatbin", DEVICE "two.cu" };

	robust_check(paths[_i], try_read, 4000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("code");
	TCase *tc = tcase_create("code");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, files);
	tcase_add_test(tc, beginnings);
	tcase_add_test(tc, words_in_the_beginning);
	tcase_add_test(tc, rows_are_whole);
	tcase_add_test(tc, labels);
	tcase_add_test(tc, pages);
	tcase_add_test(tc, claims_that_hold);
	tcase_add_test(tc, claims_that_fail);
	tcase_add_test(tc, kernels);
	tcase_add_test(tc, definitions);
	tcase_add_test(tc, presumed_language);
	tcase_add_test(tc, broken_image);
	tcase_add_test(tc, broken_is_empty);
	tcase_add_test(tc, names_in_order);
	tcase_add_loop_test(tc, hostile, 0, 2);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
