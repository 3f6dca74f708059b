/* SPDX-License-Identifier: Apache-2.0 */
/* codec.c - payloads that are a list of strings and numbers: one loop over the fields of a schema
 *
 * Most kinds of modules are such a list. They need no code of their own, only a schema in their row of
 * kinds.def, so no function here knows any kind. */
#include "record/record.h"

#include "kinds.def"
#include "payload.h"

const struct mpk_record_schema mpk_schema_json_runtime =
	FIELDS(STR("symbol"), FILE_AS("graph_json", "graph.json"), STRS("const_names"));
const struct mpk_record_schema mpk_schema_static_library =
	FIELDS(FILE_AS("data", "library.o"), STRS("func_names"));

/* --- Records: one loop over the fields of a schema --- */

/* Every type of field has a function of the cursor, which checks the bounds. */
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

/* Reads the fields of schema, in order
 * @out     strings are views of the cursor's bytes, lists are in arena
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset; MPK_E_NOMEM */
static enum mpk_code record_read(struct mpk_cursor *c, const struct mpk_record_schema *schema,
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

/* --- as a payload (payload.h) ---------------------------------------------------------------- */

static enum mpk_code record_read_payload(struct mpk_cursor *c, struct mpk_arena *arena,
					 struct mpk_payload *out, struct mpk_error *err)
{
	return record_read(c, out->kind->schema, arena, &out->u.record, err);
}

enum mpk_code mpk_record_files(const struct mpk_payload *p, struct mpk_files *files)
{
	const struct mpk_record *r = &p->u.record;

	for (size_t i = 0; i < r->schema->count; i++) {
		if (r->schema->fields[i].file)
			MPK_TRY(mpk_files_add_bytes(files, r->schema->fields[i].file,
						    r->values[i].str));
	}
	return MPK_OK;
}

const struct mpk_payload_reader mpk_reader_record = { MPK_PAYLOAD_RECORD, record_read_payload };
const struct mpk_codec mpk_codec_record = { &mpk_reader_record, mpk_record_files };
