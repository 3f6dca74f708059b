/* SPDX-License-Identifier: Apache-2.0 */
#include "record/record.h"

#include "payload.h"

void mpk_record_write(struct mpk_rope *r, const struct mpk_record *record)
{
	for (size_t i = 0; i < record->schema->count; i++) {
		const struct mpk_record_value *v = &record->values[i];

		switch (record->schema->fields[i].type) {
		case MPK_FIELD_STR:
			mpk_rope_put_blob(r, v->str);
			break;
		case MPK_FIELD_STRS:
			mpk_rope_put_strs(r, v->strs);
			break;
		case MPK_FIELD_I32:
			mpk_rope_put_u32(r, (uint32_t)v->number);
			break;
		}
	}
}

/* --- as a payload (payload.h) ---------------------------------------------------------------- */

static enum mpk_code read_payload(struct mpk_cursor *c, struct mpk_arena *arena,
				  struct mpk_payload *out, struct mpk_error *err)
{
	return mpk_record_read(c, out->kind->schema, arena, &out->u.record, err);
}

static void write_payload(const struct mpk_payload *p, struct mpk_rope *rope)
{
	mpk_record_write(rope, &p->u.record);
}

const struct mpk_codec mpk_codec_record = { MPK_PAYLOAD_RECORD, read_payload, write_payload };
