/* SPDX-License-Identifier: Apache-2.0 */
/* formats/deflate: parts of a stream equal those of its whole content, and what is refused as a whole is refused
 * alike in parts */
#include "robust.h"

#include <string.h>
#include <zlib.h>

#include "base/compiler.h"
#include "deflate/deflate.h"

enum { CONTENT_BYTES = 1500000, INTERVAL = 70000, SMALL_BYTES = 1000 };

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static uint32_t next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Words that come back, at all distances, and noise between them. */
static struct mpk_span content_of(size_t len)
{
	uint8_t *bytes = mpk_arena_alloc(&arena, len);
	uint32_t state = 1;

	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < len;) {
		size_t n = 3 + next(&state) % 60, back = 1 + next(&state) % 40000;
		bool again = next(&state) % 4 && back <= i;

		for (; n-- && i < len; i++)
			bytes[i] = again ? bytes[i - back] : (uint8_t)next(&state);
	}
	return mpk_span_of(bytes, len);
}

/* A bare stream; level 0 stores, and a strategy of Z_FIXED makes blocks without tables. */
static struct mpk_span pack(struct mpk_span content, int level, int strategy)
{
	uLong room = compressBound((uLong)content.len) + 64;
	uint8_t *bytes = mpk_arena_alloc(&arena, room);
	z_stream z = { 0 };

	ck_assert_ptr_nonnull(bytes);
	ck_assert_int_eq(deflateInit2(&z, level, Z_DEFLATED, -15, 8, strategy), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)content.data;
	z.avail_in = (uInt)content.len;
	z.next_out = bytes;
	z.avail_out = (uInt)room;
	ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return mpk_span_of(bytes, z.total_out);
}

/* --- what the sink receives --------------------------------------------------------------- */

struct seen {
	uint8_t *bytes;
	uint64_t len, room;
};

static void see(void *arg, uint64_t off, struct mpk_span piece)
{
	struct seen *s = arg;

	ck_assert_uint_eq(off, s->len);
	ck_assert_uint_gt(piece.len, 0);
	ck_assert_uint_le(piece.len, MPK_DEFLATE_SINK_BYTES);
	ck_assert_uint_le(piece.len, s->room - s->len);
	memcpy(s->bytes + s->len, piece.data, piece.len);
	s->len += piece.len;
}

static enum mpk_code build(struct mpk_span stream, uint64_t limit, size_t interval,
			   struct mpk_arena *a, struct mpk_deflate_index **out, struct seen *s,
			   struct mpk_error *err)
{
	const struct mpk_deflate_sink sink = { see, s };

	*s = (struct seen){ mpk_arena_alloc(a, (size_t)limit + 1), 0, limit };
	return mpk_deflate_index_build(stream, limit, interval, NULL, &sink, a, out, err);
}

static const struct {
	int level, strategy;
} kinds[] = { { 6, Z_DEFAULT_STRATEGY }, { 0, Z_DEFAULT_STRATEGY }, { 1, Z_FIXED }, { 9, Z_RLE } };

/* --- parts -------------------------------------------------------------------------------- */

static void same(struct mpk_deflate_index *x, struct mpk_span content, uint64_t from, size_t len)
{
	static uint8_t into[CONTENT_BYTES];

	memset(into, 0x5a, len);
	ck_assert(mpk_deflate_index_read(x, from, into, len));
	ck_assert_mem_eq(into, content.data + from, len);
}

START_TEST(makes_parts)
{
	struct mpk_span content = content_of(CONTENT_BYTES);
	struct mpk_span stream = pack(content, kinds[_i].level, kinds[_i].strategy);
	const size_t count = (CONTENT_BYTES - 1) / INTERVAL + 1;
	struct mpk_deflate_index *x;
	struct seen s = { 0 };
	uint32_t state = 7;

	ck_assert_int_eq(build(stream, content.len, INTERVAL, &arena, &x, &s, NULL), MPK_OK);
	ck_assert_uint_eq(s.len, content.len);
	ck_assert_mem_eq(s.bytes, content.data, content.len);
	for (size_t k = count; k-- > 0;) { /* backwards */
		uint64_t at = k * (uint64_t)INTERVAL;

		same(x, content, at, content.len - at < INTERVAL ? content.len - at : INTERVAL);
	}
	for (int i = 0; i < 200; i++) { /* anywhere, and on from there */
		uint64_t at = next(&state) % count * INTERVAL;

		for (int on = 0; on < 3; on++) {
			size_t len = next(&state) % 30000;

			len = content.len - at < len ? content.len - at : len;
			same(x, content, at, len);
			at += len;
		}
	}
	same(x, content, 0, content.len);
	same(x, content, content.len, 0);
}
END_TEST

