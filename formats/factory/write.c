/* SPDX-License-Identifier: Apache-2.0 */
#include "factory/factory.h"

#include "payload.h"

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

static void write_payload(const struct mpk_payload *p, struct mpk_rope *rope)
{
	mpk_factory_write(rope, &p->u.factory);
}

static enum mpk_code read_graph(struct mpk_cursor *c, struct mpk_arena *arena,
				struct mpk_payload *out, struct mpk_error *err)
{
	return mpk_factory_read(c, true, arena, &out->u.factory, err);
}

const struct mpk_codec mpk_codec_graph = { MPK_PAYLOAD_FACTORY, read_graph, write_payload };

static enum mpk_code read_aot(struct mpk_cursor *c, struct mpk_arena *arena,
			      struct mpk_payload *out, struct mpk_error *err)
{
	return mpk_factory_read(c, false, arena, &out->u.factory, err);
}

const struct mpk_codec mpk_codec_aot = { MPK_PAYLOAD_FACTORY, read_aot, write_payload };
