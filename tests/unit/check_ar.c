/* SPDX-License-Identifier: Apache-2.0 */
/* formats/ar against archives of GNU and LLVM tools */
#include "archive_made.h"

#include "ar/ar.h"

static struct mpk_ar open_ar(const char *path)
{
	struct mpk_error err = { 0 };
	struct mpk_ar ar;

	ck_assert_msg(mpk_ar_read(robust_load(&arena, path), &arena, &ar, &err) == MPK_OK, "%s: %s",
		      path, err.text);
	return ar;
}

static const char *const ar_files[] = {
	DATA "gnu.a",
	DATA "gnu64.a",
	DATA "bsd.a",
	DATA "darwin.a",
};

START_TEST(ar_members_and_index)
{
	static const struct {
		const char *symbol;
		size_t member;
	} symbols[] = { { "add_one", 0 }, { "first_symbol", 1 }, { "second", 1 } };
	const char *path = ar_files[_i];
	struct mpk_ar ar = open_ar(path);

	ck_assert_uint_eq(ar.member_count, 3);
	ck_assert_msg(mpk_span_is(ar.members[0].name, "add.o"), "%s", path);
	ck_assert_msg(mpk_span_is(ar.members[1].name, "a_name_longer_than_fifteen.o"), "%s", path);
	ck_assert_msg(mpk_span_is(ar.members[2].name, "note.txt"), "%s", path);
	for (size_t i = 0; i < 2; i++)
		ck_assert_msg(mpk_span_starts(ar.members[i].data, "\177ELF"), "%s", path);
	/* Darwin's padding to 8 bytes counts as data */
	ck_assert_msg(mpk_span_starts(ar.members[2].data, "odd"), "%s", path);
	ck_assert(ar.has_index);
	ck_assert_uint_eq(ar.symbol_count, MPK_ARRAY_COUNT(symbols));
	for (size_t i = 0; i < ar.symbol_count; i++) {
		ck_assert_msg(mpk_span_is(ar.symbols[i].name, symbols[i].symbol), "%s", path);
		ck_assert_uint_eq(ar.symbols[i].member, symbols[i].member);
	}
}
END_TEST

START_TEST(ar_refuses)
{
	static const struct {
		const char *what, *bytes;
		enum mpk_code code;
		uint64_t off;
	} rows[] = {
		{ "nothing", "", MPK_E_CORRUPT, 0 },
		{ "no magic", "!<arch>x", MPK_E_CORRUPT, 0 },
		{ "cut header", "!<arch>\nabc", MPK_E_CORRUPT, 8 },
		{ "no end of header",
		  "!<arch>\n"
		  "a/              0           0     0     644     0         xx",
		  MPK_E_CORRUPT, 8 },
		{ "size beyond the end",
		  "!<arch>\n"
		  "a/              0           0     0     644     1         `\n",
		  MPK_E_CORRUPT, 8 },
		{ "size no number",
		  "!<arch>\n"
		  "a/              0           0     0     644     -1        `\n",
		  MPK_E_CORRUPT, 56 },
		{ "no name table",
		  "!<arch>\n"
		  "/7              0           0     0     644     0         `\n",
		  MPK_E_CORRUPT, 8 },
		{ "no name",
		  "!<arch>\n"
		  "                0           0     0     644     0         `\n",
		  MPK_E_CORRUPT, 8 },
		{ "BSD name longer than the member",
		  "!<arch>\n"
		  "#1/8            0           0     0     644     4         `\nabcd",
		  MPK_E_CORRUPT, 8 },
	};
	struct mpk_error err = { 0 };
	struct mpk_ar ar = { .member_count = 77 };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		enum mpk_code code = mpk_ar_read(mpk_span_str(rows[i].bytes), &arena, &ar, &err);

		ck_assert_msg(code == rows[i].code && err.at.offset == rows[i].off,
			      "%s: %d at %lu: %s", rows[i].what, code, (unsigned long)err.at.offset,
			      err.text);
	}
	ck_assert_int_eq(mpk_ar_read(robust_load(&arena, DATA "thin.a"), &arena, &ar, &err),
			 MPK_E_UNSUPPORTED);
	ck_assert_uint_eq(ar.member_count, 77);
}
END_TEST

/* An index that names more symbols than it has room for, or a place without a member. */
START_TEST(ar_index_is_checked)
{
	struct mpk_span good = robust_load(&arena, DATA "gnu.a");
	uint8_t *bytes = malloc(good.len);
	struct mpk_error err;
	struct mpk_ar ar;

	memcpy(bytes, good.data, good.len);
	bytes[68] = 0xff; /* count, at 8 + 60 */
	ck_assert_int_eq(mpk_ar_read(mpk_span_of(bytes, good.len), &arena, &ar, &err),
			 MPK_E_CORRUPT);
	ck_assert_uint_eq(err.at.offset, 68);
	bytes[68] = 0;
	bytes[75] ^= 2; /* the first offset */
	ck_assert_int_eq(mpk_ar_read(mpk_span_of(bytes, good.len), &arena, &ar, &err),
			 MPK_E_CORRUPT);
	ck_assert_uint_eq(err.at.offset, 72);
	free(bytes);
}
END_TEST

