/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - prints the results of a call, their comparison with expected values, and timings, as
 * text and JSON
 *
 * Text has the syntax of arguments, so that a result can be the next call's input. JSON has native
 * types where possible. */
#include "results/results.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "text/phrase.h"
#include "value/element.h"
#include "value/parse.h"

/* --- tensors that do not fit on a line -------------------------------------------------
 *
 * Shows the first and last elements of each dimension in columns, like NumPy. Numbers are rounded,
 * since a person compares their sizes; --full or an output file has all digits. */

enum {
	ELEMENTS_IN_LINE = 64,
	BLOCK_COLUMNS = 78, /* fits a terminal with two columns of indentation */
	BLOCK_ROWS = 24,
	EDGE = 3, /* elements at each end of a dimension */
};

struct block {
	struct mpk_scalars s;
	struct mpk_strbuf *out;
	size_t width;      /* columns of the widest number shown */
	int64_t last_edge; /* elements at each end of a row */
	size_t rows;
	bool is_measured; /* width is set, and rows are being written */
};

static void put_rounded(const struct mpk_scalars *s, uint64_t i, struct mpk_strbuf *out)
{
	uint8_t raw[MPK_SCALAR_MAX];
	const void *p = mpk_scalar_at(s, i, raw);
	struct mpk_element e = mpk_element_load(s->dtype, p);

	if (e.class == MPK_ELEMENT_FLOAT && isfinite(e.f))
		mpk_strbuf_printf(out, "%.4g", e.f);
	else
		mpk_element_print(out, s->dtype, p);
}

/* Returns the index of the k-th shown element of a dimension, or -1 for the omitted ones. */
static int64_t shown_index(int64_t extent, int64_t edge, int64_t k)
{
	if (extent <= 2 * edge + 1)
		return k;
	return k < edge ? k : k == edge ? -1 : extent - (2 * edge + 1 - k);
}

static int64_t shown_count(int64_t extent, int64_t edge)
{
	return extent <= 2 * edge + 1 ? extent : 2 * edge + 1;
}

static void put_cell(struct block *b, const char *text, size_t len, bool is_first)
{
	if (!b->is_measured) {
		b->width = len > b->width ? len : b->width;
		return;
	}
	mpk_strbuf_printf(b->out, "%s%*s%.*s", is_first ? "" : " ", (int)(b->width - len), "",
			  (int)len, text);
}

/* @at      index of the row's first element in the tensor */
static void put_row(struct block *b, uint64_t at)
{
	int64_t extent = b->s.shape[b->s.ndim - 1];

	for (int64_t k = 0; k < shown_count(extent, b->last_edge); k++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
		int64_t i = shown_index(extent, b->last_edge, k);

		if (i >= 0)
			put_rounded(&b->s, at + (uint64_t)i, &text);
		else
			mpk_strbuf_puts(&text, "...");
		put_cell(b, mpk_strbuf_text(&text), text.len, k == 0);
		b->out->failed |= text.failed;
	}
}

/* @at      index of its first element
 * @opened, @closed  brackets before its first row and after its last one */
static void put_dimension(struct block *b, int32_t d, uint64_t at, int opened, int closed)
{
	static const char open[] = "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[";
	static const char close[] = "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]";

	int64_t extent = b->s.shape[d];
	uint64_t stride = 1;

	if (d == b->s.ndim - 1) {
		if (b->is_measured && b->rows++ >= BLOCK_ROWS)
			return;
		if (b->is_measured)
			mpk_strbuf_printf(b->out, "  %*s%.*s", d + 1 - opened, "", opened, open);
		put_row(b, at);
		if (b->is_measured)
			mpk_strbuf_printf(b->out, "%.*s\n", closed, close);
		return;
	}
	for (int32_t i = d + 1; i < b->s.ndim; i++)
		stride *= (uint64_t)b->s.shape[i];
	for (int64_t k = 0; k < shown_count(extent, EDGE); k++) {
		int64_t i = shown_index(extent, EDGE, k);

		if (i >= 0)
			put_dimension(b, d + 1, at + (uint64_t)i * stride, k == 0 ? opened + 1 : 1,
				      k + 1 == shown_count(extent, EDGE) ? closed + 1 : 1);
		else if (b->is_measured && b->rows++ < BLOCK_ROWS)
			mpk_strbuf_printf(b->out, "  %*s...\n", d + 1, "");
	}
}

