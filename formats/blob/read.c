/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - a blob as a tree of views: the newest container here, the older ones in legacy.c */
#include "blob/blob.h"

#include <inttypes.h>

#include "blob/internal/legacy.h"
#include "blob/internal/link.h"

static enum mpk_code read_node(struct mpk_cursor *c, struct mpk_node *node, struct mpk_error *err)
{
	node->kind_off = c->pos;
	MPK_TRY(mpk_read_str(c, "module kind", &node->kind, err));
	node->is_lib = mpk_span_is(node->kind, MPK_KIND_LIB);
	if (node->is_lib) {
		node->payload = mpk_span_of(c->bytes.data + c->pos, 0);
		node->payload_off = c->pos;
		return MPK_OK;
	}
	MPK_TRY(mpk_read_str(c, "module payload", &node->payload, err));
	node->payload_off = c->pos - node->payload.len;
	return MPK_OK;
}

/* Import tree first, then modules with length-prefixed payloads. */
static enum mpk_code read_current(struct mpk_cursor *c, struct mpk_arena *arena,
				  struct mpk_tree *tree, struct mpk_error *err)
{
	uint64_t start = c->pos;
	struct mpk_links links;

	MPK_TRY(mpk_links_read(c, &links, err));
	if (links.rows.len < 16)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "blob", start,
				       "import tree without modules");
	tree->count = links.rows.len / 8 - 1;
	if (tree->count > mpk_cursor_left(c) / 8)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "blob", start,
				       "%zu modules do not fit in the %zu bytes left", tree->count,
				       mpk_cursor_left(c));
	tree->nodes = mpk_arena_array(arena, tree->count, sizeof *tree->nodes);
	MPK_TRY_ALLOC(tree->nodes, err);
	MPK_TRY(mpk_links_apply(&links, arena, tree, err));
	for (size_t i = 0; i < tree->count; i++) {
		enum mpk_code code = read_node(c, &tree->nodes[i], err);

		if (code != MPK_OK) {
			mpk_error_prefix(err, "module %zu: ", i);
			return code;
		}
	}
	tree->has_tree = true;
	tree->used = c->pos;
	return MPK_OK;
}

static enum mpk_code read_body(struct mpk_cursor *c, struct mpk_arena *arena, struct mpk_tree *out,
			       struct mpk_error *err)
{
	struct mpk_tree tree = *out;

	if (tree.gen == MPK_GEN_CURRENT) {
		MPK_TRY(read_current(c, arena, &tree, err));
	} else {
		struct mpk_legacy r = { .c = *c, .arena = arena, .tree = &tree };

		MPK_TRY(mpk_legacy_read(&r, err));
	}
	*out = tree;
	return MPK_OK;
}

enum mpk_code mpk_blob_read(struct mpk_span blob, enum mpk_generation gen, struct mpk_arena *arena,
			    struct mpk_tree *out, struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(blob, 0, "blob");
	struct mpk_tree tree = { .gen = gen };

	MPK_TRY(mpk_read_u64(&c, "blob size", &tree.nbytes, err));
	if (tree.nbytes > mpk_cursor_left(&c))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "blob", 0,
				       "blob size: %" PRIu64 " bytes wanted, %zu there",
				       tree.nbytes, mpk_cursor_left(&c));
	c.bytes.len = (size_t)tree.nbytes + 8;
	MPK_TRY(read_body(&c, arena, &tree, err));
	*out = tree;
	return MPK_OK;
}

enum mpk_code mpk_blob_read_bare(struct mpk_span blob, enum mpk_generation gen,
				 struct mpk_arena *arena, struct mpk_tree *out,
				 struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(blob, 0, "blob");
	struct mpk_tree tree = { .gen = gen, .nbytes = blob.len };

	MPK_TRY(read_body(&c, arena, &tree, err));
	*out = tree;
	return MPK_OK;
}
