/* SPDX-License-Identifier: Apache-2.0 */
/* What a case file becomes. Its errors in full: tests/cli/minspect/cases-errors */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "session/cases.h"

struct parsed {
	struct mpk_cases cases;
	struct mpk_report report;
};

static const struct mpk_case_defaults nothing = { .tolerance = { -1, -1 } };

static void parse(struct parsed *p, struct mpk_span text, struct mpk_case_defaults options)
{
	struct mpk_cases_source source = {
		.path = "dir/cases.toml",
		.text = text,
		.parser = mpk_toml_parse_bytes,
		.defaults = options,
	};
	struct mpk_error err = { 0 };

	memset(p, 0, sizeof *p);
	ck_assert_msg(mpk_cases_read(&source, &p->cases, &p->report, &err) == MPK_OK, "%s",
		      err.text);
}

static void drop(struct parsed *p)
{
	mpk_report_fini(&p->report);
	mpk_cases_fini(&p->cases);
}

/* Every key there is. */
static const char full[] = "[defaults]\n"
			   "device = \"cpu\"\n"
			   "atol = 1\n"
			   "rtol = 0.5\n"
			   "timeout = 9\n" /* 5 */
			   "[[case]]\n"
			   "name = \"first\"\n"
			   "run = \"f\"\n"
			   "args = [{ input = \"2xf32=1,2\" }, { out = \"3xi8\" },\n"
			   "        { input = \"i64=7\" }]\n" /* 10 */
			   "expect = [\"ignored\", \"3xi8=1\"]\n"
			   "device = \"opencl:2\"\n"
			   "atol = 0\n"
			   "rtol = 0.25\n"
			   "timeout = 0.5\n" /* 15 */
			   "grid = [4, 2]\n"
			   "block = [\"8\"]\n"
			   "shared = 16\n"
			   "repeat = 3\n"
			   "warmup = 2\n" /* 20 */
			   "[[case]]\n"
			   "run = \"g\"\n"
			   "raises = \"no\"\n"
			   "[[case]]\n"
			   "run = \"h\"\n" /* 25 */
			   "skip = \"later\"\n"
			   "args = [{ input = \"@is/not/there.npy\" }]\n";

START_TEST(test_every_key)
{
	struct parsed p;
	parse(&p, mpk_span_str(full), nothing);
	ck_assert_uint_eq(p.report.count, 0);
	ck_assert_uint_eq(p.cases.count, 3);

	const struct mpk_case *c = &p.cases.items[0];
	ck_assert_str_eq(c->name, "first");
	ck_assert_str_eq(c->call.function, "f");
	ck_assert_uint_eq(c->pos.line, 6);
	ck_assert_uint_eq(c->call.arg_count, 3);
	ck_assert_int_eq(c->call.is_out[0], false);
	ck_assert_int_eq(c->call.is_out[1], true);
	ck_assert_int_eq(c->call.is_out[2], false);
	ck_assert_int_eq(c->call.args[0].kind, MPK_VALUE_TENSOR);
	ck_assert_uint_eq(c->call.args[1].tensor->bytes, 3);
	ck_assert_int_eq(c->call.args[2].integer, 7);
	ck_assert_uint_eq(c->expect_count, 2);
	ck_assert_int_eq(c->expects[0].is_ignored, true);
	ck_assert_int_eq(c->expects[1].is_ignored, false);
	ck_assert_ptr_eq(c->call.kernel, &c->extents);
	ck_assert_uint_eq(c->extents.grid[0], 4);
	ck_assert_uint_eq(c->extents.grid[1], 2);
	ck_assert_uint_eq(c->extents.grid[2], 0);
	ck_assert_uint_eq(c->extents.block[0], 8);
	ck_assert_uint_eq(c->extents.shared_bytes, 16);
	ck_assert_uint_eq(c->call.repeat, 3);
	ck_assert_uint_eq(c->call.warmup, 2);
	ck_assert_int_eq(c->is_timed, true);
	drop(&p);
}
END_TEST

