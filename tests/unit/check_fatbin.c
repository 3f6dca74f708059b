/* SPDX-License-Identifier: Apache-2.0 */
/* formats/fatbin: what nvcc was told against what is read */
#include "robust.h"

#include "base/compiler.h"
#include "base/cursor.h"
#include "cubin/cubin.h"
#include "fatbin/fatbin.h"

#define DATA "tests/data/device/"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

static struct mpk_fatbin open_fatbin(struct mpk_span bytes)
{
	struct mpk_error err = { 0 };
	struct mpk_fatbin f;

	ck_assert_msg(mpk_fatbin_read(bytes, &arena, &f, &err) == MPK_OK, "%s", err.text);
	return f;
}

static const struct {
	const char *path;
	size_t count;
	struct {
		enum mpk_fatbin_kind kind;
		unsigned sm;
		enum mpk_fatbin_packing packing;
		uint64_t plain_bytes;
		bool arch, family, debug;
	} entries[3];
} files[] = {
	{ DATA "tiny.none.fatbin",
	  3,
	  { { MPK_FATBIN_ELF, 80, MPK_FATBIN_STORED, 3112, 0, 0, 0 },
	    { MPK_FATBIN_PTX, 90, MPK_FATBIN_STORED, 336, 0, 0, 0 },
	    { MPK_FATBIN_ELF, 90, MPK_FATBIN_STORED, 3568, 0, 0, 0 } } },
	{ DATA "tiny.speed.fatbin",
	  3,
	  { { MPK_FATBIN_ELF, 80, MPK_FATBIN_STORED, 3112, 0, 0, 0 },
	    { MPK_FATBIN_PTX, 90, MPK_FATBIN_LZ4, 336, 0, 0, 0 },
	    { MPK_FATBIN_ELF, 90, MPK_FATBIN_STORED, 3568, 0, 0, 0 } } },
	{ DATA "tiny.size.fatbin",
	  3,
	  { { MPK_FATBIN_ELF, 80, MPK_FATBIN_ZSTD, 3112, 0, 0, 0 },
	    { MPK_FATBIN_PTX, 90, MPK_FATBIN_ZSTD, 336, 0, 0, 0 },
	    { MPK_FATBIN_ELF, 90, MPK_FATBIN_ZSTD, 3568, 0, 0, 0 } } },
	{ DATA "tiny.lto.fatbin",
	  3,
	  { { MPK_FATBIN_ELF, 90, MPK_FATBIN_ZSTD, 3568, 1, 0, 0 },
	    { MPK_FATBIN_LTO, 90, MPK_FATBIN_ZSTD, 2160, 0, 0, 0 },
	    { MPK_FATBIN_ELF, 100, MPK_FATBIN_ZSTD, 5272, 0, 1, 0 } } },
	{ DATA "tiny.concat.fatbin",
	  3,
	  { { MPK_FATBIN_TILE, 100, MPK_FATBIN_ZSTD, 1132, 0, 0, 1 },
	    { MPK_FATBIN_ELF, 80, MPK_FATBIN_ZSTD, 3112, 0, 0, 1 },
	    { MPK_FATBIN_ELF, 90, MPK_FATBIN_ZSTD, 3568, 0, 0, 1 } } },
	{ DATA "tiny.debug.fatbin", 1, { { MPK_FATBIN_ELF, 75, MPK_FATBIN_ZSTD, 2856, 0, 0, 1 } } },
};

START_TEST(entries)
{
	struct mpk_span bytes = robust_load(&arena, files[_i].path);
	struct mpk_fatbin f = open_fatbin(bytes);

	ck_assert_uint_eq(f.entry_count, files[_i].count);
	ck_assert_uint_eq(f.used, bytes.len);
	for (size_t i = 0; i < f.entry_count; i++) {
		const struct mpk_fatbin_entry *e = &f.entries[i];

		ck_assert_msg(e->kind == files[_i].entries[i].kind, "%s %zu", files[_i].path, i);
		ck_assert_uint_eq(e->sm, files[_i].entries[i].sm);
		ck_assert_int_eq(e->packing, files[_i].entries[i].packing);
		ck_assert_uint_eq(e->plain_bytes, files[_i].entries[i].plain_bytes);
		ck_assert_int_eq(e->arch_specific, files[_i].entries[i].arch);
		ck_assert_int_eq(e->family_specific, files[_i].entries[i].family);
		ck_assert_int_eq(e->debug, files[_i].entries[i].debug);
		ck_assert_ptr_eq(e->data.data, bytes.data + e->data_off);
	}
}
END_TEST

