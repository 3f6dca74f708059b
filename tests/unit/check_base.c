/* SPDX-License-Identifier: Apache-2.0 */
/* lib/ground/base and lib/text/escape: errors, arenas, ropes, cursors, numbers, maps, reports */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/native.h"
#include "base/num.h"
#include "base/report.h"
#include "base/rope.h"
#include "base/strbuf.h"
#include "base/strmap.h"
#include "text/escape.h"

#if MPK_IS_ADDRESS_SANITIZED
#include <sanitizer/asan_interface.h>
#endif

START_TEST(error_places)
{
	struct mpk_error err;
	char place[700];

	ck_assert_int_eq(mpk_fail_offset(&err, MPK_E_CORRUPT, "blob", 0x58, "bad %d", 3),
			 MPK_E_CORRUPT);
	mpk_error_at_file(&err, "deploy.so");
	mpk_error_at_path(&err, "/0/1");
	mpk_error_at_file(&err, "outer.so"); /* the innermost knowledge stays */
	ck_assert_str_eq(mpk_where_print(&err.at, place, sizeof place),
			 "deploy.so: blob+0x58: /0/1");
	mpk_error_prefix(&err, "module '%s': ", "k");
	ck_assert_str_eq(err.text, "module 'k': bad 3");

	(void)mpk_fail_line(&err, MPK_E_SYNTAX, 12, 5, "unknown key");
	mpk_error_at_file(&err, "mpack.toml");
	ck_assert_str_eq(mpk_where_print(&err.at, place, sizeof place), "mpack.toml:12:5");

	ck_assert_int_eq(mpk_fail_errno(&err, MPK_E_IO, ENOENT, "cannot open"), MPK_E_IO);
	ck_assert_str_eq(err.text, "cannot open: No such file or directory");
	ck_assert_int_eq(mpk_fail_errno(&err, MPK_E_IO, ENOMEM, "map"), MPK_E_NOMEM);
	ck_assert_int_eq(mpk_fail(NULL, MPK_E_RANGE, "no one listens"), MPK_E_RANGE);
}
END_TEST

START_TEST(error_texts_are_cut)
{
	struct mpk_error err;
	char longname[1500];

	memset(longname, 'x', sizeof longname - 1);
	longname[sizeof longname - 1] = '\0';
	(void)mpk_fail(&err, MPK_E_IO, "%s", longname);
	ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
	mpk_error_prefix(&err, "%s", longname);
	ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
	mpk_error_at_file(&err, longname);
	ck_assert_uint_eq(strlen(err.at.file), sizeof err.at.file - 1);
	ck_assert_int_eq(strncmp(err.at.file, "...xx", 5), 0);
}
END_TEST

START_TEST(arena_blocks)
{
	struct mpk_arena arena = { 0 };
	unsigned char *small = mpk_arena_alloc(&arena, 10);
	unsigned char *large = mpk_arena_alloc(&arena, 1 << 20);
	unsigned char *next = mpk_arena_alloc(&arena, 10);

	ck_assert_ptr_nonnull(small);
	ck_assert_ptr_nonnull(large);
	/* a large piece does not end the block that small ones are taken from */
	ck_assert_ptr_eq(next, small + (MPK_IS_ADDRESS_SANITIZED ? 32 : 16));
	ck_assert_uint_eq(large[0] | large[(1 << 20) - 1], 0);
	ck_assert_uint_eq((uintptr_t)large % alignof(max_align_t), 0);
	ck_assert_ptr_null(mpk_arena_array(&arena, SIZE_MAX / 2, 4));
	ck_assert_ptr_null(mpk_arena_alloc(&arena, SIZE_MAX - 3));
	ck_assert_str_eq(mpk_arena_printf(&arena, "%s-%d", "a", 7), "a-7");
	ck_assert_str_eq(mpk_arena_text(&arena, mpk_span_of("abc", 2)), "ab");
	ck_assert_mem_eq(mpk_arena_keep(&arena, "abcd", 2, 2), "abcd", 4);
	ck_assert_ptr_nonnull(mpk_arena_keep(&arena, NULL, 0, 8));
	ck_assert_ptr_null(mpk_arena_keep(&arena, "a", SIZE_MAX / 2, 4));
	mpk_arena_fini(&arena);
	mpk_arena_fini(&arena);
}
END_TEST

