/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - models of the graph executor: GraphExecutorFactory, GraphRuntimeFactory */
#ifndef MPK_EXECUTOR_GRAPH_GRAPH_H
#define MPK_EXECUTOR_GRAPH_GRAPH_H

#include "runtime/runtime.h"

/* Gives one function, by the name that the factory has for it, usually "default": it takes the
 * inputs that no parameter fills, and parameters by name, and returns the graph's outputs. */
extern const struct mpk_loader mpk_graph_executor;

#endif