START_TEST(images)
{
	struct mpk_fatbin f = open_fatbin(robust_load(&arena, DATA "tiny.none.fatbin"));
	struct mpk_cubin c;

	for (size_t i = 0; i < 3; i += 2) {
		ck_assert_int_eq(mpk_cubin_read(f.entries[i].data, &arena, &c, NULL), MPK_OK);
		ck_assert_uint_eq(c.sm, f.entries[i].sm);
		ck_assert(mpk_span_is(c.kernels[0].name, "tiny"));
	}
	ck_assert_ptr_nonnull(
		memmem(f.entries[1].data.data, f.entries[1].data.len, ".entry tiny", 11));
	ck_assert_uint_eq(f.entries[1].ir_major, 9);
	ck_assert_uint_eq(f.entries[1].ir_minor, 0);
	/* a zstd frame, RFC 8878 */
	f = open_fatbin(robust_load(&arena, DATA "tiny.size.fatbin"));
	ck_assert_uint_eq(mpk_load_u32(f.entries[0].data.data), 0xfd2fb528);
	f = open_fatbin(robust_load(&arena, DATA "tiny.debug.fatbin"));
	ck_assert(mpk_span_is(f.entries[0].name, "tiny.cu"));
}
END_TEST

START_TEST(inside_a_library)
{
	struct mpk_span so = robust_load(&arena, "tests/data/cuda/fatbin/saxpy_cuda.so");
	const uint8_t *at = memmem(so.data, so.len, "\x50\xed\x55\xba\x01", 5);
	struct mpk_fatbin f;

	ck_assert_ptr_nonnull(at);
	f = open_fatbin(mpk_span_of(at, (size_t)(so.data + so.len - at)));
	ck_assert_uint_eq(f.entry_count, 2);
	for (size_t i = 0; i < 2; i++)
		ck_assert_uint_eq(f.entries[i].sm, 90);
	ck_assert_int_ne(f.entries[0].kind, f.entries[1].kind);
}
END_TEST

START_TEST(refuses)
{
	static const struct {
		size_t off;
		uint8_t value;
		enum mpk_code code;
		uint64_t at;
		const char *text;
	} rows[] = {
		{ 0, 0, MPK_E_CORRUPT, 0, "fatbin: no fatbin magic" },
		{ 4, 2, MPK_E_UNSUPPORTED, 4,
		  "fatbin: version 2 with a header of 16 bytes is not known" },
		{ 10, 1, MPK_E_CORRUPT, 8,
		  "fatbin: the images reach beyond the end; it was cut off" },
		{ 20, 63, MPK_E_CORRUPT, 20,
		  "fatbin: the header of an image is shorter than 64 bytes" },
		{ 33, 0xff, MPK_E_CORRUPT, 32, "fatbin: a packed image is longer than its entry" },
		{ 48, 200, MPK_E_CORRUPT, 48, "fatbin: an image's name lies outside its header" },
	};
	static const uint8_t wrapper[24] = { 0xb1, 0x43, 0x62, 0x46, 1 };
	struct mpk_span good = robust_load(&arena, DATA "tiny.debug.fatbin");
	uint8_t *bytes = mpk_arena_alloc(&arena, good.len);
	struct mpk_error err;
	struct mpk_fatbin f;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		memcpy(bytes, good.data, good.len);
		bytes[rows[i].off] = rows[i].value;
		ck_assert_int_eq(mpk_fatbin_read(mpk_span_of(bytes, good.len), &arena, &f, &err),
				 rows[i].code);
		ck_assert_str_eq(err.text, rows[i].text);
		ck_assert_uint_eq(err.at.offset, rows[i].at);
	}
	ck_assert(mpk_fatbin_is(mpk_span_of(wrapper, sizeof wrapper)));
	ck_assert_int_eq(mpk_fatbin_read(mpk_span_of(wrapper, sizeof wrapper), &arena, &f, &err),
			 MPK_E_UNSUPPORTED);
}
END_TEST

