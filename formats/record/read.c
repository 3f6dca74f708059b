/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - records: one loop over the fields of a schema */
#include "record/record.h"

static enum mpk_code read_field(struct mpk_cursor *c, const struct mpk_record_field *field,
				struct mpk_arena *arena, struct mpk_record_value *out,
				struct mpk_error *err)
{
	switch (field->type) {
	case MPK_FIELD_STR:
		return mpk_read_str(c, field->name, &out->str, err);
	case MPK_FIELD_STRS:
		return mpk_read_strs(c, field->name, arena, &out->strs, err);
	case MPK_FIELD_I32:
		break;
	}
	return mpk_read_i32(c, field->name, &out->number, err);
}

enum mpk_code mpk_record_read(struct mpk_cursor *c, const struct mpk_record_schema *schema,
			      struct mpk_arena *arena, struct mpk_record *out,
			      struct mpk_error *err)
{
	struct mpk_record record = { .schema = schema };
	struct mpk_cursor at = *c;

	for (size_t i = 0; i < schema->count; i++)
		MPK_TRY(read_field(&at, &schema->fields[i], arena, &record.values[i], err));
	*out = record;
	*c = at;
	return MPK_OK;
}

const struct mpk_record_value *mpk_record_get(const struct mpk_record *record, const char *name)
{
	for (size_t i = 0; i < record->schema->count; i++) {
		if (strcmp(record->schema->fields[i].name, name) == 0)
			return &record->values[i];
	}
	return NULL;
}
