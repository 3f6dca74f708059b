/* SPDX-License-Identifier: Apache-2.0 */
/* codec.c - the payloads of graph and AOT executors: what writes them, and the files that one consists of */
#include "factory/factory.h"

#include "payload.h"

/* As read: the graph where there is one, then parameters and the module's name. */
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

static void factory_write_payload(const struct mpk_payload *p, struct mpk_rope *rope)
{
	mpk_factory_write(rope, &p->u.factory);
}

static enum mpk_code factory_list_files(const struct mpk_payload *p, struct mpk_files *files)
{
	const struct mpk_factory *f = &p->u.factory;

	if (f->has_graph)
		MPK_TRY(mpk_files_add_bytes(files, "graph.json", f->graph_json));
	return mpk_files_add_params(files, "params/", &f->params);
}

const struct mpk_codec mpk_codec_graph = { &mpk_reader_graph, factory_write_payload,
					   factory_list_files };

const struct mpk_codec mpk_codec_aot = { &mpk_reader_aot, factory_write_payload,
					 factory_list_files };
