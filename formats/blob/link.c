/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - the import tree: rows of children, checked as a whole before a node gets one
 *
 * Every child has a greater index than its parent, so that no tree that passes has a cycle.
 */
#include "blob/internal/link.h"

#include <inttypes.h>

#include "wire.h"

enum mpk_code mpk_links_read(struct mpk_cursor *c, struct mpk_links *out, struct mpk_error *err)
{
	struct mpk_cursor at = *c;
	struct mpk_links links;

	links.rows_off = mpk_cursor_offset(&at) + 8;
	MPK_TRY(mpk_read_words(&at, "import tree rows", 8, &links.rows, err));
	links.child_off = mpk_cursor_offset(&at) + 8;
	MPK_TRY(mpk_read_words(&at, "import tree children", 8, &links.child, err));
	*out = links;
	*c = at;
	return MPK_OK;
}

static enum mpk_code bad_row(const struct mpk_links *links, size_t row, const char *why,
			     struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "blob", links->rows_off + 8 * row,
			       "import tree: row %zu %s", row, why);
}

static enum mpk_code check_rows(const struct mpk_links *links, const struct mpk_tree *tree,
				struct mpk_error *err)
{
	size_t count = links->rows.len / 8;
	uint64_t children = links->child.len / 8, last = 0;

	if (count < tree->count + 1 || (count > tree->count + 1 && !tree->truncated))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "blob", links->rows_off - 8,
				       "import tree: %zu rows for %zu modules, %zu expected", count,
				       tree->count, tree->count + 1);
	for (size_t i = 0; i < count; i++) {
		uint64_t row = mpk_load_u64(links->rows.data + 8 * i);

		if (i == 0 && row != 0)
			return bad_row(links, i, "does not start at 0", err);
		if (row < last)
			return bad_row(links, i, "is less than the one before", err);
		if (row > children)
			return bad_row(links, i, "lies beyond the list of children", err);
		last = row;
	}
	return MPK_OK;
}

/* The children of one node; index counts through the stored list. */
static enum mpk_code link_node(const struct mpk_links *links, struct mpk_tree *tree, size_t node,
			       size_t *list, struct mpk_error *err)
{
	uint64_t first = mpk_load_u64(links->rows.data + 8 * node);
	uint64_t end = mpk_load_u64(links->rows.data + 8 * (node + 1));
	uint64_t modules = links->rows.len / 8 - 1;
	size_t kept = 0;

	for (uint64_t i = first; i < end; i++) {
		uint64_t child = mpk_load_u64(links->child.data + 8 * i);

		if (child >= modules || child <= node)
			return mpk_fail_offset(
				err, MPK_E_CORRUPT, "blob", links->child_off + 8 * i,
				"import tree: module %zu cannot import module %" PRIu64
				" (of %" PRIu64 "): %s",
				node, child, modules,
				child >= modules ? "there is none"
						 : "modules come before what they import");
		if (child < tree->count)
			list[kept++] = (size_t)child;
	}
	tree->nodes[node].children = list;
	tree->nodes[node].child_count = kept;
	return MPK_OK;
}

enum mpk_code mpk_links_apply(const struct mpk_links *links, struct mpk_arena *arena,
			      struct mpk_tree *tree, struct mpk_error *err)
{
	size_t *list;

	MPK_TRY(check_rows(links, tree, err));
	list = mpk_arena_array(arena, links->child.len / 8, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < tree->count; i++) {
		MPK_TRY(link_node(links, tree, i, list, err));
		list += tree->nodes[i].child_count;
	}
	return MPK_OK;
}
