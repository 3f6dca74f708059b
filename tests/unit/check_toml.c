/* SPDX-License-Identifier: Apache-2.0 */
/* TOML as a tree with positions (toml/toml.h), against the toml-test corpus; mistakes by their place */
#include <check.h>
#include <ftw.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/strbuf.h"
#include "io/mapping.h"
#include "skip.h"
#include "toml/toml.h"

/* --- the toml-test corpus ------------------------------------------------------------------ */

#define CORPUS "/usr/share/gocode/src/github.com/BurntSushi/toml/internal/toml-test/tests"

static const char *const tags[] = {
	[MPK_TOML_STRING] = "string",     [MPK_TOML_INTEGER] = "integer",
	[MPK_TOML_FLOAT] = "float",       [MPK_TOML_BOOLEAN] = "bool",
	[MPK_TOML_DATETIME] = "datetime", [MPK_TOML_LOCAL_DATETIME] = "datetime-local",
	[MPK_TOML_DATE] = "date-local",   [MPK_TOML_TIME] = "time-local",
};

/* Dates may be written in several ways; ours is upper case, Z for UTC, no trailing zeros. */
static void normalise(const char *text, char out[64])
{
	char *dot, *end, *keep;
	size_t n = 0;

	for (; *text && n < 63; text++)
		out[n++] = *text == ' ' || *text == 't' ? 'T' : *text == 'z' ? 'Z' : *text;
	out[n] = '\0';
	if (n > 6 && strcmp(out + n - 6, "+00:00") == 0)
		memcpy(out + n - 6, "Z", 2);
	dot = strchr(out, '.');
	if (!dot)
		return;
	end = dot + 1 + strspn(dot + 1, "0123456789");
	for (keep = end; keep > dot && (keep[-1] == '0' || keep[-1] == '.'); keep--)
		;
	memmove(keep, end, strlen(end) + 1);
}

static bool same_scalar(const struct mpk_toml *v, const char *text)
{
	char wanted[64];
	double number;
	int64_t integer;

	switch (v->type) {
	case MPK_TOML_STRING:
		return false; /* compared with its length by the caller */
	case MPK_TOML_INTEGER:
		return mpk_parse_i64(mpk_span_str(text), &integer) && integer == v->integer;
	case MPK_TOML_FLOAT:
		if (strcmp(text + strspn(text, "+-"), "nan") == 0)
			return isnan(v->number);
		return mpk_parse_f64(mpk_span_str(text + (text[0] == '+')), &number) &&
		       number <= v->number && number >= v->number;
	case MPK_TOML_BOOLEAN:
		return strcmp(text, v->boolean ? "true" : "false") == 0;
	case MPK_TOML_DATETIME:
	case MPK_TOML_LOCAL_DATETIME:
	case MPK_TOML_DATE:
	case MPK_TOML_TIME:
		normalise(text, wanted);
		return strcmp(wanted, v->text) == 0;
	case MPK_TOML_ARRAY:
	case MPK_TOML_TABLE:
		break;
	}
	return false;
}

static bool same(const struct mpk_toml *v, const json_t *wanted);

static bool same_table(const struct mpk_toml *v, const json_t *wanted)
{
	if (!json_is_object(wanted) || json_object_size(wanted) != v->count)
		return false;
	for (size_t i = 0; i < v->count; i++) {
		const json_t *member = json_object_get(wanted, v->entries[i].key);

		if (!member || !same(&v->entries[i].value, member))
			return false;
	}
	return true;
}

static bool same(const struct mpk_toml *v, const json_t *wanted)
{
	if (v->type == MPK_TOML_TABLE)
		return same_table(v, wanted);
	if (v->type == MPK_TOML_ARRAY) {
		if (!json_is_array(wanted) || json_array_size(wanted) != v->count)
			return false;
		for (size_t i = 0; i < v->count; i++)
			if (!same(&v->entries[i].value, json_array_get(wanted, i)))
				return false;
		return true;
	}

	const char *type = json_string_value(json_object_get(wanted, "type"));
	const json_t *value = json_object_get(wanted, "value");
	if (!type || strcmp(type, tags[v->type]) != 0 || !json_is_string(value))
		return false;
	if (v->type == MPK_TOML_STRING)
		return mpk_span_equal(mpk_toml_text(v), mpk_span_of(json_string_value(value),
								    json_string_length(value)));
	return same_scalar(v, json_string_value(value));
}

