/* SPDX-License-Identifier: Apache-2.0 */
/* print.c - prints --size in each of its formats
 *
 * Text has tables of the largest items, each with the number of omitted ones; JSON and CSV have
 * all. */
#include <inttypes.h>
#include <string.h>

#include "model/kernel_list.h"
#include "size/size.h"
#include "text/escape.h"
#include "text/facts.h"
#include "text/markup.h"
#include "text/table.h"

enum {
	SHOWN = 16,     /* rows of each table in text */
	ROWS_MAX = 100, /* rows of a table in Markdown */
};

/* The lists in order of printing. */
static const struct list {
	const char *title;
	const char *key, *name; /* names of the JSON array, and of the member with an item's name */
	const char *row;        /* value in the CSV column "row"; NULL if CSV omits the list */
	size_t off;             /* offset in struct mpk_size; 0 means its functions */
	bool has_path, in_markdown;
} lists[] = {
	{ "sections", "sections", "name", "section", offsetof(struct mpk_size, sections), false,
	  true },
	{ .title = "host functions",
	  .key = "functions",
	  .name = "name",
	  .row = "function",
	  .in_markdown = true },
	{ "GPU code", "gpu_code", "name", NULL, offsetof(struct mpk_size, gpu), false, false },
	{ "modules", "modules", "kind", "module", offsetof(struct mpk_size, modules), true, true },
	{ "parts", "parts", "name", "part", offsetof(struct mpk_size, files), true, true },
	{ "byte code", "byte_code", "name", "byte code", offsetof(struct mpk_size, byte_code), true,
	  true },
	{ "kernels", "kernels", "name", NULL, offsetof(struct mpk_size, kernels), true, true },
};

/* The rows of a list: items or functions. */
struct rows {
	struct mpk_size_list list;
	const struct mpk_size_function *functions; /* NULL: rows are items */
};

static struct rows list_of(const struct mpk_size *size, const struct list *l)
{
	struct rows rows = { 0 };

	if (l->off)
		memcpy(&rows.list, (const char *)size + l->off, sizeof rows.list);
	else
		rows = (struct rows){ { NULL, size->function_count }, size->functions };
	return rows;
}

static struct mpk_size_item item_of(const struct rows *rows, size_t i)
{
	if (rows->functions)
		return (struct mpk_size_item){ .name = mpk_span_str(rows->functions[i].symbol),
					       .bytes = rows->functions[i].bytes };
	return rows->list.items[i];
}

/* Returns the share of the whole file; 0 if the file is empty. */
static double share(const struct mpk_size *size, uint64_t bytes)
{
	uint64_t whole = size->view->file_bytes;

	return whole ? 100.0 * (double)bytes / (double)whole : 0.0;
}

/* --- text ------------------------------------------------------------------------------- */

static void title(const char *text, struct mpk_style style, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%s%s%s\n", style.color ? "\033[1m" : "", text,
			  style.color ? "\033[0m" : "");
}

/* Writes a name escaped, since it comes from an untrusted file, and cut, so that the table keeps
 * its shape. Whole C++ symbols are shortened later (answer/lines.c). */
static void cell_escaped(struct mpk_table *t, struct mpk_span text)
{
	char cut[2048];

	mpk_table_cell(t, "%s",
		       mpk_escape_to(text, cut, mpk_span_starts(text, "_Z") ? sizeof cut : 128));
}

/* Right-aligned columns for numbers, then path and name; sections have no path, so their name takes
 * its column. */
static void put_list(const struct mpk_size *size, const struct list *l, struct mpk_style style,
		     struct mpk_strbuf *out)
{
	struct rows rows = list_of(size, l);
	struct mpk_table t = { .right = 3 };

