/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - what the instructions of kernels do: as text, as JSON, and by source line
 *
 * A format counts the instructions in any part of its code, and says which parts belong to which
 * line. */
#include "code/work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "text/facts.h"
#include "text/phrase.h"

static const char *const access_spaces[] = {
	[MPK_SPACE_GENERIC] = "generic", [MPK_SPACE_GLOBAL] = "global",
	[MPK_SPACE_SHARED] = "shared",   [MPK_SPACE_LOCAL] = "local",
	[MPK_SPACE_SCRATCH] = "scratch", [MPK_SPACE_BUFFER] = "buffer",
};

/* Bytes of an access of each width; 0: of no particular width. */
static const uint8_t access_bytes[MPK_WIDTHS] = { 1, 2, 4, 8, 12, 16, 32, 0 };

/* The counts other than memory accesses, in the order of their output. */
static const struct {
	size_t off;
	const char *what, *amd; /* by NVIDIA's terms, by AMD's */
} sorts[] = {
	{ offsetof(struct mpk_work, atomic), "atomic", "atomic" },
	{ offsetof(struct mpk_work, async), "asynchronous", "asynchronous" },
	{ offsetof(struct mpk_work, tensor), "for tensor cores", "for matrix cores" },
};

static uint32_t sort_of(const struct mpk_work *work, size_t i)
{
	uint32_t n;

	memcpy(&n, (const uint8_t *)work + sorts[i].off, sizeof n);
	return n;
}

struct mpk_span mpk_code_of_kernel(const struct mpk_code_info *info, size_t kernel)
{
	const struct mpk_code_kernel *k = &info->kernels[kernel];

	return k->code.len ? k->code : k->text;
}

bool mpk_code_work(const struct mpk_code_info *info, size_t kernel, struct mpk_work *out)
{
	struct mpk_span code = mpk_code_of_kernel(info, kernel);

	return info->format && info->format->count_work && code.len &&
	       info->format->count_work(info, code, out);
}

/* --- text ------------------------------------------------------------------------------------ */

static void work_put_width(unsigned width, struct mpk_strbuf *out)
{
	if (access_bytes[width])
		mpk_strbuf_printf(out, " of %u B", access_bytes[width]);
	else
		mpk_strbuf_puts(out, " of matrices");
}

/* "; global loads 12 of 16 B, 3 of 4 B" */
static void put_accesses(const char *space, const char *what, const uint32_t counts[MPK_WIDTHS],
			 size_t start, struct mpk_strbuf *out)
{
	bool any = false;

	for (unsigned w = MPK_WIDTHS; w-- > 0;) {
		if (!counts[w])
			continue;
		if (any)
			mpk_strbuf_puts(out, ", ");
		else
			mpk_strbuf_printf(out, "%s%s %s ", out->len > start ? "; " : "", space,
					  what);
		any = true;
		mpk_strbuf_printf(out, "%" PRIu32, counts[w]);
		work_put_width(w, out);
	}
}

static void work_put(const struct mpk_work *work, size_t start, struct mpk_strbuf *out)
{
	for (unsigned i = 0; i < MPK_SPACES; i++) {
		put_accesses(access_spaces[i], "loads", work->loads[i], start, out);
		put_accesses(access_spaces[i], "stores", work->stores[i], start, out);
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(sorts); i++)
		if (sort_of(work, i))
			mpk_strbuf_printf(out, "%s%" PRIu32 " %s", out->len > start ? "; " : "",
					  sort_of(work, i),
					  work->is_amd ? sorts[i].amd : sorts[i].what);
}

void mpk_work_put(const struct mpk_work *work, struct mpk_strbuf *out)
{
	size_t start = out->len;

	mpk_put_count(out, work->all, "instruction");
	work_put(work, start, out);
}

void mpk_work_put_rest(const struct mpk_work *work, struct mpk_strbuf *out)
{
	work_put(work, out->len, out);
}

