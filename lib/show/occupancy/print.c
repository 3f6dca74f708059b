/* SPDX-License-Identifier: Apache-2.0 */
/* print.c - prints occupancy as a sentence, a table and JSON */
#include <inttypes.h>
#include <string.h>

#include "occupancy/occupancy.h"
#include "text/escape.h"
#include "text/facts.h"
#include "text/phrase.h"
#include "text/table.h"

enum {
	NAME_WIDTH = 40,
};

/* Appends the next step, after "registers; ": "8 fewer: 63 %". */
static void put_next(const struct mpk_occupancy_row *r, struct mpk_strbuf *out)
{
	switch (r->next) {
	case MPK_OCCUPANCY_REGISTERS:
		mpk_strbuf_printf(out, "%" PRIu64 " fewer", r->next_less);
		break;
	case MPK_OCCUPANCY_SHARED:
		mpk_strbuf_printf(out, "%" PRIu64 " B fewer", r->next_less);
		break;
	case MPK_OCCUPANCY_WARPS:
		mpk_strbuf_printf(out, "blocks of %" PRIu32, r->next_threads);
		break;
	case MPK_OCCUPANCY_NONE:
	case MPK_OCCUPANCY_BLOCKS:
	case MPK_OCCUPANCY_BARRIERS:
		return;
	}
	mpk_strbuf_printf(out, ": %" PRIu32 " %%", r->next_percent);
}

static void put_name(struct mpk_span name, struct mpk_strbuf *out)
{
	if (!mpk_symbol_name(name, false, NAME_WIDTH, out))
		mpk_escape(out, name);
}

/* Linked objects share template kernels: rows that print alike are printed once. */
static bool is_same(const struct mpk_occupancy_row *a, const struct mpk_occupancy_row *b)
{
	return mpk_span_compare(a->name, b->name) == 0 && strcmp(a->device, b->device) == 0 &&
	       a->threads == b->threads && a->registers == b->registers &&
	       a->shared_bytes == b->shared_bytes && a->percent == b->percent &&
	       a->limit == b->limit;
}

static void put_row(const struct mpk_occupancy_row *r, size_t same, struct mpk_table *t)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 }, why = { 0 };

	put_name(r->name, &name);
	if (same > 1)
		mpk_strbuf_printf(&name, " (%zu)", same);
	if (!r->blocks) {
		mpk_strbuf_printf(&why, "no launch: %s", mpk_occupancy_limit_words[r->limit]);
	} else {
		mpk_strbuf_puts(&why, r->limit == MPK_OCCUPANCY_NONE
					      ? ""
					      : mpk_occupancy_limit_words[r->limit]);
		if (r->next != MPK_OCCUPANCY_NONE) {
			mpk_strbuf_puts(&why, "; ");
			put_next(r, &why);
		}
	}
	mpk_table_row(t);
	mpk_table_cell(t, "%s", mpk_strbuf_text(&name));
	mpk_table_cell(t, "%s", r->device);
	mpk_table_cell(t, "%" PRIu32 "%s", r->threads, r->block_from == MPK_BLOCK_BEST ? "*" : "");
	mpk_table_cell(t, "%" PRIu32, r->registers);
	mpk_table_cell(t, "%s", MPK_SIZE(r->shared_bytes));
	mpk_table_cell(t, "%" PRIu32 "/%" PRIu32, r->warps, r->max_warps);
	mpk_table_cell(t, "%" PRIu32 " %%", r->percent);
	mpk_table_cell(t, "%s", mpk_strbuf_text(&why));
	t->failed |= name.failed || why.failed;
}

/* "x.so: 12 kernels, the lowest at 25 %, the median at 63 %, 3 at 100 %" */
static void put_sentence(const struct mpk_occupancy_list *l, struct mpk_strbuf *out)
{
	size_t full = 0;

	for (size_t i = 0; i < l->count; i++)
		full += l->items[i].warps == l->items[i].max_warps;
	mpk_escape(out, mpk_span_str(l->name));
	mpk_strbuf_puts(out, ": ");
	if (!l->count) {
		mpk_strbuf_puts(out, l->untold || l->elsewhere
					     ? "no kernel whose occupancy can be computed"
					     : "no kernels");
	} else {
		mpk_put_count(out, l->count, "kernel");
		if (full == l->count)
			mpk_strbuf_puts(out, l->count > 1 ? ", all at 100 %" : ", at 100 %");
		else
			mpk_strbuf_printf(out,
					  ", the lowest at %" PRIu32 " %%, the median at %" PRIu32
					  " %%, %zu at 100 %%",
					  l->items[0].percent, l->items[l->count / 2].percent,
					  full);
	}
	mpk_strbuf_putc(out, '\n');
	if (l->elsewhere) {
		mpk_strbuf_puts(out, "  left out: ");
		mpk_put_count(out, l->elsewhere, "kernel");
		mpk_strbuf_puts(out, " whose code does not run on this device\n");
	}
	if (l->untold) {
		mpk_strbuf_puts(out, "  left out: ");
		mpk_put_count(out, l->untold, "kernel");
		mpk_strbuf_puts(
			out,
			" of PTX, of sources or for unknown devices: registers are not known\n");
	}
}

