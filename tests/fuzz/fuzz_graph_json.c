/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_graph_json - the text of a graph; every number that it passes names something */
#include "fuzz.h"
#include "graphjson/graphjson.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_graph_json g;

	if (mpk_graph_json_read(bytes, arena, &g, NULL) != MPK_OK)
		return;
	FUZZ_REQUIRE(g.row_ptr[g.node_count] == g.entry_count);
	for (size_t i = 0; i < g.node_count; i++)
		for (size_t k = 0; k < g.nodes[i].input_count; k++)
			FUZZ_REQUIRE(mpk_graph_json_entry(&g, g.nodes[i].inputs[k]) <
				     g.entry_count);
	for (size_t i = 0; i < g.head_count; i++)
		FUZZ_REQUIRE(mpk_graph_json_entry(&g, g.heads[i]) < g.entry_count);
	for (size_t i = 0; i < g.arg_count; i++)
		FUZZ_REQUIRE(g.arg_nodes[i] < g.node_count);
}
