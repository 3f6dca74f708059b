/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - lists the tensors of a file of weights as text and JSON, with statistics of their
 * elements
 *
 * A plain list reads only the document. Statistics read all bytes, so they are computed only on
 * request. */
#include "weightfile/weightfile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/escape.h"
#include "text/facts.h"
#include "text/phrase.h"
#include "text/table.h"

/* --- sums by type ----------------------------------------------------------------------------- */

enum { SUMS_MAX = 64 };

struct sum {
	char type[MPK_DTYPE_TEXT];
	uint64_t tensors, elements, bytes;
};

struct sums {
	struct sum all, types[SUMS_MAX]; /* in the order of the document */
	size_t count;
};

/* Writes the type in minspect's notation; if it has none, the format's own name. */
static const char *type_word(const struct mpk_weight *w, char out[MPK_DTYPE_TEXT])
{
	if (w->coding == MPK_WEIGHT_ELSEWHERE)
		return "?";
	return w->coding == MPK_WEIGHT_BLOCKS ? w->type : mpk_dtype_print_short(w->dtype, out);
}

static uint64_t elements_of(const struct mpk_weight *w)
{
	uint64_t count = 1;

	/* the reader has checked the product for overflow */
	for (size_t i = 0; i < w->ndim; i++)
		count *= (uint64_t)w->shape[i];
	return w->coding == MPK_WEIGHT_ELSEWHERE ? 0 : count;
}

static void add_to(struct sum *sum, const struct mpk_weight *w)
{
	sum->tensors++;
	sum->elements += elements_of(w);
	sum->bytes += w->len;
}

/* Types beyond SUMS_MAX count only in the overall sum. */
static void sum_up(const struct mpk_weights *w, struct sums *out)
{
	for (size_t i = 0; i < w->count; i++) {
		char text[MPK_DTYPE_TEXT];
		const char *type = type_word(&w->items[i], text);
		size_t k = 0;

		while (k < out->count && strcmp(out->types[k].type, type) != 0)
			k++;
		if (k == out->count && k < SUMS_MAX)
			(void)snprintf(out->types[out->count++].type, MPK_DTYPE_TEXT, "%s", type);
		if (k < SUMS_MAX)
			add_to(&out->types[k], &w->items[i]);
		add_to(&out->all, &w->items[i]);
	}
}

/* --- text ------------------------------------------------------------------------------------- */

static void put_sum(const struct sum *sum, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%" PRIu64 " tensor%s, %" PRIu64 " element%s, %s", sum->tensors,
			  sum->tensors == 1 ? "" : "s", sum->elements,
			  sum->elements == 1 ? "" : "s", MPK_SIZE(sum->bytes));
}

static void put_head(const struct mpk_weightfile *f, const struct sums *sums,
		     struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_weights *w = &f->set.weights;

	mpk_strbuf_puts(out, style.color ? "\033[1m" : "");
	mpk_escape(out, mpk_span_str(f->name));
	mpk_strbuf_printf(out, "%s: %s, %s", style.color ? "\033[0m" : "", w->format->title,
			  MPK_SIZE(f->bytes));
	if (w->shard_count > 1 || (w->shard_count && w->shards[0].name.len))
		mpk_strbuf_printf(out, ", %zu shard%s", w->shard_count,
				  w->shard_count == 1 ? "" : "s");
	mpk_strbuf_puts(out, "\n  holds      ");
	put_sum(&sums->all, out);
	mpk_strbuf_putc(out, '\n');
	for (size_t i = 0; sums->count > 1 && i < sums->count; i++) {
		mpk_strbuf_printf(out, "  %-10s ", sums->types[i].type);
		put_sum(&sums->types[i], out);
		mpk_strbuf_putc(out, '\n');
	}
}

static void put_notes(const struct mpk_weights *w, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < w->note_count; i++) {
		mpk_strbuf_puts(out, "  says       ");
		mpk_escape(out, w->notes[i].key);
		mpk_strbuf_puts(out, ": ");
		mpk_escape(out, w->notes[i].value);
		mpk_strbuf_putc(out, '\n');
	}
}

