/* SPDX-License-Identifier: Apache-2.0 */
/* archive.c - a static archive whose objects have the device code of chosen architectures only
 *
 * It is written as `ar rcsD` writes one: an index with the symbols that the old one had, members in their order. */
#include <stdlib.h>

#include "ar/ar.h"
#include "text/escape.h"
#include "thin/internal/thin.h"

struct archive {
	struct mpk_ar ar;
	struct mpk_ar_entry *entries;
	struct mpk_rope *contents;
	struct mpk_span *names; /* of symbols, those of one member together */
};

/* Symbols by member, in the order of the index. */
static enum mpk_code archive_symbols(struct archive *a, struct mpk_arena *arena,
				     struct mpk_error *err)
{
	size_t *at = mpk_arena_array(arena, a->ar.member_count + 1, sizeof *at), sum = 0;

	a->names = mpk_arena_array(arena, a->ar.symbol_count + 1, sizeof *a->names);
	MPK_TRY_ALLOC(at && a->names, err);
	for (size_t i = 0; i < a->ar.symbol_count; i++)
		a->entries[a->ar.symbols[i].member].symbol_count++;
	for (size_t i = 0; i < a->ar.member_count; i++) {
		a->entries[i].symbols = a->names + sum;
		at[i] = sum;
		sum += a->entries[i].symbol_count;
	}
	for (size_t i = 0; i < a->ar.symbol_count; i++)
		a->names[at[a->ar.symbols[i].member]++] = a->ar.symbols[i].name;
	return MPK_OK;
}

/* What is no object stays as it is. */
static enum mpk_code archive_member(struct archive *a, size_t i, const struct mpk_thin_options *o,
				    struct mpk_arena *arena, struct mpk_thin_report *report,
				    bool *changed, struct mpk_error *err)
{
	const struct mpk_ar_member *m = &a->ar.members[i];
	struct mpk_rope *out = &a->contents[i];
	enum mpk_code code;

	*out = mpk_rope_of(arena);
	a->entries[i] = (struct mpk_ar_entry){ .name = m->name, .content = out };
	if (!mpk_thin_is_object(m->data)) {
		mpk_rope_put_view(out, m->data);
		return mpk_rope_status(out, err);
	}
	code = mpk_thin_object(m->data, o, arena, out, report, err);
	if (code != MPK_OK) {
		mpk_error_prefix(err, "%s: ", MPK_QUOTE(m->name));
		return code;
	}
	*changed |= out->count != 1 || out->pieces[0].data != m->data.data;
	return MPK_OK;
}

enum mpk_code mpk_thin_archive(struct mpk_span file, const struct mpk_thin_options *options,
			       struct mpk_arena *arena, struct mpk_rope *out,
			       struct mpk_thin_report *report, struct mpk_error *err)
{
	struct archive a = { 0 };
	bool changed = false;

	MPK_TRY(mpk_ar_read(file, arena, &a.ar, err));
	a.entries = mpk_arena_array(arena, a.ar.member_count + 1, sizeof *a.entries);
	a.contents = mpk_arena_array(arena, a.ar.member_count + 1, sizeof *a.contents);
	MPK_TRY_ALLOC(a.entries && a.contents, err);
	for (size_t i = 0; i < a.ar.member_count; i++)
		MPK_TRY(archive_member(&a, i, options, arena, report, &changed, err));
	if (!changed) {
		mpk_rope_put_view(out, file);
		return mpk_rope_status(out, err);
	}
	MPK_TRY(archive_symbols(&a, arena, err));
	MPK_TRY(mpk_ar_write(a.entries, a.ar.member_count, out, err));
	MPK_TRY(mpk_rope_status(out, err));
	return out->len <= file.len ? MPK_OK
				    : mpk_fail(err, MPK_E_UNSUPPORTED, "it would become larger");
}