static struct {
	size_t files, failures;
} corpus;

static const char *fault_of_valid(const char *path, const struct mpk_toml *root)
{
	json_error_t unread = { 0 };
	char json[512];
	json_t *wanted;
	bool equal;

	(void)snprintf(json, sizeof json, "%.*s.json", (int)(strlen(path) - 5), path);
	wanted = json_load_file(json, JSON_ALLOW_NUL, &unread);
	/* Jansson has no keys with NUL: of such a file all is asked but the values */
	equal = wanted ? same(root, wanted)
		       : json_error_code(&unread) == json_error_null_byte_in_key;
	json_decref(wanted);
	return equal ? NULL : "other values";
}

/*
 * What the corpus calls valid and TOML 1.0 refuses: a runner leaves such files out by a list that the
 * package does not have. Which there are depends on its release.
 */
static bool is_of_toml_1_1(const char *path)
{
	static const char *const files[] = {
		"/valid/datetime/no-seconds.toml", "/valid/inline-table/newline.toml",
		"/valid/key/unicode.toml",         "/valid/string/escape-esc.toml",
		"/valid/string/hex-escape.toml",
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(files); i++)
		if (strstr(path, files[i]))
			return true;
	return false;
}

static const char *fault_of(const char *path, struct mpk_arena *arena)
{
	bool valid = strstr(path, "/valid/") && !is_of_toml_1_1(path);
	struct mpk_mapping file = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_toml root;
	enum mpk_code code;

	if (mpk_mapping_open(path, &file, NULL) != MPK_OK)
		return "unreadable";
	code = mpk_toml_parse(file.bytes, arena, &root, &err);
	mpk_mapping_close(&file);
	if (valid)
		return code == MPK_OK ? fault_of_valid(path, &root) : "refused";
	if (code != MPK_E_SYNTAX)
		return "accepted";
	return err.at.line && err.at.column && err.text[0] ? NULL : "refused without a place";
}

static int check_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	struct mpk_arena arena = { 0 };
	size_t len = strlen(path);
	const char *fault;

	(void)st, (void)at;
	if (type != FTW_F || len < 5 || strcmp(path + len - 5, ".toml") != 0)
		return 0;
	corpus.files++;
	fault = fault_of(path, &arena);
	if (fault) {
		corpus.failures++;
		(void)printf("%s: %s\n", path, fault);
		(void)fflush(stdout);
	}
	mpk_arena_fini(&arena);
	return 0;
}

START_TEST(corpus_is_read_as_it_should)
{
	if (access(CORPUS, R_OK) != 0)
		SKIP_TEST("no toml-test corpus (golang-github-burntsushi-toml-dev)");
	ck_assert_int_eq(nftw(CORPUS, check_file, 16, FTW_PHYS), 0);
	ck_assert_uint_ge(corpus.files, 300);
	ck_assert_uint_eq(corpus.failures, 0);
}
END_TEST

/* --- places ------------------------------------------------------------------------------------ */

/* "key line:column line:column" of every key and its value, in the order of the tree. */
static void put_places(const struct mpk_toml *v, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < v->count; i++) {
		const struct mpk_toml_entry *e = &v->entries[i];

		mpk_strbuf_printf(out, "%s%s %u:%u %u:%u", out->len ? ", " : "",
				  e->key ? e->key : "-", e->pos.line, e->pos.column,
				  e->value.pos.line, e->value.pos.column);
		put_places(&e->value, out);
	}
}

