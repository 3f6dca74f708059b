#include "record/record.h"

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