/* A byte too many is seen, also where the next piece of the block stands close behind. */
#if MPK_IS_ADDRESS_SANITIZED
START_TEST(arena_gaps)
{
	struct mpk_arena arena = { 0 };
	unsigned char *first = mpk_arena_alloc(&arena, 10);
	unsigned char *second = mpk_arena_alloc(&arena, 10);
	unsigned char *none = mpk_arena_alloc(&arena, 0);

	ck_assert(!__asan_address_is_poisoned(first + 9));
	ck_assert(!__asan_address_is_poisoned(second));
	for (unsigned char *p = first + 10; p < second; p++)
		ck_assert(__asan_address_is_poisoned(p));
	ck_assert(__asan_address_is_poisoned(second + 10));
	ck_assert(__asan_address_is_poisoned(none));
	mpk_arena_fini(&arena);
}
END_TEST
#endif

START_TEST(rope_pieces)
{
	struct mpk_arena arena = { 0 };
	struct mpk_rope r = mpk_rope_of(&arena), outer = mpk_rope_of(&arena);
	struct mpk_span flat;
	static const char expect[] = "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x00\x00\x00"
				     "\x03\0\0\0\0\0\0\0"
				     "abcVIEW";

	mpk_rope_put_u64(&r, UINT64_C(0x0807060504030201));
	mpk_rope_put_u32(&r, 9);
	mpk_rope_put_str(&r, mpk_span_str("abc"));
	ck_assert_uint_eq(r.count, 1); /* small values share a piece */
	mpk_rope_put_view(&r, mpk_span_str("VIEW"));
	mpk_rope_put_view(&r, mpk_span_str(""));
	ck_assert_uint_eq(r.count, 2);
	mpk_rope_put_u16(&outer, 0xbeef);
	mpk_rope_put_rope(&outer, &r);
	ck_assert_uint_eq(outer.len, 2 + sizeof expect - 1);
	ck_assert_int_eq(mpk_rope_flat(&outer, &flat, NULL), MPK_OK);
	ck_assert_mem_eq(flat.data + 2, expect, sizeof expect - 1);
	ck_assert(mpk_rope_equals(&outer, flat));
	ck_assert(!mpk_rope_equals(&r, flat));
	ck_assert(!mpk_rope_equals(&outer, mpk_span_of(flat.data, flat.len - 1)));
	((uint8_t *)(uintptr_t)flat.data)[flat.len - 1] ^= 1;
	ck_assert(!mpk_rope_equals(&outer, flat));

	mpk_rope_put_file(&r, 0, 0, 1);
	ck_assert(!mpk_rope_equals(&r, mpk_span_of(flat.data, (size_t)r.len)));
	mpk_rope_put_file(&outer, 0, 5, UINT64_MAX - 3);
	ck_assert_int_eq(mpk_rope_status(&outer, NULL), MPK_E_NOMEM); /* total wraps */
	mpk_arena_fini(&arena);
}
END_TEST

START_TEST(cursor_bounds)
{
	static const uint8_t bytes[] = { 3, 0, 0, 0, 0, 0, 0, 0, 'a', 'b' };
	struct mpk_cursor c = mpk_cursor_of(mpk_span_of(bytes, sizeof bytes), 0x100, "blob");
	struct mpk_error err;
	struct mpk_span s = { 0 };
	size_t n = 77;
	uint64_t v = 0;

	ck_assert_int_eq(mpk_read_str(&c, "name", &s, &err), MPK_E_CORRUPT);
	ck_assert_uint_eq(c.pos, 0); /* a failed read does not move */
	ck_assert_uint_eq(err.at.offset, 0x108);
	ck_assert_str_eq(err.text, "name: 3 bytes wanted, 2 left");
	ck_assert_int_eq(mpk_read_count(&c, "count", 1, &n, &err), MPK_E_CORRUPT);
	ck_assert_uint_eq(n, 77);
	ck_assert_uint_eq(err.at.offset, 0x100);
	ck_assert_int_eq(mpk_read_u64(&c, "v", &v, &err), MPK_OK);
	ck_assert_uint_eq(v, 3);
	ck_assert_int_eq(mpk_read_u32(&c, "w", &(uint32_t){ 0 }, &err), MPK_E_CORRUPT);
	ck_assert_int_eq(mpk_read_bytes(&c, "x", UINT64_MAX, &s, &err), MPK_E_CORRUPT);
	ck_assert_int_eq(mpk_read_bytes(&c, "x", 2, &s, &err), MPK_OK);
	ck_assert(mpk_span_is(s, "ab"));
}
END_TEST

