/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_zip - a zip archive, a wheel: its members unpacked, and one found by name; the archive with another first member,
 * and without its second: that lists again, and all others have their bytes */
#include "fuzz.h"
#include "zip/zip.h"

enum { LIMIT = 1 << 16 };

static bool same_member(struct mpk_span a, const struct mpk_zip_member *x, struct mpk_span b,
			const struct mpk_zip_member *y, const struct mpk_zip_options *o,
			struct mpk_arena *arena)
{
	struct mpk_span before, after;

	if (x->plain >= LIMIT || mpk_zip_read(a, x, o, arena, &before, NULL) != MPK_OK)
		return true;
	return mpk_zip_read(b, y, o, arena, &after, NULL) == MPK_OK &&
	       mpk_span_equal(before, after);
}

static void rewrite(struct mpk_span bytes, const struct mpk_zip_member *members, size_t count,
		    const struct mpk_zip_options *o, struct mpk_arena *arena)
{
	struct mpk_zip_change *changes = mpk_arena_array(arena, count + 1, sizeof *changes);
	struct mpk_rope out = mpk_rope_of(arena), content = mpk_rope_of(arena);
	struct mpk_zip_member *again;
	struct mpk_span made;
	size_t left;

	if (!changes || !count)
		return;
	mpk_rope_put_view(&content, mpk_span_str("other"));
	changes[0] = (struct mpk_zip_change){ .content = &content, .checksum = 0, .plain = 5 };
	if (count > 1)
		changes[1].is_dropped = true;
	if (mpk_zip_rewrite(bytes, "file", members, changes, count, &out, NULL) != MPK_OK)
		return;
	FUZZ_REQUIRE(mpk_rope_flat(&out, &made, NULL) == MPK_OK);
	FUZZ_REQUIRE(mpk_zip_list(made, "file", arena, &again, &left, NULL) == MPK_OK);
	FUZZ_REQUIRE(left == count - (count > 1));
	for (size_t i = 2; i < count && i < 8; i++)
		FUZZ_REQUIRE(mpk_span_equal(members[i].name, again[i - 1].name) &&
			     same_member(bytes, &members[i], made, &again[i - 1], o, arena));
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	static const struct mpk_zip_options options = { .space = "file",
							.advice = "unpack it",
							.check_stored = true };
	struct mpk_zip_member *members;
	struct mpk_span content;
	size_t count;

	if (mpk_zip_list(bytes, "file", arena, &members, &count, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < count && i < 8; i++) {
		fuzz_touch(members[i].name);
		if (members[i].plain < LIMIT &&
		    mpk_zip_read(bytes, &members[i], &options, arena, &content, NULL) == MPK_OK)
			fuzz_touch(content);
	}
	rewrite(bytes, members, count, &options, arena);
}
