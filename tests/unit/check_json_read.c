/* SPDX-License-Identifier: Apache-2.0 */
/* text/json_read: documents that others write, held against Jansson, which shares no code with it */
#include "harness.h"

#include <jansson.h>
#include <math.h>

#include "base/strbuf.h"
#include "text/json_read.h"

static struct mpk_json_value read_good(const char *text)
{
	struct mpk_json_value root = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_msg(mpk_json_read(mpk_span_str(text), &root, &err) == MPK_OK, "%s: %s", text,
		      err.text);
	return root;
}

START_TEST(values_are_found)
{
	static const char text[] =
		" { \"a\" : [1, -2.5e1, \"x\\u00e9\\ud83d\\ude00\\n\", null, true],\n"
		"\"\\u0062\": {\"deep\": {}}, \"c\" :\t\"]}\\\"\", \"z\": [] } ";
	struct mpk_json_value root = read_good(text), a = mpk_json_value_get(root, "a"), v;
	struct mpk_json_items items = mpk_json_items(a);
	struct mpk_arena arena = { 0 };
	const char *out;
	int64_t number;
	double real;

	ck_assert_int_eq(mpk_json_value_type(root), MPK_JSON_OBJECT);
	ck_assert_uint_eq(mpk_json_value_count(root), 4);
	ck_assert_uint_eq(mpk_json_value_count(a), 5);
	ck_assert(mpk_json_next(&items, &v) && mpk_json_value_i64(v, &number) && number == 1);
	ck_assert(mpk_json_next(&items, &v) && !mpk_json_value_i64(v, &number) &&
		  mpk_json_value_f64(v, &real) && real >= -25 && real <= -25);
	ck_assert(mpk_json_next(&items, &v) &&
		  mpk_json_value_is(v, "x\xc3\xa9\xf0\x9f\x98\x80\n") &&
		  !mpk_json_value_is(v, "x") &&
		  !mpk_json_value_is(v, "x\xc3\xa9\xf0\x9f\x98\x80\n "));
	ck_assert_int_eq(mpk_json_value_text(v, &arena, &out, NULL), MPK_OK);
	ck_assert_str_eq(out, "x\xc3\xa9\xf0\x9f\x98\x80\n");
	ck_assert(mpk_json_next(&items, &v) && mpk_json_value_type(v) == MPK_JSON_NULL);
	ck_assert(mpk_json_next(&items, &v) && mpk_json_value_type(v) == MPK_JSON_BOOLEAN);
	ck_assert(!mpk_json_next(&items, &v));
	v = mpk_json_value_get(mpk_json_value_get(root, "b"), "deep");
	ck_assert_int_eq(mpk_json_value_type(v), MPK_JSON_OBJECT);
	ck_assert_uint_eq(mpk_json_value_count(v), 0);
	ck_assert(mpk_json_value_is(mpk_json_value_get(root, "c"), "]}\""));
	ck_assert_int_eq(mpk_json_value_type(mpk_json_value_get(root, "none")), MPK_JSON_NONE);
	mpk_arena_fini(&arena);
}
END_TEST

