/* SPDX-License-Identifier: Apache-2.0 */
/* formats/tar and formats/deflate against archives of GNU tools and of TVM */
#include "archive_made.h"

#include "deflate/deflate.h"
#include "tar/tar.h"

static struct mpk_tar open_tar(const char *path)
{
	struct mpk_error err = { 0 };
	struct mpk_tar tar;

	ck_assert_msg(mpk_tar_read(robust_load(&arena, path), &arena, &tar, &err) == MPK_OK,
		      "%s: %s", path, err.text);
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
	ck_assert_str_eq(gnu.members[0].name, "./note.txt");
	ck_assert_str_eq(v7.members[0].name, "note.txt");
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
	ck_assert_int_eq(
		mpk_tar_read(robust_load(&arena, DATA "sparse_pax.tar"), &arena, &tar, &err),
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
		entries[i] =
			(struct mpk_tar_entry){ mpk_span_str(tar.members[i].name), &contents[i] };
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
	ck_assert_int_eq(
		mpk_gzip_read(mpk_span_of(twice, 2 * packed.len), 1 << 20, &arena, &out, &err),
		MPK_OK);
	ck_assert_uint_eq(out.len, 2 * want.len);
	memset(twice + packed.len, 0, packed.len);
	ck_assert_int_eq(
		mpk_gzip_read(mpk_span_of(twice, 2 * packed.len), 1 << 20, &arena, &out, &err),
		MPK_OK);
	ck_assert_uint_eq(out.len, want.len);
	twice[packed.len - 8] ^= 1; /* the checksum */
	ck_assert_int_eq(mpk_gzip_read(mpk_span_of(twice, packed.len), 1 << 20, &arena, &out, &err),
			 MPK_E_CORRUPT);
	ck_assert_int_eq(mpk_gzip_read(mpk_span_str("text"), 9, &arena, &out, &err), MPK_E_CORRUPT);
	free(twice);

	/* the stream inside: header of 10 bytes (no name), trailer of 8 */
	packed = mpk_span_of(packed.data + 10, packed.len - 18);
	ck_assert_int_eq(mpk_deflate_read(packed, want.len, NULL, &arena, &out, &err), MPK_OK);
	ck_assert(mpk_span_equal(out, want));
	packed.len++;
	ck_assert_int_eq(mpk_deflate_read(packed, want.len, NULL, &arena, &out, &err),
			 MPK_E_CORRUPT);
	packed.len -= 2;
	ck_assert_int_eq(mpk_deflate_read(packed, want.len, NULL, &arena, &out, &err),
			 MPK_E_CORRUPT);
}
END_TEST

/* What TVM itself exported. */
START_TEST(tvm_tar)
{
	struct mpk_span packed = robust_load(&arena, "tests/data/formats/12_syslib_prefix.tar"),
			plain;
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
		{ DATA "plain.tar", try_tar },     { DATA "pax.tar", try_tar },
		{ DATA "gnu.tar", try_tar },       { DATA "prefix.tar", try_tar },
		{ DATA "plain.tar.gz", try_gzip },
	};

	robust_check(rows[_i].path, rows[_i].read, 10000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tar");
	TCase *tc = tcase_create("tar");
	SRunner *runner;
	int failed;

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
	tcase_add_loop_test(tc, hostile, 0, 5);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
