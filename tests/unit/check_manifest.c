/* SPDX-License-Identifier: Apache-2.0 */
/* What a manifest becomes. The sentences of its errors: tests/cli/mpack/check-*. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "manifest/manifest.h"

struct parsed {
	struct mpk_arena arena;
	struct mpk_report report;
	struct mpk_manifest m;
	struct mpk_error err;
	enum mpk_code code;
};

static void parse_at(struct parsed *p, struct mpk_span text, const char *path)
{
	memset(p, 0, sizeof *p);
	p->code = mpk_manifest_parse(text, path, NULL, &p->arena, &p->report, &p->m, &p->err);
}

static void parse(struct parsed *p, const char *text)
{
	parse_at(p, mpk_span_str(text), "dir/mpack.toml");
}

static void drop(struct parsed *p)
{
	mpk_report_fini(&p->report);
	mpk_arena_fini(&p->arena);
}

static void expect_text(struct mpk_toml_str s, const char *text, uint32_t line, uint32_t column)
{
	ck_assert_str_eq(s.text, text);
	ck_assert_uint_eq(s.len, strlen(text));
	ck_assert_uint_eq(s.pos.line, line);
	ck_assert_uint_eq(s.pos.column, column);
}

/* Every key that the manual names. */
static const char full[] = "[package]\n" /* 1 */
			   "name = \"deploy\"\n"
			   "abi = \"legacy\"\n"
			   "root = \"host\"\n"
			   "target = \"aarch64-linux-gnu\"\n" /* 5 */
			   "standalone = true\n"
			   "dedup = true\n"
			   "[[module]]\n"
			   "id = \"kernels\"\n"
			   "kind = \"cuda\"\n" /* 10 */
			   "format = \"ptx\"\n"
			   "data = \"k.ptx\"\n"
			   "  [[module.function]]\n"
			   "  name = \"vadd\"\n"
			   "  args = [\"handle\", \"float32\", \"i64\"]\n" /* 15 */
			   "  launch = [\"blockIdx.x\", \"threadIdx.x\", "
			   "\"tir.use_dyn_shared_memory\"]\n"
			   "[[module]]\n"
			   "id = \"host\"\n"
			   "kind = \"host\"\n"
			   "sources = [\"a.ll\", \"b.bc\", \"c.c\", \"d.o\", \"e.a\"]\n" /* 20 */
			   "imports = [\"kernels\", \"model\", \"raw\", \"shaders\"]\n"
			   "[[module]]\n"
			   "id = \"model\"\n"
			   "kind = \"GraphExecutorFactory\"\n"
			   "name = \"default\"\n" /* 25 */
			   "graph = \"graph.json\"\n"
			   "params = \"w.params\"\n"
			   "[[module]]\n"
			   "id = \"raw\"\n"
			   "kind = \"my_runtime\"\n" /* 30 */
			   "payload = \"raw.bin\"\n"
			   "[[module]]\n"
			   "id = \"shaders\"\n"
			   "kind = \"rocm\"\n"
			   "data = \"k.hsaco\"\n" /* 35 */
			   "  [[module.function]]\n"
			   "  name = \"f\"\n"
			   "  args = []\n"
			   "  launch = []\n"
			   "[[function]]\n" /* 40 */
			   "name = \"vadd\"\n"
			   "kernel = \"kernels.vadd\"\n"
			   "params = [\"A: float32[n]\"]\n"
			   "args = [\"A\", 1, \"n\"]\n"
			   "grid = [\"(n + 127) / 128\"]\n" /* 45 */
			   "block = [128]\n"
			   "shared = 256\n"
			   "[[function]]\n"
			   "name = \"two\"\n"
			   "params = []\n" /* 50 */
			   "temps = [\"t: float32[4]\"]\n"
			   "  [[function.steps]]\n"
			   "  kernel = \"shaders.f\"\n"
			   "  args = []\n"
			   "  grid = [1]\n" /* 55 */
			   "  block = [1]\n"
			   "  [[function.steps]]\n"
			   "  kernel = \"shaders.f\"\n"
			   "  args = []\n"
			   "  grid = [1]\n" /* 60 */
			   "  block = [1]\n"
			   "  shared = \"4 * 8\"\n";