static void occupancy_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	static const char *const heads[] = { "kernel", "device", "block",     "registers",
					     "shared", "warps",  "occupancy", "limited by" };
	const struct mpk_occupancy_list *l = what;
	MPK_CLEANUP(mpk_table_fini)
	struct mpk_table t = { .right = 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 };
	bool has_best = false;

	(void)style;
	put_sentence(l, out);
	mpk_table_row(&t);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(heads); i++)
		mpk_table_cell(&t, "%s", heads[i]);
	for (size_t i = 0; i < l->count;) {
		size_t same = 1;

		while (i + same < l->count && is_same(&l->items[i], &l->items[i + same]))
			same++;
		put_row(&l->items[i], same, &t);
		has_best |= l->items[i].block_from == MPK_BLOCK_BEST;
		i += same;
	}
	if (has_best)
		mpk_strbuf_puts(
			out,
			"  * the kernel fixes no block size: the best; --block N takes yours\n");
	if (l->count)
		mpk_table_print(&t, "  ", out);
}

static const struct mpk_fact occupancy_facts[] = {
	{ MPK_FACT(TEXT, "path", struct mpk_occupancy_row, path,
		   "tree path; gpu: GPU code of any library") },
	{ MPK_FACT(SPAN, "kernel", struct mpk_occupancy_row, name) },
	{ MPK_FACT(TEXT, "target", struct mpk_occupancy_row, target,
		   "the device that its code is for") },
	{ MPK_FACT(TEXT, "device", struct mpk_occupancy_row, device,
		   "the device that was computed for") },
	{ MPK_FACT(COUNT, "threads", struct mpk_occupancy_row, threads, "of a block") },
	{ MPK_FACT_WORDS(
		"block_from", struct mpk_occupancy_row, block_from, mpk_block_from_words,
		"who says how many threads: --block, the kernel, its launch bound; best: nobody does") },
	{ MPK_FACT(COUNT, "registers", struct mpk_occupancy_row, registers, "of a thread") },
	{ MPK_FACT(COUNT, "shared_bytes", struct mpk_occupancy_row, shared_bytes,
		   "of a block, static and dynamic") },
	{ MPK_FACT(COUNT, "barriers", struct mpk_occupancy_row, barriers, "of a block") },
	{ MPK_FACT(COUNT, "blocks", struct mpk_occupancy_row, blocks,
		   "that a multiprocessor (compute unit) runs at once; 0: a launch fails") },
	{ MPK_FACT(COUNT, "warps", struct mpk_occupancy_row, warps, "of these blocks") },
	{ MPK_FACT(COUNT, "max_warps", struct mpk_occupancy_row, max_warps,
		   "that the multiprocessor has room for") },
	{ MPK_FACT(COUNT, "percent", struct mpk_occupancy_row, percent, "warps of max_warps") },
	{ MPK_FACT_WORDS("limit", struct mpk_occupancy_row, limit, mpk_occupancy_limit_words,
			 "the scarcest resource") },
	{ MPK_FACT_WORDS(
		"next", struct mpk_occupancy_row, next, mpk_occupancy_limit_words,
		"what the least change is of that runs more warps; warps: the size of the block") },
	{ MPK_FACT(COUNT, "next_less", struct mpk_occupancy_row, next_less,
		   "registers of a thread, or bytes of a block, fewer") },
	{ MPK_FACT(COUNT, "next_threads", struct mpk_occupancy_row, next_threads,
		   "of a block, when next is warps") },
	{ MPK_FACT(COUNT, "next_percent", struct mpk_occupancy_row, next_percent,
		   "occupancy then") },
};

static void occupancy_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_occupancy_list *l = what;

	mpk_json_text(j, at, "file", l->name);
	mpk_json_u64(j, at, "untold", l->untold);
	mpk_json_u64(j, at, "elsewhere", l->elsewhere);
	mpk_facts_json_list(MPK_FACTS(occupancy_facts), "kernels", l->items, l->count,
			    sizeof *l->items, j, at);
}

const struct mpk_answer mpk_answer_occupancy = { .text = occupancy_text, .json = occupancy_json };
