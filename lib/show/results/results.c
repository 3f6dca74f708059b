/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - what a call gave, how it compares with what was expected and how long it took, as text and JSON
 *
 * Values are printed as a user types them, so that a result can be the next call's input; in JSON
 * they have JSON's own types as far as it has them. */
#include "results/results.h"

#include <string.h>

#include "value/element.h"
#include "value/parse.h"

/* --- values ------------------------------------------------------------------------- */

static void results_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_call_result *r = what;

	(void)style;
	for (size_t i = 0; i < r->count; i++) {
		mpk_value_print(out, &r->values[i], MPK_PRINT_ELEMENTS_MAX);
		mpk_strbuf_putc(out, '\n');
	}
}

/* Integers are written in full: beyond 2^53 it is for the reader not to round them (RFC 8259, 6).
 * What is no number, such as a complex one, is a text of its bits. */
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

static void results_put_tensor(const struct mpk_tensor *t, struct mpk_json *j,
			       struct mpk_json_at *at)
{
	struct mpk_scalars s = mpk_scalars_of(&t->dl);
	bool all = s.count <= MPK_PRINT_ELEMENTS_MAX;
	uint8_t raw[MPK_SCALAR_MAX];
	char name[MPK_DTYPE_TEXT];
	struct mpk_json_at *list;

	mpk_json_text(j, at, "dtype", mpk_dtype_print(t->dl.dtype, name));
	mpk_json_i64s(j, at, "shape", t->dl.shape, (size_t)t->dl.ndim);
	list = mpk_json_array(j, at, "values");
	/* a tensor may have millions: "complete" says whether these are all */
	for (uint64_t i = 0; i < s.count && i < MPK_PRINT_ELEMENTS_MAX; i++)
		put_element(s.dtype, mpk_scalar_at(&s, i, raw), j, list);
	mpk_json_bool(j, at, "complete", all);
}

/* Values that JSON has no form of their own for, as they are printed. */
static void put_printed(const struct mpk_value *v, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_strbuf text = { 0 };
	const char *value;

	mpk_value_print(&text, v, 0);
	/* the type in front is a member of its own */
	value = strchr(mpk_strbuf_text(&text), '=');
	mpk_json_text(j, at, "value", value ? value + 1 : mpk_strbuf_text(&text));
	mpk_strbuf_fini(&text);
}

/* A value has "type", and "value" in a type of JSON where there is one for it.
 * Tensors have members of their own. */
static void results_put_value(const struct mpk_value *v, struct mpk_json *j, struct mpk_json_at *at)
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
		results_put_tensor(v->tensor, j, at);
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
	const struct mpk_call_result *r = what;
	struct mpk_json_at *list = mpk_json_array(j, at, "results");

	for (size_t i = 0; i < r->count; i++)
		results_put_value(&r->values[i], j, mpk_json_object(j, list, NULL));
}

const struct mpk_answer mpk_answer_results = { .text = results_text, .json = results_json };

void mpk_comparison_json(const struct mpk_comparison *c, size_t i, struct mpk_json *j,
			 struct mpk_json_at *list)
{
	struct mpk_json_at *at = mpk_json_object(j, list, NULL);

	mpk_json_u64(j, at, "result", i);
	/* a result that is ignored is in the list, too,
	 * as the others are known by their position */
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

	/* 0.9996 s are "1 s": three digits of milliseconds would be 1e+03 */
	while (i + 1 < MPK_ARRAY_COUNT(units) && seconds * units[i].scale < 0.9995)
		i++;
	mpk_strbuf_printf(out, "%.3g %s", seconds * units[i].scale, units[i].unit);
}

/* What text and JSON say of timed calls, in this order. */
static const struct {
	const char *name;
	size_t off; /* in struct mpk_timing */
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
	/* the name is the unit of all figures but "calls" */
	at = mpk_json_object(j, at, "seconds");
	mpk_json_u64(j, at, "calls", calls);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(figures); i++)
		mpk_json_f64(j, at, figures[i].name, figure(t, i));
}
