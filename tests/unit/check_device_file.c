/* SPDX-License-Identifier: Apache-2.0 */
/* elf/device_code.c - code for GPUs in files of its own: every format that is one, under every answer */
#include "assert_error.h"
#include "robust.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "code/format.h"
#include "diff/diff.h"
#include "digest/digest.h"
#include "elf/image.h"
#include "extract/extract.h"
#include "gate/gate.h"
#include "list/list.h"
#include "model/node_info.h"
#include "page/page.h"
#include "part/part.h"
#include "size/size.h"
#include "verify/verify.h"

/* What compilers wrote; whatever is put there is looked at. */
static const char *const folders[] = { "tests/data/device", "tests/data/gpu" };

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

/* A file as minspect has it. */
struct opened {
	struct mpk_image image;
	struct mpk_view view;
};

static enum mpk_code open_device(struct mpk_span bytes, struct mpk_arena *in, struct opened *out,
				 struct mpk_error *err)
{
	MPK_TRY(mpk_image_open(bytes, NULL, in, &out->image, err));
	MPK_TRY(mpk_view_init(&out->view, "k", bytes.len, &out->image, NULL, in, err));
	return mpk_view_show_info(&out->view, true, err);
}

/* --- answers ------------------------------------------------------------------------------ */

/* Everything that can be asked of a file: a row each. They put what they answer. */
static enum mpk_code put(const struct mpk_answer *row, const void *what, struct mpk_strbuf *out,
			 struct mpk_error *err)
{
	const struct mpk_style style = { .verbose = true };
	MPK_CLEANUP(mpk_json_fini) struct mpk_json j = { 0 };

	if (row->text)
		row->text(what, style, out);
	mpk_json_init(&j, 1);
	row->json(what, &j, j.root);
	return mpk_json_print(&j, out, err);
}

static enum mpk_code put_summary(struct opened *o, struct mpk_strbuf *out, struct mpk_error *err)
{
	return put(&mpk_answer_summary, &o->view, out, err);
}

static enum mpk_code put_functions(struct opened *o, struct mpk_strbuf *out, struct mpk_error *err)
{
	return put(&mpk_answer_functions, &o->view, out, err);
}

static enum mpk_code put_brief(struct opened *o, struct mpk_strbuf *out, struct mpk_error *err)
{
	(void)err;
	mpk_answer_brief.line(&o->view, (struct mpk_style){ 0 }, out);
	return MPK_OK;
}

static enum mpk_code put_size(struct opened *o, struct mpk_strbuf *out, struct mpk_error *err)
{
	struct mpk_size size;

	MPK_TRY(mpk_size_read(&o->view, &arena, &size, err));
	return put(&mpk_answer_size, &size, out, err);
}

static enum mpk_code put_code_digest(struct opened *o, struct mpk_strbuf *out,
				     struct mpk_error *err)
{
	struct mpk_code_digests digests;

	MPK_TRY(mpk_code_digests_read(&o->view, &arena, &digests, err));
	return put(&mpk_answer_code_digest, &digests, out, err);
}

static enum mpk_code put_verify(struct opened *o, struct mpk_strbuf *out, struct mpk_error *err)
{
	struct mpk_report report = { 0 };
	struct mpk_verified what = { "k", &report, false };
	enum mpk_code code = mpk_verify_run(&o->view, NULL, &arena, &report, err);

	ck_assert_uint_eq(report.errors, 0);
	if (code == MPK_OK)
		code = put(&mpk_answer_verify, &what, out, err);
	mpk_report_fini(&report);
	return code;
}

static enum mpk_code put_diff(struct opened *o, struct mpk_strbuf *out, struct mpk_error *err)
{
	struct mpk_diff diff = { 0 };

	MPK_TRY(mpk_diff_views(&o->view, o->image.bytes, &o->view, o->image.bytes, &arena, &diff,
			       err));
	ck_assert_uint_eq(diff.count, 0);
	return put(&mpk_answer_diff, &diff, out, err);
}

static enum mpk_code put_baseline(struct opened *o, struct mpk_strbuf *out, struct mpk_error *err)
{
	struct mpk_baseline_file now;
	struct mpk_baseline b = { 0 };
	struct mpk_gate gate;

