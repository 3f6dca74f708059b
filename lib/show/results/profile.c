/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - prints profiles, comparisons with a dump, and trace events for timeline viewers */
#include "results/results.h"

#include <inttypes.h>
#include <stdio.h>

#include "text/escape.h"
#include "text/facts.h"
#include "text/phrase.h"
#include "text/table.h"

enum { NAME_MAX_SHOWN = 36 };

/* "cpu", "opencl:0" */
static const char *device_name(struct mpk_dldevice device, char out[32])
{
	const char *kind = mpk_device_kind_name(mpk_device_kind_from(device.type));

	if (mpk_dldevice_is_host(device))
		(void)snprintf(out, 32, "cpu");
	else
		(void)snprintf(out, 32, "%s:%" PRId32, kind, device.id);
	return out;
}

/* Sums only the operators: the rest of the run is the executor's own time. */
static double sum(const struct mpk_profile *p)
{
	double total = 0;

	for (size_t i = 0; i < p->row_count; i++)
		total += p->rows[i].total;
	return total;
}

/* Returns percent; 0 if the whole took no time. */
static double profile_share(double part, double total)
{
	return total > 0 ? 100 * part / total : 0;
}

/* --- text ----------------------------------------------------------------------------------- */

static void put_time(struct mpk_table *t, double seconds)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	mpk_seconds_text(seconds, &text);
	mpk_table_cell(t, "%s", mpk_strbuf_text(&text));
}

/* Writes the column names. Without the columns of -v, the table fits 80 columns if names are
 * short. */
static void profile_put_head(struct mpk_table *t, struct mpk_style style)
{
	static const struct {
		const char *word;
		bool is_verbose;
	} columns[] = { { "operator", false }, { "device", false }, { "calls", false },
			{ "total", false },    { "mean", false },   { "min", true },
			{ "max", true },       { "share", false } };

	mpk_table_row(t);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(columns); i++)
		if (style.verbose || !columns[i].is_verbose)
			mpk_table_cell(t, "%s", columns[i].word);
}

/* Writes a name, which comes from the file and may have control characters. A long name is cut in
 * the middle, since TVM's names begin and end alike; it is complete with -v, and if output is not a
 * terminal. */
static void put_operator(struct mpk_table *t, struct mpk_span name, struct mpk_style style)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };

	mpk_escape(&text, name);
	if (style.verbose || !style.is_terminal || text.len <= NAME_MAX_SHOWN)
		mpk_table_cell(t, "%s", mpk_strbuf_text(&text));
	else
		mpk_table_cell(t, "%.*s...%s", NAME_MAX_SHOWN / 2 - 2, text.data,
			       text.data + text.len - (NAME_MAX_SHOWN / 2 - 1));
}

static void profile_put_row(const struct mpk_profile_row *r, double total, struct mpk_style style,
			    struct mpk_table *t)
{
	char device[32];

	mpk_table_row(t);
	put_operator(t, r->name, style);
	mpk_table_cell(t, "%s", device_name(r->device, device));
	mpk_table_cell(t, "%" PRIu64, r->calls);
	put_time(t, r->total);
	put_time(t, r->total / (double)(r->calls ? r->calls : 1));
	if (style.verbose) {
		put_time(t, r->min);
		put_time(t, r->max);
	}
	mpk_table_cell(t, "%5.1f%%", profile_share(r->total, total));
}

/* Rows are sorted by time, so those of one device are not consecutive. */
static bool is_first_of_device(const struct mpk_profile *p, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (mpk_dldevice_equal(p->rows[k].device, p->rows[i].device))
			return false;
	return true;
}

/* Sums the time of all operators on the device of row i. */
static struct mpk_profile_row device_sum(const struct mpk_profile *p, size_t i)
{
	struct mpk_profile_row s = { .device = p->rows[i].device };

	for (size_t k = i; k < p->row_count; k++) {
		if (!mpk_dldevice_equal(p->rows[k].device, s.device))
			continue;
		s.calls += p->rows[k].calls;
		s.total += p->rows[k].total;
	}
	return s;
}