/* Of no value and of values of other types nothing is found, and nothing is read. */
START_TEST(no_value_has_nothing)
{
	struct mpk_json_value none = { 0 }, v = none;
	struct mpk_json_value others[] = { none, read_good("12"), read_good("\"x\""),
					   read_good("null"), read_good("[]") };
	struct mpk_arena arena = { 0 };
	int64_t number = 7;
	double real = 7;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(others); i++) {
		struct mpk_json_items items = mpk_json_items(others[i]);
		const char *out;

		ck_assert(!mpk_json_next(&items, &v));
		ck_assert_uint_eq(mpk_json_value_count(others[i]), 0);
		ck_assert_int_eq(mpk_json_value_type(mpk_json_value_get(others[i], "x")),
				 MPK_JSON_NONE);
		ck_assert_int_eq(mpk_json_value_text(others[i], &arena, &out, NULL), MPK_OK);
		ck_assert(!out == (i != 2));
		ck_assert(mpk_json_value_is(others[i], "x") == (i == 2));
		ck_assert(mpk_json_value_i64(others[i], &number) == (i == 1));
		ck_assert(mpk_json_value_f64(others[i], &real) == (i == 1));
	}
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(a_name_that_stands_twice_has_no_value)
{
	struct mpk_json_value root = read_good("{\"a\": 1, \"b\": 2, \"\\u0061\": 3}");

	ck_assert_int_eq(mpk_json_value_type(mpk_json_value_get(root, "a")), MPK_JSON_NONE);
	ck_assert_int_eq(mpk_json_value_type(mpk_json_value_get(root, "b")), MPK_JSON_NUMBER);
}
END_TEST

START_TEST(numbers_at_their_bounds)
{
	static const struct {
		const char *text;
		bool integer, real;
	} cases[] = {
		{ "9223372036854775807", true, true },
		{ "-9223372036854775808", true, true },
		{ "9223372036854775808", false, true },
		{ "-0", true, true },
		{ "1.0", false, true },
		{ "1e400", false, false },
	};
	int64_t number;
	double real;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(cases); i++) {
		struct mpk_json_value v = read_good(cases[i].text);

		ck_assert_msg(mpk_json_value_i64(v, &number) == cases[i].integer &&
				      mpk_json_value_f64(v, &real) == cases[i].real,
			      "%s", cases[i].text);
	}
}
END_TEST

START_TEST(what_is_no_json_has_a_place)
{
	static const struct {
		const char *text, *says;
		uint32_t line, column;
	} cases[] = {
		{ "", "there is no text", 1, 1 },
		{ " \n ", "expected a value, but the text ends", 2, 2 },
		{ "[1,\n 2", "expected ',' or ']', but the text ends", 2, 3 },
		{ "[1 2]", "expected ',' or ']'", 1, 4 },
		{ "[1,]", "expected a value", 1, 4 },
		{ "{\"a\":1,}", "expected a name in quotes", 1, 8 },
		{ "{a:1}", "expected a name in quotes", 1, 2 },
		{ "{\"a\" 1}", "expected ':'", 1, 6 },
		{ "[1}", "expected ',' or ']'", 1, 3 },
		{ "[1] x", "more text after the document", 1, 5 },
		{ "[01]", "expected ',' or ']'", 1, 3 },
		{ "[1.]", "expected a digit", 1, 4 },
		{ "[-]", "expected a digit", 1, 3 },
		{ "[1e+]", "expected a digit", 1, 5 },
		{ "[nul]", "expected a value", 1, 2 },
		{ "[\"\\x\"]", "an escape that means nothing", 1, 3 },
		{ "[\"\\u0000\"]", "an escape that means nothing", 1, 3 },
		{ "[\"\\ud800\"]", "an escape that means nothing", 1, 3 },
		{ "[\"\\udc00\\ud800\"]", "an escape that means nothing", 1, 3 },
		{ "[\"\\u12\"]", "an escape that means nothing", 1, 3 },
		{ "[\"a\tb\"]", "a control character in a string", 1, 4 },
		{ "[\"\xc3\"]", "a byte that is no UTF-8", 1, 3 },
		{ "[\"\xed\xa0\x80\"]", "a byte that is no UTF-8", 1, 3 },
		{ "[\"a]", "a string without its end, but the text ends", 1, 5 },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(cases); i++) {
		struct mpk_json_value root;
		struct mpk_error err = { 0 };

		ck_assert_int_eq(mpk_json_read(mpk_span_str(cases[i].text), &root, &err),
				 MPK_E_SYNTAX);
		ck_assert_msg(strncmp(err.text, "not JSON: ", 10) == 0 &&
				      strcmp(err.text + 10, cases[i].says) == 0 &&
				      err.at.line == cases[i].line &&
				      err.at.column == cases[i].column,
			      "%s: %u:%u: %s", cases[i].text, err.at.line, err.at.column, err.text);
	}
}
END_TEST