static void put_figures(const struct mpk_scalars *s, struct mpk_strbuf *out)
{
	double least = INFINITY, greatest = -INFINITY, sum = 0;
	uint64_t nans = 0, infinite = 0;
	uint8_t raw[MPK_SCALAR_MAX];

	for (uint64_t i = 0; i < s->count; i++) {
		double v =
			mpk_element_to_double(mpk_element_load(s->dtype, mpk_scalar_at(s, i, raw)));

		nans += isnan(v) != 0;
		infinite += isinf(v) != 0;
		if (!isfinite(v))
			continue;
		least = v < least ? v : least;
		greatest = v > greatest ? v : greatest;
		sum += v;
	}
	if (nans + infinite < s->count)
		mpk_strbuf_printf(out, " from %.4g to %.4g, mean %.4g", least, greatest,
				  sum / (double)(s->count - nans - infinite));
	if (nans)
		mpk_strbuf_printf(out, ", %" PRIu64 " NaN", nans);
	if (infinite)
		mpk_strbuf_printf(out, ", %" PRIu64 " infinite", infinite);
}

static void put_block(const struct mpk_tensor *t, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf head = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf figures = { 0 };
	struct block b = { .s = mpk_scalars_of(&t->dl), .out = out, .last_edge = EDGE };
	enum mpk_element_class class = mpk_element_class(b.s.dtype);
	size_t brackets;

	mpk_tensor_print_type(&head, &t->dl);
	mpk_strbuf_puts(&head, ": ");
	mpk_put_number(&head, b.s.count);
	mpk_strbuf_puts(&head, " elements");
	if (class != MPK_ELEMENT_NONE)
		put_figures(&b.s, &figures);
	mpk_strbuf_puts(out, mpk_strbuf_text(&head));
	if (head.len + figures.len > BLOCK_COLUMNS)
		mpk_strbuf_puts(out, "\n ");
	mpk_strbuf_puts(out, mpk_strbuf_text(&figures));
	mpk_strbuf_putc(out, '\n');
	out->failed |= head.failed || figures.failed;
	brackets = 2 * (size_t)b.s.ndim;
	brackets = brackets < BLOCK_COLUMNS / 2 ? brackets : BLOCK_COLUMNS / 2;
	put_dimension(&b, 0, 0, 1, 1);
	b.width = b.width < 3 ? 3 : b.width; /* "..." */
	/* a wide element leaves room for fewer, a narrow one for more */
	b.last_edge = (int64_t)((BLOCK_COLUMNS - 2 - brackets) / (b.width + 1));
	b.last_edge = b.last_edge < 3 ? 1 : (b.last_edge - 1) / 2;
	put_dimension(&b, 0, 0, 1, 1);
	b.is_measured = true;
	put_dimension(&b, 0, 0, 1, 1);
	if (b.rows > BLOCK_ROWS)
		mpk_strbuf_puts(out, "  ...\n");
}

static bool is_long(const struct mpk_value *v)
{
	return v->kind == MPK_VALUE_TENSOR && mpk_dldevice_is_host(v->tensor->dl.device) &&
	       mpk_scalars_of(&v->tensor->dl).count > ELEMENTS_IN_LINE;
}

/* --- values ------------------------------------------------------------------------- */

