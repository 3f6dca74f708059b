/* SPDX-License-Identifier: Apache-2.0 */
/* dot.h - the graphs of the models in a file; --dot: the module tree or those graphs, for Graphviz */
#ifndef MPK_GRAPH_DOT_H
#define MPK_GRAPH_DOT_H

#include "model/view.h"
#include "payload/graph.h"

struct mpk_model_graphs {
	const struct mpk_view *view; /* of the file that they are in */
	const struct mpk_model_graph *items;
	size_t count;
};

/* mpk_model_graphs_read - the graphs of every executor in the tree, in its order
 * Weights are no nodes. Byte code that an interpreter would refuse has no graph: --verify tells why.
 * @out     in the view's arena
 * Returns  MPK_OK; MPK_E_NOMEM. Linear in the size of the payloads. */
enum mpk_code mpk_model_graphs_read(const struct mpk_view *view, struct mpk_model_graphs *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* of struct mpk_view: a digraph of the modules, what they are and how large, imports as edges
 * of struct mpk_model_graphs: a digraph with a cluster for each graph
 * Whatever names hold, the text is valid. */
extern const struct mpk_answer mpk_answer_dot_tree, mpk_answer_dot_model;

#endif