START_TEST(package_is_read)
{
	struct parsed p;

	parse(&p, full);
	ck_assert_msg(p.code == MPK_OK, "%u:%u: %s", p.err.at.line, p.err.at.column, p.err.text);
	ck_assert(p.m.valid);
	expect_text(p.m.name, "deploy", 2, 8);
	expect_text(p.m.target, "aarch64-linux-gnu", 5, 10);
	ck_assert_int_eq(p.m.gen, MPK_GEN_LEGACY);
	ck_assert_uint_eq(p.m.root_index, 1);
	ck_assert(p.m.standalone && p.m.dedup);
	ck_assert_ptr_null(p.m.base.text);
	ck_assert_str_eq(p.m.path, "dir/mpack.toml");
	ck_assert_str_eq(p.m.dir, "dir/");
	drop(&p);
}
END_TEST

START_TEST(modules_are_read)
{
	struct parsed p;

	parse(&p, full);
	ck_assert_uint_eq(p.m.module_count, 5);

	const struct mpk_manifest_module *host = &p.m.modules[1];
	ck_assert(host->is_host && host->valid);
	ck_assert_uint_eq(host->sources.count, 5);
	expect_text(host->sources.items[2], "c.c", 20, 28);
	ck_assert_uint_eq(host->imports.count, 4);
	ck_assert_uint_eq(host->import_index[0], 0);
	ck_assert_uint_eq(host->import_index[3], 4);
	ck_assert_uint_eq(host->pos.line, 17);

	const struct mpk_manifest_module *model = &p.m.modules[2];
	expect_text(mpk_manifest_module_extra(model, "graph"), "graph.json", 26, 9);
	ck_assert_uint_eq(model->extra_count, 3);
	ck_assert_ptr_null(mpk_manifest_module_extra(model, "symbol").text);
	expect_text(p.m.modules[3].payload, "raw.bin", 31, 11);
	ck_assert_str_eq(p.m.modules[3].key.text, "my_runtime");
	ck_assert_str_eq(p.m.modules[4].key.text, "hip");
	drop(&p);
}
END_TEST

START_TEST(kernel_tables_are_read)
{
	struct parsed p;

	parse(&p, full);

	const struct mpk_manifest_function *f = &p.m.modules[0].functions[0];
	expect_text(f->name, "vadd", 14, 10);
	ck_assert_uint_eq(f->arg_count, 3);
	ck_assert_uint_eq(f->args[0].code, MPK_DTYPE_HANDLE);
	ck_assert_uint_eq(f->args[1].code, MPK_DTYPE_FLOAT);
	ck_assert_uint_eq(f->args[2].code, MPK_DTYPE_INT);
	ck_assert_uint_eq(f->args[2].bits, 64);
	ck_assert_uint_eq(f->launch.count, 3);
	expect_text(f->launch.items[2], "tir.use_dyn_shared_memory", 16, 42);
	drop(&p);
}
END_TEST

START_TEST(launch_functions_are_read)
{
	struct parsed p;

	parse(&p, full);
	ck_assert_uint_eq(p.m.launch_count, 2);

	const struct mpk_manifest_launch *one = &p.m.launches[0], *two = &p.m.launches[1];
	ck_assert_uint_eq(one->step_count, 1);
	expect_text(one->steps[0].kernel, "kernels.vadd", 42, 10);
	expect_text(one->steps[0].args.items[1], "1", 44, 14);
	expect_text(one->steps[0].block.items[0], "128", 46, 10);
	expect_text(one->steps[0].shared, "256", 47, 10);
	expect_text(one->params.items[0], "A: float32[n]", 43, 11);
	ck_assert_uint_eq(two->step_count, 2);
	ck_assert_uint_eq(two->steps[1].pos.line, 57);
	expect_text(two->steps[1].shared, "4 * 8", 62, 12);
	expect_text(two->temps.items[0], "t: float32[4]", 51, 10);
	drop(&p);
}
END_TEST