/* Writes the time of operators by device next to the time of the whole run. */
static void put_sums(const struct mpk_profile *p, double total, struct mpk_strbuf *out)
{
	char device[32];

	mpk_strbuf_puts(out, "operators took ");
	mpk_seconds_text(total, out);
	mpk_strbuf_puts(out, " of ");
	mpk_seconds_text(p->seconds, out);
	mpk_strbuf_puts(out, " in ");
	mpk_put_count(out, p->calls, "call");
	for (size_t i = 0; i < p->row_count; i++) {
		struct mpk_profile_row s = device_sum(p, i);

		if (!is_first_of_device(p, i))
			continue;
		mpk_strbuf_printf(out, ", %s ", device_name(s.device, device));
		mpk_seconds_text(s.total, out);
	}
	mpk_strbuf_putc(out, '\n');
}

static void profile_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_profile *p = what;
	/* bit per column: columns from 2 on are right-aligned */
	struct mpk_table t = { .right = 0xfc };
	double total = sum(p);

	profile_put_head(&t, style);
	for (size_t i = 0; i < p->row_count; i++)
		profile_put_row(&p->rows[i], total, style, &t);
	mpk_table_print(&t, "", out);
	mpk_table_fini(&t);
	put_sums(p, total, out);
}

/* --- JSON ----------------------------------------------------------------------------------- */

/* Words for JSON and for the categories of a trace; they are part of the interface. */
static const char *const kinds[] = {
	[MPK_OPERATOR_KERNEL] = "kernel",
	[MPK_OPERATOR_COPY] = "copy",
	[MPK_OPERATOR_BUILTIN] = "builtin",
	[MPK_OPERATOR_CONTROL] = "control",
};

static void profile_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_profile *p = what;
	double total = sum(p);
	struct mpk_json_at *list;
	char device[32];

	at = mpk_json_object(j, at, "profile");
	mpk_json_u64(j, at, "calls", p->calls);
	mpk_json_f64(j, at, "seconds", p->seconds);
	mpk_json_f64(j, at, "operator_seconds", total);
	list = mpk_json_array(j, at, "operators");
	for (size_t i = 0; i < p->row_count; i++) {
		const struct mpk_profile_row *r = &p->rows[i];
		struct mpk_json_at *o = mpk_json_object(j, list, NULL);

		mpk_json_span(j, o, "name", r->name);
		mpk_json_text(j, o, "kind", kinds[r->kind]);
		mpk_json_text(j, o, "device", device_name(r->device, device));
		mpk_json_u64(j, o, "calls", r->calls);
		mpk_json_f64(j, o, "total", r->total);
		mpk_json_f64(j, o, "mean", r->total / (double)(r->calls ? r->calls : 1));
		mpk_json_f64(j, o, "min", r->min);
		mpk_json_f64(j, o, "max", r->max);
		/* a fraction of 1; the table has percent */
		mpk_json_f64(j, o, "share", profile_share(r->total, total) / 100);
	}
}

const struct mpk_answer mpk_answer_profile = { .text = profile_text, .json = profile_json };

/* --- trace events --------------------------------------------------------------------------- */

/* Threads are numbered from 1 in the order of the rows. */
static size_t thread_of(const struct mpk_profile *p, struct mpk_dldevice device)
{
	size_t number = 0;

	for (size_t i = 0; i < p->row_count; i++) {
		number += is_first_of_device(p, i);
		if (mpk_dldevice_equal(p->rows[i].device, device))
			break;
	}
	return number;
}

/* Writes a metadata event, "ph": "M", which names a process or a thread for the viewer. */
static void profile_put_name(const char *what, size_t thread, const char *name,
			     struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "{\"ph\": \"M\", \"pid\": 1, \"tid\": %zu, \"name\": \"%s\", ",
			  thread, what);
	mpk_strbuf_puts(out, "\"args\": {\"name\": ");
	mpk_escape_json(out, mpk_span_str(name), "\\ufffd");
	mpk_strbuf_puts(out, "}}");
}

