/* SPDX-License-Identifier: Apache-2.0 */
/* dot.h - the graphs of the models in a file; --dot prints the module tree or those graphs for
 * Graphviz */
#ifndef MPK_GRAPH_DOT_H
#define MPK_GRAPH_DOT_H

#include "model/view.h"
#include "payload/graph.h"

struct mpk_model_graphs {
	const struct mpk_view *view; /* the view that contains the graphs */
	const struct mpk_model_graph *items;
	size_t count;
};

/* mpk_model_graphs_read - read the graphs of every executor, in the order of the tree
 * Weights are not nodes. Byte code that an interpreter would refuse has no graph: --verify tells
 * why.
 * @out     in the view's arena
 * Returns  MPK_OK; MPK_E_NOMEM. Linear in the size of the payloads. */
enum mpk_code mpk_model_graphs_read(const struct mpk_view *view, struct mpk_model_graphs *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* Printers. Of struct mpk_view: a digraph of the modules with kinds and sizes, and imports as
 * edges. Of struct mpk_model_graphs: a digraph with a cluster for each graph.
 * The output is valid whatever the names contain. */
extern const struct mpk_answer mpk_answer_dot_tree, mpk_answer_dot_model;

#endif