static const struct {
	const char *bytes;
	size_t len;
	uint64_t number, from_signed;
} lebs[] = {
	{ "\x02", 1, 2, 2 },
	{ "\x7f", 1, 127, UINT64_MAX },
	{ "\x80\x01", 2, 128, 128 },
	{ "\xe5\x8e\x26", 3, 624485, 624485 },
	{ "\xc0\xbb\x78", 3, 1973696, (uint64_t)-123456 },
	{ "\x80\x80\x80\x00", 4, 0, 0 }, /* linkers pad numbers that they fill in */
	{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX, UINT64_MAX },
};

/* The examples of DWARF 5, 7.6, and the longest. */
START_TEST(leb128)
{
	const struct mpk_span bytes = mpk_span_of(lebs[_i].bytes, lebs[_i].len);
	struct mpk_cursor c = mpk_cursor_of(bytes, 0, "file");
	uint64_t n = 0;

	ck_assert_int_eq(mpk_read_uleb(&c, "n", &n, NULL), MPK_OK);
	ck_assert_uint_eq(n, lebs[_i].number);
	ck_assert_uint_eq(c.pos, bytes.len);
	c.pos = 0;
	ck_assert_int_eq(mpk_read_sleb(&c, "n", &n, NULL), MPK_OK);
	ck_assert_uint_eq(n, lebs[_i].from_signed);
	c = mpk_cursor_of(mpk_span_of(bytes.data, bytes.len - 1), 0, "file");
	ck_assert_int_eq(mpk_read_uleb(&c, "n", &n, NULL), MPK_E_CORRUPT);
	ck_assert_uint_eq(c.pos, 0);
}
END_TEST

START_TEST(leb128_refused)
{
	static const uint8_t bytes[] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					 0x80, 0x80, 0x80, 0x80, 1,    3 };
	struct mpk_cursor c = mpk_cursor_of(mpk_span_of(bytes, sizeof bytes), 0x40, "file");
	struct mpk_error err;
	uint64_t n = 77;
	size_t count = 77;

	ck_assert_int_eq(mpk_read_uleb(&c, "n", &n, &err), MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "n: the number has more than 64 bits");
	ck_assert_uint_eq(err.at.offset, 0x40);
	ck_assert_uint_eq(n, 77);
	c.pos = sizeof bytes - 1;
	ck_assert_int_eq(mpk_read_uleb_count(&c, "n", &count, &err), MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "n: count 3 does not fit in the 0 bytes left");
	ck_assert_uint_eq(count, 77);
	c.pos--;
	ck_assert_int_eq(mpk_read_uleb_count(&c, "n", &count, &err), MPK_OK);
	ck_assert_uint_eq(count, 1);
}
END_TEST

static const struct {
	const char *text;
	bool ok;
	int64_t value;
} integers[] = {
	{ "0", true, 0 },
	{ "-1", true, -1 },
	{ "+7", true, 7 },
	{ "0x1f", true, 31 },
	{ "9223372036854775807", true, INT64_MAX },
	{ "-9223372036854775808", true, INT64_MIN },
	{ "9223372036854775808", false, 0 },
	{ "", false, 0 },
	{ "-", false, 0 },
	{ "0x", false, 0 },
	{ "1 ", false, 0 },
	{ "1_0", false, 0 },
};

START_TEST(numbers)
{
	int64_t v = 4711;
	bool ok = mpk_parse_i64(mpk_span_str(integers[_i].text), &v);

	ck_assert_msg(ok == integers[_i].ok, "'%s'", integers[_i].text);
	ck_assert_msg(v == (ok ? integers[_i].value : 4711), "'%s'", integers[_i].text);
}
END_TEST