START_TEST(test_what_is_left_out)
{
	struct parsed p;
	parse(&p, mpk_span_str(full), nothing);

	const struct mpk_case *c = &p.cases.items[1];
	ck_assert_str_eq(c->name, "g 2");
	ck_assert_str_eq(c->raises, "no");
	ck_assert_ptr_null(c->skip);
	ck_assert_ptr_null(c->call.kernel);
	ck_assert_uint_eq(c->call.arg_count, 0);
	ck_assert_uint_eq(c->call.repeat, 1);
	ck_assert_int_eq(c->is_timed, false);
	/* nobody opened the file that a skipped case names */
	ck_assert_str_eq(p.cases.items[2].skip, "later");
	ck_assert_uint_eq(p.cases.items[2].call.arg_count, 0);
	drop(&p);
}
END_TEST

/* A case's own word, then the command line's, then [defaults]. */
START_TEST(test_precedence)
{
	struct mpk_case_defaults options = { { MPK_DL_CUDA, 1 }, { 7, -1 }, 0, NULL };
	struct parsed p;
	parse(&p, mpk_span_str(full), options);

	const struct mpk_case *own = &p.cases.items[0], *open = &p.cases.items[1];
	ck_assert_int_eq(own->call.device.type, MPK_DL_OPENCL);
	ck_assert_int_eq(own->call.device.id, 2);
	ck_assert_double_eq(own->tolerance.atol, 0);
	ck_assert_double_eq(own->tolerance.rtol, 0.25);
	ck_assert_double_eq(own->timeout, 0.5);
	ck_assert_int_eq(open->call.device.type, MPK_DL_CUDA);
	ck_assert_int_eq(open->call.device.id, 1);
	ck_assert_double_eq(open->tolerance.atol, 7);
	ck_assert_double_eq(open->tolerance.rtol, 0.5);
	ck_assert_double_eq(open->timeout, 9);
	drop(&p);
}
END_TEST

static const struct {
	const char *text;
	uint32_t line, column;
	const char *check;
} wrong[] = {
	{ "", 1, 1, "missing-key" },
	{ "case = []", 1, 1, "missing-key" },
	{ "case = 5", 1, 8, "wrong-type" },
	{ "[[case]]\n", 1, 1, "missing-key" },
	{ "[[case]]\nrun = \"f\"\n[[case]]\nname = \"f 1\"\nrun = \"f\"", 4, 8, "duplicate-name" },
	{ "[[case]]\nrun = \"f\"\nshared = 1.5", 3, 10, "number" },
	{ "[[case]]\nrun = \"f\"\nrepeat = 0", 3, 10, "number" },
	{ "[[case]]\nrun = \"f\"\ntimeout = nan", 3, 11, "number" },
	{ "[[case]]\nrun = \"f\"\ngrid = []", 3, 8, "extents" },
	{ "[[case]]\nrun = \"f\"\nblock = [1, 2147483648]", 3, 13, "extents" },
	{ "[[case]]\nrun = \"f\"\nargs = [{ out = \"i64=5\" }]", 3, 17, "value" },
	{ "[[case]]\nrun = \"f\"\nargs = [{ }]", 3, 9, "argument" },
	{ "[[case]]\nrun = \"f\"\nexpect = [\"@none.npy\"]", 3, 11, "value" },
	{ "[[case]]\nrun = \"f\"\nraises = \"x\"\nexpect = []", 3, 10, "raises" },
	{ "[[case]\n", 1, 8, "syntax" },
};