static void put_problems(const struct mpk_weightfile *f, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < f->set.weights.shard_count; i++) {
		if (!f->set.places[i].problem)
			continue;
		mpk_strbuf_puts(out, "  error      ");
		mpk_escape(out, f->set.weights.shards[i].name);
		mpk_strbuf_printf(out, ": %s\n", f->set.places[i].problem->text);
	}
}

static void put_type(const struct mpk_weight *w, struct mpk_strbuf *out)
{
	char text[MPK_DTYPE_TEXT];

	mpk_strbuf_puts(out, type_word(w, text));
	if (w->coding == MPK_WEIGHT_ELSEWHERE)
		return;
	mpk_strbuf_putc(out, '[');
	for (size_t i = 0; i < w->ndim; i++)
		mpk_strbuf_printf(out, "%s%" PRId64, i ? ", " : "", w->shape[i]);
	mpk_strbuf_putc(out, ']');
}

/* Draws the distribution of magnitudes as one line with eight heights, from the lowest bin in use
 * to the highest; digits on a terminal without Unicode. A bin that is not empty is never drawn as
 * empty. */
static void put_bins(const struct mpk_weight_figures *g, bool unicode, struct mpk_strbuf *out)
{
	static const char *const steps[] = { " ",      "\u2581", "\u2582", "\u2583", "\u2584",
					     "\u2585", "\u2586", "\u2587", "\u2588" };
	uint64_t most = 0;
	int first = -1, last = -1;

	for (int i = 0; i < MPK_WEIGHT_BINS; i++) {
		if (!g->bins[i])
			continue;
		first = first < 0 ? i : first;
		last = i;
		most = g->bins[i] > most ? g->bins[i] : most;
	}
	if (first < 0)
		return;
	mpk_strbuf_printf(out, "2^%d ", MPK_WEIGHT_BIN_FIRST + first - 1);
	for (int i = first; i <= last; i++) {
		unsigned step =
			g->bins[i] ? 1 + (unsigned)((double)g->bins[i] / (double)most * 7) : 0;

		if (unicode)
			mpk_strbuf_puts(out, steps[step]);
		else
			mpk_strbuf_putc(out, (char)(step ? '0' + (int)step : '.'));
	}
	mpk_strbuf_printf(out, " 2^%d", MPK_WEIGHT_BIN_FIRST + last);
}

static void put_figures(const struct mpk_weight_figures *g, struct mpk_strbuf *out)
{
	if (g->bits)
		mpk_strbuf_printf(out, "int%u in groups of %" PRIu64 ": ", g->bits, g->group);
	if (g->blocks)
		mpk_strbuf_printf(out, "blocks of %" PRIu64 ": ", g->block_elements);
	if (g->has_range)
		mpk_strbuf_printf(out, "%.6g to %.6g, mean %.6g, deviation %.6g", g->least,
				  g->greatest, g->mean, g->deviation);
	if (g->zeros)
		mpk_strbuf_printf(out, ", %" PRIu64 " zero%s", g->zeros, g->zeros == 1 ? "" : "s");
	if (g->not_finite)
		mpk_strbuf_printf(out, "%s%" PRIu64 " NaN or infinite", g->has_range ? ", " : "",
				  g->not_finite);
	if (g->has_scales)
		mpk_strbuf_printf(out, "; scales %.6g to %.6g", g->least_scale, g->greatest_scale);
}

/* Writes "int4[4096, 4096] by 32": the values, and the number of values that share a scale. */
static void put_quantized(const struct mpk_weight *w, const struct mpk_weight_figures *g,
			  struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "int%u[", g->bits);
	for (size_t i = 0; i < w->ndim; i++)
		mpk_strbuf_printf(out, "%s%" PRId64, i ? ", " : "",
				  i == g->axis ? w->shape[i] * (32 / (int64_t)g->bits)
					       : w->shape[i]);
	mpk_strbuf_printf(out, "] by %" PRIu64, g->group);
}

/* Writes a figure with four digits, which are enough to compare. */
static void put_figure_cell(struct mpk_table *table, const struct mpk_weight_figures *g, double v)
{
	if (g->has_range)
		mpk_table_cell(table, "%.4g", v);
	else
		mpk_table_cell(table, "-");
}

