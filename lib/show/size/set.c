/* SPDX-License-Identifier: Apache-2.0 */
/* set.c - prints the total size of many files, and the largest of them */
#include "size/size.h"

#include <stdlib.h>
#include <string.h>

#include "text/escape.h"
#include "text/phrase.h"
#include "text/table.h"

enum { FILES_SHOWN = 40 };

struct mpk_size_row mpk_size_row(const struct mpk_size *size, const char *name)
{
	struct mpk_size_row row = { .name = name,
				    .bytes = size->view->file_bytes,
				    .wasted = size->wasted };

	for (size_t i = 0; i < size->gpu.count; i++)
		row.gpu += size->gpu.items[i].bytes;
	for (size_t i = 0; i < size->every_section_count; i++)
		if (size->every_section[i].is_code)
			row.host += size->every_section[i].bytes;
	return row;
}

static void rows_line(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_size_rows *rows = what;
	struct mpk_size_row all = { 0 };

	(void)style;
	for (size_t i = 0; i < rows->count; i++) {
		all.bytes += rows->items[i].bytes;
		all.gpu += rows->items[i].gpu;
		all.host += rows->items[i].host;
		all.wasted += rows->items[i].wasted;
	}
	if (rows->set) {
		mpk_escape(out, mpk_span_str(rows->set));
		mpk_strbuf_puts(out, ": ");
	}
	mpk_put_number(out, rows->count);
	mpk_strbuf_printf(
		out, " file%s, %s: GPU code %s, host code %s, all else %s",
		rows->count == 1 ? "" : "s", MPK_SIZE(all.bytes), MPK_SIZE(all.gpu),
		MPK_SIZE(all.host),
		MPK_SIZE(all.bytes > all.gpu + all.host ? all.bytes - all.gpu - all.host : 0));
	if (all.wasted)
		mpk_strbuf_printf(out, "; %s stand more than once in a file", MPK_SIZE(all.wasted));
	mpk_strbuf_putc(out, '\n');
}

static int larger_first(const void *a, const void *b)
{
	const struct mpk_size_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return mpk_natural_compare(x->name, y->name);
}

static void rows_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_size_rows *rows = what;
	size_t shown = rows->count > FILES_SHOWN ? FILES_SHOWN : rows->count;
	struct mpk_size_row *items = calloc(rows->count + 1, sizeof *items);
	struct mpk_table table = { .right = 7 };
	uint64_t rest = 0;

	(void)style;
	if (!items) {
		out->failed = true;
		return;
	}
	if (rows->count)
		memcpy(items, rows->items, rows->count * sizeof *items);
	qsort(items, rows->count, sizeof *items, larger_first);
	mpk_table_row(&table);
	mpk_table_cell(&table, "size");
	mpk_table_cell(&table, "GPU code");
	mpk_table_cell(&table, "twice");
	mpk_table_cell(&table, "file");
	for (size_t i = 0; i < shown; i++) {
		mpk_table_row(&table);
		mpk_table_cell(&table, "%s", MPK_SIZE(items[i].bytes));
		mpk_table_cell(&table, "%s", items[i].gpu ? MPK_SIZE(items[i].gpu) : "");
		mpk_table_cell(&table, "%s", items[i].wasted ? MPK_SIZE(items[i].wasted) : "");
		mpk_table_cell(&table, "%s", MPK_QUOTE(mpk_span_str(items[i].name + rows->prefix)));
	}
	for (size_t i = shown; i < rows->count; i++)
		rest += items[i].bytes;
	mpk_table_print(&table, "  ", out);
	mpk_table_fini(&table);
	free(items);
	if (shown < rows->count)
		mpk_strbuf_printf(out, "  and %zu smaller ones, %s\n", rows->count - shown,
				  MPK_SIZE(rest));
	mpk_strbuf_puts(out, "sections, modules, kernels of each: --all, --csv or --json\n");
}

const struct mpk_answer mpk_answer_size_rows = { .text = rows_text, .line = rows_line };