START_TEST(no_such_part)
{
	struct mpk_span content = content_of(CONTENT_BYTES);
	struct mpk_deflate_index *x;
	uint8_t into[16];
	struct seen s = { 0 };

	ck_assert_int_eq(build(pack(content, 6, 0), content.len, INTERVAL, &arena, &x, &s, NULL),
			 MPK_OK);
	ck_assert(!mpk_deflate_index_read(x, 5, into, 1));
	ck_assert(!mpk_deflate_index_read(x, content.len, into, 1));
	ck_assert(!mpk_deflate_index_read(x, UINT64_MAX, into, 16));
	ck_assert(mpk_deflate_index_read(x, INTERVAL, into, 16));
	ck_assert_mem_eq(into, content.data + INTERVAL, 16);
	ck_assert(!mpk_deflate_index_read(x, INTERVAL + 15, into, 1));
}
END_TEST

/* An archive that somebody writes to meanwhile: no more than false. */
START_TEST(changed)
{
	struct mpk_span content = content_of(CONTENT_BYTES);
	struct mpk_span stream = pack(content, 6, 0);
	uint8_t *bytes = (uint8_t *)mpk_arena_copy(&arena, stream.data, stream.len);
	static uint8_t into[CONTENT_BYTES];
	struct mpk_deflate_index *x;
	struct seen s = { 0 };

	ck_assert_int_eq(
		build(mpk_span_of(bytes, stream.len), content.len, INTERVAL, &arena, &x, &s, NULL),
		MPK_OK);
	memset(bytes, 0xff, stream.len);
	ck_assert(!mpk_deflate_index_read(x, 0, into, content.len));
	memcpy(bytes, stream.data, stream.len);
	same(x, content, 0, content.len);
}
END_TEST

/* --- what is refused ---------------------------------------------------------------------- */

/* The same answer as mpk_deflate_read's, in words, too. */
static void alike(struct mpk_span stream, uint64_t limit, const char *what)
{
	struct mpk_arena scratch = { 0 };
	struct mpk_error whole = { 0 }, parts = { 0 };
	struct mpk_deflate_index *x;
	struct mpk_span content;
	struct seen s = { 0 };
	enum mpk_code code = mpk_deflate_read(stream, limit, NULL, &scratch, &content, &whole);

	ck_assert_msg(build(stream, limit, 256, &scratch, &x, &s, &parts) == code,
		      "%s: whole %s, in parts %s", what, whole.text, parts.text);
	ck_assert_str_eq(parts.text, whole.text);
	if (code == MPK_OK) {
		static uint8_t into[2 * SMALL_BYTES];

		ck_assert_uint_eq(s.len, content.len);
		ck_assert(mpk_deflate_index_read(x, 0, into, content.len));
		ck_assert_mem_eq(into, content.data, content.len);
		ck_assert_mem_eq(s.bytes, content.data, content.len);
	}
	mpk_arena_fini(&scratch);
}

START_TEST(refuses_alike)
{
	struct mpk_span stream = pack(content_of(SMALL_BYTES), kinds[_i].level, kinds[_i].strategy);
	uint8_t *bytes = (uint8_t *)mpk_arena_copy(&arena, stream.data, stream.len);
	char what[64];

	for (size_t len = 0; len <= stream.len; len++) {
		snprintf(what, sizeof what, "cut to %zu bytes", len);
		alike(mpk_span_of(bytes, len), SMALL_BYTES, what);
	}
	for (size_t i = 0; i < stream.len; i++) {
		for (unsigned bit = 1; bit < 256; bit *= 6) {
			bytes[i] ^= (uint8_t)bit;
			snprintf(what, sizeof what, "byte %zu ^ 0x%02x", i, bit);
			alike(mpk_span_of(bytes, stream.len), SMALL_BYTES, what);
			bytes[i] ^= (uint8_t)bit;
		}
	}
	for (uint64_t limit = 0; limit < SMALL_BYTES + 300; limit += 25)
		alike(stream, limit, "limit");
	alike(mpk_span_of(bytes, stream.len + 1), SMALL_BYTES, "a byte after its end");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("deflate_index");
	TCase *tc = tcase_create("deflate_index");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_loop_test(tc, makes_parts, 0, (int)MPK_ARRAY_COUNT(kinds));
	tcase_add_test(tc, no_such_part);
	tcase_add_test(tc, changed);
	tcase_add_loop_test(tc, refuses_alike, 0, (int)MPK_ARRAY_COUNT(kinds));
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