static enum mpk_code try_fatbin(struct mpk_span bytes, struct mpk_error *err)
{
	struct mpk_arena a = { 0 };
	struct mpk_fatbin f;
	enum mpk_code code = mpk_fatbin_read(bytes, &a, &f, err);

	mpk_arena_fini(&a);
	return code;
}

START_TEST(hostile)
{
	robust_check(files[_i].path, try_fatbin, 10000);
}
END_TEST

/* --- packed images ------------------------------------------------------------------ */

static struct mpk_span unpacked(const struct mpk_fatbin_entry *e)
{
	uint64_t left = MPK_FATBIN_TOTAL_MAX;
	struct mpk_error err = { 0 };
	struct mpk_span out;

	ck_assert_msg(mpk_fatbin_unpack(e, &left, NULL, &arena, &out, &err) == MPK_OK, "%s",
		      err.text);
	ck_assert_uint_eq(left, MPK_FATBIN_TOTAL_MAX -
					(e->packing == MPK_FATBIN_STORED ? 0 : e->plain_bytes));
	return out;
}

/* One kernel, packed by nvcc in three ways. */
START_TEST(unpacks_to_what_was_packed)
{
	struct mpk_fatbin plain = open_fatbin(robust_load(&arena, DATA "tiny.none.fatbin"));
	static const char *const packed[] = { DATA "tiny.speed.fatbin", DATA "tiny.size.fatbin" };

	for (size_t p = 0; p < MPK_ARRAY_COUNT(packed); p++) {
		struct mpk_fatbin f = open_fatbin(robust_load(&arena, packed[p]));

		ck_assert_uint_eq(f.entry_count, plain.entry_count);
		for (size_t i = 0; i < f.entry_count; i++) {
			struct mpk_span a = unpacked(&f.entries[i]),
					b = unpacked(&plain.entries[i]);

			ck_assert_uint_eq(a.len, b.len);
			ck_assert_mem_eq(a.data, b.data, a.len);
		}
	}
}
END_TEST

