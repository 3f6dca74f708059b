/* formats/ar, formats/tar, formats/deflate against archives of GNU and LLVM tools */
#include "robust.h"

#include <stdlib.h>

#include "ar/ar.h"
#include "deflate/deflate.h"
#include "tar/tar.h"

#define DATA "tests/data/archive/"

static const char long_path[] =
	"a_directory_name_of_thirty_chars/another_directory_with_a_long_name_too/"
	"and_a_file_whose_name_makes_it_more_than_a_hundred.o";

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static struct mpk_ar open_ar(const char *path)
{
	struct mpk_error err = { 0 };
	struct mpk_ar ar;

	ck_assert_msg(mpk_ar_read(robust_load(&arena, path), &arena, &ar, &err) == MPK_OK, "%s: %s",
		      path, err.text);
	return ar;
}

static const char *const ar_files[] = {
	DATA "gnu.a", DATA "gnu64.a", DATA "bsd.a", DATA "darwin.a",
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
	ck_assert_ptr_eq(mpk_ar_find(&ar, mpk_span_str("note.txt")), &ar.members[2]);
	ck_assert_ptr_null(mpk_ar_find(&ar, mpk_span_str("note")));
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
			      "%s: %d at %lu: %s", rows[i].what, code,
			      (unsigned long)err.at.offset, err.text);
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

static struct mpk_rope content_of(struct mpk_span bytes)
{
	struct mpk_rope rope = mpk_rope_of(&arena);

	mpk_rope_put_view(&rope, bytes);
	return rope;
}

static void assert_same(const struct mpk_rope *rope, const char *path)
{
	struct mpk_span want = robust_load(&arena, path), got;

	ck_assert_int_eq(mpk_rope_flat(rope, &got, NULL), MPK_OK);
	ck_assert_uint_eq(got.len, want.len);
	for (size_t i = 0; i < got.len; i++)
		ck_assert_msg(got.data[i] == want.data[i], "%s: byte %zu is %02x, want %02x",
			      path, i, got.data[i], want.data[i]);
}

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

static struct mpk_tar open_tar(const char *path)
{
	struct mpk_error err = { 0 };
	struct mpk_tar tar;

	ck_assert_msg(mpk_tar_read(robust_load(&arena, path), &arena, &tar, &err) == MPK_OK, "%s: %s",
		      path, err.text);
	return tar;
}

START_TEST(tar_plain)
{
	struct mpk_tar tar = open_tar(DATA "plain.tar");

	ck_assert_uint_eq(tar.member_count, 3);
	ck_assert_str_eq(tar.members[0].name, "add.o");
	ck_assert_uint_eq(tar.members[0].data.len, 624);
	ck_assert(mpk_span_starts(tar.members[0].data, "\177ELF"));
	ck_assert_uint_eq(tar.members[0].data_off, 512);
	ck_assert_uint_eq(tar.members[1].header_off, 512 + 1024);
	ck_assert(mpk_span_is(tar.members[1].data, "odd"));
	ck_assert_str_eq(tar.members[2].name, "empty");
	ck_assert_uint_eq(tar.members[2].data.len, 0);
}
END_TEST

START_TEST(tar_long_names)
{
	static const struct {
		const char *path;
		size_t at;
	} rows[] = { { DATA "pax.tar", 1 }, { DATA "gnu.tar", 1 }, { DATA "prefix.tar", 0 } };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		struct mpk_tar tar = open_tar(rows[i].path);

		ck_assert_str_eq(tar.members[rows[i].at].name, long_path);
		ck_assert_msg(mpk_span_is(tar.members[rows[i].at].data, "long content"), "%s",
			      rows[i].path);
	}
}
END_TEST

START_TEST(tar_types)
{
	struct mpk_tar gnu = open_tar(DATA "gnu.tar"), v7 = open_tar(DATA "v7.tar");

	ck_assert_uint_eq(gnu.member_count, 4);
	ck_assert_int_eq(gnu.members[2].type, MPK_TAR_DIRECTORY);
	ck_assert_int_eq(gnu.members[3].type, MPK_TAR_LINK);
	ck_assert_uint_eq(v7.member_count, 2);
	ck_assert_int_eq(v7.members[0].type, MPK_TAR_FILE);
	ck_assert_int_eq(v7.members[1].type, MPK_TAR_DIRECTORY);
	ck_assert_ptr_eq(mpk_tar_find(&gnu, "note.txt"), &gnu.members[0]);
	ck_assert_ptr_eq(mpk_tar_find(&v7, "./note.txt"), &v7.members[0]);
	ck_assert_ptr_null(mpk_tar_find(&gnu, "dir/"));
}
END_TEST

/* Sets one header field and makes the checksum fit again. */
static void patch_header(uint8_t *h, size_t off, const char *text, size_t len)
{
	unsigned sum = 0;
	char digits[8];

	memcpy(h + off, text, len);
	memset(h + 148, ' ', 8);
	for (size_t i = 0; i < 512; i++)
		sum += h[i];
	snprintf(digits, sizeof digits, "%06o", sum);
	memcpy(h + 148, digits, 7);
}

