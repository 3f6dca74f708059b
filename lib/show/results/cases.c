/* SPDX-License-Identifier: Apache-2.0 */
/* cases.c - prints the results of a case file's cases as text, TAP, JSON and JUnit */
#include "results/results.h"

#include "text/escape.h"
#include "text/markup.h"

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

/* Writes the last line of the text, which is a comment in TAP. */
static void put_summary(const struct mpk_cases_report *report, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%zu passed, %zu failed, %zu skipped\n", report->passed,
			  report->failed, report->skipped);
}

/* --- lines -------------------------------------------------------------------------- */

/* Writes the time of a case; if it is a timed case, also the figures of its calls. */
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
		/* file and line in the form of compilers, so that an editor finds the case */
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

/* Writes one line of a description; a '#' in it would begin a directive. */
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
	/* the plan comes first, so that a reader recognises a truncated report */
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
		/* the YAML block of TAP 13; a JSON string is also valid YAML */
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

/* A failure has the same form as errors in all JSON documents of minspect. */
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

/* The reason is already escaped for text, so only XML escaping is added. */
static void put_message(struct mpk_strbuf *out, const struct mpk_case_outcome *o)
{
	mpk_xml_escaped_attribute(out, "message", mpk_strbuf_text(&o->why));
	mpk_strbuf_puts(out, "/>\n");
}

/* A failed assertion is a failure; everything else is an error. */
static bool is_failure(const struct mpk_case_outcome *o)
{
	return o->verdict == MPK_CASE_FAILED && o->code == MPK_E_DIFFERENT;
}

/* JUnit has a separate element for each kind of bad result. */
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

/* Viewers group cases by class name, so the library is the class. */
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
