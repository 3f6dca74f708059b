/* SPDX-License-Identifier: Apache-2.0 */
/* factory.h - payloads of graph and AOT executors: graph, parameters, name (FORMAT.md) */
#ifndef MPK_FORMATS_FACTORY_FACTORY_H
#define MPK_FORMATS_FACTORY_FACTORY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "tensor/tensor.h"

struct mpk_factory {
	bool has_graph;              /* false: AotExecutorFactory */
	struct mpk_span graph_json;  /* text; parsed by graphjson/graphjson.h */
	struct mpk_params params;    /* named like the graph's inputs */
	struct mpk_span module_name; /* name of the function that makes an executor, "default" */
};

/* mpk_factory_write - append the payload to rope, as TVM writes it */
void mpk_factory_write(struct mpk_rope *r, const struct mpk_factory *f);

#endif
