/* SPDX-License-Identifier: Apache-2.0 */
/* formats/<fmt>: random values of every payload layout are written, read and written again
 *
 * The fixtures cover what TVM 0.18 and 0.27 write; this covers what other releases wrote.
 */
#include "payload_made.h"

#include <inttypes.h>

/* --- tests ----------------------------------------------------------------------------------- */

static void round_trip(const struct mpk_kind *kind, enum mpk_generation gen, uint64_t seed)
{
	struct gen g = { .seed = seed };
	struct mpk_payload p = { .tag = kind->codec->reader->tag, .kind = kind, .gen = gen }, back;
	struct mpk_error err = { 0 };
	struct mpk_extracted_files parts;
	struct mpk_span first, second;

	fill(&g, &p);
	first = encoded(&p, &g);
	ck_assert_msg(mpk_payload_decode(kind, gen, (struct mpk_source){ first, 0 }, &g.arena,
					 &back, &err) == MPK_OK,
		      "%s: %s", kind->name, err.text);
	/* an attempt at another layout leaves nothing behind */
	ck_assert_msg(err.code == MPK_OK, "%s: %s", kind->name, err.text);
	ck_assert_uint_eq(back.trailing, 0);
	second = encoded(&back, &g);
	ck_assert_msg(mpk_span_equal(first, second), "%s, seed %" PRIu64, kind->name, seed);
	if (p.tag == MPK_PAYLOAD_RELAY)
		ck_assert_int_eq(back.u.relay.layout, p.u.relay.layout);
	ck_assert_int_eq(mpk_payload_extract(&back, &g.arena, &parts, NULL), MPK_OK);
	mpk_arena_fini(&g.arena);
}

START_TEST(random_values_come_back)
{
	const struct mpk_kind *kind = &mpk_kinds[_i];

	if (kind->codec->reader->tag == MPK_PAYLOAD_KERNELS)
		return;
	for (unsigned gen = 0; gen < MPK_GENERATION_COUNT; gen++) {
		for (uint64_t seed = 1; seed <= 100; seed++)
			round_trip(kind, (enum mpk_generation)gen, seed * 7919 + gen);
	}
}
END_TEST

/* Every prefix of a payload is refused, and never with a byte read behind its end. */
START_TEST(prefixes_are_refused)
{
	const struct mpk_kind *kind = &mpk_kinds[_i];
	struct mpk_payload p = { .tag = kind->codec->reader->tag,
				 .kind = kind,
				 .gen = MPK_GEN_CURRENT },
			   back;
	struct gen g = { .seed = 12345 };
	struct guarded guard;
	struct mpk_span all;

	if (kind->codec->reader->tag == MPK_PAYLOAD_KERNELS ||
	    kind->codec->reader->tag == MPK_PAYLOAD_EMPTY)
		return;
	fill(&g, &p);
	all = encoded(&p, &g);
	guard = guarded_create(all.len);
	for (size_t n = 0; n < all.len; n++) {
		struct mpk_span cut = guarded_put(&guard, mpk_span_of(all.data, n));
		enum mpk_code code = mpk_payload_decode(kind, p.gen, (struct mpk_source){ cut, 0 },
							&g.arena, &back, NULL);

		ck_assert_int_eq(code, MPK_E_CORRUPT);
	}
	guarded_free(&guard);
	mpk_arena_fini(&g.arena);
}
END_TEST

START_TEST(flips_never_crash)
{
	const struct mpk_kind *kind = &mpk_kinds[_i];
	struct mpk_payload p = { .tag = kind->codec->reader->tag,
				 .kind = kind,
				 .gen = MPK_GEN_LEGACY };
	struct gen g = { .seed = 999 };
	struct guarded guard;
	struct mpk_span all;

	if (kind->codec->reader->tag == MPK_PAYLOAD_KERNELS ||
	    kind->codec->reader->tag == MPK_PAYLOAD_EMPTY)
		return;
	fill(&g, &p);
	all = encoded(&p, &g);
	guard = guarded_create(all.len);
	for (size_t bit = 0; bit < all.len * 8; bit++) {
		struct mpk_span copy = guarded_put(&guard, all);
		struct mpk_arena arena = { 0 };
		struct mpk_payload back;
		struct mpk_extracted_files parts;

		guard.map[guard.room - all.len + bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (mpk_payload_decode(kind, p.gen, (struct mpk_source){ copy, 0 }, &arena, &back,
				       NULL) == MPK_OK)
			ck_assert_int_eq(mpk_payload_extract(&back, &arena, &parts, NULL), MPK_OK);
		mpk_arena_fini(&arena);
	}
	guarded_free(&guard);
	mpk_arena_fini(&g.arena);
}
END_TEST

/* --- tensors --------------------------------------------------------------------------------- */

static enum mpk_code read_tensor(struct mpk_dtype dtype, int64_t dim, uint64_t size)
{
	struct mpk_arena arena = { 0 };
	struct mpk_rope rope = mpk_rope_of(&arena);
	struct mpk_tensor_record t = { .dtype = dtype, .shape = &dim, .ndim = 1 }, back;
	struct mpk_span flat;
	enum mpk_code code;

	t.data = mpk_span_of(mpk_arena_alloc(&arena, size + 1), size);
	mpk_tensor_write(&rope, &t);
	ck_assert_int_eq(mpk_rope_flat(&rope, &flat, NULL), MPK_OK);

	struct mpk_cursor c = mpk_cursor_of(flat, 0, "payload");

	code = mpk_tensor_read(&c, &arena, &back, NULL);
	mpk_arena_fini(&arena);
	return code;
}

START_TEST(tensor_sizes)
{
	struct mpk_dtype f32 = { 2, 32, 1 }, f32x4 = { 2, 32, 4 }, i4 = { 0, 4, 1 };

	ck_assert_int_eq(read_tensor(f32, 5, 20), MPK_OK);
	ck_assert_int_eq(read_tensor(f32, 5, 19), MPK_E_CORRUPT);
	ck_assert_int_eq(read_tensor(f32, 0, 0), MPK_OK);
	ck_assert_int_eq(read_tensor(f32, -1, 0), MPK_E_CORRUPT);
	ck_assert_int_eq(read_tensor(f32, INT64_MAX, 4), MPK_E_CORRUPT);
	/* without lanes as all releases but the first write, and with them as that one reads */
	ck_assert_int_eq(read_tensor(f32x4, 2, 8), MPK_OK);
	ck_assert_int_eq(read_tensor(f32x4, 2, 32), MPK_OK);
	/* a byte for each element; packed */
	ck_assert_int_eq(read_tensor(i4, 6, 6), MPK_OK);
	ck_assert_int_eq(read_tensor(i4, 6, 3), MPK_OK);
	ck_assert_int_eq(read_tensor(i4, 6, 4), MPK_E_CORRUPT);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("codecs");
	TCase *t = tcase_create("codecs");
	int kinds = 0;

	while (mpk_kinds[kinds].name)
		kinds++;
	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, random_values_come_back, 0, kinds);
	tcase_add_loop_test(t, prefixes_are_refused, 0, kinds);
	tcase_add_loop_test(t, flips_never_crash, 0, kinds);
	tcase_add_test(t, tensor_sizes);
	suite_add_tcase(s, t);

	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