START_TEST(ar_writes_what_gnu_ar_writes)
{
	struct mpk_ar ar = open_ar(DATA "gnu.a");
	struct mpk_rope contents[3], rope = mpk_rope_of(&arena);
	struct mpk_ar_entry entries[3] = { 0 };
	const struct mpk_span symbols[] = { mpk_span_str("add_one"), mpk_span_str("first_symbol"),
					    mpk_span_str("second") };

	for (size_t i = 0; i < 3; i++) {
		contents[i] = content_of(ar.members[i].data);
		entries[i].name = ar.members[i].name;
		entries[i].content = &contents[i];
	}
	entries[0].symbols = symbols;
	entries[0].symbol_count = 1;
	entries[1].symbols = symbols + 1;
	entries[1].symbol_count = 2;
	ck_assert_int_eq(mpk_ar_write(entries, 3, &rope, NULL), MPK_OK);
	assert_same(&rope, DATA "gnu.a");
}
END_TEST

/* A short "#1/" would be a long name of BSD's. */
START_TEST(ar_writes_names_that_look_special)
{
	struct mpk_rope content = content_of(mpk_span_str("abc")), rope = mpk_rope_of(&arena);
	const struct mpk_ar_entry entry = { .name = mpk_span_str("#1"), .content = &content };
	struct mpk_span flat;
	struct mpk_ar again;

	ck_assert_int_eq(mpk_ar_write(&entry, 1, &rope, NULL), MPK_OK);
	ck_assert_int_eq(mpk_rope_flat(&rope, &flat, NULL), MPK_OK);
	ck_assert_int_eq(mpk_ar_read(flat, &arena, &again, NULL), MPK_OK);
	ck_assert_uint_eq(again.member_count, 1);
	ck_assert(mpk_span_is(again.members[0].name, "#1"));
	ck_assert(mpk_span_is(again.members[0].data, "abc"));
}
END_TEST

/* Only lengths count here: the pieces are ranges of a file that is never read. */
START_TEST(ar_beyond_4_gib_has_a_64_bit_index)
{
	struct mpk_rope big = mpk_rope_of(&arena), rope = mpk_rope_of(&arena);
	const struct mpk_span symbol = mpk_span_str("s");
	struct mpk_ar_entry entries[2] = {
		{ mpk_span_str("a.o"), &big, &symbol, 1 },
		{ mpk_span_str("b.o"), &big, &symbol, 1 },
	};
	static const uint8_t head[] = "!<arch>\n/SYM64/         0           0     0     0       "
				      "28        `\n"
				      "\0\0\0\0\0\0\0\002\0\0\0\0\0\0\0\x60\0\0\0\001\0\0\0\x9c";

	mpk_rope_put_file(&big, 0, 0, UINT64_C(1) << 32);
	ck_assert_int_eq(mpk_ar_write(entries, 2, &rope, NULL), MPK_OK);
	ck_assert_uint_eq(rope.len, (UINT64_C(1) << 33) + 8 + 60 + 28 + 120);
	ck_assert_mem_eq(rope.pieces[0].data, head, sizeof head - 1);
}
END_TEST

START_TEST(ar_write_refuses)
{
	struct mpk_rope empty = mpk_rope_of(&arena), huge = mpk_rope_of(&arena);
	struct mpk_rope rope = mpk_rope_of(&arena);
	const struct mpk_span nothing = mpk_span_str("");
	const struct mpk_ar_entry rows[] = {
		{ mpk_span_str(""), &empty, NULL, 0 },
		{ mpk_span_str("a/b.o"), &empty, NULL, 0 },
		{ mpk_span_str("a\nb.o"), &empty, NULL, 0 },
		{ mpk_span_of("a\0b", 3), &empty, NULL, 0 },
		{ mpk_span_str("a.o"), &empty, &nothing, 1 },
		{ mpk_span_str("a.o"), &huge, NULL, 0 },
	};

	mpk_rope_put_file(&huge, 0, 0, UINT64_C(10000000000));
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		ck_assert_msg(mpk_ar_write(&rows[i], 1, &rope, NULL) == MPK_E_RANGE, "row %zu", i);
}
END_TEST

static enum mpk_code try_ar(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena a = { 0 };
	struct mpk_ar ar;
	enum mpk_code code = mpk_ar_read(bytes, &a, &ar, err);

	for (size_t i = 0; code == MPK_OK && i < ar.symbol_count; i++)
		ck_assert_uint_lt(ar.symbols[i].member, ar.member_count);
	mpk_arena_fini(&a);
	return code;
}

START_TEST(hostile)
{
	robust_check(ar_files[_i], try_ar, 10000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ar");
	TCase *tc = tcase_create("ar");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, ar_members_and_index, 0, (int)MPK_ARRAY_COUNT(ar_files));
	tcase_add_test(tc, ar_refuses);
	tcase_add_test(tc, ar_index_is_checked);
	tcase_add_test(tc, ar_writes_what_gnu_ar_writes);
	tcase_add_test(tc, ar_writes_names_that_look_special);
	tcase_add_test(tc, ar_beyond_4_gib_has_a_64_bit_index);
	tcase_add_test(tc, ar_write_refuses);
	suite_add_tcase(suite, tc);
	tc = tcase_create("hostile");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, hostile, 0, (int)MPK_ARRAY_COUNT(ar_files));
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