START_TEST(depth_costs_no_stack_and_has_a_bound)
{
	static char text[2 * (MPK_JSON_DEPTH_MAX + 1)];
	struct mpk_json_value root;

	for (size_t depth = MPK_JSON_DEPTH_MAX; depth <= MPK_JSON_DEPTH_MAX + 1; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		ck_assert_int_eq(mpk_json_read(mpk_span_of(text, 2 * depth), &root, NULL),
				 depth == MPK_JSON_DEPTH_MAX ? MPK_OK : MPK_E_SYNTAX);
	}
}
END_TEST

/* --- against Jansson ---------------------------------------------------------------------- */

static uint64_t state;

static unsigned pick(unsigned below)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(state >> 33) % below;
}

static void put_random_string(struct mpk_strbuf *out)
{
	static const char *const parts[] = { "a",
					     "b",
					     "\\n",
					     "\\\"",
					     "\\\\",
					     "\\/",
					     "\\u00e9",
					     "\\ud83d\\ude00",
					     "\xc3\xa9",
					     "{",
					     "]",
					     ",",
					     "\xf0\x9f\x98\x80",
					     "\\u0061" };

	mpk_strbuf_puts(out, "\"");
	for (unsigned n = pick(4); n; n--)
		mpk_strbuf_puts(out, parts[pick(MPK_ARRAY_COUNT(parts))]);
	mpk_strbuf_puts(out, "\"");
}

static void put_space(struct mpk_strbuf *out)
{
	static const char *const spaces[] = { "", "", "", " ", "\n", "\t\r " };

	mpk_strbuf_puts(out, spaces[pick(MPK_ARRAY_COUNT(spaces))]);
}

static void put_random(struct mpk_strbuf *out, unsigned depth)
{
	static const char *const scalars[] = {
		"null", "true", "false",  "0",    "-1",
		"12",   "0.5",  "-1.5e3", "1E-2", "9007199254740993"
	};
	unsigned kind = pick(depth < 5 ? 6 : 3);

	put_space(out);
	if (kind < 2) {
		mpk_strbuf_puts(out, scalars[pick(MPK_ARRAY_COUNT(scalars))]);
	} else if (kind == 2) {
		put_random_string(out);
	} else {
		bool object = kind == 3;

		mpk_strbuf_puts(out, object ? "{" : "[");
		for (unsigned n = pick(5), i = 0; i < n; i++) {
			mpk_strbuf_puts(out, i ? "," : "");
			put_space(out);
			if (object) {
				put_random_string(out);
				put_space(out);
				mpk_strbuf_puts(out, ":");
			}
			put_random(out, depth + 1);
		}
		put_space(out);
		mpk_strbuf_puts(out, object ? "}" : "]");
	}
	put_space(out);
}

static bool same_value(struct mpk_json_value ours, const json_t *theirs, struct mpk_arena *arena);

/* Jansson keeps the last of several members with one name. */
static bool same_members(struct mpk_json_value ours, const json_t *theirs, struct mpk_arena *arena)
{
	struct mpk_json_items items = mpk_json_items(ours);
	struct mpk_json_value v;
	const char *key;
	size_t unique = 0;

	while (mpk_json_next(&items, &v)) {
		ck_assert_int_eq(mpk_json_value_text(items.key, arena, &key, NULL), MPK_OK);
		struct mpk_json_value found = mpk_json_value_get(ours, key);
		const json_t *member = json_object_get(theirs, key);

		if (!member || (found.text.data && !same_value(v, member, arena)))
			return false;
		unique += found.text.data != NULL;
	}
	return unique <= json_object_size(theirs) &&
	       json_object_size(theirs) <= mpk_json_value_count(ours);
}

