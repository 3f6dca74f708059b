/* SPDX-License-Identifier: Apache-2.0 */
/* formats/zip: archives made here, byte by byte, and what Python's zipfile wrote (.npz) */
#include "robust.h"

#include <zlib.h>

#include "base/compiler.h"
#include "base/cursor.h"
#include "zip/zip.h"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

/* --- a writer ------------------------------------------------------------------------------ */

struct member {
	const char *name, *content;
	unsigned method, flags;
	bool is_64; /* its sizes and offset in an extra field */
};

struct out {
	uint8_t bytes[4096];
	size_t len;
};

static void put(struct out *o, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		o->bytes[o->len++] = (uint8_t)(i < 8 ? v >> 8 * i : 0);
}

static void put_text(struct out *o, const char *text, size_t len)
{
	memcpy(o->bytes + o->len, text, len);
	o->len += len;
}

static size_t pack(const struct member *m, uint8_t *to, size_t room)
{
	z_stream z = { 0 };
	uint8_t in[256];

	memcpy(in, m->content, strlen(m->content));
	if (m->method != 8) {
		memcpy(to, in, strlen(m->content));
		return strlen(m->content);
	}
	ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = in;
	z.avail_in = (uInt)strlen(m->content);
	z.next_out = to;
	z.avail_out = (uInt)room;
	ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return room - z.avail_out;
}

static void put_head(struct out *o, const struct member *m, size_t packed, bool central,
		     uint64_t local)
{
	uint32_t sum = (uint32_t)crc32(0, (const uint8_t *)m->content, (uInt)strlen(m->content));
	bool far = central && m->is_64;

	put(o, central ? 0x02014b50 : 0x04034b50, 4);
	put(o, 20, central ? 4 : 2);
	put(o, m->flags, 2);
	put(o, m->method, 2);
	put(o, 0, 4);
	put(o, sum, 4);
	put(o, far ? UINT32_MAX : packed, 4);
	put(o, far ? UINT32_MAX : strlen(m->content), 4);
	put(o, strlen(m->name), 2);
	put(o, far ? 28 : central ? 0 : 5, 2); /* a local header may have another extra field */
	if (central) {
		put(o, 0, 10);
		put(o, far ? UINT32_MAX : local, 4);
	}
	put_text(o, m->name, strlen(m->name));
	if (far) {
		put(o, 1, 2);
		put(o, 24, 2);
		put(o, strlen(m->content), 8);
		put(o, packed, 8);
		put(o, local, 8);
	} else if (!central) {
		put(o, 0x7777, 2);
		put(o, 1, 2);
		put(o, 9, 1);
	}
}

static struct mpk_span make(const struct member *members, size_t count, bool far,
			    const char *comment)
{
	static struct out o;
	uint64_t local[8], directory, end;
	size_t packed[8];

	o.len = 0;
	for (size_t i = 0; i < count; i++) {
		uint8_t content[512];

		local[i] = o.len;
		packed[i] = pack(&members[i], content, sizeof content);
		put_head(&o, &members[i], packed[i], false, 0);
		put_text(&o, (const char *)content, packed[i]);
	}
	directory = o.len;
	for (size_t i = 0; i < count; i++)
		put_head(&o, &members[i], packed[i], true, local[i]);
	end = o.len;
	if (far) {
		put(&o, 0x06064b50, 4);
		put(&o, 44, 8);
		put(&o, 0, 12);
		put(&o, count, 8);
		put(&o, count, 8);
		put(&o, end - directory, 8);
		put(&o, directory, 8);
		put(&o, 0x07064b50, 4);
		put(&o, 0, 4);
		put(&o, end, 8);
		put(&o, 1, 4);
	}
	put(&o, 0x06054b50, 4);
	put(&o, 0, 4);
	put(&o, far ? UINT16_MAX : count, 2);
	put(&o, far ? UINT16_MAX : count, 2);
	put(&o, end - directory, 4);
	put(&o, far ? UINT32_MAX : directory, 4);
	put(&o, strlen(comment), 2);
	put_text(&o, comment, strlen(comment));
	return mpk_span_of(o.bytes, o.len);
}

/* --- reading ------------------------------------------------------------------------------- */

static const struct mpk_zip_options options = { .space = "file",
						.advice = "unpack it",
						.check_stored = true };

static const struct member three[] = {
	{ "pkg/lib.so", "stored bytes", 0, 0, false },
	{ "pkg/other.so", "deflated deflated deflated deflated", 8, 0, false },
	{ "pkg/far.so", "with sizes of 64 bits", 8, 0, true },
};

