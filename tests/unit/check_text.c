/* SPDX-License-Identifier: Apache-2.0 */
/* JSON building, escapes, phrases and tables */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "text/escape.h"
#include "text/json.h"
#include "text/markup.h"
#include "text/phrase.h"
#include "text/table.h"

START_TEST(json_document)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_json j;
	struct mpk_json_at *list;

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
/* What another process wrote as an error may be anything. */
START_TEST(errors_of_others)
{
	struct mpk_error from = { .code = (enum mpk_code) - 5 }, out;

	memset(from.text, 'A', sizeof from.text);
	memset(&from.at, 'B', sizeof from.at);
	memcpy(from.text, "a\x1b[2J\n\x9b\xc2\x9b\xe2\x80\xae\xc3\xa9", 14);
	mpk_escape_error(&from, MPK_E_RAISED, &out);
	ck_assert_int_eq(out.code, MPK_E_RAISED);
	ck_assert_uint_eq(strlen(out.text), sizeof out.text - 1);
	ck_assert_mem_eq(out.text, "a?[2J", 5);
	for (size_t i = 5; i < 12; i++)
		ck_assert_int_eq(out.text[i], '?');
	ck_assert_mem_eq(out.text + 12,
			 "\xc3\xa9"
			 "AA",
			 4);
	ck_assert_uint_eq(strlen(out.at.file), sizeof out.at.file - 1);
	ck_assert_uint_eq(strlen(out.at.path), sizeof out.at.path - 1);
	ck_assert_uint_eq(strlen(out.at.space), sizeof out.at.space - 1);
	from = (struct mpk_error){ .code = MPK_OK };
	mpk_escape_error(&from, MPK_E_RAISED, &out);
	ck_assert_int_eq(out.code, MPK_OK);
}
END_TEST

/* As a whole document, which another writer made. */
START_TEST(json_holds_no_controls)
{
	struct mpk_strbuf out = { 0 };
	struct mpk_json j;
	struct mpk_error err = { 0 };

	mpk_json_init(&j, 0);
	mpk_json_text(&j, j.root, "a\xc2\x9b", "\x1b\x7f\xc2\x85\xe2\x80\xae\xc3\xa9\\");
	ck_assert_int_eq(mpk_json_print(&j, &out, &err), MPK_OK);
	ck_assert_str_eq(mpk_strbuf_text(&out),
			 "{\n  \"a\\u009B\": "
			 "\"\\u001B\\u007F\\u0085\\u202E\xc3\xa9\\\\\"\n}\n");
	mpk_json_fini(&j);
	mpk_strbuf_fini(&out);
}
END_TEST

/* What is markup becomes references, what commands a terminal or is no UTF-8 is shown escaped; both ends are quoted. */
START_TEST(attributes_of_xml)
{
	struct mpk_strbuf out = { 0 };

	mpk_xml_attribute(&out, "name", "a<b>&\"'\x1b\xff\xe2\x80\xae\xc3\xa9\t");
	mpk_xml_escaped_attribute(&out, "x", "\\e<\xef\xbf\xbf");
	ck_assert(!out.failed);
	ck_assert_str_eq(
		mpk_strbuf_text(&out),
		" name=\"a&lt;b&gt;&amp;&quot;'\\x1b\\xff\\xe2\\x80\\xae\xc3\xa9\\t\" x=\"\\e&lt;\xef\xbf\xbd\"");
	mpk_strbuf_fini(&out);
}
END_TEST

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

static void keep_piece(const char *text, size_t len, void *all)
{
	mpk_strbuf_put(all, text, len);
}

/* Returns  the most that the document kept of itself */
static size_t put_many(struct mpk_json *j)
{
	struct mpk_json_at *list = mpk_json_array(j, j->root, "list"), *o;
	size_t most = 0;

	for (uint64_t i = 0; i < 100000; i++) {
		o = mpk_json_object(j, list, NULL);
		mpk_json_u64(j, o, "index", i);
		mpk_json_text(j, o, "text", "\xc3\xa9\"\\ {[");
		(void)mpk_json_array(j, o, "empty");
		most = j->text.len > most ? j->text.len : most;
	}
	(void)mpk_json_object(j, j->root, "end");
	return most;
}

