/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - what must hold of any blob or payload that was read */
#ifndef MPK_TESTS_FUZZ_TREE_H
#define MPK_TESTS_FUZZ_TREE_H

#include "../unit/payload_write.h"
#include "blob/blob.h"
#include "fuzz.h"
#include "graphjson/graphjson.h"
#include "payload.h"
#include "program/memory.h"

/* Everything that a payload can be asked. */
static inline void fuzz_payload(const struct mpk_kind *kind, enum mpk_generation gen,
				struct mpk_source source, struct mpk_arena *arena)
{
	struct mpk_rope rope = mpk_rope_of(arena);
	const struct mpk_memory_ask ask = { .extents = NULL };
	struct mpk_model_memory memory;
	struct mpk_graph_json graph;
	struct mpk_payload p;
	struct mpk_extracted_files parts;
	struct mpk_span flat, prefix;

	if (mpk_payload_decode(kind, gen, source, arena, &p, NULL) != MPK_OK)
		return;
	payload_write(&rope, &p);
	FUZZ_REQUIRE(mpk_rope_flat(&rope, &flat, NULL) == MPK_OK);
	if (p.trailing == 0)
		FUZZ_REQUIRE(mpk_span_equal(flat, source.span));
	else if (gen == MPK_GEN_CURRENT)
		FUZZ_REQUIRE(mpk_span_sub(source.span, 0, flat.len, &prefix) &&
			     mpk_span_equal(flat, prefix));
	FUZZ_REQUIRE(mpk_payload_extract(&p, arena, &parts, NULL) == MPK_OK);
	for (size_t i = 0; i < parts.count; i++) {
		if (parts.items[i].stored)
			FUZZ_REQUIRE(parts.items[i].off >= source.off &&
				     parts.items[i].off + parts.items[i].data.len <=
					     source.off + source.span.len);
	}
	if (p.tag == MPK_PAYLOAD_FACTORY)
		(void)!mpk_graph_json_read(p.u.factory.graph_json, arena, &graph, NULL);
	if (p.tag == MPK_PAYLOAD_RELAX)
		(void)!mpk_relax_check(&p.u.relax, NULL);
	(void)!mpk_memory_of(&p, &ask, arena, &memory, NULL);
	if (p.tag == MPK_PAYLOAD_RELAY)
		(void)!mpk_relay_check(&p.u.relay, NULL);
}

static inline void fuzz_tree(const struct mpk_tree *tree, struct mpk_span blob,
			     struct mpk_arena *arena)
{
	struct mpk_rope rope = mpk_rope_of(arena);
	struct mpk_tree again;
	struct mpk_span flat;
	char path[64];
	size_t found;

	FUZZ_REQUIRE(tree->count > 0);
	for (size_t i = 0; i < tree->count && i < 64; i++) {
		const struct mpk_node *n = &tree->nodes[i];
		const struct mpk_kind *kind = mpk_kind_find(n->kind);

		for (size_t j = 0; j < n->child_count; j++)
			FUZZ_REQUIRE(n->children[j] > i && n->children[j] < tree->count);
		FUZZ_REQUIRE(n->payload_off <= blob.len &&
			     n->payload.len <= blob.len - n->payload_off);
		mpk_tree_path(tree, i, path, sizeof path);
		if (path[0] != '.')
			FUZZ_REQUIRE(mpk_tree_find(tree, path, &found) && found == i);
		if (kind)
			fuzz_payload(kind, tree->gen, mpk_source_of(n), arena);
	}
	if (tree->truncated)
		return;
	FUZZ_REQUIRE(mpk_blob_write(tree, &rope, NULL) == MPK_OK);
	FUZZ_REQUIRE(mpk_rope_flat(&rope, &flat, NULL) == MPK_OK);
	FUZZ_REQUIRE(mpk_blob_read(flat, tree->gen, arena, &again, NULL) == MPK_OK);
	FUZZ_REQUIRE(again.count == tree->count);
}

#endif