/* "local stores 0 -> 12 of 4 B, 0 -> 2 of 16 B" */
static void put_access_changes(const char *space, const char *what, const uint32_t a[MPK_WIDTHS],
			       const uint32_t b[MPK_WIDTHS], size_t start, struct mpk_strbuf *out)
{
	bool any = false;

	for (unsigned w = MPK_WIDTHS; w-- > 0;) {
		if (a[w] == b[w])
			continue;
		mpk_strbuf_puts(out, out->len > start ? ", " : "");
		if (!any)
			mpk_strbuf_printf(out, "%s %s ", space, what);
		any = true;
		mpk_strbuf_printf(out, "%" PRIu32 " -> %" PRIu32, a[w], b[w]);
		work_put_width(w, out);
	}
}

bool mpk_work_differs(const struct mpk_work *a, const struct mpk_work *b)
{
	return a->all != b->all || a->tensor != b->tensor || a->async != b->async ||
	       a->atomic != b->atomic || memcmp(a->loads, b->loads, sizeof a->loads) != 0 ||
	       memcmp(a->stores, b->stores, sizeof a->stores) != 0;
}

void mpk_work_put_changes(const struct mpk_work *a, const struct mpk_work *b,
			  struct mpk_strbuf *out)
{
	size_t start = out->len;

	if (a->all != b->all)
		mpk_strbuf_printf(out, "%" PRIu32 " -> %" PRIu32 " instructions", a->all, b->all);
	for (unsigned i = 0; i < MPK_SPACES; i++) {
		put_access_changes(access_spaces[i], "loads", a->loads[i], b->loads[i], start, out);
		put_access_changes(access_spaces[i], "stores", a->stores[i], b->stores[i], start,
				   out);
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(sorts); i++)
		if (sort_of(a, i) != sort_of(b, i))
			mpk_strbuf_printf(out, "%s%" PRIu32 " -> %" PRIu32 " %s",
					  out->len > start ? ", " : "", sort_of(a, i),
					  sort_of(b, i), b->is_amd ? sorts[i].amd : sorts[i].what);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static const struct mpk_fact instruction_facts[] = {
	{ MPK_FACT(COUNT, "all", struct mpk_work, all, "but those that fill it up") },
	{ MPK_FACT(COUNT, "tensor", struct mpk_work, tensor, "for tensor cores or matrix cores") },
	{ MPK_FACT(COUNT, "async", struct mpk_work, async,
		   "copies that run on beside the thread") },
	{ MPK_FACT(COUNT, "atomic", struct mpk_work, atomic) },
};

/* "global_load_16", "shared_store_matrix" */
static void put_accesses_json(const char *space, const char *what,
			      const uint32_t counts[MPK_WIDTHS], struct mpk_json *j,
			      struct mpk_json_at *memory)
{
	char key[32], width[8];

	for (unsigned w = 0; w < MPK_WIDTHS; w++) {
		if (!counts[w])
			continue;
		(void)snprintf(width, sizeof width, "%u", access_bytes[w]);
		(void)snprintf(key, sizeof key, "%s_%s_%s", space, what,
			       access_bytes[w] ? width : "matrix");
		mpk_json_u64(j, memory, key, counts[w]);
	}
}

void mpk_work_json(const struct mpk_work *work, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *memory;

	mpk_facts_json(MPK_FACTS(instruction_facts), work, j, at);
	if (work->has_stall)
		mpk_json_u64(j, at, "stall_cycles", work->stall_cycles);
	memory = mpk_json_object(j, at, "memory");
	for (unsigned i = 0; i < MPK_SPACES; i++) {
		put_accesses_json(access_spaces[i], "load", work->loads[i], j, memory);
		put_accesses_json(access_spaces[i], "store", work->stores[i], j, memory);
	}
}

/* --- by source line -------------------------------------------------------------------------- */

enum mpk_code mpk_code_rows_read(const struct mpk_code_info *info, struct mpk_arena *arena,
				 struct mpk_code_rows *out, struct mpk_error *err)
{
	struct mpk_code_rows rows = { 0 };
	enum mpk_code code = MPK_OK;