START_TEST(tar_refuses)
{
	static const struct {
		const char *what;
		size_t field, len;
		const char *text;
		enum mpk_code code;
	} rows[] = {
		{ "size no number", 124, 3, "xyz", MPK_E_CORRUPT },
		{ "size negative", 124, 12, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		  MPK_E_CORRUPT },
		{ "size beyond 2^64", 124, 12, "\x80\1\1\1\1\1\1\1\1\1\1\1", MPK_E_CORRUPT },
		{ "size beyond the end", 124, 12, "77777777777", MPK_E_CORRUPT },
		{ "size 2^64 - 1", 124, 12, "\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
		  MPK_E_CORRUPT },
		{ "no name", 0, 5, "\0\0\0\0\0", MPK_E_CORRUPT },
		{ "broken pax", 156, 1, "x", MPK_E_CORRUPT },
		{ "multi-volume", 156, 1, "M", MPK_E_UNSUPPORTED },
	};
	struct mpk_span good = robust_load(&arena, DATA "plain.tar");
	uint8_t *bytes = malloc(good.len);
	struct mpk_error err;
	struct mpk_tar tar;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		memcpy(bytes, good.data, good.len);
		/* the second member, so that the archive is recognised by its first */
		patch_header(bytes + 1536, rows[i].field, rows[i].text, rows[i].len);
		ck_assert_msg(mpk_tar_read(mpk_span_of(bytes, good.len), &arena, &tar, &err) ==
				      rows[i].code,
			      "%s", rows[i].what);
		ck_assert_msg(err.at.offset >= 1536 && err.at.offset < 2560, "%s", rows[i].what);
	}
	memcpy(bytes, good.data, good.len);
	bytes[1536] = 'X';
	ck_assert_int_eq(mpk_tar_read(mpk_span_of(bytes, good.len), &arena, &tar, &err),
			 MPK_E_CORRUPT);
	ck_assert_str_eq(err.text, "tar archive: a header's checksum does not fit");
	free(bytes);
	ck_assert_int_eq(mpk_tar_read(mpk_span_of(good.data, 3072), &arena, &tar, &err),
			 MPK_E_CORRUPT); /* complete members, no end marker */
	ck_assert_int_eq(mpk_tar_read(mpk_span_str("text"), &arena, &tar, &err), MPK_E_CORRUPT);
	ck_assert_int_eq(mpk_tar_read(robust_load(&arena, DATA "sparse.tar"), &arena, &tar, &err),
			 MPK_E_UNSUPPORTED);
	ck_assert_int_eq(mpk_tar_read(robust_load(&arena, DATA "sparse_pax.tar"), &arena, &tar, &err),
			 MPK_E_UNSUPPORTED);
}
END_TEST

static void write_again(const char *path)
{
	struct mpk_tar tar = open_tar(path);
	struct mpk_rope contents[3], rope = mpk_rope_of(&arena);
	struct mpk_tar_entry entries[3];

	ck_assert_uint_eq(tar.member_count, 3);
	for (size_t i = 0; i < 3; i++) {
		contents[i] = content_of(tar.members[i].data);
		entries[i] = (struct mpk_tar_entry){ mpk_span_str(tar.members[i].name),
						     &contents[i] };
	}
	ck_assert_int_eq(mpk_tar_write(entries, 3, 0, &rope, NULL), MPK_OK);
	assert_same(&rope, path);
}

START_TEST(tar_writes_what_gnu_tar_writes)
{
	write_again(DATA "plain.tar");
	write_again(DATA "pax.tar");
}
END_TEST

START_TEST(tar_large_sizes_go_to_a_pax_record)
{
	struct mpk_rope big = mpk_rope_of(&arena), rope = mpk_rope_of(&arena);
	struct mpk_tar_entry entry = { mpk_span_str("big.o"), &big };
	struct mpk_span head;

	mpk_rope_put_file(&big, 0, 0, UINT64_C(1) << 33);
	ck_assert_int_eq(mpk_tar_write(&entry, 1, 0, &rope, NULL), MPK_OK);
	head = mpk_span_of(rope.pieces[0].data + 512, 19);
	ck_assert(mpk_span_is(head, "19 size=8589934592\n"));
	ck_assert_uint_eq(rope.len, (UINT64_C(1) << 33) + 5 * 512);
	ck_assert_int_eq(mpk_tar_write(&entry, 1, UINT64_C(1) << 33, &rope, NULL), MPK_E_RANGE);
	entry.name = mpk_span_str("");
	ck_assert_int_eq(mpk_tar_write(&entry, 1, 0, &rope, NULL), MPK_E_RANGE);
}
END_TEST