	if (rows.list.count)
		title(l->title, style, out);
	for (size_t i = 0; i < rows.list.count && i < SHOWN; i++) {
		const struct mpk_size_item item = item_of(&rows, i);

		mpk_table_row(&t);
		mpk_table_cell(&t, "%s", MPK_SIZE(item.bytes));
		mpk_table_cell(&t, "%.1f%%", share(size, item.bytes));
		if (item.path)
			cell_escaped(&t, mpk_span_str(item.path));
		cell_escaped(&t, item.name);
	}
	mpk_table_print(&t, "  ", out);
	if (rows.list.count > SHOWN)
		mpk_strbuf_printf(out, "  and %zu more\n", rows.list.count - SHOWN);
	mpk_table_fini(&t);
}

/* Names at most four copies: a tensor may have a hundred, and --json lists all of them. */
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

/* Lists equal kernels of GPU code. Bytes are unpacked machine code: in a compressed container, the
 * file would shrink by less. */
static void put_same_kernels(const struct mpk_size *size, struct mpk_style style,
			     struct mpk_strbuf *out)
{
	uint64_t to_save = 0;

	if (!size->same_kernel_count)
		return;
	title("kernels that are there more than once", style, out);
	for (size_t i = 0; i < size->same_kernel_count; i++) {
		const struct mpk_size_kernel *k = &size->same_kernels[i];

		to_save += k->item.bytes * (k->count - 1);
		if (i >= SHOWN)
			continue;
		mpk_strbuf_printf(out, "  %zu times %s: ", k->count, MPK_SIZE(k->item.bytes));
		mpk_escape(out, mpk_span_str(k->target));
		mpk_strbuf_putc(out, ' ');
		mpk_escape(out, k->item.name);
		mpk_strbuf_putc(out, '\n');
	}
	if (size->same_kernel_count > SHOWN)
		mpk_strbuf_printf(out, "  and %zu more\n", size->same_kernel_count - SHOWN);
	mpk_strbuf_printf(out, "  %s of machine code could be saved\n", MPK_SIZE(to_save));
}

static void size_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_size *size = what;

	mpk_escape(out, mpk_span_str(size->view->name));
	mpk_strbuf_printf(out, ": %s", MPK_SIZE(size->view->file_bytes));
	if (size->sections.count)
		mpk_strbuf_printf(out, ", %s of it headers and padding", MPK_SIZE(size->other));
	mpk_strbuf_putc(out, '\n');
	for (size_t i = 0; i < MPK_ARRAY_COUNT(lists); i++)
		put_list(size, &lists[i], style, out);
	put_copies(size, style, out);
	put_same_kernels(size, style, out);
}

/* --- JSON ------------------------------------------------------------------------------- */

/* A run of copies has the same members as any other list, so that a script reads both with one
 * function. */
static void put_list_json(struct rows rows, const char *key, const char *name, struct mpk_json *j,
			  struct mpk_json_at *at)
{
	struct mpk_json_at *array = mpk_json_array(j, at, key), *o;

	for (size_t i = 0; i < rows.list.count; i++) {
		const struct mpk_size_item item = item_of(&rows, i);

		o = mpk_json_object(j, array, NULL);
		if (item.path)
			mpk_json_text(j, o, "path", item.path);
		mpk_json_span(j, o, name, item.name);
		mpk_json_u64(j, o, "bytes", item.bytes);
	}
}

static const struct mpk_fact same_kernel_facts[] = {
	{ MPK_FACT(SPAN, "name", struct mpk_size_kernel, item.name) },
	{ MPK_FACT(TEXT, "target", struct mpk_size_kernel, target) },
	{ MPK_FACT(COUNT, "bytes", struct mpk_size_kernel, item.bytes) },
	{ MPK_FACT(COUNT, "count", struct mpk_size_kernel, count) },
};

