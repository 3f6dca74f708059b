/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - the tensors of a file of weights as text and JSON, and the figures of their elements
 *
 * A list takes what the document says. Figures of elements take all bytes, so they are for those who ask. */
#include "weightfile/weightfile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/native.h"
#include "text/escape.h"
#include "text/facts.h"
#include "text/phrase.h"
#include "text/table.h"
#include "value/element.h"

/* --- what elements are ------------------------------------------------------------------------ */

/* Elements in whole bytes, for which the type has numbers. */
static bool has_figures(const struct mpk_weight *w)
{
	struct mpk_dtype t = mpk_weight_stored(w);

	return w->coding != MPK_WEIGHT_BLOCKS && w->coding != MPK_WEIGHT_ELSEWHERE &&
	       t.lanes == 1 && t.bits % 8 == 0 && mpk_element_class(t) != MPK_ELEMENT_NONE;
}

bool mpk_weight_figures_of(const struct mpk_weight_set *set, const struct mpk_weight *w,
			   struct mpk_weight_figures *out)
{
	struct mpk_dtype t = mpk_weight_stored(w);
	size_t width = t.bits / 8u;
	long double sum = 0;
	uint8_t native[MPK_SCALAR_MAX];
	struct mpk_span bytes;

	if (!has_figures(w) || !mpk_weight_set_bytes(set, w, &bytes))
		return false;
	*out = (struct mpk_weight_figures){ .count = bytes.len / width };
	for (size_t i = 0; i < out->count; i++) {
		memcpy(native, bytes.data + i * width, width);
		mpk_native_from_little(native, width, width);
		double v = mpk_element_to_double(mpk_element_load(t, native));

		if (!isfinite(v)) {
			out->not_finite++;
			continue;
		}
		if (!out->has_range || v < out->least)
			out->least = v;
		if (!out->has_range || v > out->greatest)
			out->greatest = v;
		out->has_range = true;
		sum += (long double)v;
	}
	if (out->has_range)
		out->mean = (double)(sum / (long double)(out->count - out->not_finite));
	return true;
}

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

/* As values are typed, and where they are not typed as the format calls them. */
static const char *type_word(const struct mpk_weight *w, char out[MPK_DTYPE_TEXT])
{
	if (w->coding == MPK_WEIGHT_ELSEWHERE)
		return "?";
	return w->coding == MPK_WEIGHT_BLOCKS ? w->type : mpk_dtype_print_short(w->dtype, out);
}

static uint64_t elements_of(const struct mpk_weight *w)
{
	uint64_t count = 1;

	for (size_t i = 0; i < w->ndim; i++)
		count *= (uint64_t)w->shape[i]; /* the reader has checked the product */
	return w->coding == MPK_WEIGHT_ELSEWHERE ? 0 : count;
}

static void add_to(struct sum *sum, const struct mpk_weight *w)
{
	sum->tensors++;
	sum->elements += elements_of(w);
	sum->bytes += w->len;
}

/* A type beyond the last row counts in the sum of all alone. */
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

static void put_figures(const struct mpk_weight_figures *g, struct mpk_strbuf *out)
{
	if (g->has_range)
		mpk_strbuf_printf(out, "%.6g to %.6g, mean %.6g", g->least, g->greatest, g->mean);
	if (g->not_finite)
		mpk_strbuf_printf(out, "%s%" PRIu64 " NaN or infinite", g->has_range ? ", " : "",
				  g->not_finite);
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
	}
	mpk_json_u64(j, o, "not_finite", g->not_finite);
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