	if (info->format && info->format->source_rows && !info->problem)
		code = info->format->source_rows(info, arena, &rows.items, &rows.count, NULL);
	if (code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	*out = code == MPK_OK ? rows : (struct mpk_code_rows){ 0 };
	return MPK_OK;
}

/* Returns the first row that begins after an offset. */
static size_t row_after(const struct mpk_code_rows *rows, uint64_t off)
{
	return mpk_first_from(rows->items, rows->count, sizeof *rows->items,
			      offsetof(struct mpk_dwarf_row, from), off + 1);
}

const struct mpk_dwarf_row *mpk_code_row_at(const struct mpk_code_rows *rows, uint64_t off)
{
	size_t next = row_after(rows, off);

	return next && rows->items[next - 1].to > off ? &rows->items[next - 1] : NULL;
}

static int by_source(const void *a, const void *b)
{
	const struct mpk_dwarf_row *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	if (order)
		return order;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static void add_counts(uint32_t *to, const uint32_t *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] += from[i];
}

static void add_work(struct mpk_work *to, const struct mpk_work *from)
{
	to->all += from->all;
	to->tensor += from->tensor;
	to->async += from->async;
	to->atomic += from->atomic;
	add_counts(to->loads[0], from->loads[0], (size_t)MPK_SPACES * MPK_WIDTHS);
	add_counts(to->stores[0], from->stores[0], (size_t)MPK_SPACES * MPK_WIDTHS);
	to->is_amd |= from->is_amd;
	to->has_stall |= from->has_stall;
	to->stall_cycles += from->stall_cycles;
}

static void free_rows(struct mpk_dwarf_row **rows)
{
	free(*rows);
}

/* Returns the rows of a kernel, each cut where the next begins and at the ends of the kernel;
 * malloc'ed. */
static enum mpk_code rows_of_kernel(const struct mpk_code_rows *rows, uint64_t from, uint64_t to,
				    struct mpk_dwarf_row **out, size_t *count,
				    struct mpk_error *err)
{
	size_t first = row_after(rows, from), end = row_after(rows, to - 1);

	/* a row that begins before the kernel may extend into it */
	first -= first > 0;
	*out = malloc((end - first + 1) * sizeof **out);
	*count = 0;
	MPK_TRY_ALLOC(*out, err);
	for (size_t i = first; i < end; i++) {
		struct mpk_dwarf_row row = rows->items[i];

		row.from = row.from < from ? from : row.from;
		row.to = row.to > to ? to : row.to;
		if (i + 1 < rows->count && row.to > rows->items[i + 1].from)
			row.to = rows->items[i + 1].from;
		if (row.from < row.to)
			(*out)[(*count)++] = row;
	}
	return MPK_OK;
}

enum mpk_code mpk_work_lines(const struct mpk_code_info *info, struct mpk_span code,
			     const struct mpk_code_rows *rows, struct mpk_arena *arena,
			     struct mpk_work_lines *out, struct mpk_error *err)
{
	MPK_CLEANUP(free_rows) struct mpk_dwarf_row *own = NULL;
	struct mpk_work_lines lines = { 0 };
	uint64_t from;
	size_t count;

	*out = lines;
	if (!code.len || !rows->count || !info->format->count_work)
		return MPK_OK;
	from = (uint64_t)(code.data - info->bytes.data);
	MPK_TRY(rows_of_kernel(rows, from, from + code.len, &own, &count, err));
	if (!count)
		return MPK_OK;
	qsort(own, count, sizeof *own, by_source);

	size_t distinct = 1;

	for (size_t i = 1; i < count; i++)
		distinct +=
			own[i].line != own[i - 1].line || strcmp(own[i].file, own[i - 1].file) != 0;
	lines.items = mpk_arena_array(arena, distinct, sizeof *lines.items);
	MPK_TRY_ALLOC(lines.items, err);
	for (size_t i = 0; i < count; i++) {
		struct mpk_span piece = mpk_span_of(info->bytes.data + own[i].from,
						    (size_t)(own[i].to - own[i].from));
		struct mpk_work_line *last = lines.count ? &lines.items[lines.count - 1] : NULL;
		struct mpk_work work;

		if (!info->format->count_work(info, piece, &work) || !work.all)
			continue;
		if (!last || last->line != own[i].line || strcmp(last->file, own[i].file) != 0) {
			last = &lines.items[lines.count++];
			last->file = own[i].file;
			last->line = own[i].line;
		}
		add_work(&last->work, &work);
	}
	*out = lines;
	return MPK_OK;
}

int mpk_work_heaviest(const void *a, const void *b)
{
	const struct mpk_work_line *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	if (x->work.all != y->work.all)
		return x->work.all > y->work.all ? -1 : 1;
	if (order)
		return order;
	return x->line < y->line ? -1 : x->line > y->line;
}
