/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - which bytes belong to a symbol, in formats that do not store sizes
 *
 * Mach-O and COFF give a symbol a section and an address. Its bytes are taken to reach to the next
 * symbol of the section, or to the section's end: the symbols are sorted by place once, so that
 * this is linear after the sort.
 */
#include <stdlib.h>

#include "base/compiler.h"
#include "object/object.h"

enum { NAME_MAX_BYTES = 16384 };

/* A name may be long; one beyond the bound is replaced by none rather than refused, as it is
 * only a name. */
const char *mpk_object_name(struct mpk_span table, uint64_t off)
{
	struct mpk_span name;

	if (mpk_span_text(table, off, NAME_MAX_BYTES, &name))
		return (const char *)name.data;
	return off < table.len && table.len - off > NAME_MAX_BYTES ? "" : NULL;
}

/* By section first: addresses of different sections may overlap in objects. */
static int object_by_place(const void *a, const void *b)
{
	const struct mpk_object_symbol *x = *(struct mpk_object_symbol *const *)a;
	const struct mpk_object_symbol *y = *(struct mpk_object_symbol *const *)b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* An address outside of its section has no bytes: the symbol stays, without content. */
static void object_place(const struct mpk_object *object, struct mpk_object_symbol *s, uint64_t end)
{
	const struct mpk_object_section *section = &object->sections[s->section - 1];
	uint64_t into = s->address - section->address;

	if (s->address < section->address || into > section->content.len)
		return;
	if (end > section->content.len)
		end = section->content.len;
	s->content_off = section->content_off + into;
	(void)mpk_span_sub(section->content, into, end - into, &s->content);
}

/* Symbols without a section (undefined, absolute) have no place. */
enum mpk_code mpk_object_place(struct mpk_object *object, struct mpk_error *err)
{
	struct mpk_object_symbol **order = calloc(object->symbol_count + 1, sizeof *order);
	size_t count = 0;

	MPK_TRY_ALLOC(order, err);
	for (size_t i = 0; i < object->symbol_count; i++)
		if (object->symbols[i].defined && object->symbols[i].section)
			order[count++] = &object->symbols[i];
	if (count)
		qsort(order, count, sizeof(struct mpk_object_symbol *), object_by_place);
	for (size_t i = 0, next = 0; i < count; i++) {
		const struct mpk_object_symbol *s = order[i];
		uint64_t end = UINT64_MAX;

		/* several names of one place share what follows */
		for (next = next > i ? next : i + 1; next < count &&
						     order[next]->section == s->section &&
						     order[next]->address == s->address;)
			next++;
		if (next < count && order[next]->section == s->section)
			end = order[next]->address - object->sections[s->section - 1].address;
		object_place(object, order[i], end);
	}
	free(order);
	return MPK_OK;
}
