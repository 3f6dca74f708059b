/* SPDX-License-Identifier: Apache-2.0 */
/* What --run and --cases print: values, times, comparisons, TAP, JSON, JUnit XML (results/results.h,
 * results/results.h). Whole documents against their schemas: tests/cli/minspect/run-json, cases-json. */
#include "harness.h"

#include "base/compiler.h"
#include "npy/npy.h"
#include "results/results.h"
#include "value/param_file.h"
#include "value/parse.h"

static struct mpk_strbuf out;
static struct mpk_json json;

static void begin(void)
{
	out = (struct mpk_strbuf){ 0 };
	mpk_json_init(&json, 0);
}

static void end(void)
{
	mpk_json_fini(&json);
	mpk_strbuf_fini(&out);
}

/* The document on one line: what stands between its members is of no interest here. */
static const char *document(void)
{
	size_t n = 0;

	ck_assert_int_eq(mpk_json_print(&json, &out, NULL), MPK_OK);
	for (size_t i = 0; i < out.len; i++) {
		if (out.data[i] == '\n')
			i += strspn(out.data + i, "\n ") - 1;
		else
			out.data[n++] = out.data[i];
	}
	out.data[n] = '\0';
	return out.data;
}

/* --- values ------------------------------------------------------------------------- */

static const struct {
	const char *value; /* as a user types it, and as it is printed */
	const char *json;
} values[] = {
	{ "none", "{\"type\": \"none\",\"value\": null}" },
	{ "true", "{\"type\": \"bool\",\"value\": true}" },
	{ "-3", "{\"type\": \"int\",\"value\": -3}" },
	{ "1.5", "{\"type\": \"float\",\"value\": 1.5}" },
	{ "str=a b", "{\"type\": \"str\",\"value\": \"a b\"}" },
	{ "bytes=00ff", "{\"type\": \"bytes\",\"value\": \"00ff\"}" },
	{ "shape=2,3", "{\"type\": \"shape\",\"value\": [2,3]}" },
	{ "2xf32=1 nan", "{\"type\": \"tensor\",\"dtype\": \"float32\",\"shape\": [2],\"values\": "
			 "[1.0,\"nan\"],\"complete\": true}" },
	{ "1x2xi8=-1 2",
	  "{\"type\": \"tensor\",\"dtype\": \"int8\",\"shape\": [1,2],\"values\": [-1,2],"
	  "\"complete\": true}" },
	{ "2xu64=0 18446744073709551615",
	  "{\"type\": \"tensor\",\"dtype\": \"uint64\",\"shape\": [2],\"values\": "
	  "[0,\"18446744073709551615\"],\"complete\": true}" },
	{ "2xbool=true false",
	  "{\"type\": \"tensor\",\"dtype\": \"bool\",\"shape\": [2],\"values\": [true,false],"
	  "\"complete\": true}" },
	{ "[]i32=7", "{\"type\": \"tensor\",\"dtype\": \"int32\",\"shape\": [],\"values\": [7],"
		     "\"complete\": true}" },
	{ "0xf32=", "{\"type\": \"tensor\",\"dtype\": \"float32\",\"shape\": [0],\"values\": [],"
		    "\"complete\": true}" },
};

static struct mpk_value parsed(const char *text)
{
	struct mpk_error err = { 0 };
	struct mpk_value v;

	ck_assert_msg(mpk_value_parse(text, &v, &err) == MPK_OK, "%s: %s", text, err.text);
	return v;
}

START_TEST(value_json)
{
	struct mpk_value v = parsed(values[_i].value);
	struct mpk_call_result r = { .values = &v, .count = 1 };
	char wanted[300];

	mpk_answer_results.json(&(struct mpk_shown_results){ &r, false }, &json, json.root);
	(void)snprintf(wanted, sizeof wanted, "{\"results\": [%s]}", values[_i].json);
	ck_assert_str_eq(document(), wanted);
	mpk_value_drop(&v);
}
END_TEST