static const struct {
	const char *text, *places;
} place_rows[] = {
	{ "a = 1\n  b = 'x'\n", "a 1:1 1:5, b 2:3 2:7" },
	{ "z = 1\na = 2\n", "z 1:1 1:5, a 2:1 2:5" },
	{ "a = [1,\n  'x', # y\n\t2.5]\n", "a 1:1 1:5, - 1:6 1:6, - 2:3 2:3, - 3:2 3:2" },
	{ "[p]\nn = 1\n", "p 1:2 1:1, n 2:1 2:5" },
	{ "[[m]]\na = 1\n[[m]]\n  [[m.f]]\n  a = 2\n",
	  "m 1:3 1:1, - 1:1 1:1, a 2:1 2:5, - 3:1 3:1, f 4:7 4:3, - 4:3 4:3, a 5:3 5:7" },
	{ "a.b = {c = true}\n", "a 1:1 1:1, b 1:3 1:7, c 1:8 1:12" },
	{ "\"\303\244\303\266\" = \"\303\274\303\274\" # \303\274\nb = 2",
	  "\303\244\303\266 1:1 1:8, b 2:1 2:5" },
	{ "\xef\xbb\xbf"
	  "a = 1",
	  "a 1:1 1:5" },
	{ "a = '''\nx'''\r\nb = 1", "a 1:1 1:5, b 3:1 3:5" },
};

START_TEST(keys_and_values_know_their_place)
{
	struct mpk_arena arena = { 0 };
	struct mpk_strbuf got = { 0 };
	struct mpk_toml root;

	ck_assert_int_eq(mpk_toml_parse(mpk_span_str(place_rows[_i].text), &arena, &root, NULL),
			 MPK_OK);
	put_places(&root, &got);
	ck_assert_str_eq(mpk_strbuf_text(&got), place_rows[_i].places);
	mpk_strbuf_fini(&got);
	mpk_arena_fini(&arena);
}
END_TEST

static const struct {
	const char *text;
	uint32_t line, column;
	const char *message;
} error_rows[] = {
	{ "a = ", 1, 5, "not TOML: while parsing key-value pair: encountered end-of-file" },
	{ "[\n", 1, 2,
	  "not TOML: while parsing key: expected bare key starting character or "
	  "string delimiter, saw '\\n'" },
	{ "a = 1\na = 2\n", 2, 5,
	  "not TOML: while parsing key-value pair: cannot redefine existing integer 'a'" },
	{ "\n k = \"\\q\"", 2, 8, "not TOML: while parsing string: unknown escape sequence '\\q'" },
	{ "\316\274 = 1", 1, 1,
	  "not TOML: while parsing root table: expected keys, tables, whitespace or comments, "
	  "saw '\316\274'" },
	{ "a = 9223372036854775808", 1, 24,
	  "not TOML: while parsing decimal integer: '9223372036854775808' is not representable "
	  "in 64 bits" },
	{ "a = \303\251", 1, 5, NULL },
	{ "a.\303\251 = 1", 1, 3, NULL },
	{ "a = 1 \303\251", 1, 7, NULL },
	{ "a = '\033[31m'", 1, 6, NULL },
	{ "a = '\xff'", 1, 5, "not TOML: encountered invalid utf-8 sequence" },
	{ "a = 1979-02-30", 1, 15, NULL },
};

START_TEST(errors_know_their_place)
{
	struct mpk_arena arena = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_toml root = { .count = 77 };

	ck_assert_int_eq(mpk_toml_parse(mpk_span_str(error_rows[_i].text), &arena, &root, &err),
			 MPK_E_SYNTAX);
	ck_assert_msg(err.at.line == error_rows[_i].line && err.at.column == error_rows[_i].column,
		      "%u:%u: %s", err.at.line, err.at.column, err.text);
	if (error_rows[_i].message)
		ck_assert_str_eq(err.text, error_rows[_i].message);
	ck_assert_ptr_null(strchr(err.text, '\033'));
	ck_assert_uint_eq(root.count, 77);
	mpk_arena_fini(&arena);
}
END_TEST

/* --- values ------------------------------------------------------------------------------------ */

