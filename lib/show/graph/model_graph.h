/* SPDX-License-Identifier: Apache-2.0 */
/* model_graph.h - what a model computes from what, as graphs to draw
 *
 * A graph executor stores its graph. Byte code is read for one: where a function runs straight
 * through, its operators and what flows between them; where it jumps, its basic blocks.
 */
#ifndef MPK_GRAPH_MODEL_GRAPH_H
#define MPK_GRAPH_MODEL_GRAPH_H

#include "model/view.h"

enum mpk_model_node_kind {
	MPK_MODEL_INPUT,
	MPK_MODEL_OPERATOR, /* computes: a kernel, a function of the library or of the executable */
	MPK_MODEL_BUILTIN,  /* the executor does it itself: a reshape, a tuple */
	MPK_MODEL_BLOCK,    /* instructions without a jump among them */
	MPK_MODEL_OUTPUT,
};

/* Texts are escaped, but may have line feeds between what was. */
struct mpk_model_node {
	enum mpk_model_node_kind kind;
	const char *label;  /* what is called, or the name of the input */
	const char *detail; /* the instruction or the type of the result; may be empty */
	const char *type;   /* of the result, "float32[4, 24]"; empty: not known */
};

struct mpk_model_edge {
	size_t from, to;   /* nodes */
	const char *label; /* "else"; empty: nothing to say */
};

struct mpk_model_graph {
	const char *path;     /* of the module */
	struct mpk_span name; /* of the function; empty: the module is one graph. Not escaped */
	bool is_flow;         /* nodes are basic blocks, edges jumps; else edges are values */
	const struct mpk_model_node *nodes;
	size_t node_count;
	const struct mpk_model_edge *edges; /* ascending by the node they lead to */
	size_t edge_count;
};

struct mpk_model_graphs {
	const struct mpk_model_graph *items;
	size_t count;
};

/* mpk_model_graphs_read - the graphs of every executor in the tree, in its order
 * Weights are no nodes. Byte code that an interpreter would refuse has no graph: --verify tells why.
 * @out     in the view's arena
 * Returns  MPK_OK; MPK_E_NOMEM. Linear in the size of the payloads. */
enum mpk_code mpk_model_graphs_read(const struct mpk_view *view, struct mpk_model_graphs *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_model_node_kind_name - "input", "operator", "builtin", "block", "output" */
const char *mpk_model_node_kind_name(enum mpk_model_node_kind kind);

#endif
