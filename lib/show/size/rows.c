/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes for other programs and places: CSV as RFC 4180 has it, and tables of Markdown. */
#include <inttypes.h>
#include <string.h>

#include "model/filter.h"
#include "model/kernel_list.h"
#include "size/size.h"
#include "text/escape.h"
#include "text/markdown.h"
#include "text/table.h"

/* --- CSV ------------------------------------------------------------------------------- */

/* One row; what it has not is empty. */
struct row {
	const char *row; /* "section"; see minspect(1) */
	const char *path;
	struct mpk_span kind, name;
	const char *target;
	const struct mpk_tensor_record *tensor;
	bool has_bytes;
	uint64_t bytes;
	const struct mpk_figures *figures;
};

/* A cell with a comma, a quote or a line end is quoted. What a spreadsheet would take for a formula gets an
 * apostrophe in front: names come from files of strangers. */
static void put_cell(struct mpk_strbuf *out, struct mpk_span text)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf escaped = { 0 };
	const char *p;
	bool quote;

	mpk_escape(&escaped, text);
	out->failed |= escaped.failed;
	p = mpk_strbuf_text(&escaped);
	quote = strpbrk(p, ",\"") || *p == ' ' || (escaped.len && p[escaped.len - 1] == ' ');
	mpk_strbuf_puts(out, quote ? "\"" : "");
	mpk_strbuf_puts(out, *p && strchr("=+-@", *p) ? "'" : "");
	for (; *p; p++) {
		mpk_strbuf_puts(out, *p == '"' ? "\"" : "");
		mpk_strbuf_putc(out, *p);
	}
	mpk_strbuf_puts(out, quote ? "\"" : "");
}

/* An empty cell for NULL: RFC 4180 wants as many fields in each line. */
static void rows_put_text(struct mpk_strbuf *out, const char *text)
{
	put_cell(out, mpk_span_str(text ? text : ""));
	mpk_strbuf_putc(out, ',');
}

/* "float32", "2x3"; of a scalar the shape is empty */
static void rows_put_tensor(struct mpk_strbuf *out, const struct mpk_tensor_record *t)
{
	char type[MPK_DTYPE_TEXT];

	mpk_strbuf_printf(out, "%s,", t ? mpk_dtype_print(t->dtype, type) : "");
	for (size_t i = 0; t && i < t->ndim; i++)
		mpk_strbuf_printf(out, "%s%" PRId64, i ? "x" : "", t->shape[i]);
	mpk_strbuf_putc(out, ',');
}

/* The order of columns is that of mpk_size_csv_head. Lines end with CR LF, as RFC 4180 says. */
static void rows_put_row(struct mpk_strbuf *out, const struct mpk_view *view, struct row r)
{
	rows_put_text(out, view->name);
	rows_put_text(out, r.row);
	rows_put_text(out, r.path);
	put_cell(out, r.kind);
	mpk_strbuf_putc(out, ',');
	put_cell(out, r.name);
	mpk_strbuf_putc(out, ',');
	rows_put_text(out, r.target);
	rows_put_tensor(out, r.tensor);
	if (r.has_bytes)
		mpk_strbuf_printf(out, "%" PRIu64, r.bytes);
	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++) {
		mpk_strbuf_putc(out, ',');
		if (r.figures && r.figures->values[i].state == MPK_FIGURE_KNOWN)
			mpk_strbuf_printf(out, "%" PRIu64, r.figures->values[i].number);
		else if (r.figures && r.figures->values[i].state)
			mpk_strbuf_puts(out, "unknown");
	}
	mpk_strbuf_puts(out, "\r\n");
	mpk_strbuf_pass(out);
}

void mpk_size_csv_head(struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, "file,row,path,kind,name,target,dtype,shape,bytes");
	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++)
		mpk_strbuf_printf(out, ",%s", mpk_figure_row((enum mpk_figure)i)->word);
	mpk_strbuf_puts(out, "\r\n");
}

/* Code beside the tree is of no module and has no kind. */
static struct mpk_span rows_kind_of(const struct mpk_view_node *node)
{
	return node ? node->node->kind : (struct mpk_span){ 0 };
}

/* The filter of --filter names modules, parts and kernels: a kernel is shown with its container
 * or by itself. */
static bool shows(const struct mpk_view *view, const struct mpk_listed_kernel *k)
{
	if (k->node)
		return mpk_view_shows_part(k->node, k->name);
	return mpk_view_shows(view, mpk_span_str(k->container ? k->container : k->path)) ||
	       mpk_view_shows(view, k->name);
}

/* Bytes are the machine code of the kernel where the format says how much that is, else the cell
 * is empty. */