/* Cubins of the same source as those that were packed alone, and Tile IR. */
START_TEST(images_packed_together)
{
	struct mpk_fatbin plain = open_fatbin(robust_load(&arena, DATA "tiny.none.fatbin")),
			  f = open_fatbin(robust_load(&arena, DATA "tiny.concat.fatbin")), again;
	struct mpk_fatbin_unpacked last = { 0 };
	uint64_t left = MPK_FATBIN_TOTAL_MAX, bytes = 0;
	const struct mpk_fatbin_entry *list[2];
	struct mpk_rope out = mpk_rope_of(&arena);
	struct mpk_span plains[2], flat;

	ck_assert_uint_eq(f.entries[0].ir_major, 13);
	ck_assert_uint_eq(f.entries[0].ir_minor, 1);
	ck_assert_uint_eq(f.entries[0].piece_bytes, 0);
	for (size_t i = 0; i < 2; i++) {
		const struct mpk_fatbin_entry *e = &f.entries[i + 1];

		ck_assert(mpk_span_is(e->name, "tiny.cu"));
		ck_assert_ptr_eq(e->piece.data, f.entries[1].piece.data);
		ck_assert_int_eq(mpk_fatbin_unpack(e, &left, &last, &arena, &plains[i], NULL),
				 MPK_OK);
		ck_assert_uint_eq(plains[i].len, plain.entries[2 * i].data.len);
		bytes += mpk_fatbin_entry_bytes(e);
		list[i] = e;
	}
	/* unpacked once, and counted once */
	ck_assert_uint_eq(left, MPK_FATBIN_TOTAL_MAX - 3112 - 3568);
	ck_assert(bytes <= f.entries[1].data.len && bytes + 2 > f.entries[1].data.len);

	/* both, and one alone, can be packed again */
	for (size_t count = 2; count; count--) {
		struct mpk_rope one = mpk_rope_of(&arena);
		bool debug[2] = { true, false };

		out = mpk_rope_of(&arena);
		ck_assert_int_eq(mpk_fatbin_put_together(&one, list, plains, debug, count, NULL),
				 MPK_OK);
		mpk_fatbin_put_header(&out, one.len);
		mpk_rope_put_rope(&out, &one);
		ck_assert_int_eq(mpk_rope_flat(&out, &flat, NULL), MPK_OK);
		again = open_fatbin(flat);
		ck_assert_uint_eq(again.entry_count, count);
		for (size_t i = 0; i < count; i++) {
			const struct mpk_fatbin_entry *e = &again.entries[i];
			struct mpk_span image;

			left = MPK_FATBIN_TOTAL_MAX;
			ck_assert(mpk_span_is(e->name, "tiny.cu"));
			ck_assert_uint_eq(e->sm, i ? 90 : 80);
			ck_assert_int_eq(e->debug, debug[i]);
			ck_assert_int_eq(mpk_fatbin_unpack(e, &left, NULL, &arena, &image, NULL),
					 MPK_OK);
			ck_assert(mpk_span_equal(image, plains[i]));
		}
	}
}
END_TEST

static enum mpk_code try_unpack(struct mpk_fatbin_entry e, const char *text)
{
	uint64_t left = MPK_FATBIN_TOTAL_MAX;
	struct mpk_error err = { 0 };
	struct mpk_span out;
	enum mpk_code code = mpk_fatbin_unpack(&e, &left, NULL, &arena, &out, &err);

	ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
	return code;
}

START_TEST(refuses_what_does_not_unpack)
{
	static const char *const packed[] = { DATA "tiny.speed.fatbin", DATA "tiny.size.fatbin" };

	for (size_t p = 0; p < MPK_ARRAY_COUNT(packed); p++) {
		struct mpk_fatbin_entry e = open_fatbin(robust_load(&arena, packed[p])).entries[1],
					other = e;
		uint64_t left = 10;
		struct mpk_span out;

		other.plain_bytes++;
		ck_assert_int_eq(try_unpack(other, "does not unpack to 337"), MPK_E_CORRUPT);
		other.plain_bytes = 100;
		ck_assert_int_eq(try_unpack(other, "does not unpack to 100"), MPK_E_CORRUPT);
		other = e;
		other.data.len = 0;
		other.plain_bytes = 0;
		ck_assert_int_eq(try_unpack(other, "does not unpack"), MPK_E_CORRUPT);
		other = e;
		other.data.len--;
		ck_assert_int_eq(try_unpack(other, "does not unpack"), MPK_E_CORRUPT);
		ck_assert_int_eq(mpk_fatbin_unpack(&e, &left, NULL, &arena, &out, NULL),
				 MPK_E_UNSUPPORTED);
	}
	struct mpk_fatbin_entry bomb = { .packing = MPK_FATBIN_ZSTD,
					 .data = mpk_span_str("x"),
					 .plain_bytes = MPK_FATBIN_PLAIN_MAX + 1 };

	ck_assert_int_eq(try_unpack(bomb, "not looked into"), MPK_E_UNSUPPORTED);
	bomb.packing = MPK_FATBIN_LZ4;
	ck_assert_int_eq(try_unpack(bomb, "1 packed bytes cannot become"), MPK_E_CORRUPT);
}
END_TEST

/* --- headers in what passes by ------------------------------------------------------------ */

struct found {
	uint64_t at[64];
	size_t count;
};

static void note(void *arg, uint64_t off, size_t len)
{
	struct found *f = arg;

	ck_assert(len == 16 || (len >= 64 && len <= 65536));
	ck_assert_uint_lt(f->count, MPK_ARRAY_COUNT(f->at));
	f->at[f->count++] = off;
}

