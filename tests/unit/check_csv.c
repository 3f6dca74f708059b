/* SPDX-License-Identifier: Apache-2.0 */
/* formats/csv: rows, fields and quotes as Python's module csv has them */
#include <check.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "csv/csv.h"

START_TEST(rows)
{
	/* fields of csv.reader(io.StringIO(text, newline="")), with bars between them and semicolons between rows */
	static const struct {
		const char *text, *expected;
		size_t last_line;
		bool is_open;
	} cases[] = {
		{ "a,b,c\n", "a|b|c;", 1, false },
		{ "a,b,c", "a|b|c;", 1, false },
		{ "a,,\r\nb,,\rc,,\n", "a||;b||;c||;", 3, false },
		{ "\n\r\na\n", ";;a;", 3, false },
		{ ",\n", "|;", 1, false },
		{ "\"a,b\",c\n", "a,b|c;", 1, false },
		{ "\"a\"\"b\",\"\"\n", "a\"b|;", 1, false },
		{ "\"a\nb\r\nc\rd\",e\nf\n", "a\nb\r\nc\rd|e;f;", 5, false },
		{ "\"a\"b\"c,d\n", "ab\"c|d;", 1, false },
		{ "a\"b\",c\n", "a\"b\"|c;", 1, false },
		{ "x\n\"a", "x;a;", 2, true },
		{ "\"a\"\"", "a\";", 1, true },
		{ "\"", ";", 1, true },
		{ "\"a\",\"b\nc", "a|b\nc;", 1, true },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(cases); i++) {
		struct mpk_csv csv = mpk_csv_of(mpk_span_str(cases[i].text));
		struct mpk_strbuf got = { 0 }, scratch = { 0 };
		struct mpk_csv_row row = { 0 };
		struct mpk_span field;

		while (mpk_csv_next(&csv, &row)) {
			for (size_t f = 0; f < row.count; f++) {
				if (f)
					mpk_strbuf_putc(&got, '|');
				field = mpk_csv_text(row.fields[f], &scratch);
				mpk_strbuf_put_span(&got, field);
			}
			mpk_strbuf_putc(&got, ';');
		}
		ck_assert_str_eq(mpk_strbuf_text(&got), cases[i].expected);
		ck_assert_msg(row.line == cases[i].last_line, "%s: line %zu", cases[i].text,
			      row.line);
		ck_assert_msg(row.is_open == cases[i].is_open, "%s", cases[i].text);
		mpk_strbuf_fini(&got);
		mpk_strbuf_fini(&scratch);
	}
}
END_TEST

START_TEST(row_is_whole)
{
	static const char text[] = "a,b,c,d,\"e\n\"\r\nx\0y,,\n";
	struct mpk_csv csv = mpk_csv_of(mpk_span_of(text, sizeof text - 1));
	struct mpk_csv_row row;

	ck_assert(mpk_csv_next(&csv, &row));
	ck_assert_uint_eq(row.count, 5); /* of which three are handed out */
	ck_assert(mpk_span_is(row.bytes, "a,b,c,d,\"e\n\"\r\n"));
	ck_assert(mpk_span_is(row.end, "\r\n"));
	ck_assert(mpk_csv_next(&csv, &row));
	ck_assert_uint_eq(row.line, 3);
	ck_assert(mpk_span_equal(row.fields[0], mpk_span_of("x\0y", 3)));
	ck_assert_uint_eq(row.fields[1].len + row.fields[2].len, 0);
	ck_assert(!mpk_csv_next(&csv, &row));
}
END_TEST

START_TEST(fields_are_written)
{
	static const struct {
		const char *text, *stored;
	} cases[] = {
		{ "a b", "a b" },       { "", "" },
		{ "a,b", "\"a,b\"" },   { "a\"b", "\"a\"\"b\"" },
		{ "a\nb", "\"a\nb\"" }, { "a\rb", "\"a\rb\"" },
		{ "\"", "\"\"\"\"" },   { "\xc3\xa4", "\xc3\xa4" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(cases); i++) {
		struct mpk_strbuf out = { 0 }, scratch = { 0 };

		mpk_csv_put(&out, mpk_span_str(cases[i].text));
		ck_assert_str_eq(mpk_strbuf_text(&out), cases[i].stored);
		ck_assert(mpk_span_is(mpk_csv_text(mpk_span_of(out.data, out.len), &scratch),
				      cases[i].text));
		mpk_strbuf_fini(&out);
		mpk_strbuf_fini(&scratch);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("csv");
	TCase *tc = tcase_create("csv");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, rows);
	tcase_add_test(tc, row_is_whole);
	tcase_add_test(tc, fields_are_written);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