static void results_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_shown_results *shown = what;
	const struct mpk_call_result *r = shown->result;
	bool any_cut = false;

	(void)style;
	for (size_t i = 0; i < r->count; i++) {
		if (is_long(&r->values[i]) && !shown->is_whole) {
			put_block(r->values[i].tensor, out);
			any_cut = true;
			continue;
		}
		mpk_value_print(out, &r->values[i], shown->is_whole ? 0 : MPK_PRINT_ELEMENTS_MAX);
		mpk_strbuf_putc(out, '\n');
	}
	if (any_cut)
		mpk_strbuf_puts(out, "all elements: --full; into a file: -o @OUT.npy\n");
}

/* Integers are written in full: readers must not round those beyond 2^53 (RFC 8259, 6). Elements
 * that are not numbers, such as complex ones, are written as a text. */
static void put_element(struct mpk_dtype t, const void *p, struct mpk_json *j,
			struct mpk_json_at *at)
{
	struct mpk_element e = mpk_element_load(t, p);
	struct mpk_strbuf bits = { 0 };

	switch (e.class) {
	case MPK_ELEMENT_BOOL:
		mpk_json_bool(j, at, NULL, e.i != 0);
		break;
	case MPK_ELEMENT_INT:
		mpk_json_i64(j, at, NULL, e.i);
		break;
	case MPK_ELEMENT_UINT:
		mpk_json_u64(j, at, NULL, e.u);
		break;
	case MPK_ELEMENT_FLOAT:
		mpk_json_f64(j, at, NULL, e.f);
		break;
	case MPK_ELEMENT_NONE:
		mpk_element_print(&bits, t, p);
		mpk_json_text(j, at, NULL, mpk_strbuf_text(&bits));
		mpk_strbuf_fini(&bits);
		break;
	}
}

static void results_put_tensor(const struct mpk_tensor *t, bool is_whole, struct mpk_json *j,
			       struct mpk_json_at *at)
{
	struct mpk_scalars s = mpk_scalars_of(&t->dl);
	bool all = is_whole || s.count <= MPK_PRINT_ELEMENTS_MAX;
	uint8_t raw[MPK_SCALAR_MAX];
	char name[MPK_DTYPE_TEXT];
	struct mpk_json_at *list;

	mpk_json_text(j, at, "dtype", mpk_dtype_print(t->dl.dtype, name));
	mpk_json_i64s(j, at, "shape", t->dl.shape, (size_t)t->dl.ndim);
	list = mpk_json_array(j, at, "values");
	/* a tensor may have millions of elements: "complete" tells whether all are listed */
	for (uint64_t i = 0; i < s.count && (all || i < MPK_PRINT_ELEMENTS_MAX); i++)
		put_element(s.dtype, mpk_scalar_at(&s, i, raw), j, list);
	mpk_json_bool(j, at, "complete", all);
}

/* Writes values without a JSON type as they are printed. */
static void put_printed(const struct mpk_value *v, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_strbuf text = { 0 };
	const char *value;

	mpk_value_print(&text, v, 0);
	/* the type before '=' is a separate member */
	value = strchr(mpk_strbuf_text(&text), '=');
	mpk_json_text(j, at, "value", value ? value + 1 : mpk_strbuf_text(&text));
	mpk_strbuf_fini(&text);
}

/* Puts "type", and "value" in a JSON type if one fits.
 * Tensors have other members. */
