/* SPDX-License-Identifier: Apache-2.0 */
/* totals.c - adds up the GPU code of many files by device */
#include "list/totals.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "model/device_code.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "text/table.h"

enum { DEVICES_SHOWN = 12 };

void mpk_totals_fini(struct mpk_totals *t)
{
	free(t->items);
	mpk_strmap_fini(&t->by_target);
	mpk_arena_fini(&t->arena);
}

static enum mpk_code add_row(struct mpk_totals *t, const struct mpk_device_row *row,
			     struct mpk_error *err)
{
	const char *target = *row->target ? row->target : row->what;
	size_t at;

	if (!mpk_strmap_find(&t->by_target, mpk_span_str(target), &at)) {
		const char *copy = mpk_arena_text(&t->arena, mpk_span_str(target));

		MPK_TRY_ALLOC(copy, err);
		MPK_TRY_ALLOC(MPK_VEC_ROOM(t->items, t->count, t->cap), err);
		MPK_TRY_ALLOC(mpk_strmap_put(&t->by_target, mpk_span_str(copy), t->count, &at) >= 0,
			      err);
		t->items[t->count++] = (struct mpk_total){ .target = copy };
	}
	t->items[at].bytes += row->bytes;
	return MPK_OK;
}

enum mpk_code mpk_totals_add(struct mpk_totals *t, const struct mpk_view *view,
			     struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_image *image = view->image;
	struct mpk_device_rows rows;
	uint64_t linker = 0;

	if (!image->device_count)
		return MPK_OK;
	MPK_TRY(mpk_device_rows(view, &scratch, &rows, err));
	for (size_t i = 0; i < rows.count; i++)
		MPK_TRY(add_row(t, &rows.items[i], err));
	for (size_t i = 0; i < image->device_count; i++)
		if (mpk_device_is_input(image->devices[i].section, image->devices[i].is_loaded,
					image->devices[i].bytes))
			linker += image->devices[i].bytes.len;
	t->files++;
	t->linker_bytes += linker;
	t->linker_files += linker > 0;
	return MPK_OK;
}

static int by_bytes(const void *a, const void *b)
{
	const struct mpk_total *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return mpk_natural_compare(x->target, y->target);
}

/* Sorts CUDA devices before others, machine code before code that drivers compile. */
static unsigned family(const char *target)
{
	static const char *const begins[] = { "sm_", "compute_", "gfx" };
	unsigned i = 0;

	while (i < MPK_ARRAY_COUNT(begins) && strncmp(target, begins[i], strlen(begins[i])) != 0)
		i++;
	return i;
}

static int by_target(const void *a, const void *b)
{
	const struct mpk_total *x = a, *y = b;
	unsigned m = family(x->target), n = family(y->target);

	return m != n ? (m < n ? -1 : 1) : mpk_natural_compare(x->target, y->target);
}

/* All numbers have the same unit, so that they can be compared at a glance. */
static void totals_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_totals *t = what;
	struct mpk_total *items = calloc(t->count + 1, sizeof *items);
	size_t shown = t->count < DEVICES_SHOWN + 2 ? t->count : DEVICES_SHOWN;

	if (!items) {
		out->failed = true;
		return;
	}
	if (t->count)
		memcpy(items, t->items, t->count * sizeof *items);
	qsort(items, t->count, sizeof *items, by_bytes);

	bool is_large = t->count && items[0].bytes >= 1 << 20;
	uint64_t rest = 0;

	for (size_t i = shown; i < t->count; i++)
		rest += items[i].bytes;
	qsort(items, shown, sizeof *items, by_target);
	mpk_strbuf_puts(out, !t->count ? "" : is_large ? "  MiB by device: " : "  KiB by device: ");
	for (size_t i = 0; i < shown; i++) {
		mpk_strbuf_puts(out, !i ? "" : style.unicode ? " · " : ", ");
		mpk_escape(out, mpk_span_str(items[i].target));
		mpk_strbuf_printf(out, " %.1f",
				  (double)items[i].bytes / (is_large ? 1 << 20 : 1 << 10));
	}
	if (shown < t->count)
		mpk_strbuf_printf(out, " and %zu more, %.1f", t->count - shown,
				  (double)rest / (is_large ? 1 << 20 : 1 << 10));
	mpk_strbuf_puts(out, t->count ? "\n" : "");
	if (t->linker_files)
		mpk_strbuf_printf(out,
				  "  %s in %zu %s is for a linker alone (__nv_relfatbin, LTO IR, "
				  "bitcode): no driver reads it\n",
				  MPK_SIZE(t->linker_bytes), t->linker_files,
				  t->linker_files == 1 ? "file" : "files");
	free(items);
}

const struct mpk_answer mpk_answer_totals = { .text = totals_text };