/* The other side of each width is a plain integer of the compiler, whatever the machine's order. */
START_TEST(integers_of_this_machine)
{
	const uint8_t u8 = 0x81;
	const uint16_t u16 = 0x8182;
	const uint32_t u32 = 0x81828384;
	const uint64_t u64 = UINT64_C(0x8182838485868788);
	const struct {
		const void *at;
		uint64_t value;
		size_t bytes;
	} rows[] = { { &u8, u8, 1 }, { &u16, u16, 2 }, { &u32, u32, 4 }, { &u64, u64, 8 } };
	uint8_t room[9], six[] = { 1, 2, 3, 4, 5, 6 };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		memset(room, 0xee, sizeof room);
		ck_assert_uint_eq(mpk_native_load(rows[i].at, rows[i].bytes), rows[i].value);
		room[rows[i].bytes] ^= 0xee;
		mpk_native_store(room, rows[i].value, rows[i].bytes);
		ck_assert_mem_eq(room, rows[i].at, rows[i].bytes);
		ck_assert_uint_eq(room[rows[i].bytes], 0);
	}
	mpk_native_swap(six, sizeof six, 2);
	ck_assert_mem_eq(six, "\2\1\4\3\6\5", 6);
	mpk_native_swap(six, sizeof six, 1);
	ck_assert_mem_eq(six, "\2\1\4\3\6\5", 6);
	mpk_native_from_little(six, sizeof six, 2);
	ck_assert_mem_eq(six, MPK_BIG_ENDIAN ? "\1\2\3\4\5\6" : "\2\1\4\3\6\5", 6);
}
END_TEST

START_TEST(map_and_closest)
{
	struct mpk_strmap map = { 0 };
	char keys[1000][8];
	size_t found;
	const struct mpk_span names[] = { mpk_span_str("sources"), mpk_span_str("imports"),
					  mpk_span_str("kind") };

	for (size_t i = 0; i < 1000; i++) {
		(void)snprintf(keys[i], sizeof keys[i], "k%zu", i);
		ck_assert_int_eq(mpk_strmap_put(&map, mpk_span_str(keys[i]), i, &found), 1);
	}
	ck_assert_int_eq(mpk_strmap_put(&map, mpk_span_str("k500"), 1, &found), 0);
	ck_assert_uint_eq(found, 500);
	ck_assert(!mpk_strmap_find(&map, mpk_span_str("k1000"), &found));
	ck_assert_int_eq(mpk_strmap_put(&map, (struct mpk_span){ 0 }, 9, &found), 1);
	ck_assert(mpk_strmap_find(&map, mpk_span_str(""), &found));
	ck_assert_uint_eq(found, 9);
	mpk_strmap_fini(&map);

	ck_assert_uint_eq(mpk_closest(mpk_span_str("soruces"), names, 3), 0);
	ck_assert_uint_eq(mpk_closest(mpk_span_str("import"), names, 3), 1);
	ck_assert_uint_eq(mpk_closest(mpk_span_str("payload"), names, 3), 3);
	ck_assert_uint_eq(mpk_closest(mpk_span_str("SOURCES"), names, 3), 0);
}
END_TEST

START_TEST(escapes)
{
	char out[32];
	struct mpk_strbuf buf = { 0 };

	mpk_escape(&buf, mpk_span_of("a\n\x1b[31m\xff\xc3\xa4\\\xe2\x80\xae\0z", 16));
	ck_assert_str_eq(mpk_strbuf_text(&buf),
			 "a\\n\\x1b[31m\\xff\xc3\xa4\\\\\\xe2\\x80\\xae\\x00z");
	mpk_strbuf_fini(&buf);
	/* overlong and surrogate forms are not UTF-8 */
	ck_assert_str_eq(mpk_escape_to(mpk_span_of("\xc0\xaf\xed\xa0\x80", 5), out, sizeof out),
			 "\\xc0\\xaf\\xed\\xa0\\x80");
	ck_assert_str_eq(mpk_escape_to(mpk_span_str("abcdefghijkl"), out, 10), "abcdef...");
	ck_assert_str_eq(mpk_escape_to(mpk_span_str("abcdefghi"), out, 10), "abcdefghi");
}
END_TEST

/* Between two views a small value takes what is left of the room of those before. */
START_TEST(rope_small_values)
{
	static const char view[] = "view";
	struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_strbuf wanted = { 0 };

	for (size_t i = 0; i < 200; i++) {
		mpk_rope_put_u8(&rope, (uint8_t)i);
		mpk_rope_put_u8(&rope, 7);
		mpk_rope_put_view(&rope, mpk_span_str(view));
		mpk_strbuf_putc(&wanted, (char)i);
		mpk_strbuf_puts(&wanted, "\aview");
	}
	ck_assert(mpk_rope_equals(&rope, mpk_span_of(wanted.data, wanted.len)));
	ck_assert_uint_eq(rope.count, 400);
	ck_assert_ptr_eq(rope.pieces[2].data, rope.pieces[0].data + 2);
	mpk_strbuf_fini(&wanted);
	mpk_arena_fini(&arena);
}
END_TEST