START_TEST(test_wrong)
{
	struct parsed p;
	parse(&p, mpk_span_str(wrong[_i].text), nothing);
	ck_assert_msg(p.report.count == 1, "row %d: %zu findings", _i, p.report.count);

	const struct mpk_finding *f = &p.report.findings[0];
	ck_assert_str_eq(f->check, wrong[_i].check);
	ck_assert_str_eq(f->error.at.file, "dir/cases.toml");
	ck_assert_msg(f->error.at.line == wrong[_i].line && f->error.at.column == wrong[_i].column,
		      "row %d: at %u:%u: %s", _i, f->error.at.line, f->error.at.column,
		      f->error.text);
	drop(&p);
}
END_TEST

/* A file cut anywhere is either what was written so far or a mistake with a place. */
START_TEST(test_prefixes)
{
	for (size_t len = 0; len < sizeof full; len++) {
		struct parsed p;

		parse(&p, mpk_span_of(full, len), nothing);
		for (size_t i = 0; i < p.report.count; i++)
			ck_assert_uint_ge(p.report.findings[i].error.at.line, 1);
		ck_assert_msg(p.report.errors || p.cases.count, "%zu bytes are nothing", len);
		drop(&p);
	}
}
END_TEST

/* All that a call needs, and nothing of what it is to give; \\u0085 is a control character. */
START_TEST(calls_alone)
{
	static const char text[] =
		"# 4711\n[defaults]\natol = 4711\ntimeout = 2.5\ndevice = \"cpu\"\n"
		"[[case]]\nname = \"4711\"\nrun = \"f\\u0085\\\"\\U0001F600\"\n"
		"args = [{ input = \"i64=8\" }, { out = \"3xi8\" }]\nexpect = [\"i64=4711\"]\n"
		"grid = [4, \"2\"]\nshared = 16\nrepeat = 3\nwarmup = 2\nrtol = 4711\n"
		"[[case]]\nrun = \"g\"\nraises = \"4711\"\n"
		"[[case]]\nrun = \"h\"\nskip = \"4711\"\ndevice = \"opencl:1\"\n";
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf calls = { 0 };
	struct parsed whole, again;

	parse(&whole, mpk_span_str(text), nothing);
	ck_assert_uint_eq(whole.report.count, 0);
	ck_assert_int_eq(mpk_cases_calls(&whole.cases, &calls, NULL), MPK_OK);
	ck_assert_ptr_null(strstr(mpk_strbuf_text(&calls), "4711"));
	parse(&again, mpk_span_of(calls.data, calls.len), nothing);
	ck_assert_uint_eq(again.report.count, 0);
	ck_assert_uint_eq(again.cases.count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct mpk_case *a = &whole.cases.items[i], *b = &again.cases.items[i];

		ck_assert_str_eq(a->call.function, b->call.function);
		ck_assert_uint_eq(a->call.arg_count, b->call.arg_count);
		ck_assert_uint_eq(a->call.repeat, b->call.repeat);
		ck_assert_uint_eq(a->call.warmup, b->call.warmup);
		ck_assert_int_eq(a->call.device.type, b->call.device.type);
		ck_assert_int_eq(a->call.device.id, b->call.device.id);
		ck_assert_int_eq(!a->call.kernel, !b->call.kernel);
		ck_assert_int_eq(memcmp(&a->extents, &b->extents, sizeof a->extents), 0);
		ck_assert_int_eq(!a->skip, !b->skip);
		ck_assert(a->timeout == b->timeout);
		ck_assert(!b->raises && !b->expect_count);
	}
	ck_assert_int_eq(again.cases.items[0].args[0].integer, 8);
	ck_assert(again.cases.items[0].call.is_out[1]);
	drop(&again);
	drop(&whole);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cases");
	TCase *read = tcase_create("read"), *bad = tcase_create("wrong");

	tcase_add_test(read, calls_alone);
	tcase_add_test(read, test_every_key);
	tcase_add_test(read, test_what_is_left_out);
	tcase_add_test(read, test_precedence);
	tcase_add_loop_test(bad, test_wrong, 0, MPK_ARRAY_COUNT(wrong));
	tcase_add_test(bad, test_prefixes);
	suite_add_tcase(s, read);
	suite_add_tcase(s, bad);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