/* "0", "<0.1 %", "93.8 %" */
static void put_share_cell(struct mpk_table *table, uint64_t part, uint64_t whole)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	if (!part)
		mpk_table_cell(table, "0");
	else if (percent < 0.1)
		mpk_table_cell(table, "<0.1 %%");
	else
		mpk_table_cell(table, "%.1f %%", percent);
}

/* --stats: writes the counts of unusual tensors and the largest magnitude, then a row for each
 * tensor. */
static void put_statistics(const struct mpk_weightfile *f, struct mpk_style style,
			   struct mpk_strbuf *out)
{
	static const char *const heads[] = { "tensor", "type",      "min",   "max",
					     "mean",   "deviation", "zeros", "magnitudes" };
	const struct mpk_weights *w = &f->set.weights;
	MPK_CLEANUP(mpk_table_fini)
	struct mpk_table table = { .right = 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 };
	uint64_t broken = 0, constant = 0, unread = 0, with = 0;
	double largest = 0;
	struct mpk_span largest_of = { 0 };

	mpk_table_row(&table);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(heads); i++)
		mpk_table_cell(&table, "%s", heads[i]);
	for (size_t i = 0; i < w->count; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf type = { 0 }, bins = { 0 };
		const struct mpk_weight *t = &w->items[i];
		struct mpk_weight_figures g;

		if (f->filter && !mpk_name_is_chosen(t->name, f->filter))
			continue;
		if (!mpk_weight_figures_of(&f->set, t, &g)) {
			unread++;
			continue;
		}
		with++;
		broken += g.not_finite != 0;
		constant += g.has_range && g.least == g.greatest && g.count > 1;
		for (int side = 0; g.has_range && side < 2; side++) {
			double v = fabs(side ? g.greatest : g.least);

			if (v > largest) {
				largest = v;
				largest_of = t->name;
			}
		}
		if (g.bits)
			put_quantized(t, &g, &type);
		else
			put_type(t, &type);
		if (g.has_scales)
			mpk_strbuf_printf(&type, ", scales %.3g to %.3g", g.least_scale,
					  g.greatest_scale);
		put_bins(&g, style.unicode, &bins);
		if (g.not_finite)
			mpk_strbuf_printf(&bins, "%s%" PRIu64 " NaN, %" PRIu64 " infinite",
					  bins.len ? "  " : "", g.nans, g.infinities);
		mpk_table_row(&table);
		mpk_table_cell(&table, "%s", MPK_QUOTE(t->name));
		mpk_table_cell(&table, "%s", mpk_strbuf_text(&type));
		put_figure_cell(&table, &g, g.least);
		put_figure_cell(&table, &g, g.greatest);
		put_figure_cell(&table, &g, g.mean);
		put_figure_cell(&table, &g, g.deviation);
		put_share_cell(&table, g.zeros, g.count);
		mpk_table_cell(&table, "%s", mpk_strbuf_text(&bins));
		table.failed |= type.failed || bins.failed;
	}
	if (with) {
		mpk_strbuf_puts(out, "  elements   ");
		if (broken)
			mpk_strbuf_printf(
				out, "NaN or infinite ones in %" PRIu64 " of %" PRIu64 " tensors",
				broken, with);
		else
			mpk_strbuf_puts(out, "all finite");
		if (constant)
			mpk_strbuf_printf(out, "; %" PRIu64 " tensor%s of one value", constant,
					  constant == 1 ? "" : "s");
		if (largest_of.len)
			mpk_strbuf_printf(out, "; the largest magnitude is %.4g, in %s", largest,
					  MPK_QUOTE(largest_of));
		mpk_strbuf_puts(out, "\n\n");
		mpk_table_print(&table, "", out);
	}
	if (unread)
		mpk_strbuf_printf(out,
				  "%s%" PRIu64
				  " tensor%s without figures: packed, complex or not at hand\n",
				  with ? "" : "\n", unread, unread == 1 ? "" : "s");
}

