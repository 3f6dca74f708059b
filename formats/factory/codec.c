/* SPDX-License-Identifier: Apache-2.0 */
/* codec.c - the payloads of graph and AOT executors: parameters, and for a graph executor its graph
 *
 * As written by GraphExecutorFactory and AotExecutorFactory (TVM, SaveToBinary in
 * src/runtime/graph_executor/graph_executor_factory.cc and src/runtime/aot_executor/
 * aot_executor_factory.cc): only the graph is different, so both share a reader and a writer. */
#include "factory/factory.h"

#include "payload.h"

/* Reads a GraphExecutorFactory (has_graph) or AotExecutorFactory
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

/* The order of reading: the graph if there is one, then parameters and the module's name. */
void mpk_factory_write(struct mpk_rope *r, const struct mpk_factory *f)
{
	if (f->has_graph)
		mpk_rope_put_blob(r, f->graph_json);
	mpk_rope_put_u64(r, f->params.names.count);
	mpk_rope_put_strs(r, f->params.names);
	mpk_tensors_write(r, &f->params);
	mpk_rope_put_str(r, f->module_name);
}

/* --- as a payload (payload.h) ---------------------------------------------------------------- */

static enum mpk_code factory_list_files(const struct mpk_payload *p, struct mpk_files *files)
{
	const struct mpk_factory *f = &p->u.factory;

	if (f->has_graph)
		MPK_TRY(mpk_files_add_bytes(files, "graph.json", f->graph_json));
	return mpk_files_add_params(files, "params/", &f->params);
}

const struct mpk_codec mpk_codec_graph = { &mpk_reader_graph, factory_list_files };
const struct mpk_codec mpk_codec_aot = { &mpk_reader_aot, factory_list_files };