START_TEST(values_keep_their_content)
{
	static const char text[] = "s = \"a\\u0000b\"\nday = 1979-05-27T07:32:00.120-08:30\n"
				   "i = -0x7f\nf = 6.5e-1\n";
	struct mpk_arena arena = { 0 };
	struct mpk_toml root;

	/* no hexadecimal with a sign in TOML: the row is a mistake that must be found */
	ck_assert_int_eq(mpk_toml_parse(mpk_span_str(text), &arena, &root, NULL), MPK_E_SYNTAX);
	ck_assert_int_eq(mpk_toml_parse(mpk_span_of(text, strlen(text) - strlen("i = -0x7f\nf = "
										"6.5e-1\n")),
					&arena, &root, NULL),
			 MPK_OK);

	const struct mpk_toml *s = &mpk_toml_find(&root, "s")->value;
	ck_assert_uint_eq(s->len, 3);
	ck_assert_mem_eq(s->text, "a\0b", 4);
	ck_assert_str_eq(mpk_toml_find(&root, "day")->value.text, "1979-05-27T07:32:00.12-08:30");
	ck_assert_ptr_null(mpk_toml_find(&root, "x"));
	mpk_arena_fini(&arena);
}
END_TEST

/* toml++ takes it for impossible that any other letter than of ASCII or a space stands there. */
START_TEST(letters_follow_the_backslash_at_the_end_of_a_line)
{
	static const char text[] = "s = \"\"\"\\\n  \303\251\320\266\"\"\"\nb = 1\n";
	struct mpk_arena arena = { 0 };
	struct mpk_toml root;

	ck_assert_int_eq(mpk_toml_parse(mpk_span_str(text), &arena, &root, NULL), MPK_OK);
	ck_assert_str_eq(mpk_toml_find(&root, "s")->value.text, "\303\251\320\266");
	ck_assert_ptr_nonnull(mpk_toml_find(&root, "b"));
	mpk_arena_fini(&arena);
}
END_TEST

/* --- hostile input --------------------------------------------------------------------------------- */

static const struct {
	const char *before, *part, *after, *message;
	unsigned times;
} deep_rows[] = {
	{ "", "a.", "b = 1", "a key of more than 64 parts", 200000 },
	{ "a = ", "[", "", NULL, 200000 },
	{ "a = ", "{b=", "", NULL, 200000 },
	{ "[", "a.", "a]", "a key of more than 64 parts", 200000 },
	{ "a = [", "0,", "]",
	  "more values, tables and parts of keys than a file of this size may have: 180000, or one in 8 bytes",
	  190000 },
	{ "", "[[a]]\n", "",
	  "more values, tables and parts of keys than a file of this size may have: 180000, or one in 8 bytes",
	  61000 },
	{ "x = 'a.a.a'\n", "# a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a\n", "b", NULL, 5000 },
};