static void add_row(const struct mpk_weightfile *f, const struct mpk_weight *w,
		    struct mpk_style style, struct mpk_table *table)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf type = { 0 }, place = { 0 }, figures = { 0 };
	struct mpk_span shard = f->set.weights.shards[w->shard].name;
	struct mpk_weight_figures g;

	put_type(w, &type);
	if (shard.len)
		mpk_escape(&place, shard);
	else
		mpk_strbuf_puts(&place, "file");
	if (w->coding != MPK_WEIGHT_ELSEWHERE)
		mpk_strbuf_printf(&place, "+%#" PRIx64, w->off);
	if (w->coding == MPK_WEIGHT_BF16_UPPER)
		mpk_strbuf_puts(&place, ", stored as bf16");
	if (style.verbose && mpk_weight_figures_of(&f->set, w, &g))
		put_figures(&g, &figures);
	mpk_table_row(table);
	mpk_table_cell(table, "%s", MPK_QUOTE(w->name));
	mpk_table_cell(table, "%s", mpk_strbuf_text(&type));
	mpk_table_cell(table, "%s", MPK_SIZE(w->len));
	mpk_table_cell(table, "%s", mpk_strbuf_text(&place));
	if (figures.len)
		mpk_table_cell(table, "%s", mpk_strbuf_text(&figures));
}

static void weights_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_weightfile *f = what;
	const struct mpk_weights *w = &f->set.weights;
	struct mpk_table table = { .right = 1 << 2 };
	struct sums sums = { 0 };

	sum_up(w, &sums);
	put_head(f, &sums, style, out);
	if (style.verbose)
		put_notes(w, out);
	put_problems(f, out);
	if (f->has_figures && !style.verbose) {
		put_statistics(f, style, out);
		return;
	}
	for (size_t i = 0; i < w->count; i++)
		if (!f->filter || mpk_name_is_chosen(w->items[i].name, f->filter))
			add_row(f, &w->items[i], style, &table);
	if (table.row_count)
		mpk_strbuf_putc(out, '\n');
	mpk_table_print(&table, "", out);
	mpk_table_fini(&table);
}

/* --- JSON --------------------------------------------------------------------------------------- */

static const struct mpk_fact tensor_sum_facts[] = {
	{ MPK_FACT(COUNT, "tensors", struct sum, tensors) },
	{ MPK_FACT(COUNT, "elements", struct sum, elements) },
	{ MPK_FACT(COUNT, "bytes", struct sum, bytes) },
};

static const struct mpk_fact weight_note_facts[] = {
	{ MPK_FACT(SPAN, "key", struct mpk_weight_note, key) },
	{ MPK_FACT(SPAN, "value", struct mpk_weight_note, value) },
};

static void figures_json(const struct mpk_weight_figures *g, struct mpk_json *j,
			 struct mpk_json_at *at)
{
	struct mpk_json_at *o = mpk_json_object(j, at, "statistics");

	if (g->has_range) {
		mpk_json_f64(j, o, "min", g->least);
		mpk_json_f64(j, o, "max", g->greatest);
		mpk_json_f64(j, o, "mean", g->mean);
		mpk_json_f64(j, o, "deviation", g->deviation);
	}
	mpk_json_u64(j, o, "not_finite", g->not_finite);
	mpk_json_u64(j, o, "nan", g->nans);
	mpk_json_u64(j, o, "infinite", g->infinities);
	mpk_json_u64(j, o, "zeros", g->zeros);
	/* true in releases that could not unpack some types; readers may still ask */
	mpk_json_bool(j, o, "of_scales", false);
	if (g->bits) {
		struct mpk_json_at *q = mpk_json_object(j, o, "quantized");

		mpk_json_u64(j, q, "bits", g->bits);
		mpk_json_u64(j, q, "group", g->group);
		mpk_json_u64(j, q, "axis", g->axis);
	}
	if (g->blocks) {
		struct mpk_json_at *q = mpk_json_object(j, o, "blocks");

		mpk_json_u64(j, q, "count", g->blocks);
		mpk_json_u64(j, q, "elements", g->block_elements);
		if (g->has_scales) {
			struct mpk_json_at *s = mpk_json_object(j, q, "scales");

			mpk_json_f64(j, s, "min", g->least_scale);
			mpk_json_f64(j, s, "max", g->greatest_scale);
			mpk_json_f64(j, s, "mean", g->mean_scale);
		}
	}
	struct mpk_json_at *list = mpk_json_array(j, o, "magnitudes");
	for (int i = 0; i < MPK_WEIGHT_BINS; i++) {
		if (!g->bins[i])
			continue;
		struct mpk_json_at *bin = mpk_json_object(j, list, NULL);

		mpk_json_i64(j, bin, "below_exponent", MPK_WEIGHT_BIN_FIRST + i);
		mpk_json_u64(j, bin, "count", g->bins[i]);
	}
}

