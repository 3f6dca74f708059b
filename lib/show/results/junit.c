/* SPDX-License-Identifier: Apache-2.0 */
/* JUnit XML. No schema of it is binding; what is written here is what readers have in common. */
#include <string.h>

#include "results/cases.h"
#include "text/xml.h"

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

static void put_case(struct mpk_strbuf *out, const struct mpk_cases_report *report, size_t i)
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

void mpk_cases_junit(const struct mpk_cases_report *report, struct mpk_strbuf *out)
{
	size_t failures = 0;
	double seconds = 0;

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
		put_case(out, report, i);
	mpk_strbuf_puts(out, "  </testsuite>\n</testsuites>\n");
}
