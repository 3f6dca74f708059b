/* SPDX-License-Identifier: Apache-2.0 */
/* A code format added the way CONTRIBUTING tells: one file with a row, which would be lib/know/code/toy.c,
 * and its name in the table, which is linked here in place of lib/know/code/formats.c. */
#include "code_toy.h"

#include "list/list.h"
#include "model/node_info.h"
#include "verify_made.h"

const struct mpk_code_format *const mpk_code_formats[] = {
#define MPK_CODE_FORMAT(name) &mpk_format_##name,
	MPK_CODE_FORMAT(toy)
#include "code/formats.def"
#undef MPK_CODE_FORMAT
		NULL,
};

/* --- what comes of it ----------------------------------------------------------------- */

#define TOY "TOY1\x40\2\2\3add\1\5scale"

static const struct mpk_dtype handles[] = { { MPK_DTYPE_HANDLE, 64, 1 },
					    { MPK_DTYPE_HANDLE, 64, 1 } };
static const struct mpk_dtype narrow[] = { { MPK_DTYPE_HANDLE, 64, 1 }, { MPK_DTYPE_INT, 32, 1 } };

static struct mpk_span blob_of(const char *code, const char *kernel, const struct mpk_dtype *args)
{
	struct mpk_function_info f = { .key = mpk_span_str(kernel),
				       .arg_types = args,
				       .arg_count = 2 };
	struct mpk_kernels k = { .gen = MPK_GEN_CURRENT,
				 .fmt = mpk_span_str("toy"),
				 .functions = &f,
				 .function_count = 1,
				 .data = mpk_span_str(code) };
	struct mpk_rope packed = { .arena = &arena };

	mpk_kernels_write(&k, &packed);
	return write_blob("opencl", &packed);
}

static void open_view(struct mpk_span blob, struct mpk_view *view)
{
	struct mpk_image *image = mpk_arena_alloc(&arena, sizeof *image);
	struct mpk_tree *tree = mpk_arena_alloc(&arena, sizeof *tree);

	ck_assert(image && tree);
	ck_assert_int_eq(mpk_image_open(blob, NULL, &arena, image, NULL), MPK_OK);
	ck_assert_int_eq(mpk_blob_read(image->blob, image->gen, &arena, tree, NULL), MPK_OK);
	ck_assert_int_eq(mpk_view_init(view, "a.so", blob.len, image, tree, &arena, NULL), MPK_OK);
	ck_assert_int_eq(mpk_view_show_info(view, false, NULL), MPK_OK);
}

START_TEST(is_recognised)
{
	ck_assert_ptr_eq(mpk_code_format_of(mpk_span_str(TOY)), &mpk_format_toy);
	ck_assert_ptr_eq(mpk_code_format_of(mpk_span_str("__kernel void f() {}")),
			 &mpk_format_opencl);
	ck_assert_str_eq(mpk_code_format_label(mpk_span_str("opencl"), &mpk_format_toy), "toy");
}
END_TEST

/* What mpack asks of a payload before it packs it. */
START_TEST(is_checked)
{
	const struct mpk_span opencl = mpk_span_str("opencl"), toy = mpk_span_str("toy");
	struct mpk_error err;

	ck_assert_int_eq(mpk_code_format_check(mpk_span_str(TOY), opencl, toy, &err), MPK_OK);
	ck_assert_int_eq(mpk_code_format_check(mpk_span_str("x"), opencl, toy, &err),
			 MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "format \"toy\" of kind \"opencl\" expects toy code, but this "
				   "is text of an unknown language (its format \"cl\")");
	ck_assert_int_eq(mpk_code_format_check(mpk_span_str("TOY1\1\2"), opencl, toy, &err),
			 MPK_E_CORRUPT);
	ck_assert_int_eq(strncmp(err.text, "toy: ", 5), 0);
}
END_TEST

START_TEST(is_listed)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_view view;

	open_view(blob_of(TOY, "add", handles), &view);
	mpk_answer_functions.text(&view, (struct mpk_style){ 0 }, &out);
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&out), "toy code, 2 kernels\n"));
	ck_assert_ptr_nonnull(
		strstr(mpk_strbuf_text(&out), "in the code, not in the table: scale\n"));
	ck_assert_ptr_nonnull(
		strstr(mpk_strbuf_text(&out), "toy: 2 parameters, at most 64 threads\n"));
	mpk_strbuf_fini(&out);
}
END_TEST

START_TEST(is_written_as_json)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_view view;
	struct mpk_json j;

	open_view(blob_of(TOY, "add", handles), &view);
	mpk_json_init(&j, 1);
	mpk_answer_functions.json(&view, &j, j.root);
	ck_assert_int_eq(mpk_json_print(&j, &out, NULL), MPK_OK);
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&out), "\"format\": \"toy\""));
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&out), "\"max_threads\": 64"));
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&out), "\"in_code\": \"yes\""));
	mpk_json_fini(&j);
	mpk_strbuf_fini(&out);
}
END_TEST

static const struct {
	const char *code, *kernel;
	const struct mpk_dtype *args;
	const char *check, *text;
} findings[] = {
	{ TOY, "add", handles, NULL, NULL },
	{ TOY, "sub", handles, "kernel-defined", "does not define kernel 'sub'" },
	{ TOY, "scale", handles, "kernel-parameters", "has 1 parameters in the code, 2" },
	{ TOY, "add", narrow, "kernel-parameters", "8 bytes in the code, 4 in the table" },
	{ "TOY1\1\2", "add", handles, "code-format", "toy: " },
	{ "\177ELF", "add", handles, "code-format", "expects toy code, but this is an ELF file" },
};

START_TEST(is_verified)
{
	verify_bytes(blob_of(findings[_i].code, findings[_i].kernel, findings[_i].args));
	expect(findings[_i].check, MPK_ERROR, findings[_i].text);
}
END_TEST

START_TEST(has_a_check_of_its_own)
{
	struct mpk_span blob = blob_of(TOY, "add", handles);
	uint8_t *block = memmem((void *)(uintptr_t)blob.data, blob.len, "TOY1\x40", 5);

	ck_assert_ptr_nonnull(block);
	block[4] = 0;
	verify_bytes(blob);
	expect("toy-block", MPK_ERROR, "no block is small enough");
	ck_assert_uint_eq(report.findings[0].error.at.offset, (uint64_t)(block + 4 - blob.data));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("code-example");
	TCase *tc = tcase_create("code-example");

	tcase_add_checked_fixture(tc, setup, finish);
	tcase_add_test(tc, is_recognised);
	tcase_add_test(tc, is_checked);
	tcase_add_test(tc, is_listed);
	tcase_add_test(tc, is_written_as_json);
	tcase_add_loop_test(tc, is_verified, 0, (int)MPK_ARRAY_COUNT(findings));
	tcase_add_test(tc, has_a_check_of_its_own);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
