/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.c - what differs between kernels, between code beside the tree, and between GPU code of any library
 *
 * Containers follow the order of the linker's objects, and hold as many images as there are devices: a
 * kernel is matched by its name and device in all of them. What is said of a container that is read is
 * kept as digests: two libraries' code would not fit in memory. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "diff/internal/compare.h"
#include "model/device_code.h"
#include "text/table.h"

/* --- kernels ------------------------------------------------------------------------------- */

/* Behind the path, that a module which moved has another of. */
static struct mpk_span kernel_key(const void *item)
{
	const struct mpk_listed_kernel *k = item;
	size_t skip = strlen(k->path);

	return mpk_span_of(k->key.data + skip, k->key.len - skip);
}

/* A figure that only one format has is no change of the kernel, so it is left out. */
static size_t changes_of(const struct mpk_listed_kernel *a, const struct mpk_listed_kernel *b,
			 struct mpk_figure_change out[MPK_FIGURE_COUNT])
{
	size_t n = 0;

	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++)
		if (mpk_figures_differ(&a->figures, &b->figures, (enum mpk_figure)i))
			out[n++] = (struct mpk_figure_change){ (enum mpk_figure)i,
							       a->figures.values[i],
							       b->figures.values[i] };
	return n;
}

static void put_changes(const struct mpk_figure_change *changes, size_t count,
			struct mpk_strbuf *out)
{
	for (size_t i = 0; i < count; i++) {
		const struct mpk_figure_change *c = &changes[i];

		mpk_strbuf_printf(out, "%s%s ", i ? ", " : "", mpk_figure_row(c->figure)->label);
		mpk_figure_put(c->figure, c->before, out);
		mpk_strbuf_puts(out, " -> ");
		mpk_figure_put(c->figure, c->after, out);
	}
}

/* Bytes that differ between two runs of equal length; the caller compares the lengths. */
static uint64_t count_differing(struct mpk_span a, struct mpk_span b)
{
	uint64_t n = 0;

	for (size_t i = 0; i < a.len; i++)
		n += a.data[i] != b.data[i];
	return n;
}

/* The machine code of a kernel, as far as its format says how much that is. */
static uint64_t kernel_bytes(const struct mpk_listed_kernel *k)
{
	const struct mpk_figure_value *code = k ? &k->figures.values[MPK_FIGURE_CODE] : NULL;

	return code && code->state == MPK_FIGURE_KNOWN ? code->number : 0;
}

void mpk_diff_note_kernel(struct mpk_difference *item, const struct mpk_listed_kernel *a,
			  const struct mpk_listed_kernel *b)
{
	if (kernel_bytes(a) || kernel_bytes(b))
		mpk_differ_note_bytes(item, kernel_bytes(a), kernel_bytes(b));
}

void mpk_diff_kernel(struct mpk_differ *d, const struct mpk_listed_kernel *a,
		     const struct mpk_listed_kernel *b)
{
	struct mpk_figure_change changes[MPK_FIGURE_COUNT];
	size_t count = changes_of(a, b, changes);
	bool other = a->has_digest && b->has_digest &&
		     memcmp(a->digest, b->digest, sizeof a->digest) != 0;
	bool rewritten = a->code.len == b->code.len && a->code.len <= d->code_left;
	struct mpk_strbuf text = { 0 };
	struct mpk_difference *item;

	/* charged before the comparison: kernels of a hostile file may all share one long run of
	 * code */
	d->code_left -= rewritten ? a->code.len : 0;
	rewritten = rewritten && !mpk_span_equal(a->code, b->code);
	if (!count && !rewritten && !other)
		return;
	put_changes(changes, count, &text);
	/* a change of the code's size says already that the code differs */
	if (other && !mpk_figures_differ(&a->figures, &b->figures, MPK_FIGURE_CODE))
		mpk_strbuf_printf(&text, "%scode differs", count ? ", " : "");
	if (rewritten)
		mpk_strbuf_printf(&text, "%s%" PRIu64 " of %zu bytes of code differ",
				  count ? ", " : "", count_differing(a->code, b->code),
				  a->code.len);
	item = mpk_differ_add(d, MPK_DIFF_CHANGED, "kernel", a->name, mpk_differ_take(d, &text));
	if (!item)
		return;
	item->target = a->target;
	item->copy = a->copy;
	mpk_diff_note_kernel(item, a, b);
	item->other_code = other || rewritten || a->code.len != b->code.len;
	item->figures = mpk_arena_keep(d->arena, changes, count, sizeof *changes);
	item->figure_count = item->figures ? count : 0;
	d->diff->failed |= !item->figures;
}

static void diff_kernels_compare(struct mpk_differ *d, struct mpk_span key, const void *a,
				 const void *b)
{
	(void)key;
	mpk_diff_kernel(d, a, b);
}