static void rows_put_kernels(const struct mpk_view *view, const struct mpk_kernel_list *list,
			     struct mpk_strbuf *out)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct mpk_listed_kernel *k = &list->items[i];

		if (!shows(view, k))
			continue;
		bool sized = k->figures.values[MPK_FIGURE_CODE].state == MPK_FIGURE_KNOWN;

		rows_put_row(out, view,
			     (struct row){ .row = "kernel",
					   .path = k->container ? k->container : k->path,
					   .kind = rows_kind_of(k->node),
					   .name = k->name,
					   .target = k->target,
					   .has_bytes = sized,
					   .bytes = k->figures.values[MPK_FIGURE_CODE].number,
					   .figures = &k->figures });
	}
}

enum mpk_code mpk_size_csv(const struct mpk_view *view, const struct mpk_size *size,
			   struct mpk_arena *arena, struct mpk_strbuf *out, struct mpk_error *err)
{
	struct mpk_kernel_list kernels;

	MPK_TRY(mpk_view_all_kernels(view, arena, &kernels, err));
	rows_put_row(out, view,
		     (struct row){ .row = "file", .has_bytes = true, .bytes = view->file_bytes });
	if (view->image->has_blob)
		rows_put_row(out, view,
			     (struct row){ .row = "blob",
					   .name = mpk_span_str(view->image->blob_symbol
									? view->image->blob_symbol
									: ""),
					   .has_bytes = true,
					   .bytes = mpk_image_blob(view->image).len });
	for (size_t i = 0; i < size->sections.count; i++)
		rows_put_row(out, view,
			     (struct row){ .row = "section",
					   .name = size->sections.items[i].name,
					   .has_bytes = true,
					   .bytes = size->sections.items[i].bytes });
	for (size_t i = 0; i < size->modules.count; i++)
		rows_put_row(out, view,
			     (struct row){ .row = "module",
					   .path = size->modules.items[i].path,
					   .kind = size->modules.items[i].name,
					   .has_bytes = true,
					   .bytes = size->modules.items[i].bytes });
	for (size_t i = 0; i < size->files.count; i++) {
		const struct mpk_size_item *f = &size->files.items[i];

		rows_put_row(out, view,
			     (struct row){ .row = f->tensor ? "tensor" : "part",
					   .path = f->path,
					   .kind = rows_kind_of(f->node),
					   .name = f->title.len ? f->title : f->name,
					   .tensor = f->tensor,
					   .has_bytes = true,
					   .bytes = f->bytes });
	}
	rows_put_kernels(view, &kernels, out);
	return mpk_strbuf_status(out, err);
}

/* --- Markdown ---------------------------------------------------------------------------- */

enum { ROWS_MAX = 100 };

/* In a fold each, so that a comment on a pull request stays short; absolute bytes beside the
 * readable ones, for who compares two of them. */
static void put_list(const struct mpk_view *view, const char *title, bool has_path,
		     const struct mpk_size_list *list, struct mpk_strbuf *out)
{
	if (!list->count)
		return;
	mpk_strbuf_printf(out, "\n<details><summary>%s: %zu</summary>\n\n%s bytes | | |\n%s", title,
			  list->count, has_path ? "| module | name |" : "| name |",
			  has_path ? "|---|---|---:|---:|---:|\n" : "|---|---:|---:|---:|\n");
	for (size_t i = 0; i < list->count && i < ROWS_MAX; i++) {
		const struct mpk_size_item *item = &list->items[i];

		mpk_strbuf_puts(out, "| ");
		if (has_path) {
			mpk_markdown_code(out, mpk_span_str(item->path ? item->path : ""));
			mpk_strbuf_puts(out, " | ");
		}
		mpk_markdown_code(out, item->name);
		mpk_strbuf_printf(
			out, " | %" PRIu64 " | %s | %.1f%% |\n", item->bytes, MPK_SIZE(item->bytes),
			view->file_bytes ? 100.0 * (double)item->bytes / (double)view->file_bytes
					 : 0.0);
	}
	if (list->count > ROWS_MAX)
		mpk_strbuf_printf(out, "\nand %zu more\n", list->count - ROWS_MAX);
	mpk_strbuf_puts(out, "\n</details>\n");
}

void mpk_size_markdown(const struct mpk_view *view, const struct mpk_size *size,
		       struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, "### ");
	mpk_markdown_code(out, mpk_span_str(view->name));
	mpk_strbuf_printf(out, ": %s\n", MPK_SIZE(view->file_bytes));
	put_list(view, "sections", false, &size->sections, out);
	put_list(view, "modules", true, &size->modules, out);
	put_list(view, "parts", true, &size->files, out);
	put_list(view, "kernels", true, &size->kernels, out);
	if (size->copy_count)
		mpk_strbuf_printf(out,
				  "\n%s stand in the file more than once and could be saved.\n",
				  MPK_SIZE(size->wasted));
}
