/* SPDX-License-Identifier: Apache-2.0 */
/* formats/deflate/inflate.h: what zlib packs in all of its ways, and what it refuses */
#include "assert_error.h"
#include "robust.h"

#include <zlib.h>

#include "base/compiler.h"
#include "deflate/deflate.h"
#include "deflate/inflate.h"

enum { CONTENT_MAX = 200000, PACKED_MAX = CONTENT_MAX + 4096 };

static uint8_t content[CONTENT_MAX], packed[PACKED_MAX], got[CONTENT_MAX + 1];
static unsigned seed;

static unsigned draw(unsigned n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static size_t pack(size_t len, int level, int strategy)
{
	z_stream z = { .next_in = content,
		       .avail_in = (uInt)len,
		       .next_out = packed,
		       .avail_out = PACKED_MAX };

	ck_assert_int_eq(deflateInit2(&z, level, Z_DEFLATED, -15, 9, strategy), Z_OK);
	ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return PACKED_MAX - z.avail_out;
}

/* Bytes of few kinds, runs of them, or any. */
static void fill(size_t len, int kind)
{
	for (size_t i = 0; i < len; i++)
		content[i] =
			(uint8_t)(kind == 0   ? draw(256)
				  : kind == 1 ? draw(3) * draw(3)
				  : kind == 2 ? i / 700
					      : (draw(50) ? content[i ? i - 1 : 0] : draw(256)));
}

START_TEST(all_that_zlib_packs)
{
	static const int strategies[] = { Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE,
					  Z_FIXED };
	struct mpk_error err = { 0 };

	seed = (unsigned)_i + 1;
	for (int kind = 0; kind < 4; kind++)
		for (int level = 0; level <= 9; level += 3) {
			size_t len = _i < 3 ? (size_t)_i : draw(CONTENT_MAX);

			fill(len, kind);
			size_t bytes = pack(len, level, strategies[_i % 5]);

			memset(got, 0, sizeof got);
			ck_assert_ok(mpk_inflate(mpk_span_of(packed, bytes), got, len, &err), err);
			ck_assert_mem_eq(got, content, len);
			ck_assert_uint_eq(mpk_inflate_sum(mpk_span_of(got, len)),
					  crc32(crc32(0, NULL, 0), content, (uInt)len));
			/* another size, and what follows */
			ck_assert_int_eq(
				mpk_inflate(mpk_span_of(packed, bytes), got, len + 1, &err),
				MPK_E_CORRUPT);
			if (len)
				ck_assert_int_eq(
					mpk_inflate(mpk_span_of(packed, bytes), got, len - 1, &err),
					MPK_E_CORRUPT);
			packed[bytes] = 0;
			ck_assert_int_eq(
				mpk_inflate(mpk_span_of(packed, bytes + 1), got, len, &err),
				MPK_E_CORRUPT);
		}
}
END_TEST

/* A damaged stream is what zlib says that it is. */
START_TEST(damaged_streams)
{
	struct mpk_error err = { 0 };
	size_t bytes;

	seed = (unsigned)_i + 77;
	fill(700, _i % 4);
	bytes = pack(700, _i % 2 ? 9 : 1, _i % 3 ? Z_DEFAULT_STRATEGY : Z_FIXED);
	for (size_t len = 0; len < bytes; len++)
		ck_assert_int_eq(mpk_inflate(mpk_span_of(packed, len), got, 700, &err),
				 MPK_E_CORRUPT);
	for (int round = 0; round < 4000; round++) {
		MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
		size_t at = draw((unsigned)bytes);
		uint8_t before = packed[at];
		struct mpk_span wanted = { 0 };
		enum mpk_code code;

		packed[at] ^= (uint8_t)(1 + draw(255));
		code = mpk_deflate_read(mpk_span_of(packed, bytes), CONTENT_MAX, NULL, &arena,
					&wanted, &err);
		if (code == MPK_OK) {
			ck_assert_ok(mpk_inflate(mpk_span_of(packed, bytes), got, wanted.len, &err),
				     err);
			ck_assert(!wanted.len || memcmp(got, wanted.data, wanted.len) == 0);
		} else {
			ck_assert_int_eq(mpk_inflate(mpk_span_of(packed, bytes), got, 700, &err),
					 MPK_E_CORRUPT);
		}
		packed[at] = before;
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("inflate");
	TCase *tc = tcase_create("inflate");

	tcase_add_loop_test(tc, all_that_zlib_packs, 0, 15);
	tcase_add_loop_test(tc, damaged_streams, 0, 8);
	suite_add_tcase(s, tc);

	SRunner *runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