START_TEST(value_lines)
{
	struct mpk_value v[] = { parsed("2xf32=1,2"), parsed("str=x"), parsed("2000xi8") };
	struct mpk_call_result r = { .values = v, .count = 3 };
	static const char lines[] =
		"2xf32=1 2\nstr=x\n"
		"2000xi8: 2,000 elements from 0 to 0, mean 0\n"
		"  [  0   0   0   0   0   0   0   0 ...   0   0   0   0   0   0   0   0]\n"
		"all elements: --full; into a file: -o @OUT.npy\n";

	mpk_answer_results.text(&(struct mpk_shown_results){ &r, false }, (struct mpk_style){ 0 },
				&out);
	ck_assert_str_eq(mpk_strbuf_text(&out), lines);
	mpk_strbuf_fini(&out);
	mpk_answer_results.text(&(struct mpk_shown_results){ &r, true }, (struct mpk_style){ 0 },
				&out);
	ck_assert_uint_eq(out.len, strlen("2xf32=1 2\nstr=x\n2000xi8=\n") + 2 * 2000 - 1);
	mpk_answer_results.json(&(struct mpk_shown_results){ &r, false }, &json, json.root);
	ck_assert_ptr_nonnull(strstr(document(), "\"complete\": false"));
	for (size_t i = 0; i < MPK_ARRAY_COUNT(v); i++)
		mpk_value_drop(&v[i]);
}
END_TEST

