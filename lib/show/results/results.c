/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - what a call gave, and what became of the cases of a case file, as text, TAP, JSON and JUnit
 *
 * Values are printed as a user types them, so that a result can be the next call's input; in JSON
 * they have JSON's own types as far as it has them. */
#include "results/results.h"

#include <string.h>

#include "text/escape.h"
#include "text/markup.h"
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

/* --- what became of the cases of a case file --- */

struct mpk_cases_report mpk_cases_report_of(const char *file, const char *cases_file,
					    const struct mpk_cases *cases,
					    const struct mpk_case_outcome *outcomes)
{
	struct mpk_cases_report report = { file, cases_file, cases, outcomes, 0, 0, 0 };

	for (size_t i = 0; i < cases->count; i++) {
		report.passed += outcomes[i].verdict == MPK_CASE_PASSED;
		report.failed += outcomes[i].verdict == MPK_CASE_FAILED;
		report.skipped += outcomes[i].verdict == MPK_CASE_SKIPPED;
	}
	return report;
}

/* The last line of the text, and a comment in TAP. */
static void put_summary(const struct mpk_cases_report *report, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%zu passed, %zu failed, %zu skipped\n", report->passed,
			  report->failed, report->skipped);
}

/* --- lines -------------------------------------------------------------------------- */

/* The time of the case, and of one that is timed also the figures of its calls. */
static void put_times(const struct mpk_case *c, const struct mpk_case_outcome *o,
		      struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, " (");
	mpk_seconds_text(o->seconds, out);
	if (c->is_timed && o->calls) {
		mpk_strbuf_puts(out, "; ");
		mpk_timing_text(&o->timing, o->calls, out);
	}
	mpk_strbuf_putc(out, ')');
}

static void cases_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_cases_report *report = what;
	static const char *const words[] = { "ok   ", "FAIL ", "skip " };

	for (size_t i = 0; i < report->cases->count; i++) {
		const struct mpk_case *c = &report->cases->items[i];
		const struct mpk_case_outcome *o = &report->outcomes[i];

		mpk_strbuf_puts(out, words[o->verdict]);
		mpk_escape(out, mpk_span_str(c->name));
		/* file and line as compilers print them, so that an editor finds the case */
		if (o->verdict == MPK_CASE_FAILED) {
			mpk_strbuf_puts(out, " (");
			mpk_escape(out, mpk_span_str(report->cases_file));
			mpk_strbuf_printf(out, ":%u)", (unsigned)c->pos.line);
		}
		if (style.verbose && !c->skip)
			put_times(c, o, out);
		if (o->why.len)
			mpk_strbuf_printf(out, ": %s", mpk_strbuf_text(&o->why));
		mpk_strbuf_putc(out, '\n');
	}
	put_summary(report, out);
}

/* --- TAP 13 ------------------------------------------------------------------------- */

/* One line of a description; a '#' in it would begin a directive. */
static void put_tap_text(const char *text, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf escaped = { 0 };

	mpk_escape(&escaped, mpk_span_str(text));
	for (const char *p = mpk_strbuf_text(&escaped); *p; p++) {
		if (*p == '#')
			mpk_strbuf_putc(out, '\\');
		mpk_strbuf_putc(out, *p);
	}
	out->failed |= escaped.failed;
}

static void cases_tap(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_cases_report *report = what;

	(void)style;
	/* the plan comes first, by which a reader knows a report that was cut off */
	mpk_strbuf_printf(out, "TAP version 13\n1..%zu\n", report->cases->count);
	for (size_t i = 0; i < report->cases->count; i++) {
		const struct mpk_case_outcome *o = &report->outcomes[i];
		bool failed = o->verdict == MPK_CASE_FAILED;

		mpk_strbuf_printf(out, "%sok %zu - ", failed ? "not " : "", i + 1);
		put_tap_text(report->cases->items[i].name, out);
		if (o->verdict == MPK_CASE_SKIPPED)
			mpk_strbuf_printf(out, " # SKIP %s", mpk_strbuf_text(&o->why));
		mpk_strbuf_putc(out, '\n');
		if (!failed)
			continue;
		/* the YAML block of TAP 13: a string of JSON is one of YAML, too */
		mpk_strbuf_puts(out, "  ---\n  message: ");
		mpk_escape_json(out, mpk_span_str(mpk_strbuf_text(&o->why)), NULL);
		mpk_strbuf_puts(out, "\n  severity: fail\n  file: ");
		mpk_escape_json(out, mpk_span_str(report->cases_file), NULL);
		mpk_strbuf_printf(out, "\n  line: %u\n  ...\n",
				  (unsigned)report->cases->items[i].pos.line);
	}
	mpk_strbuf_puts(out, "# ");
	put_summary(report, out);
}

/* --- JSON --------------------------------------------------------------------------- */