START_TEST(gzip)
{
	struct mpk_span packed = robust_load(&arena, DATA "plain.tar.gz"), plain, out;
	struct mpk_span want = robust_load(&arena, DATA "plain.tar");
	struct mpk_error err;
	uint8_t *twice = malloc(2 * packed.len);

	ck_assert_int_eq(mpk_gzip_read(packed, want.len, &arena, &plain, &err), MPK_OK);
	ck_assert(mpk_span_equal(plain, want));
	ck_assert_int_eq(mpk_gzip_read(packed, want.len - 1, &arena, &out, &err),
			 MPK_E_UNSUPPORTED);
	memcpy(twice, packed.data, packed.len);
	memcpy(twice + packed.len, packed.data, packed.len);
	ck_assert_int_eq(mpk_gzip_read(mpk_span_of(twice, 2 * packed.len), 1 << 20, &arena, &out,
				       &err), MPK_OK);
	ck_assert_uint_eq(out.len, 2 * want.len);
	memset(twice + packed.len, 0, packed.len);
	ck_assert_int_eq(mpk_gzip_read(mpk_span_of(twice, 2 * packed.len), 1 << 20, &arena, &out,
				       &err), MPK_OK);
	ck_assert_uint_eq(out.len, want.len);
	twice[packed.len - 8] ^= 1; /* the checksum */
	ck_assert_int_eq(mpk_gzip_read(mpk_span_of(twice, packed.len), 1 << 20, &arena, &out, &err),
			 MPK_E_CORRUPT);
	ck_assert_int_eq(mpk_gzip_read(mpk_span_str("text"), 9, &arena, &out, &err), MPK_E_CORRUPT);
	free(twice);

	/* the stream inside: header of 10 bytes (no name), trailer of 8 */
	packed = mpk_span_of(packed.data + 10, packed.len - 18);
	ck_assert_int_eq(mpk_deflate_read(packed, want.len, &arena, &out, &err), MPK_OK);
	ck_assert(mpk_span_equal(out, want));
	packed.len++;
	ck_assert_int_eq(mpk_deflate_read(packed, want.len, &arena, &out, &err), MPK_E_CORRUPT);
	packed.len -= 2;
	ck_assert_int_eq(mpk_deflate_read(packed, want.len, &arena, &out, &err), MPK_E_CORRUPT);
}
END_TEST

/* What TVM itself exported. */
START_TEST(tvm_tar)
{
	struct mpk_span packed = robust_load(&arena, "tests/data/formats/12_syslib_prefix.tar"), plain;
	struct mpk_error err = { 0 };
	struct mpk_tar tar;

	ck_assert(mpk_gzip_is(packed) && !mpk_tar_is(packed));
	ck_assert_int_eq(mpk_gzip_read(packed, 1 << 20, &arena, &plain, &err), MPK_OK);
	ck_assert_int_eq(mpk_tar_read(plain, &arena, &tar, &err), MPK_OK);
	ck_assert_uint_eq(tar.member_count, 2);
	ck_assert_str_eq(tar.members[0].name, "pre_devc.o");
	ck_assert_uint_eq(tar.members[0].data.len, 2552);
	ck_assert_str_eq(tar.members[1].name, "lib0.o");
	ck_assert_uint_eq(tar.members[1].data.len, 17240);
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

static enum mpk_code try_tar(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena a = { 0 };
	struct mpk_tar tar;
	enum mpk_code code = mpk_tar_read(bytes, &a, &tar, err);

	mpk_arena_fini(&a);
	return code;
}

static enum mpk_code try_gzip(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena a = { 0 };
	struct mpk_span out;
	enum mpk_code code = mpk_gzip_read(bytes, 1 << 20, &a, &out, err);

	mpk_arena_fini(&a);
	return code;
}

START_TEST(hostile)
{
	static const struct {
		const char *path;
		robust_reader read;
	} rows[] = {
		{ DATA "gnu.a", try_ar },     { DATA "gnu64.a", try_ar },
		{ DATA "bsd.a", try_ar },     { DATA "darwin.a", try_ar },
		{ DATA "plain.tar", try_tar }, { DATA "pax.tar", try_tar },
		{ DATA "gnu.tar", try_tar },  { DATA "prefix.tar", try_tar },
		{ DATA "plain.tar.gz", try_gzip },
	};

	robust_check(rows[_i].path, rows[_i].read, 10000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("archive");
	TCase *tc = tcase_create("ar");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, ar_members_and_index, 0, (int)MPK_ARRAY_COUNT(ar_files));
	tcase_add_test(tc, ar_refuses);
	tcase_add_test(tc, ar_index_is_checked);
	tcase_add_test(tc, ar_writes_what_gnu_ar_writes);
	tcase_add_test(tc, ar_beyond_4_gib_has_a_64_bit_index);
	tcase_add_test(tc, ar_write_refuses);
	suite_add_tcase(suite, tc);
	tc = tcase_create("tar");
	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_test(tc, tar_plain);
	tcase_add_test(tc, tar_long_names);
	tcase_add_test(tc, tar_types);
	tcase_add_test(tc, tar_refuses);
	tcase_add_test(tc, tar_writes_what_gnu_tar_writes);
	tcase_add_test(tc, tar_large_sizes_go_to_a_pax_record);
	tcase_add_test(tc, gzip);
	tcase_add_test(tc, tvm_tar);
	suite_add_tcase(suite, tc);
	tc = tcase_create("hostile");
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, hostile, 0, 9);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