static void tensor_json(const struct mpk_weightfile *f, const struct mpk_weight *w,
			struct mpk_json *j, struct mpk_json_at *list)
{
	struct mpk_json_at *o = mpk_json_object(j, list, NULL);
	struct mpk_span shard = f->set.weights.shards[w->shard].name;
	char text[MPK_DTYPE_TEXT];
	struct mpk_weight_figures g;

	mpk_json_span(j, o, "name", w->name);
	if (shard.len)
		mpk_json_span(j, o, "shard", shard);
	if (w->coding == MPK_WEIGHT_ELSEWHERE)
		return;
	mpk_json_text(j, o, "dtype",
		      w->coding == MPK_WEIGHT_BLOCKS ? NULL : mpk_dtype_print(w->dtype, text));
	if (w->type)
		mpk_json_text(j, o, "type", w->type);
	mpk_json_i64s(j, o, "shape", w->shape, w->ndim);
	mpk_json_u64(j, o, "offset", w->off);
	mpk_json_u64(j, o, "bytes", w->len);
	if (w->coding == MPK_WEIGHT_BF16_UPPER)
		mpk_json_text(j, o, "stored_as", "bfloat16");
	if (f->has_figures && mpk_weight_figures_of(&f->set, w, &g))
		figures_json(&g, j, o);
}

static void shards_json(const struct mpk_weightfile *f, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_weights *w = &f->set.weights;
	struct mpk_json_at *list = mpk_json_array(j, at, "shards");

	for (size_t i = 0; i < w->shard_count; i++) {
		struct mpk_json_at *o;

		if (!w->shards[i].name.len)
			continue;
		o = mpk_json_object(j, list, NULL);
		mpk_json_span(j, o, "name", w->shards[i].name);
		if (f->set.places[i].problem)
			mpk_json_error(j, o, "error", f->set.places[i].problem);
		else
			mpk_json_u64(j, o, "bytes", f->set.places[i].bytes.len);
	}
}

static void weights_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_weightfile *f = what;
	const struct mpk_weights *w = &f->set.weights;
	struct mpk_json_at *o, *list;
	struct sums sums = { 0 };

	sum_up(w, &sums);
	mpk_json_text(j, at, "file", f->name);
	mpk_json_u64(j, at, "bytes", f->bytes);
	mpk_json_text(j, at, "container", "weights");
	mpk_json_text(j, at, "format", w->format->name);
	mpk_facts_json_list(MPK_FACTS(weight_note_facts), "metadata", w->notes, w->note_count,
			    sizeof *w->notes, j, at);
	shards_json(f, j, at);
	list = mpk_json_array(j, at, "types");
	for (size_t i = 0; i < sums.count; i++) {
		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "type", sums.types[i].type);
		mpk_facts_json(MPK_FACTS(tensor_sum_facts), &sums.types[i], j, o);
	}
	mpk_facts_json(MPK_FACTS(tensor_sum_facts), &sums.all, j, mpk_json_object(j, at, "total"));
	list = mpk_json_array(j, at, "tensors");
	for (size_t i = 0; i < w->count; i++)
		if (!f->filter || mpk_name_is_chosen(w->items[i].name, f->filter))
			tensor_json(f, &w->items[i], j, list);
}

const struct mpk_answer mpk_answer_weights = { .text = weights_text,
					       .json = weights_json,
					       .is_apart = true };
