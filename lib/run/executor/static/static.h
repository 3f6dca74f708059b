/* SPDX-License-Identifier: Apache-2.0 */
/* static.h - models whose tensors and memory are laid out before they run: graph and AOT executors */
#ifndef MPK_EXECUTOR_STATIC_STATIC_H
#define MPK_EXECUTOR_STATIC_STATIC_H

#include "runtime/runtime.h"

/* GraphExecutorFactory, GraphRuntimeFactory. Gives one function, by the name that the factory has for
 * it, usually "default": it takes the inputs that no parameter fills, and parameters by name, and
 * returns the graph's outputs. */
extern const struct mpk_loader mpk_graph_executor;

/* AotExecutorFactory. Gives one function in the same way. Such models run on the CPU, whatever other
 * devices there are. */
extern const struct mpk_loader mpk_aot_executor;

#endif