/* What is shown of a tensor that is longer than a line. */
START_TEST(blocks)
{
	static const struct {
		const char *value, *text;
	} rows[] = {
		{ "8x9xf32=1.5", "8x9xf32: 72 elements from 1.5 to 1.5, mean 1.5\n"
				 "  [[1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5]\n"
				 "   [1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5]\n"
				 "   [1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5]\n"
				 "   ...\n"
				 "   [1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5]\n"
				 "   [1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5]\n"
				 "   [1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5]]\n" },
		{ "65xf32=nan",
		  "65xf32: 65 elements, 65 NaN\n"
		  "  [nan nan nan nan nan nan nan nan ... nan nan nan nan nan nan nan nan]\n" },
		{ "2x2x17xbool=true",
		  "2x2x17xbool: 68 elements from 1 to 1, mean 1\n"
		  "  [[[true true true true true true  ... true true true true true true]\n"
		  "    [true true true true true true  ... true true true true true true]]\n"
		  "   [[true true true true true true  ... true true true true true true]\n"
		  "    [true true true true true true  ... true true true true true true]]]\n" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_value v = parsed(rows[i].value);
		struct mpk_call_result r = { .values = &v, .count = 1 };
		const char *text;

		mpk_strbuf_fini(&out);
		mpk_answer_results.text(&(struct mpk_shown_results){ &r, false },
					(struct mpk_style){ 0 }, &out);
		text = mpk_strbuf_text(&out);
		ck_assert_msg(strncmp(text, rows[i].text, strlen(rows[i].text)) == 0, "%s", text);
		for (const char *end; (end = strchr(text, '\n')); text = end + 1)
			ck_assert_msg(end - text <= 80, "%s", text);
		mpk_value_drop(&v);
	}
}
END_TEST

/* Whatever its shape, a tensor has few lines, and these fit. */
START_TEST(blocks_fit)
{
	static const char *const shapes[] = { "1000000xf64=rand",
					      "3x3x3x3x3x3x3xf32=rand",
					      "50x50x50xi64=-9000000000000000000",
					      "1x1x1x1x1x1x1x70xf16=rand",
					      "2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2xu8=1",
					      "100x1xi4=1",
					      "16xf32x8=2",
					      "70x70xf8_e4m3fn=1" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(shapes); i++) {
		struct mpk_value v = parsed(shapes[i]);
		struct mpk_call_result r = { .values = &v, .count = 1 };
		size_t lines = 0;
		const char *text;

		mpk_strbuf_fini(&out);
		mpk_answer_results.text(&(struct mpk_shown_results){ &r, false },
					(struct mpk_style){ 0 }, &out);
		text = mpk_strbuf_text(&out);
		for (const char *end; (end = strchr(text, '\n')); text = end + 1, lines++)
			ck_assert_msg(end - text <= 80, "%s: %s", shapes[i], text);
		ck_assert_msg(lines >= 3 && lines <= 27, "%s: %zu lines", shapes[i], lines);
		mpk_value_drop(&v);
	}
}
END_TEST

START_TEST(npy_file)
{
	struct mpk_value v = parsed("2x3xi16=1,2,3,4,5,6"), complex = { 0 };
	struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_span bytes;
	struct mpk_npy npy;

	ck_assert_int_eq(mpk_array_write(v.tensor, &rope, NULL), MPK_OK);
	ck_assert_int_eq(mpk_rope_flat(&rope, &bytes, NULL), MPK_OK);
	ck_assert_int_eq(mpk_npy_read(bytes, &npy, NULL), MPK_OK);
	ck_assert_uint_eq(npy.ndim, 2);
	ck_assert_int_eq(npy.shape[1], 3);
	ck_assert_mem_eq(npy.data.data, v.tensor->dl.data, 12);
	/* NumPy has no such type */
	complex = parsed("2xf32");
	complex.tensor->dl.dtype = (struct mpk_dtype){ MPK_DTYPE_HANDLE, 64, 1 };
	ck_assert_int_eq(mpk_array_write(complex.tensor, &rope, NULL), MPK_E_UNSUPPORTED);
	mpk_value_drop(&complex);
	mpk_value_drop(&v);
	mpk_arena_fini(&arena);
}
END_TEST

/* --- times and comparisons ------------------------------------------------------------ */

static const struct {
	double seconds;
	const char *text;
} times[] = {
	{ 2, "2 s" },       { 1, "1 s" },     { 0.25, "250 ms" },    { 1.5e-3, "1.5 ms" },
	{ 42e-6, "42 us" }, { 3e-9, "3 ns" }, { 1e-12, "0.001 ns" }, { 0, "0 ns" },
};

START_TEST(seconds)
{
	mpk_seconds_text(times[_i].seconds, &out);
	ck_assert_str_eq(mpk_strbuf_text(&out), times[_i].text);
}
END_TEST

START_TEST(timing)
{
	const struct mpk_timing t = { .min = 0.25, .median = 0.5, .p95 = 1, .mean = 4 };

	mpk_timing_text(&t, 7, &out);
	ck_assert_str_eq(mpk_strbuf_text(&out),
			 "7 calls, min 250 ms, median 500 ms, p95 1 s, mean 4 s");
	out.len = 0;
	mpk_timing_json(&t, 7, &json, json.root);
	ck_assert_str_eq(
		document(),
		"{\"seconds\": {\"calls\": 7,\"min\": 0.25,\"median\": 0.5,\"p95\": 1.0,\"mean\": 4.0}}");
}
END_TEST

START_TEST(comparison)
{
	const struct mpk_comparison c = {
		.differing = 1, .total = 4, .max_abs = 0.5, .max_rel = 0.25
	};
	struct mpk_json_at *list = mpk_json_array(&json, json.root, "c");

	mpk_comparison_json(&c, 0, &json, list);
	mpk_comparison_json(NULL, 1, &json, list);
	ck_assert_str_eq(document(),
			 "{\"c\": [{\"result\": 0,\"equal\": false,\"differing\": 1,\"total\": 4,"
			 "\"max_abs_error\": 0.5,\"max_rel_error\": 0.25},"
			 "{\"result\": 1,\"ignored\": true}]}");
}
END_TEST

/* --- cases -------------------------------------------------------------------------- */

static struct mpk_case items[] = {
	{ .name = "adds", .call.function = "f", .pos.line = 1, .is_timed = true },
	{ .name = "a # \"b\"\n", .call.function = "g", .pos.line = 5 },
	{ .name = "later", .call.function = "h", .pos.line = 9, .skip = "no time" },
	{ .name = "<&>\xef\xbf\xbe", .call.function = "i", .pos.line = 12 },
};
static struct mpk_case_outcome outcomes[MPK_ARRAY_COUNT(items)];
static const struct mpk_cases cases = { .items = items, .count = MPK_ARRAY_COUNT(items) };

static struct mpk_cases_report report(void)
{
	static const char *const reasons[] = { "", "result 0: \\x07 \"differs\"", "no time",
					       "it crashed" };

	begin();
	for (size_t i = 0; i < cases.count; i++) {
		outcomes[i] = (struct mpk_case_outcome){ .seconds = 0.25 };
		mpk_strbuf_puts(&outcomes[i].why, reasons[i]);
	}
	outcomes[0].calls = 3;
	outcomes[0].timing = (struct mpk_timing){ 1, 1, 1, 1 };
	outcomes[1].verdict = MPK_CASE_FAILED;
	outcomes[1].code = MPK_E_DIFFERENT;
	outcomes[2].verdict = MPK_CASE_SKIPPED;
	outcomes[3].verdict = MPK_CASE_FAILED;
	outcomes[3].code = MPK_E_RAISED;
	return mpk_cases_report_of("a.so", "c&.toml", &cases, outcomes);
}

static void drop_outcomes(void)
{
	for (size_t i = 0; i < cases.count; i++)
		mpk_strbuf_fini(&outcomes[i].why);
	end();
}

START_TEST(case_lines)
{
	struct mpk_cases_report r = report();

	mpk_answer_cases.text(&r, (struct mpk_style){ .verbose = false }, &out);
	ck_assert_str_eq(mpk_strbuf_text(&out),
			 "ok   adds\n"
			 "FAIL a # \"b\"\\n (c&.toml:5): result 0: \\x07 \"differs\"\n"
			 "skip later: no time\n"
			 "FAIL <&>\xef\xbf\xbe (c&.toml:12): it crashed\n"
			 "1 passed, 2 failed, 1 skipped\n");
	out.len = 0;
	mpk_answer_cases.text(&r, (struct mpk_style){ .verbose = true }, &out);
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&out),
				     "ok   adds (250 ms; 3 calls, min 1 s, median 1 s, p95 1 s, "
				     "mean 1 s)\n"));
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&out), "skip later: no time\n"));
	drop_outcomes();
}
END_TEST

