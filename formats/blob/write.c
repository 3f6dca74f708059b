/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - a tree as a blob. The lengths of payloads are known from their ropes, so nothing is
 * copied. */
#include "blob/blob.h"

static void put_links(const struct mpk_tree *tree, struct mpk_rope *rope)
{
	uint64_t row = 0;

	mpk_rope_put_u64(rope, tree->count + 1);
	mpk_rope_put_u64(rope, 0);
	for (size_t i = 0; i < tree->count; i++) {
		row += tree->nodes[i].child_count;
		mpk_rope_put_u64(rope, row);
	}
	mpk_rope_put_u64(rope, row);
	for (size_t i = 0; i < tree->count; i++) {
		for (size_t j = 0; j < tree->nodes[i].child_count; j++)
			mpk_rope_put_u64(rope, tree->nodes[i].children[j]);
	}
}

static void blob_put_module(const struct mpk_node *node, bool sized, struct mpk_rope *rope)
{
	if (node->is_lib) {
		mpk_rope_put_str(rope, mpk_span_str(MPK_KIND_LIB));
		return;
	}
	mpk_rope_put_str(rope, node->kind);
	if (sized)
		mpk_rope_put_u64(rope, node->content ? node->content->len : node->payload.len);
	if (node->content)
		mpk_rope_put_rope(rope, node->content);
	else
		mpk_rope_put_view(rope, node->payload);
}

enum mpk_code mpk_blob_write_bare(const struct mpk_tree *tree, struct mpk_rope *rope,
				  struct mpk_error *err)
{
	if (tree->truncated)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a blob with modules that could not be read cannot be written");
	if (tree->gen == MPK_GEN_CURRENT) {
		put_links(tree, rope);
		for (size_t i = 0; i < tree->count; i++)
			blob_put_module(&tree->nodes[i], true, rope);
	} else {
		bool lone_lib = tree->count == 1 && tree->nodes[0].is_lib &&
				tree->nodes[0].child_count == 0;
		bool links = !tree->implied_lib && !lone_lib;
		size_t first = links ? 0 : 1;

		mpk_rope_put_u64(rope, tree->count - first + links);
		for (size_t i = first; i < tree->count; i++)
			blob_put_module(&tree->nodes[i], false, rope);
		if (links) {
			mpk_rope_put_str(rope, mpk_span_str(MPK_KIND_TREE));
			put_links(tree, rope);
		}
	}
	MPK_TRY(mpk_rope_status(rope, err));
	if (rope->len > INT64_MAX)
		return mpk_fail(err, MPK_E_RANGE, "the blob would be larger than 2^63 bytes");
	return MPK_OK;
}

enum mpk_code mpk_blob_write(const struct mpk_tree *tree, struct mpk_rope *rope,
			     struct mpk_error *err)
{
	struct mpk_rope body = mpk_rope_of(rope->arena);

	MPK_TRY(mpk_blob_write_bare(tree, &body, err));
	mpk_rope_put_u64(rope, body.len);
	mpk_rope_put_rope(rope, &body);
	return mpk_rope_status(rope, err);
}
