/* SPDX-License-Identifier: Apache-2.0 */
/* factory.h - graph and AOT executors as packed: graph, parameters, name (FORMAT.md) */
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
	struct mpk_span graph_json;  /* read it with graphjson/graphjson.h */
	struct mpk_params params;    /* names as the graph's inputs are called */
	struct mpk_span module_name; /* the function that makes an executor, "default" */
};

/* mpk_factory_write - the inverse, to the byte */
void mpk_factory_write(struct mpk_rope *r, const struct mpk_factory *f);

#endif