static void size_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_size *size = what;
	struct mpk_json_at *list, *o;

	mpk_json_text(j, at, "file", size->view->name);
	mpk_json_u64(j, at, "bytes", size->view->file_bytes);
	mpk_json_u64(j, at, "other", size->other);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(lists); i++)
		put_list_json(list_of(size, &lists[i]), lists[i].key, lists[i].name, j, at);
	list = mpk_json_array(j, at, "duplicates");
	for (size_t i = 0; i < size->copy_count; i++) {
		const struct mpk_size_copies *c = &size->copies[i];
		struct rows run = { { size->sorted.items + c->first, c->count }, NULL };

		o = mpk_json_object(j, list, NULL);
		mpk_json_u64(j, o, "bytes", run.list.items[0].bytes);
		put_list_json(run, "copies", "name", j, o);
	}
	mpk_json_u64(j, at, "wasted", size->wasted);
	mpk_facts_json_list(MPK_FACTS(same_kernel_facts), "same_kernels", size->same_kernels,
			    size->same_kernel_count, sizeof *size->same_kernels, j, at);
}

/* --- CSV ------------------------------------------------------------------------------- */

/* One CSV row; missing values give empty cells. */
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

/* Writes a cell, quoted if it contains a comma, a quote or a line end. A cell that a spreadsheet
 * would take for a formula gets a leading apostrophe: names come from untrusted files. */
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

/* NULL gives an empty cell: RFC 4180 requires the same number of fields in each line. */
static void put_text(struct mpk_strbuf *out, const char *text)
{
	put_cell(out, mpk_span_str(text ? text : ""));
	mpk_strbuf_putc(out, ',');
}

/* Writes "float32", "2x3"; the shape of a scalar is empty. */
static void put_tensor(struct mpk_strbuf *out, const struct mpk_tensor_record *t)
{
	char type[MPK_DTYPE_TEXT];

	mpk_strbuf_printf(out, "%s,", t ? mpk_dtype_print(t->dtype, type) : "");
	for (size_t i = 0; t && i < t->ndim; i++)
		mpk_strbuf_printf(out, "%s%" PRId64, i ? "x" : "", t->shape[i]);
	mpk_strbuf_putc(out, ',');
}

/* The order of columns is that of csv_head. Lines end with CR LF, as RFC 4180 says. */
static void put_row(struct mpk_strbuf *out, const struct mpk_view *view, struct row r)
{
	put_text(out, view->name);
	put_text(out, r.row);
	put_text(out, r.path);
	put_cell(out, r.kind);
	mpk_strbuf_putc(out, ',');
	put_cell(out, r.name);
	mpk_strbuf_putc(out, ',');
	put_text(out, r.target);
	put_tensor(out, r.tensor);
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

static void csv_head(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	(void)what;
	(void)style;
	mpk_strbuf_puts(out, "file,row,path,kind,name,target,dtype,shape,bytes");
	for (unsigned i = 0; i < MPK_FIGURE_COUNT; i++)
		mpk_strbuf_printf(out, ",%s", mpk_figure_row((enum mpk_figure)i)->word);
	mpk_strbuf_puts(out, "\r\n");
}

/* Code outside the tree belongs to no module and has no kind. */
static struct mpk_span kind_of(const struct mpk_view_node *node)
{
	return node ? node->node->kind : (struct mpk_span){ 0 };
}

/* If the list's names are kinds, the cell for the kind has the name. */
static void put_items(const struct mpk_size *size, const struct list *l, struct mpk_strbuf *out)
{
	struct rows rows = list_of(size, l);
	bool is_kind = strcmp(l->name, "kind") == 0;

	for (size_t i = 0; i < rows.list.count; i++) {
		const struct mpk_size_item item = item_of(&rows, i);
		struct mpk_span name = item.title.len ? item.title : item.name;

		put_row(out, size->view,
			(struct row){ .row = item.tensor ? "tensor" : l->row,
				      .path = item.path,
				      .kind = kind_of(item.node),
				      .name = mpk_span_of(name.data, is_kind ? 0 : name.len),
				      .tensor = item.tensor,
				      .has_bytes = true,
				      .bytes = item.bytes });
	}
}

/* Bytes are those of the kernel's machine code if the format tells them, else the cell is empty. */
static void put_kernels(const struct mpk_view *view, const struct mpk_kernel_list *list,
			struct mpk_strbuf *out)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct mpk_listed_kernel *k = &list->items[i];

		if (!mpk_kernel_shows(view, k))
			continue;
		bool sized = k->figures.values[MPK_FIGURE_CODE].state == MPK_FIGURE_KNOWN;

		put_row(out, view,
			(struct row){ .row = "kernel",
				      .path = k->container ? k->container : k->path,
				      .kind = kind_of(k->node),
				      .name = k->name,
				      .target = k->target,
				      .has_bytes = sized,
				      .bytes = k->figures.values[MPK_FIGURE_CODE].number,
				      .figures = &k->figures });
	}
}