START_TEST(defaults_are_set)
{
	struct parsed p;

	parse_at(&p,
		 mpk_span_str("[package]\nname = \"m\"\n[[module]]\nid = \"a\"\nkind = \"x\"\n"
			      "payload = \"p\"\n"),
		 "mpack.toml");
	ck_assert_int_eq(p.code, MPK_OK);
	ck_assert_int_eq(p.m.gen, MPK_GEN_CURRENT);
	ck_assert_uint_eq(p.m.root_index, 0);
	ck_assert_str_eq(p.m.dir, "");
	ck_assert(!p.m.standalone && !p.m.dedup);
	drop(&p);
}
END_TEST

/* --- errors: all of them, where they are ----------------------------------------------------- */

#define HEAD "[package]\nname = \"m\"\n"
#define RAW(id) "[[module]]\nid = \"" id "\"\nkind = \"x\"\npayload = \"p\"\n"

static const struct {
	const char *text, *findings;
} error_rows[] = {
	{ "x", "1:2 syntax" },
	{ "", "1:1 missing-key, 1:1 empty" },
	{ HEAD, "1:1 empty" },
	{ HEAD RAW("a") RAW("b") "imports = [\"a\", \"c\", \"d\"]\n" RAW("a"),
	  "11:17 unknown-import, 11:22 unknown-import, 13:6 duplicate-id" },
	{ HEAD RAW("a") "imports = [\"a\"]\n", "7:12 cycle" },
	{ HEAD RAW("a") "imports = [\"b\"]\n" RAW("b") "imports = [\"a\"]\n" RAW("c") "nope = 1\n",
	  "12:12 cycle, 17:1 unknown-key" },
	{ HEAD "root = \"b\"\n" RAW("a"), "3:8 unknown-root" },
	{ HEAD RAW("a") "imports = [\"\"]\nformat = \"f\"\n",
	  "7:12 empty-value, 8:10 misplaced-key" },
	{ HEAD RAW("a") "Imports = []\n", "7:1 unknown-key" },
	{ HEAD RAW("a") "[[module.function]]\nname = \"f\"\nargs = [\"x\"]\nlaunch = [\"y\"]\n",
	  "7:1 misplaced-key, 9:9 dtype, 10:11 launch-tag" },
	{ HEAD "[[module]]\nid = \"a\"\nkind = \"_import_tree\"\npayload = \"p\"\n", "5:8 kind" },
	{ HEAD "[[module]]\n", "3:1 missing-key, 3:1 missing-key" },
	{ HEAD RAW("a") "[[function]]\n",
	  "7:1 missing-key, 7:1 missing-key, 7:1 missing-key, 7:1 missing-key, 7:1 missing-key, "
	  "7:1 missing-key" },
};

START_TEST(errors_are_found_together)
{
	struct mpk_strbuf got = { 0 };
	struct parsed p;

	parse(&p, error_rows[_i].text);
	ck_assert_int_eq(p.code, MPK_E_SYNTAX);
	ck_assert(!p.m.valid);
	mpk_report_sort(&p.report);
	for (size_t i = 0; i < p.report.count; i++) {
		const struct mpk_finding *f = &p.report.findings[i];

		ck_assert_str_eq(f->error.at.file, "dir/mpack.toml");
		mpk_strbuf_printf(&got, "%s%u:%u %s", i ? ", " : "", f->error.at.line,
				  f->error.at.column, f->check);
	}
	ck_assert_str_eq(mpk_strbuf_text(&got), error_rows[_i].findings);
	mpk_strbuf_fini(&got);
	drop(&p);
}
END_TEST