static enum mpk_code read_all(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena scratch = { 0 };
	struct mpk_zip_member *members;
	struct mpk_span content;
	size_t count;
	enum mpk_code code = mpk_zip_list(bytes, "file", &scratch, &members, &count, err);

	for (size_t i = 0; code == MPK_OK && i < count; i++)
		code = mpk_zip_read(bytes, &members[i], &options, &scratch, &content, err);
	mpk_arena_fini(&scratch);
	return code;
}

START_TEST(reads)
{
	struct mpk_span bytes = make(three, 3, _i & 1, _i & 2 ? "a comment, PK\5\6 in it" : "");
	struct mpk_zip_member *members;
	struct mpk_span content;
	size_t count, at;

	ck_assert(mpk_zip_is(bytes));
	ck_assert_int_eq(mpk_zip_list(bytes, "file", &arena, &members, &count, NULL), MPK_OK);
	ck_assert_uint_eq(count, 3);
	for (size_t i = 0; i < 3; i++) {
		ck_assert_int_eq(
			mpk_zip_find(members, count, mpk_span_str(three[i].name), &at, NULL),
			MPK_OK);
		ck_assert_uint_eq(at, i);
		ck_assert_int_eq(mpk_zip_read(bytes, &members[i], &options, &arena, &content, NULL),
				 MPK_OK);
		ck_assert(mpk_span_is(content, three[i].content));
		ck_assert_int_eq(
			mpk_zip_unpack(bytes, &members[i], &options, &arena, &content, NULL),
			MPK_OK);
		ck_assert(mpk_span_is(content, three[i].content));
	}
}
END_TEST

/* The first bytes alone, fewer where there are fewer; of what is broken whatever came before it. */
START_TEST(heads)
{
	struct mpk_span bytes = make(three, 3, _i & 1, "");
	struct mpk_zip_member *members;
	uint8_t head[8];
	size_t count;

	ck_assert_int_eq(mpk_zip_list(bytes, "file", &arena, &members, &count, NULL), MPK_OK);
	for (size_t i = 0; i < 3; i++) {
		size_t want = strlen(three[i].content);

		want = want < sizeof head ? want : sizeof head;
		ck_assert_uint_eq(mpk_zip_head(bytes, &members[i], head, sizeof head), want);
		ck_assert_int_eq(memcmp(head, three[i].content, want), 0);
		ck_assert_uint_eq(mpk_zip_head(bytes, &members[i], head, 0), 0);
		members[i].method = 12;
		ck_assert_uint_eq(mpk_zip_head(bytes, &members[i], head, sizeof head), 0);
		members[i].local = bytes.len;
		ck_assert_uint_eq(mpk_zip_head(bytes, &members[i], head, sizeof head), 0);
	}
}
END_TEST

START_TEST(finds)
{
	struct mpk_zip_member *members;
	struct mpk_error err;
	size_t count, at;

	ck_assert_int_eq(
		mpk_zip_list(make(three, 3, false, ""), "file", &arena, &members, &count, NULL),
		MPK_OK);
	ck_assert_int_eq(mpk_zip_find(members, count, mpk_span_str("lib.so"), &at, &err),
			 MPK_E_NOTFOUND);
	ck_assert_str_eq(err.text, "there is no member 'lib.so'; did you mean 'pkg/lib.so'?");
	ck_assert_int_eq(mpk_zip_find(members, count, mpk_span_str("pkg/otehr.so"), &at, &err),
			 MPK_E_NOTFOUND);
	ck_assert_str_eq(err.text,
			 "there is no member 'pkg/otehr.so'; did you mean 'pkg/other.so'?");
	ck_assert_int_eq(mpk_zip_find(members, count, mpk_span_str("zzz"), &at, &err),
			 MPK_E_NOTFOUND);
	ck_assert_str_eq(err.text, "there is no member 'zzz' among the 3");
}
END_TEST

/* A second member of a name replaces the first when an archive is unpacked. */
START_TEST(one_name_twice)
{
	static const struct member two[] = { { "a.so", "old", 0, 0, false },
					     { "a.so", "new", 0, 0, false } };
	struct mpk_zip_member *members;
	size_t count, at;

	ck_assert_int_eq(
		mpk_zip_list(make(two, 2, false, ""), "file", &arena, &members, &count, NULL),
		MPK_OK);
	ck_assert_int_eq(mpk_zip_find(members, count, mpk_span_str("a.so"), &at, NULL), MPK_OK);
	ck_assert_uint_eq(at, 1);
}
END_TEST

static const struct {
	struct member member;
	size_t at; /* in the member's content */
	enum mpk_code code;
	const char *text;
} bad[] = {
	{ { "a", "content", 0, 1, false }, 0, MPK_E_UNSUPPORTED, "'a' is encrypted" },
	{ { "a", "content", 12, 0, false },
	  0,
	  MPK_E_UNSUPPORTED,
	  "'a' is compressed by method 12; unpack it" },
	{ { "a", "content", 0, 0, false },
	  37,
	  MPK_E_CORRUPT,
	  "broken zip archive: a stored member is not what its checksum says" },
};

