/* SPDX-License-Identifier: Apache-2.0 */
/* formats/standalone: what a standalone library carries is there again to the byte, aligned, and nothing else reads */
#include <stdlib.h>
#include <string.h>

#include "assert_error.h"
#include "robust.h"
#include "standalone/standalone.h"

static struct mpk_arena arena;

static void clear(void)
{
	mpk_arena_fini(&arena);
}

enum { LIBRARY = 30000, BLOB_AT = 1001, BLOB = 25007 };

static struct mpk_span make_library(void)
{
	uint8_t *bytes = mpk_arena_alloc(&arena, LIBRARY);
	unsigned random = 3;

	ck_assert_ptr_nonnull(bytes);
	for (size_t i = 0; i < LIBRARY; i++) {
		random = random * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(random >> 16);
	}
	return mpk_span_of(bytes, LIBRARY);
}

/* Tensors at the beginning, side by side, and at the end. */
static const struct mpk_standalone_tensor all_tensors[] = {
	{ 0, 4099 }, { 4099, 4096 }, { 9001, 5000 }, { BLOB - 4097, 4097 }
};

/* Run lengths stand in for zstd: the format does not look into a frame. */
static enum mpk_code pack_runs(struct mpk_span plain, struct mpk_arena *to, struct mpk_span *out,
			       struct mpk_error *err)
{
	uint8_t *packed = mpk_arena_alloc(to, 2 * plain.len);
	size_t used = 0;

	MPK_TRY_ALLOC(packed, err);
	for (size_t i = 0, run; i < plain.len; i += run) {
		for (run = 1;
		     run < 255 && i + run < plain.len && plain.data[i + run] == plain.data[i];)
			run++;
		packed[used++] = (uint8_t)run;
		packed[used++] = plain.data[i];
	}
	*out = mpk_span_of(packed, used);
	return MPK_OK;
}

static size_t unpack_runs(void *to, size_t room, const void *frame, size_t bytes)
{
	const uint8_t *from = frame;
	uint8_t *at = to;
	size_t done = 0;

	for (size_t i = 0; i + 1 < bytes; i += 2)
		for (size_t k = 0; k < from[i] && done < room; k++)
			at[done++] = from[i + 1];
	return done;
}

static enum mpk_code (*pack)(struct mpk_span, struct mpk_arena *, struct mpk_span *,
			     struct mpk_error *);
static uint64_t saved;

/* @count   of all_tensors from @from */
static struct mpk_span write_model(struct mpk_span library, size_t from, size_t count)
{
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_error err = { 0 };
	struct mpk_span out;

	const struct mpk_standalone_facts facts = { MPK_GEN_HYBRID, "1.2.3", count % 2, pack };

	ck_assert_ok(mpk_standalone_write(library, mpk_span_of(library.data + BLOB_AT, BLOB),
					  &facts, all_tensors + from, count, &saved, &rope, &err),
		     err);
	ck_assert_ok(mpk_rope_flat(&rope, &out, &err), err);
	return out;
}

static void check_model(struct mpk_span library, size_t from, size_t count)
{
	struct mpk_span bytes = write_model(library, from, count), again;
	struct mpk_standalone s;
	struct mpk_error err = { 0 };
	size_t seen = 0;

	ck_assert_ok(mpk_standalone_read(bytes, &arena, &s, &err), err);
	ck_assert_ok(mpk_standalone_library(&s, unpack_runs, &arena, &again, &err), err);
	ck_assert_int_eq(s.is_linked, count % 2);
	ck_assert_uint_eq(again.len, library.len);
	ck_assert_mem_eq(again.data, library.data, library.len);
	ck_assert_uint_eq(s.bytes, bytes.len);
	ck_assert_int_eq(s.gen, MPK_GEN_HYBRID);
	ck_assert_str_eq(s.executor, "1.2.3");
	for (size_t i = 0; i < s.piece_count; i++) {
		if (!s.pieces[i].is_tensor)
			continue;
		ck_assert_uint_eq(
			(size_t)(s.pieces[i].bytes.data - bytes.data) % MPK_STANDALONE_ALIGN, 0);
		ck_assert_uint_eq(s.pieces[i].blob_off, all_tensors[from + seen].off);
		ck_assert_uint_eq(s.pieces[i].bytes.len, all_tensors[from + seen].bytes);
		seen++;
	}
	ck_assert_uint_eq(seen, count);
}