static void count_about(const struct mpk_finding *finding, void *arg)
{
	size_t *counts = arg;

	ck_assert_int_eq(finding->severity, MPK_WARNING);
	ck_assert_str_eq(finding->error.text, "x");
	counts[finding->about != NULL]++;
}

/* A finding that is taken is not kept, and nothing is left out. */
START_TEST(report_taken)
{
	size_t counts[2] = { 0 };
	struct mpk_report report = { .take = count_about, .arg = counts };
	struct mpk_error err = { 0 };

	(void)mpk_fail(&err, MPK_E_CORRUPT, "x");
	for (size_t i = 0; i < MPK_REPORT_MAX + 2; i++)
		mpk_report_add_about(&report, MPK_WARNING, "c", &err,
				     i ? mpk_span_str("kernel") : (struct mpk_span){ 0 });
	ck_assert_uint_eq(counts[0], 1);
	ck_assert_uint_eq(counts[1], MPK_REPORT_MAX + 1);
	ck_assert_uint_eq(report.count + report.dropped, 0);
	ck_assert_uint_eq(report.warnings, MPK_REPORT_MAX + 2);
	mpk_report_fini(&report);
}
END_TEST

/* What a finding is about is the report's own copy. */
START_TEST(report_about_parts)
{
	struct mpk_report report = { 0 };
	struct mpk_error err = { 0 };
	char name[] = "kernel";

	(void)mpk_fail(&err, MPK_E_CORRUPT, "x");
	for (size_t i = 0; i < MPK_REPORT_MAX + 1; i++)
		mpk_report_add_about(&report, MPK_ERROR, "c", &err,
				     i ? mpk_span_str(name) : (struct mpk_span){ 0 });
	name[0] = 'X';
	ck_assert_uint_eq(report.count, MPK_REPORT_MAX);
	ck_assert_uint_eq(report.dropped, 1);
	ck_assert_ptr_null(report.findings[0].about);
	ck_assert_str_eq(report.findings[1].about, "kernel");
	mpk_report_fini(&report);
}
END_TEST

START_TEST(report_order_and_limit)
{
	struct mpk_report report = { 0 };
	struct mpk_error err;

	for (uint32_t i = 0; i < MPK_REPORT_MAX + 5; i++) {
		(void)mpk_fail_line(&err, MPK_E_SYNTAX, 100 - i, 1, "finding %" PRIu32, i);
		mpk_report_add(&report, i % 2 ? MPK_ERROR : MPK_WARNING, "c", &err);
	}
	mpk_report_sort(&report);
	ck_assert_uint_eq(report.count, MPK_REPORT_MAX);
	ck_assert_uint_eq(report.dropped, 5);
	ck_assert_uint_eq(report.errors + report.warnings, MPK_REPORT_MAX + 5);
	for (size_t i = 1; i < report.count; i++)
		ck_assert_uint_lt(report.findings[i - 1].error.at.line,
				  report.findings[i].error.at.line);
	mpk_report_fini(&report);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("base");
	TCase *t = tcase_create("base");

	tcase_add_test(t, error_places);
	tcase_add_test(t, error_texts_are_cut);
	tcase_add_test(t, arena_blocks);
#if MPK_IS_ADDRESS_SANITIZED
	tcase_add_test(t, arena_gaps);
#endif
	tcase_add_test(t, rope_pieces);
	tcase_add_test(t, cursor_bounds);
	tcase_add_loop_test(t, leb128, 0, (int)MPK_ARRAY_COUNT(lebs));
	tcase_add_test(t, leb128_refused);
	tcase_add_loop_test(t, numbers, 0, (int)MPK_ARRAY_COUNT(integers));
	tcase_add_test(t, integers_of_this_machine);
	tcase_add_test(t, map_and_closest);
	tcase_add_test(t, escapes);
	tcase_add_test(t, report_order_and_limit);
	tcase_add_test(t, report_about_parts);
	tcase_add_test(t, report_taken);
	tcase_add_test(t, rope_small_values);
	suite_add_tcase(s, t);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
