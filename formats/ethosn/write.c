/* SPDX-License-Identifier: Apache-2.0 */
#include "ethosn/ethosn.h"
#include "payload.h"
#include "wire.h"

void mpk_ethosn_write(struct mpk_rope *r, const struct mpk_ethosn *e)
{
	mpk_rope_put_u64(r, e->count);
	for (size_t i = 0; i < e->count; i++) {
		const struct mpk_ethosn_network *n = &e->networks[i];

		mpk_rope_put_str(r, n->name);
		mpk_rope_put_blob(r, n->compiled);
		mpk_rope_put_words(r, n->input_order, 4);
		mpk_rope_put_view(r, n->input_sizes);
		mpk_rope_put_words(r, n->output_order, 4);
		mpk_rope_put_view(r, n->output_sizes);
	}
}

/* --- as a payload (payload.h) ---------------------------------------------------------------- */

static enum mpk_code read_payload(struct mpk_cursor *c, struct mpk_arena *arena,
				  struct mpk_payload *out, struct mpk_error *err)
{
	return mpk_ethosn_read(c, out->gen != MPK_GEN_CURRENT, arena, &out->u.ethosn, err);
}

static void write_payload(const struct mpk_payload *p, struct mpk_rope *rope)
{
	mpk_ethosn_write(rope, &p->u.ethosn);
}

const struct mpk_codec mpk_codec_ethosn = { MPK_PAYLOAD_ETHOSN, read_payload, write_payload };