/* Of each size that packs, tensors and what is between them: all is there again, and aligned. */
START_TEST(packed_pieces_are_unpacked_to_the_byte)
{
	struct mpk_span library = make_library(), again, bytes;
	uint8_t *blob = (uint8_t *)(uintptr_t)library.data + BLOB_AT;
	struct mpk_standalone s;
	struct mpk_error err = { 0 };

	pack = pack_runs;
	memset(blob, 7, 5000);         /* two tensors, the second in part */
	memset(blob + 14001, 0, 6000); /* most between the third and the last */
	bytes = write_model(library, 0, MPK_ARRAY_COUNT(all_tensors));
	ck_assert_uint_gt(saved, 6000);
	ck_assert_uint_eq(bytes.len < library.len, 1);
	ck_assert_ok(mpk_standalone_read(bytes, &arena, &s, &err), err);
	ck_assert(s.is_packed);
	ck_assert_uint_eq(s.plain_bytes - s.packed_bytes, saved);
	ck_assert_int_eq(mpk_standalone_library(&s, NULL, &arena, &again, &err), MPK_E_UNSUPPORTED);
	ck_assert_int_eq(mpk_standalone_unpack_tensors(&s, NULL, &arena, &err), MPK_E_UNSUPPORTED);
	ck_assert_ok(mpk_standalone_unpack_tensors(&s, unpack_runs, &arena, &err), err);
	for (size_t i = 0; i < s.piece_count; i++) {
		ck_assert(!s.pieces[i].is_packed || !s.pieces[i].is_tensor);
		/* where it lay, or in memory of its own */
		if (s.pieces[i].is_tensor)
			ck_assert_uint_eq(
				((uintptr_t)s.pieces[i].bytes.data -
				 (s.pieces[i].bytes.data >= bytes.data &&
						  s.pieces[i].bytes.data < bytes.data + bytes.len
					  ? (uintptr_t)bytes.data
					  : 0)) %
					MPK_STANDALONE_ALIGN,
				0);
	}
	ck_assert_ok(mpk_standalone_library(&s, unpack_runs, &arena, &again, &err), err);
	ck_assert_uint_eq(again.len, library.len);
	ck_assert_mem_eq(again.data, library.data, library.len);
}
END_TEST

/* A frame that becomes another size, a piece without bytes, one of more than may be: each is refused. */
START_TEST(packed_pieces_are_held_to_what_is_said)
{
	struct mpk_span library = make_library(), bytes;
	struct mpk_standalone s;
	struct mpk_error err = { 0 };
	uint8_t *copy;

	pack = pack_runs;
	memset((uint8_t *)(uintptr_t)library.data + BLOB_AT, 7, 4099);
	bytes = write_model(library, 0, 1);
	copy = (uint8_t *)mpk_arena_copy(&arena, bytes.data, bytes.len);
	bytes.data = copy;
	ck_assert_ok(mpk_standalone_read(bytes, &arena, &s, &err), err);
	ck_assert(s.pieces[0].is_packed && s.pieces[0].is_tensor && !s.pieces[1].is_packed);
	copy[s.pieces[0].bytes.data - copy] ^= 1; /* a run that is shorter or longer */
	ck_assert_int_eq(mpk_standalone_unpack_tensors(&s, unpack_runs, &arena, &err),
			 MPK_E_CORRUPT);
	ck_assert_text(err, "a broken zstd frame, of the blob's bytes from 0 on");
	copy[128 + 17] = copy[128 + 18] = 0; /* no bytes in the frame */
	ck_assert_int_eq(mpk_standalone_read(bytes, &arena, &s, &err), MPK_E_CORRUPT);
	copy[128 + 17] = 1;
	copy[128 + 16] |= 4; /* an unknown bit */
	ck_assert_int_eq(mpk_standalone_read(bytes, &arena, &s, &err), MPK_E_CORRUPT);
	copy[128 + 16] &= 3;
	copy[128 + 3] = copy[56 + 3] = 2; /* 32 MiB and more */
	copy[128 + 4] = copy[56 + 4] = 1;
	ck_assert_int_eq(mpk_standalone_read(bytes, &arena, &s, &err), MPK_E_CORRUPT);
	ck_assert_text(err, "unpack to too much");
	copy[104] &= 1; /* no flag, so no packed piece */
	ck_assert_int_eq(mpk_standalone_read(bytes, &arena, &s, &err), MPK_E_CORRUPT);
}
END_TEST