/* Adds the code of a kernel for each of its devices to what was said of it as a whole. */
static void note_side(struct mpk_differ *d, const struct mpk_strmap *said,
		      const struct mpk_kernel_list *list, enum mpk_diff_sign sign)
{
	size_t at;

	for (size_t i = 0; i < list->count; i++) {
		const struct mpk_listed_kernel *k = &list->items[i];
		struct mpk_difference *item;

		if (!mpk_strmap_find(said, k->name, &at) || d->diff->items[at].sign != sign)
			continue;
		item = &d->diff->items[at];
		if (kernel_bytes(k))
			mpk_differ_note_bytes(
				item,
				item->older_bytes +
					(sign == MPK_DIFF_REMOVED ? kernel_bytes(k) : 0),
				item->newer_bytes + (sign == MPK_DIFF_ADDED ? kernel_bytes(k) : 0));
	}
}

/* Kernels that one module alone has were said before their code was read. */
static void note_whole(struct mpk_differ *d, size_t first, const struct mpk_kernel_list *x,
		       const struct mpk_kernel_list *y)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap said = { 0 };

	for (size_t i = first; i < d->diff->count; i++)
		if (strcmp(d->diff->items[i].what, "kernel") == 0)
			d->diff->failed |=
				mpk_strmap_put(&said, d->diff->items[i].name, i, NULL) < 0;
	note_side(d, &said, x, MPK_DIFF_REMOVED);
	note_side(d, &said, y, MPK_DIFF_ADDED);
}

void mpk_diff_kernels(struct mpk_differ *d, enum mpk_kernels_of of, const struct mpk_view *a,
		      size_t i, const struct mpk_view *b, size_t k, size_t first)
{
	static const struct mpk_diff_thing kernel = { .what = "kernel",
						      .bytes = sizeof(struct mpk_listed_kernel),
						      .name = kernel_key,
						      .compare = diff_kernels_compare,
						      .only_matched = true };
	struct mpk_kernel_list x, y;

	if (mpk_kernel_list_read(a, of, i, d->arena, &x, NULL) != MPK_OK ||
	    mpk_kernel_list_read(b, of, k, d->arena, &y, NULL) != MPK_OK) {
		d->diff->failed = true;
		return;
	}
	note_whole(d, first, &x, &y);
	mpk_differ_match(d, &kernel, x.items, x.count, y.items, y.count);
}

/* --- code beside the tree ------------------------------------------------------------- */

struct code {
	const struct mpk_view *view;
	const struct mpk_view_code *code;
	size_t index;
};

static struct mpk_span code_path(const void *item)
{
	const struct code *c = item;

	return mpk_span_str(c->code->path);
}

static void compare_code_kernels(struct mpk_differ *d, const struct code *a, const struct code *b)
{
	static const struct mpk_diff_thing kernel = { .what = "kernel",
						      .bytes = sizeof(struct mpk_code_kernel),
						      .name_at = offsetof(struct mpk_code_kernel,
									  name) };
	const struct mpk_code_info *x = mpk_view_embedded_lister(a->code);
	const struct mpk_code_info *y = mpk_view_embedded_lister(b->code);
	size_t first = d->diff->count;

	if (x && y)
		mpk_differ_match(d, &kernel, x->kernels, x->kernel_count, y->kernels,
				 y->kernel_count);
	mpk_diff_kernels(d, MPK_KERNELS_OF_EMBEDDED, a->view, a->index, b->view, b->index, first);
}

static void compare_codes(struct mpk_differ *d, struct mpk_span path, const void *left,
			  const void *right)
{
	const struct code *x = left, *y = right;
	const struct mpk_view_code *a = x->code, *b = y->code;
	size_t before = d->diff->count;

	(void)path;
	d->path = a->path;
	if (mpk_span_equal(a->at->bytes, b->at->bytes))
		return;
	if (a->code.format != b->code.format)
		mpk_differ_words(d, "code", a->code.format->name, b->code.format->name);
	else
		mpk_diff_code(d, "code", (struct mpk_span){ 0 },
			      (struct mpk_diff_code_side){ a->at->bytes, &a->code, false },
			      (struct mpk_diff_code_side){ b->at->bytes, &b->code, false });
	compare_code_kernels(d, x, y);
	if (d->diff->count == before)
		(void)mpk_differ_bytes(d, "code", (struct mpk_span){ 0 }, a->at->bytes,
				       b->at->bytes);
}

static const struct code *codes_of(struct mpk_differ *d, const struct mpk_view *view)
{
	struct code *list = mpk_arena_array(d->arena, view->image->embedded_count, sizeof *list);

	d->diff->failed |= !list;
	for (size_t i = 0; list && i < view->image->embedded_count; i++)
		list[i] = (struct code){ view, &view->embedded[i], i };
	return list;
}

static void compare_embedded(struct mpk_differ *d, const struct mpk_view *a,
			     const struct mpk_view *b)
{
	static const struct mpk_diff_thing code = { .what = "code",
						    .bytes = sizeof(struct code),
						    .name = code_path,
						    .compare = compare_codes,
						    .is_place = true };
	const struct code *x = codes_of(d, a), *y = codes_of(d, b);

	if (x && y)
		mpk_differ_match(d, &code, x, a->image->embedded_count, y,
				 b->image->embedded_count);
	d->path = "";
}

void mpk_diff_beside(struct mpk_differ *d, const struct mpk_view *a, const struct mpk_view *b)
{
	compare_embedded(d, a, b);
	mpk_diff_devices(d, a, b);
}
