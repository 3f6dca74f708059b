/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c - vectors of strings and words, and where a payload without a length may end */
#include "wire.h"

enum { KIND_NAME_MAX = 255 };

enum mpk_code mpk_read_strs(struct mpk_cursor *c, const char *what, struct mpk_arena *arena,
			    struct mpk_strs *out, struct mpk_error *err)
{
	struct mpk_span *items;
	size_t count;

	MPK_TRY(mpk_read_count(c, what, 8, &count, err));
	MPK_TRY_ARRAY(items, arena, count, err);
	for (size_t i = 0; i < count; i++)
		MPK_TRY(mpk_read_str(c, what, &items[i], err));
	*out = (struct mpk_strs){ items, count };
	return MPK_OK;
}

enum mpk_code mpk_read_words(struct mpk_cursor *c, const char *what, size_t each,
			     struct mpk_span *out, struct mpk_error *err)
{
	size_t count;

	MPK_TRY(mpk_read_count(c, what, each, &count, err));
	return mpk_read_bytes(c, what, count * each, out, err);
}

void mpk_rope_put_strs(struct mpk_rope *r, struct mpk_strs strs)
{
	mpk_rope_put_u64(r, strs.count);
	for (size_t i = 0; i < strs.count; i++)
		mpk_rope_put_str(r, strs.items[i]);
}

void mpk_rope_put_words(struct mpk_rope *r, struct mpk_span words, size_t each)
{
	mpk_rope_put_u64(r, words.len / each);
	mpk_rope_put_view(r, words);
}

void mpk_rope_put_blob(struct mpk_rope *r, struct mpk_span s)
{
	mpk_rope_put_u64(r, s.len);
	mpk_rope_put_view(r, s);
}

bool mpk_item_follows(const struct mpk_cursor *c, bool unbounded)
{
	struct mpk_cursor at = *c;
	struct mpk_span key;

	if (mpk_cursor_left(c) == 0)
		return true;
	if (!unbounded || mpk_read_str(&at, "kind", &key, NULL) != MPK_OK)
		return false;
	if (key.len == 0 || key.len > KIND_NAME_MAX)
		return false;
	for (size_t i = 0; i < key.len; i++) {
		if (key.data[i] <= ' ' || key.data[i] > '~')
			return false;
	}
	return true;
}