static bool same_value(struct mpk_json_value ours, const json_t *theirs, struct mpk_arena *arena)
{
	struct mpk_json_items items = mpk_json_items(ours);
	struct mpk_json_value v;
	int64_t number;
	double real;

	switch (json_typeof(theirs)) {
	case JSON_OBJECT:
		return mpk_json_value_type(ours) == MPK_JSON_OBJECT &&
		       same_members(ours, theirs, arena);
	case JSON_ARRAY:
		if (mpk_json_value_type(ours) != MPK_JSON_ARRAY ||
		    mpk_json_value_count(ours) != json_array_size(theirs))
			return false;
		for (size_t i = 0; mpk_json_next(&items, &v); i++)
			if (!same_value(v, json_array_get(theirs, i), arena))
				return false;
		return true;
	case JSON_STRING:
		return mpk_json_value_is(ours, json_string_value(theirs));
	case JSON_INTEGER:
		return mpk_json_value_i64(ours, &number) && number == json_integer_value(theirs);
	case JSON_REAL:
		return mpk_json_value_f64(ours, &real) && !isless(real, json_real_value(theirs)) &&
		       !isgreater(real, json_real_value(theirs));
	case JSON_TRUE:
	case JSON_FALSE:
		return mpk_json_value_type(ours) == MPK_JSON_BOOLEAN &&
		       (ours.text.data[0] == 't') == json_is_true(theirs);
	case JSON_NULL:
		return mpk_json_value_type(ours) == MPK_JSON_NULL;
	}
	return false;
}

/* What one of them takes the other takes, with the same values; but for numbers that do not fit. */
static bool agree(struct mpk_span text)
{
	struct mpk_arena arena = { 0 };
	struct mpk_json_value root;
	json_error_t why;
	json_t *theirs = json_loadb((const char *)text.data, text.len, JSON_DECODE_ANY, &why);
	bool taken = mpk_json_read(text, &root, NULL) == MPK_OK;
	bool fine = theirs ? taken && same_value(root, theirs, &arena)
			   : !taken || json_error_code(&why) == json_error_numeric_overflow;

	json_decref(theirs);
	mpk_arena_fini(&arena);
	return fine;
}

START_TEST(random_documents_are_read_as_jansson_does)
{
	static const char damage[] = "\"\\[]{}:,019.eE-+ntu \n\x01\x7f\xc3\xff";
	size_t disagree = 0, accepted = 0;

	for (uint64_t seed = 0; seed < 20000; seed++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
		struct mpk_json_value root;

		state = seed;
		put_random(&text, 0);
		ck_assert(!text.failed && text.len);
		disagree += !agree(mpk_span_of(text.data, text.len));
		for (int i = 0; i < 4; i++)
			text.data[pick((unsigned)text.len)] = damage[pick(sizeof damage - 1)];
		disagree += !agree(mpk_span_of(text.data, text.len));
		accepted += mpk_json_read(mpk_span_of(text.data, text.len), &root, NULL) == MPK_OK;
		disagree += !agree(mpk_span_of(text.data, pick((unsigned)text.len)));
	}
	ck_assert_uint_eq(disagree, 0);
	ck_assert_uint_ge(accepted, 200); /* damage does not always end what is read */
}
END_TEST

int main(void)
{
	Suite *s = suite_create("json_read");
	TCase *t = tcase_create("json_read");

	tcase_add_test(t, values_are_found);
	tcase_add_test(t, no_value_has_nothing);
	tcase_add_test(t, a_name_that_stands_twice_has_no_value);
	tcase_add_test(t, numbers_at_their_bounds);
	tcase_add_test(t, what_is_no_json_has_a_place);
	tcase_add_test(t, depth_costs_no_stack_and_has_a_bound);
	tcase_add_test(t, random_documents_are_read_as_jansson_does);
	suite_add_tcase(s, t);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
