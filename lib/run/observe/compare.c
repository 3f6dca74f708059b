/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - what was found by comparing each operator with the dump of another run: taken apart, counted */
#include "observe/observe.h"

#include <dirent.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* --- the files of a dump, by operator ------------------------------------------------------- */

void mpk_dump_index_fini(struct mpk_dump_index *x)
{
	mpk_arena_fini(&x->arena);
	mpk_strmap_fini(&x->keys);
	free(x->files);
	free(x->heads);
	*x = (struct mpk_dump_index){ 0 };
}

const char *mpk_dump_index_take(struct mpk_dump_index *x, struct mpk_span key)
{
	size_t at, file;

	if (!mpk_strmap_find(&x->keys, key, &at) || x->heads[at] == x->count)
		return NULL;
	file = x->heads[at];
	x->heads[at] = x->files[file].next;
	return x->files[file].name;
}

void mpk_comparisons_fini(struct mpk_comparisons *c)
{
	mpk_arena_fini(&c->arena);
	free(c->items);
	*c = (struct mpk_comparisons){ 0 };
}

/* --- from bytes ------------------------------------------------------------------------------ */

static enum mpk_code observe_compare_damaged(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_CORRUPT, "the comparison that came back is broken");
}

/* A string with its NUL; one that never ends is a damaged reply. */
static enum mpk_code get_text(struct mpk_span bytes, uint64_t *at, struct mpk_arena *arena,
			      const char **out, struct mpk_error *err)
{
	struct mpk_span text;

	if (!mpk_span_text(bytes, *at, SIZE_MAX, &text))
		return observe_compare_damaged(err);
	*at += text.len + 1;
	*out = mpk_arena_text(arena, text);
	MPK_TRY_ALLOC(*out, err);
	return MPK_OK;
}

static enum mpk_code get_item(struct mpk_span bytes, uint64_t *at, struct mpk_comparisons *c,
			      struct mpk_error *err)
{
	struct mpk_compared *item;
	struct mpk_span raw;

	MPK_TRY_ALLOC(mpk_vec_reserve(&c->items, &c->cap, c->count + 1, sizeof *c->items), err);
	item = &c->items[c->count];
	*item = (struct mpk_compared){ 0 };
	if (!mpk_span_sub(bytes, *at, sizeof item->comparison + sizeof item->number, &raw))
		return observe_compare_damaged(err);
	/* a bool of a damaged process could be anything */
	/* checked in the bytes, before they become a bool: any other value in one is undefined */
	if (raw.data[offsetof(struct mpk_comparison, is_equal)] > 1)
		return observe_compare_damaged(err);
	memcpy(&item->comparison, raw.data, sizeof item->comparison);
	memcpy(&item->number, raw.data + sizeof item->comparison, sizeof item->number);
	*at += raw.len;
	MPK_TRY(get_text(bytes, at, &c->arena, &item->file, err));
	MPK_TRY(get_text(bytes, at, &c->arena, &item->name, err));
	MPK_TRY(get_text(bytes, at, &c->arena, &item->difference, err));
	c->differing += !item->comparison.is_equal;
	c->count++;
	return MPK_OK;
}

enum mpk_code mpk_comparisons_decode(struct mpk_span bytes, struct mpk_comparisons *out,
				     struct mpk_error *err)
{
	struct mpk_span raw;

	*out = (struct mpk_comparisons){ 0 };
	if (!mpk_span_sub(bytes, 0, sizeof out->missing + sizeof out->unused, &raw))
		return observe_compare_damaged(err);
	memcpy(&out->missing, raw.data, sizeof out->missing);
	memcpy(&out->unused, raw.data + sizeof out->missing, sizeof out->unused);
	for (uint64_t at = raw.len; at < bytes.len;)
		MPK_TRY(get_item(bytes, &at, out, err));
	return MPK_OK;
}