/* Writes a complete event, "ph": "X". The format's times are microseconds. */
static void put_event(const struct mpk_profile *p, const struct mpk_profile_event *e,
		      struct mpk_strbuf *out)
{
	const struct mpk_profile_row *r = &p->rows[e->row];

	mpk_strbuf_puts(out, ",\n{\"ph\": \"X\", \"pid\": 1, ");
	mpk_strbuf_printf(out, "\"tid\": %zu, \"ts\": %.3f, \"dur\": %.3f, \"cat\": \"%s\", ",
			  thread_of(p, r->device), e->start * 1e6, e->seconds * 1e6,
			  kinds[r->kind]);
	mpk_strbuf_puts(out, "\"name\": ");
	/* a name has any bytes, but JSON must be UTF-8 (RFC 8259) */
	mpk_escape_json(out, r->name, "\\ufffd");
	mpk_strbuf_putc(out, '}');
}

void mpk_profile_events(const struct mpk_profile *p, const char *process, struct mpk_strbuf *out)
{
	char device[32];

	/* the unit of the viewer's axis; times in the document are still microseconds */
	mpk_strbuf_puts(out, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
	profile_put_name("process_name", 0, process, out);
	for (size_t i = 0; i < p->row_count; i++) {
		if (!is_first_of_device(p, i))
			continue;
		mpk_strbuf_puts(out, ",\n");
		profile_put_name("thread_name", thread_of(p, p->rows[i].device),
				 device_name(p->rows[i].device, device), out);
	}
	for (size_t i = 0; i < p->event_count; i++)
		put_event(p, &p->events[i], out);
	mpk_strbuf_puts(out, "\n]}\n");
}

/* --- comparison with a dump ----------------------------------------------------------------- */

/* All later operators use the result of the first differing one:
 * it gets the reason, and the others are only counted. */
static void comparisons_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_comparisons *c = what;
	const struct mpk_compared *first = mpk_comparisons_first(c);

	(void)style;
	if (!first)
		return;
	mpk_strbuf_printf(out, "operator %" PRIu64 ", '%s' (%s): ", first->number,
			  MPK_QUOTE(mpk_span_str(first->name)),
			  MPK_QUOTE(mpk_span_str(first->file)));
	mpk_escape(out, mpk_span_str(first->difference));
	mpk_strbuf_printf(out, "; the first of %zu that differ, of %zu", c->differing, c->count);
}

static void comparisons_gaps(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_comparisons *c = what;

	(void)style;
	if (!c->missing && !c->unused)
		return;
	mpk_strbuf_printf(
		out,
		"the run and the dump have %zu results in common; the run alone has %" PRIu64
		", the dump alone %" PRIu64,
		c->count, c->missing, c->unused);
}

static const struct mpk_fact compared_facts[] = {
	{ MPK_FACT(COUNT, "operator", struct mpk_compared, number) },
	{ MPK_FACT(TEXT, "name", struct mpk_compared, name) },
	{ MPK_FACT(TEXT, "file", struct mpk_compared, file) },
	{ MPK_FACT(BOOL, "equal", struct mpk_compared, comparison.is_equal) },
	{ MPK_FACT(COUNT, "differing", struct mpk_compared, comparison.differing) },
	{ MPK_FACT(COUNT, "total", struct mpk_compared, comparison.total) },
	{ MPK_FACT(F64, "max_abs_error", struct mpk_compared, comparison.max_abs) },
	{ MPK_FACT(F64, "max_rel_error", struct mpk_compared, comparison.max_rel) },
};

static void comparisons_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_comparisons *c = what;

	at = mpk_json_object(j, at, "comparison");
	mpk_json_u64(j, at, "missing", c->missing);
	mpk_json_u64(j, at, "unused", c->unused);
	mpk_facts_json_list(MPK_FACTS(compared_facts), "operators", c->items, c->count,
			    sizeof *c->items, j, at);
}

const struct mpk_answer mpk_answer_comparisons = { .text = comparisons_text,
						   .line = comparisons_gaps,
						   .json = comparisons_json };
