/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ar - an ar archive; what reads is written and has the same members */
#include "ar/ar.h"
#include "fuzz.h"

/* Names that are paths or twice there are read, but not written. */
static void write_again(const struct mpk_ar *ar, struct mpk_arena *arena)
{
	struct mpk_ar_entry *entries = mpk_arena_array(arena, ar->member_count, sizeof *entries);
	struct mpk_rope *ropes = mpk_arena_array(arena, ar->member_count, sizeof *ropes);
	struct mpk_rope out = mpk_rope_of(arena);
	struct mpk_span flat;
	struct mpk_ar again;

	for (size_t i = 0; i < ar->member_count; i++) {
		ropes[i] = mpk_rope_of(arena);
		mpk_rope_put_view(&ropes[i], ar->members[i].data);
		entries[i] =
			(struct mpk_ar_entry){ .name = ar->members[i].name, .content = &ropes[i] };
	}
	if (mpk_ar_write(entries, ar->member_count, &out, NULL) != MPK_OK)
		return;
	FUZZ_REQUIRE(mpk_rope_flat(&out, &flat, NULL) == MPK_OK);
	FUZZ_REQUIRE(mpk_ar_read(flat, arena, &again, NULL) == MPK_OK);
	FUZZ_REQUIRE(again.member_count == ar->member_count);
	for (size_t i = 0; i < ar->member_count; i++)
		FUZZ_REQUIRE(mpk_span_equal(again.members[i].name, ar->members[i].name) &&
			     mpk_span_equal(again.members[i].data, ar->members[i].data));
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_ar ar;

	if (mpk_ar_read(bytes, arena, &ar, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < ar.member_count; i++)
		fuzz_touch(ar.members[i].data);
	if (ar.member_count < 64)
		write_again(&ar, arena);
}
