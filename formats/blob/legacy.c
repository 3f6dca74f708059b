/* SPDX-License-Identifier: Apache-2.0 */
/* legacy.c - the item list of TVM 0.2 - 0.21
 *
 * It says how many items there are and not how long each is: a payload ends where its codec has
 * read the last field. A kind without a codec therefore takes guessing (recover.c).
 */
#include "blob/internal/legacy.h"

#include "payload.h"
#include "text/escape.h"

/* Payloads are read only to find their ends. */
static enum mpk_code read_payload(struct mpk_legacy *r, const struct mpk_kind *kind,
				  struct mpk_error *err)
{
	struct mpk_arena scratch MPK_CLEANUP(mpk_arena_fini) = { 0 };
	struct mpk_payload ignored;

	return mpk_payload_read(&r->c, kind, r->tree->gen, &scratch, &ignored, err);
}

static enum mpk_code read_module(struct mpk_legacy *r, struct mpk_node *node, struct mpk_error *err)
{
	const struct mpk_kind *kind = mpk_kind_find(node->kind);

	node->payload_off = r->c.pos;
	node->is_lib = mpk_span_is(node->kind, MPK_KIND_LIB);
	if (node->is_lib) {
		node->payload = mpk_span_of(r->c.bytes.data + r->c.pos, 0);
		return MPK_OK;
	}
	if (!kind) {
		mpk_legacy_recover(r, node);
		return MPK_OK;
	}

	enum mpk_code code = read_payload(r, kind, err);
	if (code != MPK_OK) {
		mpk_error_prefix(err, "module %zu (%s): ", r->tree->count, MPK_QUOTE(node->kind));
		return code;
	}
	node->payload = mpk_span_of(r->c.bytes.data + node->payload_off,
				    r->c.pos - (size_t)node->payload_off);
	return MPK_OK;
}

static enum mpk_code read_item(struct mpk_legacy *r, struct mpk_error *err)
{
	struct mpk_node *node = &r->tree->nodes[r->tree->count];
	uint64_t off = r->c.pos;
	struct mpk_span key;

	MPK_TRY(mpk_read_str(&r->c, "module kind", &key, err));
	if (mpk_span_is(key, MPK_KIND_TREE)) {
		if (r->has_links)
			return mpk_fail_offset(err, MPK_E_CORRUPT, "blob", off,
					       "a second import tree");
		r->has_links = true;
		return mpk_links_read(&r->c, &r->links, err);
	}
	*node = (struct mpk_node){ .kind = key, .kind_off = off };
	MPK_TRY(read_module(r, node, err));
	r->tree->count++;
	return MPK_OK;
}

/* Without a tree the library is the root, and imports every module in order. */
static enum mpk_code imply_lib(struct mpk_legacy *r, struct mpk_error *err)
{
	struct mpk_tree *tree = r->tree;
	size_t *children = mpk_arena_array(r->arena, tree->count, sizeof *children);

	MPK_TRY_ALLOC(children, err);
	for (size_t i = 0; i < tree->count; i++)
		children[i] = i + 1;
	tree->nodes--;
	tree->nodes[0] = (struct mpk_node){ .kind = mpk_span_str(MPK_KIND_LIB),
					    .is_lib = true,
					    .children = children,
					    .child_count = tree->count };
	tree->count++;
	tree->implied_lib = true;
	return MPK_OK;
}

enum mpk_code mpk_legacy_read(struct mpk_legacy *r, struct mpk_error *err)
{
	struct mpk_tree *tree = r->tree;
	struct mpk_node *nodes;

	MPK_TRY(mpk_read_count(&r->c, "item count", 8, &r->items, err));
	/* One more in front, should the library have to be added as the root. */
	nodes = mpk_arena_array(r->arena, r->items + 1, sizeof *nodes);
	MPK_TRY_ALLOC(nodes, err);
	tree->nodes = nodes + 1;
	for (; r->done < r->items && !tree->truncated; r->done++)
		MPK_TRY(read_item(r, err));
	if (tree->truncated && !r->has_links && mpk_cursor_left(&r->c))
		MPK_TRY(read_item(r, err));
	tree->used = r->c.pos;
	tree->has_tree = r->has_links;
	if (!r->has_links)
		return imply_lib(r, err);
	if (tree->count == 0)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "blob", r->links.rows_off,
				       "import tree without modules");
	return mpk_links_apply(&r->links, r->arena, tree, err);
}
