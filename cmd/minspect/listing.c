/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the contents of an archive or a folder, one row for each file. Files without interesting
 * content are only counted if other files have some. */
#include "minspect/listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "list/list.h"
#include "minspect/document.h"
#include "model/kernel_list.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "text/table.h"

enum { ROWS_SHOWN = 40, EMPTY_ROWS = 3 };

void minspect_listing_fini(struct minspect_listing *l)
{
	mpk_totals_fini(&l->totals);
	mpk_templates_destroy(l->templates);
	mpk_arena_fini(&l->arena);
	free(l->items);
}

static enum mpk_code add_row(struct minspect_listing *l, struct mpk_span name, uint64_t bytes,
			     const char *what, const char *machine, struct mpk_error *err)
{
	const char *copy = mpk_arena_text(&l->arena, mpk_span_str(MPK_QUOTE(name)));

	what = mpk_arena_text(&l->arena, mpk_span_str(what));
	MPK_TRY_ALLOC(copy && what, err);
	MPK_TRY_ALLOC(mpk_vec_reserve(&l->items, &l->cap, l->count + 1, sizeof *l->items), err);
	l->items[l->count++] = (struct minspect_listed){ bytes, copy, what, machine };
	return MPK_OK;
}

enum mpk_code minspect_listing_add(struct minspect_listing *l, struct mpk_span name, uint64_t bytes,
				   const struct mpk_view *view, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf what = { 0 };
	struct mpk_kernel_list kernels;

	if (!l->templates)
		l->templates = mpk_templates_create();
	MPK_TRY_ALLOC(l->templates, err);
	MPK_TRY(mpk_totals_add(&l->totals, view, err));
	MPK_TRY(mpk_kernel_list_read(view, MPK_KERNELS_OF_FILE, 0, &scratch, &kernels, err));
	MPK_TRY(mpk_templates_add(l->templates, view, &kernels, err));
	mpk_answer_brief.line(view, minspect_style(), &what);
	MPK_TRY(mpk_strbuf_status(&what, err));
	return add_row(l, name, bytes, mpk_strbuf_text(&what), view->image->machine_name, err);
}

enum mpk_code minspect_listing_add_text(struct minspect_listing *l, struct mpk_span name,
					uint64_t bytes, const char *text, struct mpk_error *err)
{
	return add_row(l, name, bytes, text, NULL, err);
}

/* Returns the machine if all files with a machine have the same one; else NULL. */
static const char *machine_of(const struct minspect_listing *l)
{
	const char *machine = NULL;

	for (size_t i = 0; i < l->count; i++) {
		const char *other = l->items[i].machine;

		if (machine && other && strcmp(machine, other) != 0)
			return NULL;
		machine = machine ? machine : other;
	}
	return machine;
}

void minspect_listing_put_machine(const struct minspect_listing *l, struct mpk_strbuf *out)
{
	const char *machine = machine_of(l);

	mpk_strbuf_printf(out, "%s%s", machine ? " for " : "", machine ? machine : "");
}

static int larger_first(const void *a, const void *b)
{
	const struct minspect_listed *const *x = a, *const *y = b;

	if ((*x)->bytes != (*y)->bytes)
		return (*x)->bytes < (*y)->bytes ? 1 : -1;
	return *x < *y ? -1 : *x > *y;
}

static int in_order(const void *a, const void *b)
{
	const struct minspect_listed *const *x = a, *const *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* @nothing text for files without interesting content */
static void put_rows(const struct minspect_listed *const *rows, size_t count, bool has_machines,
		     const char *nothing, struct mpk_strbuf *out)
{
	struct mpk_table table = { .right = 1 };

	for (size_t i = 0; i < count; i++) {
		const char *machine = has_machines ? rows[i]->machine : NULL;
		const char *what = *rows[i]->what ? rows[i]->what : nothing;

		mpk_table_row(&table);
		mpk_table_cell(&table, "%s", MPK_SIZE(rows[i]->bytes));
		mpk_table_cell(&table, "%s", rows[i]->name);
		mpk_table_cell(&table, "%s%s%s", machine ? machine : "",
			       machine && *what ? ": " : "", what);
	}
	mpk_table_print(&table, "  ", out);
	out->failed |= table.failed;
	mpk_table_fini(&table);
}

void minspect_listing_put(const struct minspect_listing *l, bool is_whole, struct mpk_strbuf *out)
{
	const struct minspect_listed **rows = calloc(l->count + 1, sizeof *rows);
	const struct mpk_templates_form form = { .table = l->templates, .file = "" };
	size_t count = 0, empty = 0, shown;
	uint64_t empty_bytes = 0;

	if (!rows) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < l->count; i++) {
		empty += !*l->items[i].what;
		empty_bytes += *l->items[i].what ? 0 : l->items[i].bytes;
	}

	bool leaves_empty = !is_whole && empty > EMPTY_ROWS && empty < l->count;

	for (size_t i = 0; i < l->count; i++)
		if (*l->items[i].what || !leaves_empty)
			rows[count++] = &l->items[i];
	if (l->templates && mpk_templates_rows(l->templates)) {
		mpk_strbuf_puts(out, "  ");
		mpk_answer_templates.line(&form, minspect_style(), out);
		mpk_strbuf_putc(out, '\n');
	}
	mpk_answer_totals.text(&l->totals, minspect_style(), out);
	shown = is_whole || count <= ROWS_SHOWN ? count : ROWS_SHOWN;
	if (shown < count) {
		qsort(rows, count, sizeof *rows, larger_first);
		qsort(rows, shown, sizeof *rows, in_order);
	}
	put_rows(rows, shown, !machine_of(l),
		 empty < l->count ? "no GPU code, no module of TVM, nothing to call" : "", out);
	if (shown < count)
		mpk_strbuf_printf(out, "  and %zu smaller ones: --all\n", count - shown);
	if (leaves_empty)
		mpk_strbuf_printf(out,
				  "  and %zu without GPU code, modules of TVM and functions, %s: "
				  "--all\n",
				  empty, MPK_SIZE(empty_bytes));
	if (empty == l->count && empty)
		mpk_strbuf_puts(
			out,
			empty == 1
				? "it holds no GPU code, no module of TVM, nothing to call\n"
				: "none of them holds GPU code, a module of TVM or anything to call\n");
	free(rows);
}