static struct found scan(struct mpk_span bytes, size_t piece)
{
	struct mpk_fatbin_scan s = { 0 };
	struct found f = { 0 };

	for (size_t at = 0; at < bytes.len; at += piece) {
		size_t len = bytes.len - at < piece ? bytes.len - at : piece;
		/* from a block of its own, so that a sanitizer sees what is read beyond it */
		char *copy = mpk_arena_copy(&arena, bytes.data + at, len);

		mpk_fatbin_scan(&s, at, mpk_span_of((uint8_t *)copy, len), note, &f);
	}
	return f;
}

/* All of the files, one after the other as in a section, behind something else; then what they hold. */
static struct mpk_span section(struct found *expected)
{
	static uint8_t bytes[65536];
	size_t at = 1000;

	memset(bytes, 0, sizeof bytes);
	memset(bytes, 0xba, at);
	*expected = (struct found){ 0 };
	for (size_t i = 0; i < MPK_ARRAY_COUNT(files); i++) {
		struct mpk_span file = robust_load(&arena, files[i].path);
		struct mpk_fatbin f = open_fatbin(file);

		ck_assert_uint_le(at + file.len + 64, sizeof bytes);
		memcpy(bytes + at, file.data, file.len);
		note(expected, at, 16);
		for (size_t k = 0; k < f.entry_count; k++)
			if (!k || f.entries[k].data_off != f.entries[k - 1].data_off)
				note(expected,
				     at + (k ? (uint64_t)(f.entries[k - 1].data_off +
							  mpk_load_u64(
								  file.data +
								  expected->at[expected->count -
									       1] -
								  at + 8))
					     : 16),
				     64);
		at = (at + file.len + 31) / 8 * 8;
	}
	return mpk_span_of(bytes, at);
}

START_TEST(headers_that_pass)
{
	static const size_t pieces[] = { 65536, 4096, 1000, 64, 24, 16, 8 };
	struct found expected, f;
	struct mpk_span bytes = section(&expected);

	for (size_t i = 0; i < MPK_ARRAY_COUNT(pieces); i++) {
		f = scan(bytes, pieces[i]);
		ck_assert_msg(f.count == expected.count, "%zu headers in pieces of %zu, not %zu",
			      f.count, pieces[i], expected.count);
		ck_assert_mem_eq(f.at, expected.at, f.count * sizeof *f.at);
	}
}
END_TEST

/* Lengths are not to be believed: the offsets rise, and the end is met. */
START_TEST(headers_that_lie)
{
	struct found expected;
	struct mpk_span bytes = section(&expected);
	uint8_t *changed = (uint8_t *)(uintptr_t)bytes.data;

	for (size_t i = 0; i < expected.count; i++) {
		for (size_t field = 4; field < 16; field++) {
			for (unsigned v = 0; v < 256; v += 51) {
				uint8_t kept = changed[expected.at[i] + field];
				struct found f;

				changed[expected.at[i] + field] = (uint8_t)v;
				f = scan(bytes, 4096);
				for (size_t k = 1; k < f.count; k++)
					ck_assert_uint_gt(f.at[k], f.at[k - 1]);
				changed[expected.at[i] + field] = kept;
			}
		}
		clear();
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fatbin");
	TCase *tc = tcase_create("fatbin");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, entries, 0, (int)MPK_ARRAY_COUNT(files));
	tcase_add_test(tc, images);
	tcase_add_test(tc, inside_a_library);
	tcase_add_test(tc, headers_that_pass);
	tcase_add_test(tc, headers_that_lie);
	tcase_add_test(tc, refuses);
	tcase_add_test(tc, unpacks_to_what_was_packed);
	tcase_add_test(tc, images_packed_together);
	tcase_add_test(tc, refuses_what_does_not_unpack);
	tcase_add_loop_test(tc, hostile, 0, (int)MPK_ARRAY_COUNT(files));
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