START_TEST(deep_nesting_is_refused)
{
	struct mpk_arena arena = { 0 };
	struct mpk_strbuf text = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_toml root;

	mpk_strbuf_puts(&text, deep_rows[_i].before);
	for (unsigned i = 0; i < deep_rows[_i].times; i++)
		mpk_strbuf_puts(&text, deep_rows[_i].part);
	mpk_strbuf_puts(&text, deep_rows[_i].after);
	ck_assert_int_eq(mpk_toml_parse(mpk_span_of(text.data, text.len), &arena, &root, &err),
			 MPK_E_SYNTAX);
	if (deep_rows[_i].message)
		ck_assert_str_eq(err.text, deep_rows[_i].message);
	else
		ck_assert_ptr_null(strstr(err.text, "of more than 64 parts"));
	mpk_strbuf_fini(&text);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(signs_in_strings_are_not_values)
{
	struct mpk_arena arena = { 0 };
	struct mpk_strbuf text = { 0 };
	struct mpk_toml root;

	mpk_strbuf_puts(&text, "a = '");
	for (unsigned i = 0; i < 300000; i++)
		mpk_strbuf_puts(&text, "=,[{.");
	mpk_strbuf_puts(&text, "' #");
	for (unsigned i = 0; i < 300000; i++)
		mpk_strbuf_puts(&text, ",");
	mpk_strbuf_puts(&text, "\nb = [");
	for (unsigned i = 0; i < 170000; i++)
		mpk_strbuf_puts(&text, "0,");
	mpk_strbuf_puts(&text, "]");
	ck_assert_int_eq(mpk_toml_parse(mpk_span_of(text.data, text.len), &arena, &root, NULL),
			 MPK_OK);
	mpk_strbuf_fini(&text);
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(dots_in_strings_are_not_keys)
{
	struct mpk_arena arena = { 0 };
	struct mpk_strbuf text = { 0 };
	struct mpk_toml root;

	mpk_strbuf_puts(&text, "a = [\"\\\"");
	for (unsigned i = 0; i < 1000; i++)
		mpk_strbuf_puts(&text, ".\\\\.");
	mpk_strbuf_puts(&text, "\", '");
	for (unsigned i = 0; i < 1000; i++)
		mpk_strbuf_puts(&text, ".\"");
	mpk_strbuf_puts(&text, "', \"\"\"\n\"");
	for (unsigned i = 0; i < 1000; i++)
		mpk_strbuf_puts(&text, ".\"\".'");
	mpk_strbuf_puts(&text, "\"\"\", 1.5]");
	ck_assert_int_eq(mpk_toml_parse(mpk_span_of(text.data, text.len), &arena, &root, NULL),
			 MPK_OK);
	mpk_strbuf_fini(&text);
	mpk_arena_fini(&arena);
}
END_TEST

static const char sample[] = "[p]\nn = \"x\\u00e4\"\nday = 1979-05-27T07:32:00Z\nf = [1.5, inf, "
			     "0x1F, 1_000]\n[[m]]\na.b = {c = true, d = '''\nx\n'''}\n[[m.f]]\n";

START_TEST(every_beginning_and_every_change_is_survived)
{
	char text[sizeof sample];
	struct mpk_toml root;

	for (size_t i = 0; i < sizeof sample; i++) {
		struct mpk_arena arena = { 0 };
		struct mpk_error err = { 0 };

		if (mpk_toml_parse(mpk_span_of(sample, i), &arena, &root, &err) != MPK_OK)
			ck_assert(err.code == MPK_E_SYNTAX && err.at.line && err.at.column);
		for (unsigned change = 1; change < 256 && i < sizeof sample - 1; change += 6) {
			memcpy(text, sample, sizeof text);
			text[i] = (char)((unsigned char)text[i] ^ change);
			if (mpk_toml_parse(mpk_span_of(text, sizeof text - 1), &arena, &root,
					   &err) != MPK_OK)
				ck_assert(err.code == MPK_E_SYNTAX && err.at.line && err.at.column);
		}
		mpk_arena_fini(&arena);
	}
}
END_TEST

/* --- memory --------------------------------------------------------------------------------------- */

struct budget {
	struct mpk_arena arena;
	unsigned left;
};

static void *alloc_from_budget(void *context, size_t size)
{
	struct budget *b = context;

	return b->left ? (b->left--, mpk_arena_alloc(&b->arena, size)) : NULL;
}

START_TEST(each_failed_allocation_is_reported)
{
	struct mpk_toml_fault fault;
	struct mpk_toml root;
	unsigned allowed = 0;

	for (;; allowed++) {
		struct budget b = { .left = allowed };
		struct mpk_toml_memory memory = { alloc_from_budget, &b };
		enum mpk_toml_status status =
			mpk_toml_parse_bytes(sample, sizeof sample - 1, &memory, &root, &fault);

		mpk_arena_fini(&b.arena);
		if (status == MPK_TOML_PARSED)
			break;
		ck_assert_int_eq(status, MPK_TOML_NO_MEMORY);
	}
	ck_assert_uint_gt(allowed, 10);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("toml");
	TCase *tc = tcase_create("parse");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, corpus_is_read_as_it_should);
	tcase_add_loop_test(tc, keys_and_values_know_their_place, 0,
			    (int)MPK_ARRAY_COUNT(place_rows));
	tcase_add_loop_test(tc, errors_know_their_place, 0, (int)MPK_ARRAY_COUNT(error_rows));
	tcase_add_test(tc, values_keep_their_content);
	tcase_add_test(tc, letters_follow_the_backslash_at_the_end_of_a_line);
	tcase_add_loop_test(tc, deep_nesting_is_refused, 0, (int)MPK_ARRAY_COUNT(deep_rows));
	tcase_add_test(tc, dots_in_strings_are_not_keys);
	tcase_add_test(tc, signs_in_strings_are_not_values);
	tcase_add_test(tc, every_beginning_and_every_change_is_survived);
	tcase_add_test(tc, each_failed_allocation_is_reported);
	suite_add_tcase(s, tc);

	SRunner *sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	int failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