	MPK_TRY(mpk_baseline_measure(&o->view, &arena, &now, err));
	MPK_TRY(mpk_baseline_update(&b, &now, &arena, err));
	MPK_TRY(mpk_gate_compare(&b, &now, 0, &arena, &gate, err));
	ck_assert(!gate.worse && !gate.count);
	gate.baseline = "b.json";
	return put(&mpk_answer_gate, &gate, out, err);
}

static enum mpk_code put_extract(struct opened *o, struct mpk_strbuf *out, struct mpk_error *err)
{
	struct mpk_extract plan;

	MPK_TRY(mpk_extract_plan(&o->view, (struct mpk_span){ 0 }, &arena, &plan, err));
	ck_assert_uint_gt(plan.count, 0);
	return put(&mpk_answer_extract, &plan, out, err);
}

/* A container alone in its file is that file, byte for byte. */
static enum mpk_code put_part(struct opened *o, struct mpk_strbuf *out, struct mpk_error *err)
{
	struct mpk_rope content;
	struct mpk_span flat;

	MPK_TRY(mpk_part_find(&o->view, MPK_DEVICE_FILE ":0", true, &arena, &content, err));
	MPK_TRY(mpk_rope_flat(&content, &flat, err));
	ck_assert(mpk_span_equal(flat, o->image.devices[0].bytes));
	ck_assert(o->image.device_count > 1 || flat.len == o->image.bytes.len);
	mpk_strbuf_printf(out, "%zu bytes\n", flat.len);
	return MPK_OK;
}

static enum mpk_code put_page(struct opened *o, struct mpk_strbuf *out, struct mpk_error *err)
{
	struct mpk_rope html = { .arena = &arena };
	struct mpk_page page;
	enum mpk_code code;

	mpk_page_init(&page, false);
	code = mpk_page_add(&page, &o->view, NULL, err);
	if (code == MPK_OK)
		code = mpk_page_print(&page, &html, err);
	mpk_strbuf_printf(out, "%zu bytes\n", (size_t)html.len);
	mpk_page_fini(&page);
	return code;
}

static const struct {
	const char *name;
	enum mpk_code (*put)(struct opened *o, struct mpk_strbuf *out, struct mpk_error *err);
} answers[] = {
	{ "summary", put_summary },
	{ "functions", put_functions },
	{ "brief", put_brief },
	{ "size", put_size },
	{ "code-digest", put_code_digest },
	{ "verify", put_verify },
	{ "diff", put_diff },
	{ "baseline", put_baseline },
	{ "extract", put_extract },
	{ "show", put_part },
	{ "html", put_page },
};

static void ask_all(const char *path, struct mpk_span bytes)
{
	struct mpk_error err = { 0 };
	struct opened o;

	ck_assert_msg(open_device(bytes, &arena, &o, &err) == MPK_OK, "%s: %s", path, err.text);
	ck_assert_int_eq(o.image.container, MPK_CONTAINER_DEVICE);
	ck_assert_int_eq(o.image.format, MPK_FILE_DEVICE);
	ck_assert_uint_gt(o.image.device_count, 0);
	ck_assert(!o.image.has_blob && !o.image.function_count && !o.image.embedded_count);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(answers); i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
		enum mpk_code code = answers[i].put(&o, &out, &err);

		ck_assert_msg(code == MPK_OK, "%s, %s: %s", path, answers[i].name, err.text);
		ck_assert_msg(out.len > 0 && !out.failed, "%s, %s: no answer", path,
			      answers[i].name);
		ck_assert_msg(!strstr(mpk_strbuf_text(&out), "no module") &&
				      !strstr(mpk_strbuf_text(&out), "compiled module"),
			      "%s, %s: %s", path, answers[i].name, mpk_strbuf_text(&out));
	}
}