/* A failure has the form that errors have in all documents of minspect. */
static void put_case(const struct mpk_case *c, const struct mpk_case_outcome *o, struct mpk_json *j,
		     struct mpk_json_at *at)
{
	static const char *const words[] = { "passed", "failed", "skipped" };
	struct mpk_error err;
	struct mpk_json_at *list;

	mpk_json_text(j, at, "name", c->name);
	mpk_json_text(j, at, "function", c->call.function);
	mpk_json_u64(j, at, "line", c->pos.line);
	mpk_json_text(j, at, "status", words[o->verdict]);
	if (o->verdict == MPK_CASE_SKIPPED)
		mpk_json_text(j, at, "reason", mpk_strbuf_text(&o->why));
	if (o->verdict == MPK_CASE_FAILED) {
		(void)mpk_fail(&err, o->code, "%s", mpk_strbuf_text(&o->why));
		mpk_json_error(j, at, "error", &err);
	}
	if (o->comparisons) {
		list = mpk_json_array(j, at, "comparisons");
		for (size_t i = 0; i < c->expect_count; i++)
			mpk_comparison_json(c->expects[i].is_ignored ? NULL : &o->comparisons[i], i,
					    j, list);
	}
	if (c->is_timed && o->calls)
		mpk_timing_json(&o->timing, o->calls, j, at);
}

static void cases_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_cases_report *report = what;
	struct mpk_json_at *list = mpk_json_array(j, at, "cases");

	for (size_t i = 0; i < report->cases->count; i++)
		put_case(&report->cases->items[i], &report->outcomes[i], j,
			 mpk_json_object(j, list, NULL));
	mpk_json_u64(j, at, "passed", report->passed);
	mpk_json_u64(j, at, "failed", report->failed);
	mpk_json_u64(j, at, "skipped", report->skipped);
}

/* --- JUnit ------------------------------------------------------------------------------ */

/* A reason is escaped already; only what XML asks for is left to do. */
static void put_message(struct mpk_strbuf *out, const struct mpk_case_outcome *o)
{
	mpk_xml_escaped_attribute(out, "message", mpk_strbuf_text(&o->why));
	mpk_strbuf_puts(out, "/>\n");
}

/* A failure is an assertion that did not hold; else it is an error. */
static bool is_failure(const struct mpk_case_outcome *o)
{
	return o->verdict == MPK_CASE_FAILED && o->code == MPK_E_DIFFERENT;
}

/* JUnit has an element for each way in which a case did not pass. */
static void put_verdict(struct mpk_strbuf *out, const struct mpk_case_outcome *o)
{
	switch (o->verdict) {
	case MPK_CASE_PASSED:
		break;
	case MPK_CASE_FAILED:
		mpk_strbuf_puts(out, is_failure(o) ? "      <failure" : "      <error");
		mpk_xml_attribute(out, "type", mpk_code_name(o->code));
		put_message(out, o);
		break;
	case MPK_CASE_SKIPPED:
		mpk_strbuf_puts(out, "      <skipped");
		put_message(out, o);
		break;
	}
}

/* Viewers group cases by their class: that is the library. */
static void put_junit_case(struct mpk_strbuf *out, const struct mpk_cases_report *report, size_t i)
{
	const struct mpk_case_outcome *o = &report->outcomes[i];
	bool passed = o->verdict == MPK_CASE_PASSED;

	mpk_strbuf_puts(out, "    <testcase");
	mpk_xml_attribute(out, "name", report->cases->items[i].name);
	mpk_xml_attribute(out, "classname", report->file);
	mpk_xml_attribute(out, "file", report->cases_file);
	mpk_strbuf_printf(out, " line=\"%u\" time=\"%.6f\"%s>\n",
			  (unsigned)report->cases->items[i].pos.line, o->seconds,
			  passed ? "/" : "");
	put_verdict(out, o);
	if (!passed)
		mpk_strbuf_puts(out, "    </testcase>\n");
}

/* A suite has its counts in attributes, so the cases are counted before they are written. */
static void cases_junit(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_cases_report *report = what;
	size_t failures = 0;
	double seconds = 0;

	(void)style;
	for (size_t i = 0; i < report->cases->count; i++) {
		failures += is_failure(&report->outcomes[i]);
		seconds += report->outcomes[i].seconds;
	}
	mpk_strbuf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
			     "  <testsuite");
	mpk_xml_attribute(out, "name", report->cases_file);
	mpk_strbuf_printf(
		out,
		" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.6f\">\n",
		report->cases->count, failures, report->failed - failures, report->skipped,
		seconds);
	for (size_t i = 0; i < report->cases->count; i++)
		put_junit_case(out, report, i);
	mpk_strbuf_puts(out, "  </testsuite>\n</testsuites>\n");
}

const struct mpk_answer mpk_answer_cases = {
	.text = cases_text, .json = cases_json, .tap = cases_tap, .junit = cases_junit
};