START_TEST(refuses)
{
	struct mpk_span made = make(&bad[_i].member, 1, false, "");
	uint8_t *bytes = (uint8_t *)mpk_arena_copy(&arena, made.data, made.len);
	struct mpk_error err = { 0 };

	if (bad[_i].at)
		bytes[bad[_i].at] ^= 1;
	ck_assert_int_eq(read_all(mpk_span_of(bytes, made.len), &err), bad[_i].code);
	ck_assert_str_eq(err.text, bad[_i].text);
}
END_TEST

/* What the directory says of a member's size is not believed. */
START_TEST(claims)
{
	struct mpk_span made = make(&three[1], 1, false, "");
	uint8_t *bytes = (uint8_t *)mpk_arena_copy(&arena, made.data, made.len);
	uint8_t *entry = memmem(bytes, made.len, "PK\1\2", 4);
	struct mpk_error err = { 0 };

	ck_assert_ptr_nonnull(entry);
	memset(entry + 24, 0x7f, 4);
	ck_assert_int_eq(read_all(mpk_span_of(bytes, made.len), &err), MPK_E_UNSUPPORTED);
	entry[24] = 1;
	memset(entry + 25, 0, 3);
	ck_assert_int_ne(read_all(mpk_span_of(bytes, made.len), &err), MPK_OK);
}
END_TEST

START_TEST(survives)
{
	struct mpk_span good = make(three, 3, _i, "comment");

	robust_damage(read_all, good, good.len, 1, good.len);
}
END_TEST

/* --- in parts ----------------------------------------------------------------------------- */

static void see(void *arg, uint64_t off, struct mpk_span piece)
{
	uint64_t *len = arg;

	ck_assert_uint_eq(off, *len);
	*len += piece.len;
}

/* A deflated member that is read in parts: the same answer as of all of it, in words, too. Without zlib it is the same. */
static enum mpk_code read_alike(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena scratch = { 0 };
	struct mpk_error parts_err = { 0 }, own_err = { 0 };
	struct mpk_zip_member *members;
	struct mpk_deflate_index *index;
	struct mpk_span content, own;
	uint8_t part[256];
	uint64_t len = 0;
	size_t count;
	const struct mpk_deflate_sink sink = { see, &len };
	enum mpk_code code = mpk_zip_list(bytes, "file", &scratch, &members, &count, err);

	for (size_t i = 0; code == MPK_OK && i < count; i++) {
		if (members[i].method != MPK_ZIP_DEFLATED)
			continue;
		len = 0;
		code = mpk_zip_read(bytes, &members[i], &options, &scratch, &content, err);
		ck_assert_int_eq(mpk_zip_index(bytes, &members[i], &options, 16, &sink, &scratch,
					       &index, &parts_err),
				 code);
		/* where content is more than the directory says the other one does not know how much */
		ck_assert_int_eq(mpk_zip_unpack(bytes, &members[i], &options, &scratch, &own,
						&own_err) == MPK_OK,
				 code == MPK_OK);
		if (code != MPK_OK) {
			ck_assert_str_eq(parts_err.text, err->text);
			ck_assert_int_eq(parts_err.at.has_offset, err->at.has_offset);
			ck_assert_uint_eq(parts_err.at.offset, err->at.offset);
			break;
		}
		ck_assert_uint_eq(own.len, content.len);
		ck_assert(!own.len || memcmp(own.data, content.data, own.len) == 0);
		ck_assert_uint_eq(len, content.len);
		ck_assert(mpk_deflate_index_read(index, 0, part, content.len));
		ck_assert_mem_eq(part, content.data, content.len);
	}
	mpk_arena_fini(&scratch);
	return code;
}

START_TEST(in_parts)
{
	struct mpk_span good = make(three, 3, _i, "comment");
	struct mpk_error err;

	ck_assert_int_eq(read_alike(good, &err), MPK_OK);
	robust_damage(read_alike, good, good.len, 1, good.len);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("zip");
	TCase *tc = tcase_create("zip");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, reads, 0, 4);
	tcase_add_loop_test(tc, heads, 0, 2);
	tcase_add_test(tc, finds);
	tcase_add_test(tc, one_name_twice);
	tcase_add_loop_test(tc, refuses, 0, (int)MPK_ARRAY_COUNT(bad));
	tcase_add_test(tc, claims);
	tcase_add_loop_test(tc, survives, 0, 2);
	tcase_add_loop_test(tc, in_parts, 0, 2);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