START_TEST(a_library_is_carried_to_the_byte)
{
	struct mpk_span library = make_library();

	for (size_t from = 0; from <= MPK_ARRAY_COUNT(all_tensors); from++)
		for (size_t count = 0; count <= MPK_ARRAY_COUNT(all_tensors) - from; count++)
			check_model(library, from, count);
}
END_TEST

static enum mpk_code standalone_reader(struct mpk_span bytes, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena own = { 0 };
	struct mpk_standalone s;
	struct mpk_span library;

	MPK_TRY(mpk_standalone_read(bytes, &own, &s, err));
	return mpk_standalone_library(&s, unpack_runs, &own, &library, err);
}

/* The header and the pieces say all that is believed. */
START_TEST(damage_is_refused_or_harmless)
{
	struct mpk_span whole = write_model(make_library(), 0, MPK_ARRAY_COUNT(all_tensors));
	struct robust_page page = robust_page_of(whole.len);
	uint8_t *bytes = page.map + page.room - whole.len;

	memcpy(bytes, whole.data, whole.len);
	for (size_t len = 0; len < whole.len; len += len < 512 ? 1 : 499)
		robust_try(standalone_reader, mpk_span_of(page.map + page.room - len, len),
			   "truncated");
	for (size_t len = 128; len < whole.len; len += 499) {
		struct mpk_error err = { 0 };

		ck_assert_int_eq(standalone_reader(mpk_span_of(bytes, len), &err), MPK_E_CORRUPT);
	}
	robust_flip(standalone_reader, bytes, whole.len, 0, 128 + 6 * 24);
}
END_TEST

/* Each is refused for what it is. */
START_TEST(headers_are_held_against_the_rest)
{
	static const struct {
		size_t off;
		uint8_t value;
		enum mpk_code code;
		const char *text;
	} rows[] = {
		{ 0, 'm', MPK_E_CORRUPT, "mark" },
		{ 8, 2, MPK_E_UNSUPPORTED, "version 2" },
		{ 12, 3, MPK_E_CORRUPT, "cannot be" },
		{ 23, 1, MPK_E_CORRUPT, "cannot be" },
		{ 31, 1, MPK_E_CORRUPT, "outside" },
		{ 63, 1, MPK_E_CORRUPT, "make up the blob" },
		{ 71, 1, MPK_E_CORRUPT, "pieces lie outside" },
		{ 79, 1, MPK_E_CORRUPT, "pieces lie outside" },
		{ 128 + 8, 1, MPK_E_CORRUPT, "cannot be" }, /* a tensor that is not aligned */
		{ 128 + 7, 1, MPK_E_CORRUPT, "cannot be" },
		{ 128 + 16, 2, MPK_E_CORRUPT, "cannot be" },
	};
	struct mpk_span whole = write_model(make_library(), 0, MPK_ARRAY_COUNT(all_tensors));

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++) {
		uint8_t *copy = mpk_arena_alloc(&arena, whole.len);
		struct mpk_error err = { 0 };

		ck_assert_ptr_nonnull(copy);
		memcpy(copy, whole.data, whole.len);
		copy[rows[i].off] = rows[i].value;
		ck_assert_int_eq(standalone_reader(mpk_span_of(copy, whole.len), &err),
				 rows[i].code);
		ck_assert_msg(strstr(err.text, rows[i].text) != NULL, "%zu: %s", i, err.text);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("standalone model");
	TCase *tc = tcase_create("all");
	SRunner *runner;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, NULL, clear);
	tcase_add_test(tc, a_library_is_carried_to_the_byte);
	tcase_add_test(tc, packed_pieces_are_unpacked_to_the_byte);
	tcase_add_test(tc, packed_pieces_are_held_to_what_is_said);
	tcase_add_test(tc, damage_is_refused_or_harmless);
	tcase_add_test(tc, headers_are_held_against_the_rest);
	suite_add_tcase(s, tc);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
