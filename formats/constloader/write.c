/* SPDX-License-Identifier: Apache-2.0 */
#include "constloader/constloader.h"

#include "payload.h"

void mpk_const_loader_write(struct mpk_rope *r, const struct mpk_const_loader *l)
{
	mpk_rope_put_strs(r, l->consts.names);
	mpk_rope_put_u64(r, l->consts.names.count);
	mpk_tensors_write(r, &l->consts);
	mpk_rope_put_strs(r, l->symbols);
	mpk_rope_put_u64(r, l->symbols.count);
	for (size_t i = 0; i < l->symbols.count; i++)
		mpk_rope_put_strs(r, l->needs[i]);
}

/* --- as a payload (payload.h) ---------------------------------------------------------------- */

static enum mpk_code read_payload(struct mpk_cursor *c, struct mpk_arena *arena,
				  struct mpk_payload *out, struct mpk_error *err)
{
	return mpk_const_loader_read(c, arena, &out->u.consts, err);
}

static void write_payload(const struct mpk_payload *p, struct mpk_rope *rope)
{
	mpk_const_loader_write(rope, &p->u.consts);
}

const struct mpk_codec mpk_codec_consts = { MPK_PAYLOAD_CONSTS, read_payload, write_payload };