/* A format whose row has is_file needs a file in these folders, and every file there that is of one is asked all. */
START_TEST(every_format)
{
	bool seen[64] = { 0 };
	size_t files = 0;

	for (size_t f = 0; f < MPK_ARRAY_COUNT(folders); f++) {
		DIR *folder = opendir(folders[f]);
		const struct dirent *e;

		ck_assert_ptr_nonnull(folder);
		while ((e = readdir(folder))) {
			const char *path = mpk_arena_printf(&arena, "%s/%s", folders[f], e->d_name);
			struct mpk_span bytes;

			if (e->d_name[0] == '.')
				continue;
			bytes = robust_load(&arena, path);
			if (!mpk_file_is_device(bytes))
				continue;
			ask_all(path, bytes);
			files++;
			for (size_t i = 0; mpk_code_formats[i]; i++)
				seen[i] |= mpk_code_formats[i] == mpk_code_format_of(bytes);
		}
		closedir(folder);
	}
	ck_assert_uint_gt(files, 20);
	for (size_t i = 0; mpk_code_formats[i]; i++)
		ck_assert_msg(!mpk_code_formats[i]->is_file || seen[i],
			      "%s: no file of it in tests/data", mpk_code_formats[i]->name);
}
END_TEST

/* --- what is none --------------------------------------------------------------------------- */

/* ".version" is a directive of other assemblers, too. */
static const char *const texts[] = {
	"",
	"# PTX\n\n.version 9.0\n",
	"\t.version \"01.01\"\n\t.text\n",
	".version\n",
	"The .version 9.0 of it\n",
	"__kernel void f(__global float *x) { x[0] = 1; }\n",
};

START_TEST(other_texts)
{
	ck_assert(!mpk_file_is_device(mpk_span_str(texts[_i])));
}
END_TEST

static const char *const others[] = { "tests/data/gpu/cuda.so", "tests/data/gpu/cuda-rdc.o",
				      "tests/data/device/two.cu", "tests/data/device/README.md",
				      "tests/data/gpu/params.cl" };

START_TEST(other_files)
{
	ck_assert(!mpk_file_is_device(robust_load(&arena, others[_i])));
}
END_TEST

/* --- damage --------------------------------------------------------------------------------- */

/* The header of what is alone in a file is broken: there is nothing to list, and the place is said. */
START_TEST(broken_header)
{
	struct mpk_span good = robust_load(&arena, "tests/data/device/two.sm_90.cubin");
	struct mpk_error err = { 0 };
	struct opened o;

	ck_assert_int_eq(open_device(mpk_span_of(good.data, 40), &arena, &o, &err), MPK_E_CORRUPT);
	ck_assert(err.at.has_offset);
	ck_assert_str_eq(err.at.space, "file");
}
END_TEST

/* Of a broken body it is said by --verify, and a listing has what can be read. */
START_TEST(broken_body)
{
	struct mpk_span good = robust_load(&arena, "tests/data/device/compute.spv");
	struct mpk_report report = { 0 };
	struct mpk_error err = { 0 };
	struct opened o;

	ck_assert_ok(open_device(mpk_span_of(good.data, 100), &arena, &o, &err), err);
	ck_assert_ok(mpk_verify_run(&o.view, NULL, &arena, &report, &err), err);
	ck_assert_uint_gt(report.errors, 0);
	ck_assert(report.findings[0].error.at.has_offset);
	mpk_report_fini(&report);
}
END_TEST

static enum mpk_code read_file(struct mpk_span bytes, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena own = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };
	struct opened o;

	MPK_TRY(open_device(bytes, &own, &o, err));
	mpk_answer_summary.text(&o.view, (struct mpk_style){ 0 }, &out);
	return mpk_strbuf_status(&out, err);
}

static const char *const damaged[] = {
	"tests/data/device/two.sm_90.cubin",  "tests/data/device/two.ptx",
	"tests/data/device/tiny.size.fatbin", "tests/data/device/compute.spv",
	"tests/data/gpu/first.bundle",        "tests/data/gpu/params.gfx906.hsaco",
};

START_TEST(damage)
{
	robust_check(damaged[_i], read_file, 600);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("device_file");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, every_format);
	tcase_add_loop_test(tc, other_texts, 0, MPK_ARRAY_COUNT(texts));
	tcase_add_loop_test(tc, other_files, 0, MPK_ARRAY_COUNT(others));
	tcase_add_test(tc, broken_header);
	tcase_add_test(tc, broken_body);
	tcase_add_loop_test(tc, damage, 0, MPK_ARRAY_COUNT(damaged));
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