START_TEST(more_errors_than_are_kept_are_counted)
{
	struct mpk_strbuf text = { 0 };
	struct parsed p;

	mpk_strbuf_puts(&text, HEAD);
	for (unsigned i = 0; i < 80; i++)
		mpk_strbuf_printf(&text, "x%u = 1\n", i);
	mpk_strbuf_puts(&text, RAW("a"));
	parse(&p, mpk_strbuf_text(&text));
	ck_assert_uint_eq(p.report.errors, 80);
	ck_assert_uint_eq(p.report.dropped, 80 - MPK_REPORT_MAX);
	mpk_strbuf_fini(&text);
	drop(&p);
}
END_TEST

/* --- the table of kinds ---------------------------------------------------------------------------- */

START_TEST(every_device_kind_has_formats)
{
	const struct mpk_manifest_kind *k = &mpk_manifest_kinds[_i];

	ck_assert_ptr_nonnull(k->name);
	ck_assert_ptr_eq(mpk_manifest_kind_find(mpk_span_str(k->name)), k);
	ck_assert_int_eq(k->device, k->formats[0] != NULL);
}
END_TEST

/* --- hostile input ---------------------------------------------------------------------------------- */

START_TEST(every_beginning_is_survived)
{
	for (size_t i = 0; i < sizeof full; i++) {
		struct parsed p;

		parse_at(&p, mpk_span_of(full, i), "m");
		ck_assert(p.code == MPK_OK || (p.code == MPK_E_SYNTAX && p.report.errors));
		drop(&p);
	}
}
END_TEST

START_TEST(every_changed_byte_is_survived)
{
	char text[sizeof full];

	for (size_t i = 0; i < sizeof full - 1; i++) {
		static const unsigned char masks[] = { 0x01, 0x10, 0x20, 0x80 };
		struct parsed p;

		memcpy(text, full, sizeof text);
		text[i] = (char)((unsigned char)text[i] ^ masks[i % sizeof masks]);
		parse_at(&p, mpk_span_of(text, sizeof text - 1), "m");
		ck_assert(p.code == MPK_OK || (p.code == MPK_E_SYNTAX && p.report.errors));
		drop(&p);
	}
}
END_TEST

/* Lines left out and doubled: valid TOML, most of it, with every kind of contradiction. */
START_TEST(every_missing_and_doubled_line_is_survived)
{
	for (const char *at = full; *at;) {
		const char *end = strchr(at, '\n') + 1;
		size_t before = (size_t)(at - full), line = (size_t)(end - at);

		for (size_t copies = 0; copies < 3; copies += 2) {
			struct mpk_strbuf text = { 0 };
			struct parsed p;

			mpk_strbuf_put(&text, full, before);
			for (size_t i = 0; i < copies; i++)
				mpk_strbuf_put(&text, at, line);
			mpk_strbuf_puts(&text, end);
			parse(&p, mpk_strbuf_text(&text));
			ck_assert(p.code == MPK_OK || (p.code == MPK_E_SYNTAX && p.report.errors));
			mpk_strbuf_fini(&text);
			drop(&p);
		}
		at = end;
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("manifest");
	TCase *tc = tcase_create("parse");
	int kinds = 0;

	while (mpk_manifest_kinds[kinds].name)
		kinds++;
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, package_is_read);
	tcase_add_test(tc, modules_are_read);
	tcase_add_test(tc, kernel_tables_are_read);
	tcase_add_test(tc, launch_functions_are_read);
	tcase_add_test(tc, defaults_are_set);
	tcase_add_loop_test(tc, errors_are_found_together, 0, (int)MPK_ARRAY_COUNT(error_rows));
	tcase_add_test(tc, more_errors_than_are_kept_are_counted);
	tcase_add_loop_test(tc, every_device_kind_has_formats, 0, kinds);
	tcase_add_test(tc, every_beginning_is_survived);
	tcase_add_test(tc, every_changed_byte_is_survived);
	tcase_add_test(tc, every_missing_and_doubled_line_is_survived);
	suite_add_tcase(s, tc);

	SRunner *sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	int failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