/* Without the blanks and line ends that are in no string. */
static void strip(struct mpk_strbuf *text)
{
	bool in_string = false;
	size_t len = 0;

	for (size_t i = 0; i < text->len; i++) {
		char c = text->data[i];

		if (in_string && c == '\\')
			text->data[len++] = text->data[i++];
		else if (c == '"')
			in_string = !in_string;
		if (in_string || (c != ' ' && c != '\n'))
			text->data[len++] = text->data[i];
	}
	text->len = len;
}

/* In pieces it is the same document, of which the first is set in lines, and little of it is kept. */
START_TEST(json_in_pieces)
{
	struct mpk_strbuf whole = { 0 }, pieces = { 0 };
	struct mpk_json j;

	mpk_json_init(&j, 1);
	(void)put_many(&j);
	ck_assert_int_eq(mpk_json_print(&j, &whole, NULL), MPK_OK);
	mpk_json_fini(&j);
	mpk_json_init(&j, 1);
	mpk_json_stream(&j, keep_piece, &pieces);
	ck_assert_uint_lt(put_many(&j), (1 << 20) + 100);
	ck_assert_uint_gt(pieces.len, whole.len / 2);
	ck_assert_int_eq(mpk_json_print(&j, &pieces, NULL), MPK_OK);
	ck_assert_mem_eq(pieces.data, whole.data, 1 << 20);
	ck_assert_uint_lt(pieces.len, whole.len);
	/* each in a line of its own */
	ck_assert_ptr_nonnull(strstr(mpk_strbuf_text(&pieces), "\n{\"index\":99998,"));
	strip(&whole);
	strip(&pieces);
	ck_assert_uint_eq(pieces.len, whole.len);
	ck_assert_mem_eq(pieces.data, whole.data, whole.len);
	mpk_json_fini(&j);
	mpk_strbuf_fini(&whole);
	mpk_strbuf_fini(&pieces);
}
END_TEST

/* As Jansson has them: reals keep a sign that they are none but reals. */
START_TEST(json_numbers)
{
	static const double values[] = { 0,       -0.0, 1,    0.1,    1e20,     -1e-7,
					 1.5e300, 1e16, 1e17, 5e-324, 123456.75 };
	struct mpk_strbuf out = { 0 };
	struct mpk_json j, part;

	mpk_json_init_list(&part);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(values); i++)
		mpk_json_f64(&part, part.root, NULL, values[i]);
	mpk_json_init(&j, 0);
	mpk_json_document(&j, j.root, "reals", &part);
	mpk_json_text(&j, j.root, "wide", "\xf0\x9f\x98\x80\x01\t");
	ck_assert_int_eq(mpk_json_line(&j, &out, NULL), MPK_OK);
	ck_assert_str_eq(mpk_strbuf_text(&out),
			 "{\"reals\":[0.0,-0.0,1.0,0.10000000000000001,1e20,"
			 "-9.9999999999999995e-8,1.5000000000000001e300,10000000000000000.0,1e17,"
			 "4.9406564584124654e-324,123456.75],"
			 "\"wide\":\"\\uD83D\\uDE00\\u0001\\t\"}");
	mpk_json_fini(&part);
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

START_TEST(json_lists)
{
	const struct mpk_span spans[] = { { (const uint8_t *)"a", 1 }, { NULL, 0 } };
	const int64_t numbers[] = { -1, INT64_MAX };
	struct mpk_strbuf out = { 0 };
	struct mpk_json j;

	mpk_json_init(&j, 0);
	mpk_json_spans(&j, j.root, "s", spans, 2);
	mpk_json_i64s(&j, j.root, "n", numbers, 2);
	mpk_json_i64s(&j, j.root, "none", NULL, 0);
	mpk_json_printf(&j, j.root, "f", "%s_%u", "sm", 90);
	mpk_json_printf(&j, j.root, "cut", "%0100d", 1);
	ck_assert_int_eq(mpk_json_print(&j, &out, NULL), MPK_OK);
	ck_assert_str_eq(mpk_strbuf_text(&out),
			 "{\n  \"s\": [\n    \"a\",\n    \"\"\n  ],\n  \"n\": [\n    -1,\n"
			 "    \"9223372036854775807\"\n  ],\n  \"none\": [],\n"
			 "  \"f\": \"sm_90\",\n  \"cut\": \"00000000000000000000000000000000"
			 "0000000000000000000000000000000\"\n}\n");
	mpk_json_fini(&j);
	mpk_strbuf_fini(&out);
}
END_TEST