static void size_csv(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_size *size = what;
	const struct mpk_view *view = size->view;
	struct mpk_kernel_list kernels;

	(void)style;
	if (mpk_kernel_list_read(view, MPK_KERNELS_OF_FILE, 0, &scratch, &kernels, NULL) !=
	    MPK_OK) {
		out->failed = true;
		return;
	}
	put_row(out, view,
		(struct row){ .row = "file", .has_bytes = true, .bytes = view->file_bytes });
	if (view->image->has_blob)
		put_row(out, view,
			(struct row){ .row = "blob",
				      .name = mpk_span_str(view->image->blob_symbol
								   ? view->image->blob_symbol
								   : ""),
				      .has_bytes = true,
				      .bytes = mpk_image_blob(view->image).len });
	for (size_t i = 0; i < MPK_ARRAY_COUNT(lists); i++)
		if (lists[i].row)
			put_items(size, &lists[i], out);
	put_kernels(view, &kernels, out);
}

/* --- Markdown ---------------------------------------------------------------------------- */

/* Writes a folded table, so that a comment on a pull request stays short. Exact bytes stand next to
 * rounded sizes, for comparisons. */
static void put_fold(const struct mpk_size *size, const struct list *l, struct mpk_strbuf *out)
{
	struct rows rows = list_of(size, l);

	if (!rows.list.count || !l->in_markdown)
		return;
	mpk_strbuf_printf(out, "\n<details><summary>%s: %zu</summary>\n\n%s bytes | | |\n%s",
			  l->title, rows.list.count, l->has_path ? "| module | name |" : "| name |",
			  l->has_path ? "|---|---|---:|---:|---:|\n" : "|---|---:|---:|---:|\n");
	for (size_t i = 0; i < rows.list.count && i < ROWS_MAX; i++) {
		const struct mpk_size_item item = item_of(&rows, i);

		mpk_strbuf_puts(out, "| ");
		if (l->has_path) {
			mpk_markdown_code(out, mpk_span_str(item.path ? item.path : ""));
			mpk_strbuf_puts(out, " | ");
		}
		mpk_markdown_code(out, item.name);
		mpk_strbuf_printf(out, " | %" PRIu64 " | %s | %.1f%% |\n", item.bytes,
				  MPK_SIZE(item.bytes), share(size, item.bytes));
	}
	if (rows.list.count > ROWS_MAX)
		mpk_strbuf_printf(out, "\nand %zu more\n", rows.list.count - ROWS_MAX);
	mpk_strbuf_puts(out, "\n</details>\n");
}

static void size_markdown(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_size *size = what;

	(void)style;
	mpk_strbuf_puts(out, "### ");
	mpk_markdown_code(out, mpk_span_str(size->view->name));
	mpk_strbuf_printf(out, ": %s\n", MPK_SIZE(size->view->file_bytes));
	for (size_t i = 0; i < MPK_ARRAY_COUNT(lists); i++)
		put_fold(size, &lists[i], out);
	if (size->copy_count)
		mpk_strbuf_printf(out,
				  "\n%s stand in the file more than once and could be saved.\n",
				  MPK_SIZE(size->wasted));
}

const struct mpk_answer mpk_answer_size = { .text = size_text,
					    .json = size_json,
					    .markdown = size_markdown,
					    .csv_head = csv_head,
					    .csv = size_csv,
					    .is_apart = true };
