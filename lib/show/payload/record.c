/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - printers for payloads that are a list of fields: external runtimes, C source, static
 * libraries
 *
 * Most kinds of modules need nothing else. A record has no parts for --filter: its fields are
 * always printed together. */
#include "payload/payload_view.h"

#include <inttypes.h>
#include <string.h>

#include "text/escape.h"
#include "text/table.h"

enum { NAME_MAX_BYTES = 256 }; /* limit for a field that may be a name or a file */

/* Returns the value of the field with this name, or NULL. Records have at most six fields. */
static const struct mpk_record_value *record_value(const struct mpk_record *record,
						   const char *name)
{
	for (size_t i = 0; i < record->schema->count; i++) {
		if (strcmp(record->schema->fields[i].name, name) == 0)
			return &record->values[i];
	}
	return NULL;
}

/* Objects packed as a module count as code, with members and functions. */
static enum mpk_code read_library(const struct mpk_payload_content *c, struct mpk_arena *arena,
				  struct mpk_node_info *out, struct mpk_error *err)
{
	const struct mpk_record *r = &c->payload->u.record;
	const struct mpk_source *source = &c->payload->source;
	const struct mpk_record_value *data = record_value(r, "data");
	struct mpk_code_piece *piece;

	if (r->schema != &mpk_schema_static_library || !data || !data->str.len)
		return MPK_OK;
	piece = mpk_arena_alloc(arena, sizeof *piece);
	MPK_TRY_ALLOC(piece, err);
	MPK_TRY(mpk_code_info_read(data->str,
				   source->off + (uint64_t)(data->str.data - source->span.data),
				   NULL, arena, &piece->code, err));
	out->pieces = piece;
	out->piece_count = 1;
	return MPK_OK;
}

/* Returns the symbol of an external runtime or a function of a library. kinds.def gives the fields
 * that hold them. */
static bool defined_at(const struct mpk_payload *p, size_t index, struct mpk_span *name)
{
	const struct mpk_record_value *symbol = record_value(&p->u.record, "symbol");
	const struct mpk_record_value *functions = record_value(&p->u.record, "func_names");

	if (symbol && index-- == 0) {
		*name = symbol->str;
		return true;
	}
	if (!functions || index >= functions->strs.count)
		return false;
	*name = functions->strs.items[index];
	return true;
}

/* External runtimes take their function's name from some field of the payload. Each runtime uses
 * another field, so any text counts that is short enough to be a name. */
static bool offered_at(const struct mpk_payload *p, size_t index, struct mpk_span *name)
{
	const struct mpk_record *r = &p->u.record;

	for (size_t i = 0; i < r->schema->count; i++) {
		const struct mpk_record_value *v = &r->values[i];

		if (v->str.data && v->str.len <= NAME_MAX_BYTES && index-- == 0) {
			*name = v->str;
			return true;
		}
		if (index < v->strs.count) {
			*name = v->strs.items[index];
			return true;
		}
		index -= v->strs.count;
	}
	return false;
}

static void put_fields(const struct mpk_payload *p, struct mpk_strbuf *out)
{
	const struct mpk_record *r = &p->u.record;

	for (size_t i = 0; i < r->schema->count; i++) {
		const struct mpk_record_field *f = &r->schema->fields[i];
		const struct mpk_record_value *v = &r->values[i];

		mpk_strbuf_printf(out, "%s: ", f->name);
		if (f->type == MPK_FIELD_I32)
			mpk_strbuf_printf(out, "%" PRId32, v->number);
		else if (f->type == MPK_FIELD_STRS)
			mpk_strbuf_printf(out, "%zu name%s", v->strs.count,
					  v->strs.count == 1 ? "" : "s");
		else if (f->file)
			mpk_strbuf_puts(out, MPK_SIZE(v->str.len));
		else
			mpk_strbuf_puts(out, MPK_QUOTE(v->str));
		mpk_strbuf_putc(out, '\n');
	}
}

const struct mpk_payload_view mpk_payload_view_record = {
	.read = read_library,
	.defines = defined_at,
	.offers = offered_at,
	.fields = put_fields,
};
