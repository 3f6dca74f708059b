/* SPDX-License-Identifier: Apache-2.0 */
/* dot.h - minspect --dot: the module tree, or the graphs of its models, for Graphviz */
#ifndef MPK_GRAPH_DOT_H
#define MPK_GRAPH_DOT_H

#include "graph/model_graph.h"

/* mpk_dot_tree - append a digraph of the modules: what they are and how large, imports as edges
 * mpk_dot_model - append a digraph with a cluster for each graph
 * Whatever names hold, what is appended is valid. */
void mpk_dot_tree(const struct mpk_view *view, struct mpk_strbuf *out);
void mpk_dot_model(const struct mpk_view *view, const struct mpk_model_graphs *graphs,
		   struct mpk_strbuf *out);

#endif
