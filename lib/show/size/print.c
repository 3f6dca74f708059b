/* SPDX-License-Identifier: Apache-2.0 */
/* print.c - --size as text and JSON: tables of the largest, each with the number of those that it leaves out */
#include "size/internal/device.h"
#include "size/size.h"
#include "text/escape.h"
#include "text/table.h"

enum { SHOWN = 16 }; /* rows of each table; --json has all */

static void title(const char *text, struct mpk_style style, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%s%s%s\n", style.color ? "\033[1m" : "", text,
			  style.color ? "\033[0m" : "");
}

/* Bytes in a unit that people read, and the share of the whole file: a file of no bytes has no
 * shares. */
static void row(struct mpk_table *t, uint64_t bytes, uint64_t whole)
{
	mpk_table_row(t);
	mpk_table_cell(t, "%s", MPK_SIZE(bytes));
	mpk_table_cell(t, "%.1f%%", whole ? 100.0 * (double)bytes / (double)whole : 0.0);
}

/* Names are a stranger's: escaped for the terminal and cut, so that a table stays one. */
static void cell_escaped(struct mpk_table *t, struct mpk_span text)
{
	char cut[128];

	mpk_table_cell(t, "%s", mpk_escape_to(text, cut, sizeof cut));
}

/* Columns to the right for numbers, then path and name; sections have no path, so their name
 * takes its column. */
static void put_list(const struct mpk_view *view, const char *name,
		     const struct mpk_size_list *list, struct mpk_style style,
		     struct mpk_strbuf *out)
{
	struct mpk_table t = { .right = 3 };

	if (list->count)
		title(name, style, out);
	for (size_t i = 0; i < list->count && i < SHOWN; i++) {
		row(&t, list->items[i].bytes, view->file_bytes);
		if (list->items[i].path)
			cell_escaped(&t, mpk_span_str(list->items[i].path));
		cell_escaped(&t, list->items[i].name);
	}
	mpk_table_print(&t, "  ", out);
	if (list->count > SHOWN)
		mpk_strbuf_printf(out, "  and %zu more\n", list->count - SHOWN);
	mpk_table_fini(&t);
}

/* Four names at most: a tensor may be there a hundred times, and --json has all of them. */
static void put_copies(const struct mpk_size *size, struct mpk_style style, struct mpk_strbuf *out)
{
	char cut[128];

	if (size->copy_count)
		title("duplicates", style, out);
	for (size_t i = 0; i < size->copy_count && i < SHOWN; i++) {
		const struct mpk_size_copies *c = &size->copies[i];

		mpk_strbuf_printf(out, "  %zu times %s:", c->count,
				  MPK_SIZE(size->sorted.items[c->first].bytes));
		for (size_t k = c->first; k < c->first + c->count && k < c->first + 4; k++)
			mpk_strbuf_printf(
				out, " %s %s%s", size->sorted.items[k].path,
				mpk_escape_to(size->sorted.items[k].name, cut, sizeof cut),
				k + 1 < c->first + c->count ? "," : "");
		mpk_strbuf_puts(out, c->count > 4 ? " ...\n" : "\n");
	}
	if (size->copy_count)
		mpk_strbuf_printf(out, "  %s could be saved\n", MPK_SIZE(size->wasted));
}

void mpk_size_text(const struct mpk_view *view, const struct mpk_size *size, struct mpk_style style,
		   struct mpk_strbuf *out)
{
	mpk_escape(out, mpk_span_str(view->name));
	mpk_strbuf_printf(out, ": %s", MPK_SIZE(view->file_bytes));
	if (size->sections.count)
		mpk_strbuf_printf(out, ", %s of it headers and padding", MPK_SIZE(size->other));
	mpk_strbuf_putc(out, '\n');
	put_list(view, "sections", &size->sections, style, out);
	put_list(view, "GPU code", &size->gpu, style, out);
	put_list(view, "modules", &size->modules, style, out);
	put_list(view, "parts", &size->files, style, out);
	put_list(view, "kernels", &size->kernels, style, out);
	put_copies(size, style, out);
	mpk_size_devices_text(size, style, out);
}

/* A run of copies has the same members as any other list, so that a script reads both with one
 * function. */
static void list_json(const struct mpk_size_list *list, const char *key, const char *name,
		      struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *array = mpk_json_array(j, at, key), *o;

	for (size_t i = 0; i < list->count; i++) {
		o = mpk_json_object(j, array, NULL);
		if (list->items[i].path)
			mpk_json_text(j, o, "path", list->items[i].path);
		mpk_json_span(j, o, name, list->items[i].name);
		mpk_json_u64(j, o, "bytes", list->items[i].bytes);
	}
}

void mpk_size_json(const struct mpk_view *view, const struct mpk_size *size, struct mpk_json *j,
		   struct mpk_json_at *at)
{
	struct mpk_json_at *list, *o;

	mpk_json_text(j, at, "file", view->name);
	mpk_json_u64(j, at, "bytes", view->file_bytes);
	mpk_json_u64(j, at, "other", size->other);
	list_json(&size->sections, "sections", "name", j, at);
	list_json(&size->gpu, "gpu_code", "name", j, at);
	list_json(&size->modules, "modules", "kind", j, at);
	list_json(&size->files, "parts", "name", j, at);
	list_json(&size->kernels, "kernels", "name", j, at);
	list = mpk_json_array(j, at, "duplicates");
	for (size_t i = 0; i < size->copy_count; i++) {
		const struct mpk_size_copies *c = &size->copies[i];
		struct mpk_size_list run = { size->sorted.items + c->first, c->count };

		o = mpk_json_object(j, list, NULL);
		mpk_json_u64(j, o, "bytes", run.items[0].bytes);
		list_json(&run, "copies", "name", j, o);
	}
	mpk_json_u64(j, at, "wasted", size->wasted);
	mpk_size_devices_json(size, j, at);
}
