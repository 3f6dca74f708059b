/* JSON building and tables */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "text/json.h"
#include "text/table.h"

START_TEST(json_document)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_json j;
	struct json_t *list;

	mpk_json_init(&j, 3);
	mpk_json_u64(&j, j.root, "exact", (uint64_t)1 << 53);
	mpk_json_u64(&j, j.root, "big", UINT64_MAX);
	mpk_json_i64(&j, j.root, "low", INT64_MIN);
	mpk_json_f64(&j, j.root, "nan", NAN);
	mpk_json_f64(&j, j.root, "minf", -INFINITY);
	mpk_json_f64(&j, j.root, "half", 0.5);
	mpk_json_span(&j, j.root, "bad", mpk_span_of("a\xff\n", 3));
	mpk_json_span(&j, j.root, "nul", mpk_span_of("a\0b", 3));
	mpk_json_span(&j, j.root, "empty", (struct mpk_span){ 0 });
	mpk_json_text(&j, j.root, "none", NULL);
	list = mpk_json_array(&j, j.root, "list");
	mpk_json_bool(&j, list, NULL, true);
	mpk_json_text(&j, mpk_json_object(&j, list, NULL), "k", "\xc3\xa9");
	ck_assert_int_eq(mpk_json_print(&j, &out, NULL), MPK_OK);
	ck_assert_str_eq(mpk_strbuf_text(&out),
			 "{\n  \"schema_version\": 3,\n  \"exact\": 9007199254740992,\n"
			 "  \"big\": \"18446744073709551615\",\n"
			 "  \"low\": \"-9223372036854775808\",\n"
			 "  \"nan\": \"nan\",\n  \"minf\": \"-inf\",\n  \"half\": 0.5,\n"
			 "  \"bad\": \"a\\\\xff\\\\n\",\n  \"nul\": \"a\\u0000b\",\n"
			 "  \"empty\": \"\",\n  \"none\": null,\n  \"list\": [\n    true,\n"
			 "    {\n      \"k\": \"\xc3\xa9\"\n    }\n  ]\n}\n");
	mpk_json_fini(&j);
	mpk_strbuf_fini(&out);
}
END_TEST

/* A container that could not be made swallows what is put into it; the end reports it. */
START_TEST(json_failure_is_remembered)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_json j;

	mpk_json_init(&j, 1);
	mpk_json_u64(&j, NULL, "lost", 1);
	ck_assert_ptr_null(mpk_json_array(&j, NULL, "lost"));
	ck_assert_int_eq(mpk_json_print(&j, &out, NULL), MPK_E_NOMEM);
	mpk_json_fini(&j);
	mpk_strbuf_fini(&out);
}
END_TEST

START_TEST(json_error_object)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_error e = { 0 };
	struct mpk_json j;

	(void)mpk_fail_offset(&e, MPK_E_CORRUPT, "blob", 88, "no good");
	mpk_error_at_file(&e, "a.so");
	mpk_error_at_path(&e, "/0");
	mpk_json_init(&j, 0);
	mpk_json_error(&j, j.root, "error", &e);
	ck_assert_int_eq(mpk_json_print(&j, &out, NULL), MPK_OK);
	ck_assert_str_eq(mpk_strbuf_text(&out),
			 "{\n  \"error\": {\n    \"code\": \"corrupt\",\n"
			 "    \"message\": \"no good\",\n    \"file\": \"a.so\",\n"
			 "    \"space\": \"blob\",\n    \"offset\": 88,\n"
			 "    \"path\": \"/0\"\n  }\n}\n");
	mpk_json_fini(&j);
	mpk_strbuf_fini(&out);
}
END_TEST

static const struct {
	uint64_t bytes;
	const char *text;
} sizes[] = {
	{ 0, "0 B" },
	{ 1023, "1023 B" },
	{ 1024, "1.0 KiB" },
	{ 1229, "1.2 KiB" },
	{ 1048575, "1.0 MiB" },
	{ 1048576, "1.0 MiB" },
	{ 1047552, "1023.0 KiB" },
	{ 2362232012, "2.2 GiB" },
	{ UINT64_MAX, "16.0 EiB" },
};

START_TEST(size_units)
{
	ck_assert_str_eq(MPK_SIZE(sizes[_i].bytes), sizes[_i].text);
}
END_TEST

START_TEST(table_alignment)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_table t = { .right = 1U << 1 };

	mpk_table_row(&t);
	mpk_table_cell(&t, "a");
	mpk_table_cell(&t, "%d", 7);
	mpk_table_cell(&t, "x y");
	mpk_table_row(&t);
	mpk_table_cell(&t, "\xc3\xa9\xc3\xa9");
	mpk_table_cell(&t, "1234");
	mpk_table_cell(&t, "%s", "");
	mpk_table_row(&t);
	mpk_table_row(&t);
	mpk_table_cell(&t, "long");
	mpk_table_print(&t, "> ", &out);
	ck_assert_str_eq(mpk_strbuf_text(&out), "> a        7  x y\n> \xc3\xa9\xc3\xa9    1234\n"
						"> \n> long\n");
	mpk_table_fini(&t);
	mpk_strbuf_fini(&out);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("text");
	TCase *tc = tcase_create("text");

	tcase_add_test(tc, json_document);
	tcase_add_test(tc, json_failure_is_remembered);
	tcase_add_test(tc, json_error_object);
	tcase_add_loop_test(tc, size_units, 0, (int)MPK_ARRAY_COUNT(sizes));
	tcase_add_test(tc, table_alignment);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