static void results_put_value(const struct mpk_value *v, bool is_whole, struct mpk_json *j,
			      struct mpk_json_at *at)
{
	mpk_json_text(j, at, "type", mpk_value_kind_name(v->kind));
	switch (v->kind) {
	case MPK_VALUE_NONE:
		mpk_json_null(j, at, "value");
		break;
	case MPK_VALUE_BOOL:
		mpk_json_bool(j, at, "value", v->boolean);
		break;
	case MPK_VALUE_INT:
		mpk_json_i64(j, at, "value", v->integer);
		break;
	case MPK_VALUE_FLOAT:
		mpk_json_f64(j, at, "value", v->real);
		break;
	case MPK_VALUE_STR:
		mpk_json_span(j, at, "value", mpk_value_text_span(v));
		break;
	case MPK_VALUE_SHAPE:
		mpk_json_i64s(j, at, "value", v->shape->extents, v->shape->ndim);
		break;
	case MPK_VALUE_TENSOR:
		results_put_tensor(v->tensor, is_whole, j, at);
		break;
	case MPK_VALUE_BYTES:
	case MPK_VALUE_DTYPE:
	case MPK_VALUE_DEVICE:
	case MPK_VALUE_ARRAY:
	case MPK_VALUE_STORAGE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_FUNCTION:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
	case MPK_VALUE_KIND_COUNT:
		put_printed(v, j, at);
		break;
	}
}

static void results_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_shown_results *shown = what;
	const struct mpk_call_result *r = shown->result;
	struct mpk_json_at *list = mpk_json_array(j, at, "results");

	for (size_t i = 0; i < r->count; i++)
		results_put_value(&r->values[i], shown->is_whole, j,
				  mpk_json_object(j, list, NULL));
}

const struct mpk_answer mpk_answer_results = { .text = results_text, .json = results_json };

void mpk_comparison_json(const struct mpk_comparison *c, size_t i, struct mpk_json *j,
			 struct mpk_json_at *list)
{
	struct mpk_json_at *at = mpk_json_object(j, list, NULL);

	mpk_json_u64(j, at, "result", i);
	/* an ignored result stays in the list,
	 * since results are identified by position */
	if (!c) {
		mpk_json_bool(j, at, "ignored", true);
		return;
	}
	mpk_json_bool(j, at, "equal", c->is_equal);
	mpk_json_u64(j, at, "differing", c->differing);
	mpk_json_u64(j, at, "total", c->total);
	mpk_json_f64(j, at, "max_abs_error", c->max_abs);
	mpk_json_f64(j, at, "max_rel_error", c->max_rel);
}

/* --- times -------------------------------------------------------------------------- */

void mpk_seconds_text(double seconds, struct mpk_strbuf *out)
{
	static const struct {
		double scale;
		const char *unit;
	} units[] = { { 1, "s" }, { 1e3, "ms" }, { 1e6, "us" }, { 1e9, "ns" } };
	size_t i = 0;

	/* 0.9996 s prints as "1 s": with three digits, milliseconds would print 1e+03 */
	while (i + 1 < MPK_ARRAY_COUNT(units) && seconds * units[i].scale < 0.9995)
		i++;
	mpk_strbuf_printf(out, "%.3g %s", seconds * units[i].scale, units[i].unit);
}

/* The figures of timed calls in text and JSON, in this order. */
static const struct {
	const char *name;
	size_t off; /* offset in struct mpk_timing */
} figures[] = {
	{ "min", offsetof(struct mpk_timing, min) },
	{ "median", offsetof(struct mpk_timing, median) },
	{ "p95", offsetof(struct mpk_timing, p95) },
	{ "mean", offsetof(struct mpk_timing, mean) },
};

/* By offset, as C has no pointers to members. */
static double figure(const struct mpk_timing *t, size_t i)
{
	double seconds;

	memcpy(&seconds, (const char *)t + figures[i].off, sizeof seconds);
	return seconds;
}

void mpk_timing_text(const struct mpk_timing *t, size_t calls, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%zu calls", calls);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(figures); i++) {
		mpk_strbuf_printf(out, ", %s ", figures[i].name);
		mpk_seconds_text(figure(t, i), out);
	}
}

void mpk_timing_json(const struct mpk_timing *t, size_t calls, struct mpk_json *j,
		     struct mpk_json_at *at)
{
	/* all figures but "calls" are in seconds, so that is the object's name */
	at = mpk_json_object(j, at, "seconds");
	mpk_json_u64(j, at, "calls", calls);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(figures); i++)
		mpk_json_f64(j, at, figures[i].name, figure(t, i));
}