START_TEST(case_tap)
{
	struct mpk_cases_report r = report();

	mpk_answer_cases.tap(&r, (struct mpk_style){ 0 }, &out);
	ck_assert_str_eq(mpk_strbuf_text(&out),
			 "TAP version 13\n1..4\n"
			 "ok 1 - adds\n"
			 "not ok 2 - a \\# \"b\"\\n\n"
			 "  ---\n  message: \"result 0: \\\\x07 \\\"differs\\\"\"\n"
			 "  severity: fail\n  file: \"c&.toml\"\n  line: 5\n  ...\n"
			 "ok 3 - later # SKIP no time\n"
			 "not ok 4 - <&>\xef\xbf\xbe\n"
			 "  ---\n  message: \"it crashed\"\n  severity: fail\n"
			 "  file: \"c&.toml\"\n  line: 12\n  ...\n"
			 "# 1 passed, 2 failed, 1 skipped\n");
	drop_outcomes();
}
END_TEST

START_TEST(case_json)
{
	struct mpk_cases_report r = report();
	const char *text;

	mpk_answer_cases.json(&r, &json, json.root);
	text = document();
	ck_assert_ptr_nonnull(strstr(text, "{\"name\": \"adds\",\"function\": \"f\",\"line\": 1,"
					   "\"status\": \"passed\",\"seconds\": {\"calls\": 3,"));
	ck_assert_ptr_nonnull(strstr(text, "\"status\": \"failed\",\"error\": {\"code\": "
					   "\"different\",\"message\": "));
	ck_assert_ptr_nonnull(strstr(text, "\"status\": \"skipped\",\"reason\": \"no time\"}"));
	ck_assert_ptr_nonnull(strstr(text, "\"passed\": 1,\"failed\": 2,\"skipped\": 1}"));
	drop_outcomes();
}
END_TEST

START_TEST(case_junit)
{
	struct mpk_cases_report r = report();

	mpk_answer_cases.junit(&r, (struct mpk_style){ 0 }, &out);
	ck_assert_str_eq(
		mpk_strbuf_text(&out),
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
		"  <testsuite name=\"c&amp;.toml\" tests=\"4\" failures=\"1\" errors=\"1\" "
		"skipped=\"1\" time=\"1.000000\">\n"
		"    <testcase name=\"adds\" classname=\"a.so\" file=\"c&amp;.toml\" line=\"1\" time=\"0.250000\"/>\n"
		"    <testcase name=\"a # &quot;b&quot;\\n\" classname=\"a.so\" file=\"c&amp;.toml\" line=\"5\" time=\"0.250000\">\n"
		"      <failure type=\"different\" message=\"result 0: \\x07 &quot;differs&quot;\"/>\n"
		"    </testcase>\n"
		"    <testcase name=\"later\" classname=\"a.so\" file=\"c&amp;.toml\" line=\"9\" time=\"0.250000\">\n"
		"      <skipped message=\"no time\"/>\n"
		"    </testcase>\n"
		"    <testcase name=\"&lt;&amp;&gt;\xef\xbf\xbd\" classname=\"a.so\" file=\"c&amp;.toml\" line=\"12\" time=\"0.250000\">\n"
		"      <error type=\"raised\" message=\"it crashed\"/>\n"
		"    </testcase>\n"
		"  </testsuite>\n</testsuites>\n");
	drop_outcomes();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("results");
	TCase *tc = tcase_create("results"), *of_cases = tcase_create("cases");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_loop_test(tc, value_json, 0, (int)MPK_ARRAY_COUNT(values));
	tcase_add_test(tc, value_lines);
	tcase_add_test(tc, blocks);
	tcase_add_test(tc, blocks_fit);
	tcase_add_test(tc, npy_file);
	tcase_add_loop_test(tc, seconds, 0, (int)MPK_ARRAY_COUNT(times));
	tcase_add_test(tc, timing);
	tcase_add_test(tc, comparison);
	suite_add_tcase(s, tc);
	tcase_add_test(of_cases, case_lines);
	tcase_add_test(of_cases, case_tap);
	tcase_add_test(of_cases, case_json);
	tcase_add_test(of_cases, case_junit);
	suite_add_tcase(s, of_cases);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
