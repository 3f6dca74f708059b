/* SPDX-License-Identifier: Apache-2.0 */
/* JUnit XML. No schema of it is binding; what is written here is what readers have in common. */
#include <string.h>

#include "text/escape.h"
#include "view/cases.h"

/* The characters U+FFFE and U+FFFF, which XML does not allow even as references. */
static bool is_noncharacter(const char *p)
{
	return memcmp(p, "\xef\xbf", 2) == 0 && (p[2] == '\xbe' || p[2] == '\xbf');
}

static void put_char(struct mpk_strbuf *out, const char **at)
{
	static const struct {
		char c;
		const char *reference;
	} special[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" } };
	const char *p = (*at)++;

	if (strnlen(p, 3) == 3 && is_noncharacter(p)) {
		mpk_strbuf_puts(out, "\xef\xbf\xbd");
		*at += 2;
		return;
	}
	for (size_t i = 0; i < MPK_ARRAY_COUNT(special); i++)
		if (*p == special[i].c) {
			mpk_strbuf_puts(out, special[i].reference);
			return;
		}
	mpk_strbuf_putc(out, *p);
}

/* ` name="value"`; control bytes and broken UTF-8 of the text are shown escaped */
static void put_attribute(struct mpk_strbuf *out, const char *name, const char *value)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf escaped = { 0 };

	mpk_escape(&escaped, mpk_span_str(value));
	out->failed |= escaped.failed;
	mpk_strbuf_printf(out, " %s=\"", name);
	for (const char *p = mpk_strbuf_text(&escaped); *p;)
		put_char(out, &p);
	mpk_strbuf_putc(out, '"');
}

/* A reason is escaped already; only what XML asks for is left to do. */
static void put_message(struct mpk_strbuf *out, const struct mpk_case_outcome *o)
{
	mpk_strbuf_puts(out, " message=\"");
	for (const char *p = mpk_strbuf_text(&o->why); *p;)
		put_char(out, &p);
	mpk_strbuf_puts(out, "\"/>\n");
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
		put_attribute(out, "type", mpk_code_name(o->code));
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
	put_attribute(out, "name", report->cases->items[i].name);
	put_attribute(out, "classname", report->file);
	put_attribute(out, "file", report->cases_file);
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
	put_attribute(out, "name", report->cases_file);
	mpk_strbuf_printf(
		out,
		" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.6f\">\n",
		report->cases->count, failures, report->failed - failures, report->skipped,
		seconds);
	for (size_t i = 0; i < report->cases->count; i++)
		put_case(out, report, i);
	mpk_strbuf_puts(out, "  </testsuite>\n</testsuites>\n");
}
