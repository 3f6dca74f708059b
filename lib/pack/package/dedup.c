/* SPDX-License-Identifier: Apache-2.0 */
/* dedup.c - modules that are the same twice become one with several importers */

#include <stdlib.h>
#include <string.h>

#include "package/internal/package.h"

/* The bytes of a piece: in memory, or in the mapping of the file that it is a range of. */
static const uint8_t *piece_bytes(const struct mpk_loader *l, const struct mpk_piece *p)
{
	struct mpk_span view;

	if (p->data)
		return p->data;
	for (const struct mpk_file *f = l->files; f; f = f->next)
		if (f->map.fd == p->fd && mpk_span_sub(f->map.bytes, p->off, p->len, &view))
			return view.data;
	return NULL;
}

/* Piece by piece, whatever the boundaries. */
static bool same_content(const struct mpk_loader *l, const struct mpk_rope *a,
			 const struct mpk_rope *b)
{
	size_t i = 0, k = 0;
	uint64_t a_off = 0, b_off = 0;

	while (i < a->count && k < b->count) {
		uint64_t a_left = a->pieces[i].len - a_off, b_left = b->pieces[k].len - b_off;
		uint64_t n = a_left < b_left ? a_left : b_left;
		const uint8_t *x = piece_bytes(l, &a->pieces[i]);
		const uint8_t *y = piece_bytes(l, &b->pieces[k]);

		if (!x || !y || (x + a_off != y + b_off && memcmp(x + a_off, y + b_off, n) != 0))
			return false;
		a_off = n == a_left ? 0 : a_off + n;
		b_off = n == b_left ? 0 : b_off + n;
		i += n == a_left;
		k += n == b_left;
	}
	return true;
}

static bool same_module(const struct mpk_loader *l, const struct mpk_module *a,
			const struct mpk_module *b)
{
	return a->content->len == b->content->len && mpk_span_equal(a->kind, b->kind) &&
	       a->import_count == b->import_count &&
	       (a->import_count == 0 ||
		memcmp(a->imports, b->imports, a->import_count * sizeof *a->imports) == 0) &&
	       same_content(l, a->content, b->content);
}

/* Candidates side by side: by size, then kind, then position in the manifest. */
struct candidate {
	const struct mpk_module *module;
	size_t index;
};

/* Equal modules have equal lengths and kinds, so that a search for twins ends where the
 * length changes. */
static int dedup_compare(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	uint64_t x_len = x->module->content->len, y_len = y->module->content->len;
	int r = mpk_span_compare(x->module->kind, y->module->kind);

	if (x_len != y_len)
		return x_len < y_len ? -1 : 1;
	return r ? r : (x->index > y->index) - (x->index < y->index);
}

static size_t list_candidates(const struct mpk_module *modules, const size_t *twin, size_t count,
			      struct candidate *out)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		if (!modules[i].is_host && twin[i] == i)
			out[used++] = (struct candidate){ &modules[i], i };
	qsort(out, used, sizeof *out, dedup_compare);
	return used;
}

/* Finds twins among modules whose imports are as they stand now; true when there are any. */
static bool find_twins(const struct mpk_loader *l, const struct mpk_module *modules, size_t *twin,
		       size_t count, struct candidate *c)
{
	size_t used = list_candidates(modules, twin, count, c);
	bool found = false;

	for (size_t i = 0; i < used; i++) {
		if (twin[c[i].index] != c[i].index)
			continue;
		for (size_t k = i + 1; k < used; k++) {
			if (c[k].module->content->len != c[i].module->content->len)
				break;
			if (twin[c[k].index] == c[k].index &&
			    same_module(l, c[i].module, c[k].module)) {
				twin[c[k].index] = c[i].index;
				found = true;
			}
		}
	}
	return found;
}

/* Imports are copied before they change: the manifest's own arrays stay what the user
 * wrote. */
static bool redirect(struct mpk_loader *l, struct mpk_module *modules, const size_t *twin,
		     size_t count, size_t *root)
{
	for (size_t i = 0; i < count; i++) {
		size_t *imports =
			mpk_arena_array(l->arena, modules[i].import_count, sizeof *imports);

		if (!imports)
			return false;
		for (size_t k = 0; k < modules[i].import_count; k++)
			imports[k] = twin[modules[i].imports[k]];
		modules[i].imports = imports;
	}
	*root = twin[*root];
	return true;
}

/* Importers of twins may be twins themselves, so it goes on until nothing is found. */
void mpk_loader_dedup(struct mpk_loader *l, struct mpk_module *modules, size_t count, size_t *root)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	size_t *twin = mpk_arena_array(&scratch, count, sizeof *twin);
	struct candidate *c = mpk_arena_array(&scratch, count, sizeof *c);

	if (!twin || !c) {
		l->failed = true;
		return;
	}
	for (size_t i = 0; i < count; i++)
		twin[i] = i;
	while (find_twins(l, modules, twin, count, c)) {
		if (!redirect(l, modules, twin, count, root)) {
			l->failed = true;
			return;
		}
	}
}
