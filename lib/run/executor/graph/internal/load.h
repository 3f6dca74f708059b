/* SPDX-License-Identifier: Apache-2.0 */
/* load.h - a graph as a program */
#ifndef MPK_EXECUTOR_GRAPH_INTERNAL_LOAD_H
#define MPK_EXECUTOR_GRAPH_INTERNAL_LOAD_H

#include "executor/static/model.h"

/* mpk_graph_load - entries become tensors, storage ids storages, operators steps
 * Functions are looked up in what the node imports. Parameters are those of the factory, and
 * linked ones, which the library has in its own data.
 * Returns  as mpk_static_load_fn; MPK_E_SYNTAX: the graph is no JSON; MPK_E_CORRUPT: it does not hold
 *          together; MPK_E_UNSUPPORTED: entries in texture memory */
enum mpk_code mpk_graph_load(struct mpk_node_module *node, const struct mpk_factory *factory,
			     struct mpk_static_program **out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