/* --- strings ------------------------------------------------------------------------ */

#define TEXT(s) { (const uint8_t *)(s), sizeof(s) - 1 }

static const struct {
	struct mpk_span bytes;
	const char *quoted; /* with U+FFFD for what is no UTF-8 */
} strings[] = {
	{ TEXT(""), "\"\"" },
	{ TEXT("a\"b\\c"), "\"a\\\"b\\\\c\"" },
	{ TEXT("\n\t\1\x7f"), "\"\\u000a\\u0009\\u0001\\u007f\"" },
	{ TEXT("\0x"), "\"\\u0000x\"" },
	{ TEXT("\xc3\xa9\xf0\x9f\x98\x80"), "\"\xc3\xa9\xf0\x9f\x98\x80\"" },
	{ TEXT("\xff"), "\"\\ufffd\"" },
	{ TEXT("\xc2\x9b"
	       "1\xe2\x80\xae"),
	  "\"\\u009b1\\u202e\"" }, /* C1, right to left */
	{ TEXT("\xd8\x9c\xe2\x80\xa8\xef\xbb\xbf"), "\"\\u061c\\u2028\\ufeff\"" },
	{ TEXT("\xf3\xa0\x81\x81"), "\"\\udb40\\udc41\"" }, /* a tag, beyond 16 bits */
	{ TEXT("\xc3("), "\"\\ufffd(\"" },
	{ TEXT("\xc0\xaf"), "\"\\ufffd\\ufffd\"" },            /* overlong */
	{ TEXT("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"" }, /* a surrogate */
	{ TEXT("\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
	{ TEXT("\xe2\x82"), "\"\\ufffd\\ufffd\"" }, /* cut off */
};

START_TEST(json_strings)
{
	struct mpk_strbuf out = { 0 };

	mpk_escape_json(&out, strings[_i].bytes, "\\ufffd");
	ck_assert_str_eq(mpk_strbuf_text(&out), strings[_i].quoted);
	mpk_strbuf_fini(&out);
}
END_TEST

START_TEST(json_string_as_it_is)
{
	struct mpk_strbuf out = { 0 };

	mpk_escape_json(&out, mpk_span_of("a\xff\"", 3), NULL);
	ck_assert_str_eq(mpk_strbuf_text(&out), "\"a\xff\\\"\"");
	mpk_strbuf_fini(&out);
}
END_TEST

START_TEST(strings_of_toml)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	/* TOML has no halves of a character */
	mpk_escape_toml(&out, mpk_span_str("a\xf3\xa0\x81\x81\xd8\x9c\"\xff"), "?");
	ck_assert_str_eq(mpk_strbuf_text(&out), "\"a\\U000e0041\\u061c\\\"?\"");
}
END_TEST

/* The first and the last of each range, and their neighbours */
START_TEST(invisible_characters)
{
	static const struct {
		const char *text;
		bool is_shown;
	} rows[] = {
		{ "\xc2\x9f", false },         { "\xc2\xa0", true },
		{ "\xc2\xac", true },          { "\xc2\xad", false },
		{ "\xc2\xae", true },          { "\xe2\x80\x8a", true },
		{ "\xe2\x80\x8b", false },     { "\xe2\x80\x8f", false },
		{ "\xe2\x80\x90", true },      { "\xe2\x80\xa7", true },
		{ "\xe2\x80\xa8", false },     { "\xe2\x80\xaf", true },
		{ "\xe2\x81\x9f", true },      { "\xe2\x81\xa0", false },
		{ "\xe2\x81\xaf", false },     { "\xe2\x81\xb0", true },
		{ "\xf3\x9f\xbf\xbf", true },  { "\xf3\xa0\x80\x80", false },
		{ "\xf3\xa0\xbf\xbf", false }, { "\xf3\xa1\x80\x80", true },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

		mpk_escape(&out, mpk_span_str(rows[i].text));
		ck_assert_msg((strcmp(mpk_strbuf_text(&out), rows[i].text) == 0) ==
				      rows[i].is_shown,
			      "row %zu: %s", i, mpk_strbuf_text(&out));
	}
}
END_TEST

START_TEST(strings_of_c)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf out = { 0 };

	/* trigraphs, a digit after an escape, a NUL within */
	mpk_escape_c(&out, mpk_span_of("a\"\\?\n1\0\xff~", 9));
	ck_assert_str_eq(mpk_strbuf_text(&out), "\"a\\\"\\\\\\?\\0121\\000\\377~\"");
}
END_TEST

START_TEST(phrases)
{
	struct mpk_span names[10];
	struct mpk_strbuf out = { 0 };

	mpk_put_count(&out, 1, "kernel");
	mpk_put_also(&out, 0, "member");
	mpk_put_also(&out, UINT64_MAX, "byte");
	ck_assert_str_eq(mpk_strbuf_text(&out), "1 kernel, 0 members, 18446744073709551615 bytes");
	out.len = 0;
	static const uint64_t numbers[] = { 0, 999, 1000, 1001000, UINT64_MAX };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(numbers); i++) {
		mpk_put_number(&out, numbers[i]);
		mpk_strbuf_putc(&out, ' ');
	}
	ck_assert_str_eq(mpk_strbuf_text(&out),
			 "0 999 1,000 1,001,000 18,446,744,073,709,551,615 ");
	out.len = 0;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		names[i] = mpk_span_str(i ? "n" : "a\n");
	mpk_put_names(&out, names, 2);
	ck_assert_str_eq(mpk_strbuf_text(&out), "a\\n, n");
	out.len = 0;
	mpk_put_names(&out, names, MPK_NAMES_SHOWN);
	ck_assert_str_eq(mpk_strbuf_text(&out), "a\\n, n, n, n, n, n, n, n");
	out.len = 0;
	mpk_put_names(&out, names, 10);
	ck_assert_str_eq(mpk_strbuf_text(&out), "a\\n, n, n, n, n, n, n, n and 2 more");
	mpk_strbuf_fini(&out);
}
END_TEST

/* What a name holds must not end the word, nor reach a terminal. */
START_TEST(words_of_a_shell)
{
	static const struct {
		const char *word, *text;
	} rows[] = {
		{ "x=2x3xf32=rand", "x=2x3xf32=rand" },
		{ "", "''" },
		{ "a b", "'a b'" },
		{ "$HOME", "'$HOME'" },
		{ "it's", "'it'\\''s'" },
		{ "'", "''\\'''" },
		{ "a\nb", "'a\\nb'" },
		{ "caf\303\251", "'caf\303\251'" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_strbuf out = { 0 };

		mpk_put_word(&out, mpk_span_str(rows[i].word));
		ck_assert_str_eq(mpk_strbuf_text(&out), rows[i].text);
		mpk_strbuf_fini(&out);
	}
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

/* Each before the next; and each equal to itself alone. */
static const struct {
	struct mpk_span name;
	const char *filter;
	bool matches;
} matches[] = {
	{ { (const uint8_t *)"layer10_add", 11 }, NULL, true },
	{ { (const uint8_t *)"layer10_add", 11 }, "10", true },
	{ { (const uint8_t *)"layer10_add", 11 }, "Add", false },
	{ { (const uint8_t *)"layer10_add", 11 }, "layer1*", true },
	{ { (const uint8_t *)"layer10_add", 11 }, "layer1?", false }, /* the whole name */
	{ { (const uint8_t *)"layer10_add", 11 }, "layer[12]0_*", true },
	{ { (const uint8_t *)"layer10_add", 7 }, "add", false }, /* it ends where the span does */
	{ { (const uint8_t *)"layer10_add", 7 }, "*add", false },
	{ { (const uint8_t *)"a\0b", 3 }, "b", true },
	{ { NULL, 0 }, "a", false },
	{ { NULL, 0 }, "*", true },
};

START_TEST(names_match)
{
	ck_assert_int_eq(mpk_name_matches(matches[_i].name, matches[_i].filter),
			 matches[_i].matches);
}
END_TEST

START_TEST(several_filters_choose_what_one_does)
{
	static const char *const items[] = { "vadd", "layer?" };
	const struct mpk_name_filter filter = { items, 2 }, none = { items, 0 };

	ck_assert(mpk_name_is_chosen(mpk_span_str("my_vadd_kernel"), &filter));
	ck_assert(mpk_name_is_chosen(mpk_span_str("layer1"), &filter));
	ck_assert(!mpk_name_is_chosen(mpk_span_str("layer10"), &filter));
	ck_assert(!mpk_name_is_chosen(mpk_span_str("vadd"), &none));
	ck_assert(mpk_name_is_chosen(mpk_span_str("layer10"), NULL));
}
END_TEST

START_TEST(a_sentence_is_one_line)
{
	struct mpk_strbuf out = { 0 };

	mpk_escape_sentence(&out, mpk_span_str("a\\x1b \033[2J\nb\t\xff"));
	ck_assert_str_eq(mpk_strbuf_text(&out), "a\\x1b \\x1b[2J\\nb\\t\\xff");
	mpk_strbuf_fini(&out);
}
END_TEST

START_TEST(natural_order)
{
	static const char *const names[] = {
		"",
		"0",
		"00",
		"01",
		"1",
		"2",
		"10",
		"a",
		"a0",
		"a1b",
		"a2b1",
		"a2b2",
		"a2b10",
		"a10",
		"a18446744073709551616",
		"a18446744073709551617",
		"ab",
		"layer",
		"layer2",
		"layer10",
		"layer10_1",
		"layer010_2",
		"layer10_2",
		"layer_1",
		"layers",
		"\xc3\xa9",
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		for (size_t k = 0; k < MPK_ARRAY_COUNT(names); k++) {
			int order = mpk_natural_compare(names[i], names[k]);

			ck_assert_msg(i < k   ? order < 0
				      : i > k ? order > 0
					      : order == 0,
				      "'%s' and '%s': %d", names[i], names[k], order);
		}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("text");
	TCase *tc = tcase_create("text");

	tcase_add_test(tc, json_document);
	tcase_add_test(tc, attributes_of_xml);
	tcase_add_test(tc, json_failure_is_remembered);
	tcase_add_test(tc, json_holds_no_controls);
	tcase_add_test(tc, errors_of_others);
	tcase_add_test(tc, json_error_object);
	tcase_add_test(tc, json_in_pieces);
	tcase_add_test(tc, json_numbers);
	tcase_add_test(tc, json_lists);
	tcase_add_loop_test(tc, json_strings, 0, (int)MPK_ARRAY_COUNT(strings));
	tcase_add_test(tc, json_string_as_it_is);
	tcase_add_test(tc, strings_of_toml);
	tcase_add_test(tc, invisible_characters);
	tcase_add_test(tc, strings_of_c);
	tcase_add_test(tc, phrases);
	tcase_add_test(tc, words_of_a_shell);
	tcase_add_loop_test(tc, size_units, 0, (int)MPK_ARRAY_COUNT(sizes));
	tcase_add_test(tc, table_alignment);
	tcase_add_test(tc, natural_order);
	tcase_add_loop_test(tc, names_match, 0, (int)MPK_ARRAY_COUNT(matches));
	tcase_add_test(tc, several_filters_choose_what_one_does);
	tcase_add_test(tc, a_sentence_is_one_line);
	suite_add_tcase(s, tc);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
