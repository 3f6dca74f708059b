/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - the payloads of graph and AOT executors: parameters, and for the former the graph
 *
 * As written by GraphExecutorFactory and AotExecutorFactory (TVM, SaveToBinary in
 * src/runtime/graph_executor/graph_executor_factory.cc and src/runtime/aot_executor/
 * aot_executor_factory.cc): the two differ in the graph alone, so they share a reader and, in codec.c, a writer. */
#include "factory/factory.h"

#include "payload.h"

/* GraphExecutorFactory (has_graph) or AotExecutorFactory
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset; MPK_E_NOMEM */
static enum mpk_code factory_read(struct mpk_cursor *c, bool has_graph, struct mpk_arena *arena,
				  struct mpk_factory *out, struct mpk_error *err)
{
	struct mpk_factory f = { .has_graph = has_graph };
	struct mpk_cursor at = *c;
	uint64_t count;

	if (has_graph)
		MPK_TRY(mpk_read_str(&at, "graph", &f.graph_json, err));
	MPK_TRY(mpk_read_u64(&at, "parameter count", &count, err));
	MPK_TRY(mpk_read_strs(&at, "parameter names", arena, &f.params.names, err));
	MPK_TRY(mpk_tensors_read(&at, f.params.names, count, arena, &f.params.tensors, err));
	MPK_TRY(mpk_read_str(&at, "module name", &f.module_name, err));
	*out = f;
	*c = at;
	return MPK_OK;
}

static enum mpk_code factory_read_graph(struct mpk_cursor *c, struct mpk_arena *arena,
					struct mpk_payload *out, struct mpk_error *err)
{
	return factory_read(c, true, arena, &out->u.factory, err);
}

static enum mpk_code factory_read_aot(struct mpk_cursor *c, struct mpk_arena *arena,
				      struct mpk_payload *out, struct mpk_error *err)
{
	return factory_read(c, false, arena, &out->u.factory, err);
}

const struct mpk_payload_reader mpk_reader_graph = { MPK_PAYLOAD_FACTORY, factory_read_graph };
const struct mpk_payload_reader mpk_reader_aot = { MPK_PAYLOAD_FACTORY, factory_read_aot };
