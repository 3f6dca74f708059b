/* SPDX-License-Identifier: Apache-2.0 */
/* gate.c - prints how a library compares with its baseline as text, JSON and JUnit tests */
#include <inttypes.h>

#include "gate/gate.h"
#include "text/escape.h"
#include "text/markup.h"
#include "text/phrase.h"

/* --- text --------------------------------------------------------------------------------- */

static const char *const verdicts[] = {
	[MPK_GATE_WORSE] = "worse", [MPK_GATE_GROWN] = "grown", [MPK_GATE_BETTER] = "better",
	[MPK_GATE_NEW] = "new",     [MPK_GATE_GONE] = "gone",   [MPK_GATE_LIMIT] = "limit",
	[MPK_GATE_LOST] = "lost"
};

static bool fails(const struct mpk_gate_finding *f)
{
	return f->verdict == MPK_GATE_WORSE || f->verdict == MPK_GATE_LIMIT ||
	       f->verdict == MPK_GATE_LOST;
}

/* Words for figures as in the tables, and two words for the sizes of files. */
static const char *label(unsigned measure)
{
	return measure < MPK_FIGURE_COUNT          ? mpk_figure_row((enum mpk_figure)measure)->label
	       : measure == MPK_MEASURE_FILE_BYTES ? "file"
						   : "blob";
}

static void put_value(unsigned measure, struct mpk_figure_value value, struct mpk_strbuf *out)
{
	if (measure < MPK_FIGURE_COUNT)
		mpk_figure_put((enum mpk_figure)measure, value, out);
	else
		mpk_strbuf_printf(out, "%" PRIu64 " B", value.number);
}

/* Appends "registers 24 -> 32 (+33.3%)" or "registers 130, at most 128"; nothing if there is no
 * measure. Sizes are exact bytes, not "1.2 MiB": a limit exceeded by one byte must be visible. */
static void put_gate_change(const struct mpk_gate_finding *f, struct mpk_strbuf *out)
{
	if (f->measure == MPK_MEASURE_COUNT) {
		mpk_strbuf_puts(out, f->target                     ? "it has no kernel any more"
				     : f->verdict == MPK_GATE_LOST ? "the kernel is gone"
								   : "");
		return;
	}
	mpk_strbuf_printf(out, "%s ", label(f->measure));
	if (f->verdict == MPK_GATE_LIMIT) {
		put_value(f->measure, f->after, out);
		mpk_strbuf_puts(out, f->is_least ? ", at least " : ", at most ");
		put_value(f->measure, mpk_figure_of(f->limit), out);
		return;
	}
	if (f->measure < MPK_FIGURE_COUNT)
		mpk_figure_put_change((enum mpk_figure)f->measure, f->before, f->after, out);
	else
		mpk_strbuf_printf(out, "%" PRIu64 " B -> %" PRIu64 " B", f->before.number,
				  f->after.number);
	if (f->before.number && f->after.state == MPK_FIGURE_KNOWN) {
		mpk_strbuf_puts(out, " (");
		mpk_figure_put_percent(f->before, f->after, out);
		mpk_strbuf_putc(out, ')');
	}
}

/* Without a kernel, the finding is about the size of the file or blob, or about a device. */
static void gate_put_kernel(const struct mpk_listed_kernel *k, const char *target,
			    struct mpk_strbuf *out)
{
	if (!k) {
		mpk_escape(out, mpk_span_str(target ? target : "size"));
		return;
	}
	mpk_strbuf_printf(out, "%s ", k->path);
	mpk_escape_controls(out, k->name); /* the name was escaped when it was measured */
	if (k->target[0])
		mpk_strbuf_printf(out, " (%s)", k->target);
}

/* Prints the findings of one kernel with one verdict as one line. They are consecutive, except for
 * findings with other verdicts in between. */
static void gate_put_lines(const struct mpk_gate *g, size_t begin, size_t end,
			   struct mpk_style style, struct mpk_strbuf *out)
{
	static const char *const colors[] = {
		[MPK_GATE_WORSE] = "\033[31m",  [MPK_GATE_GROWN] = "\033[33m",
		[MPK_GATE_BETTER] = "\033[32m", [MPK_GATE_NEW] = "\033[36m",
		[MPK_GATE_GONE] = "\033[36m",   [MPK_GATE_LIMIT] = "\033[31m",
		[MPK_GATE_LOST] = "\033[31m"
	};

	for (unsigned verdict = 0; verdict < MPK_ARRAY_COUNT(verdicts); verdict++) {
		const char *separator = ": ";
		bool begun = false;

		for (size_t i = begin; i < end; i++) {
			const struct mpk_gate_finding *f = &g->items[i];

			if (f->verdict != verdict)
				continue;
			if (begun && f->target) {
				mpk_strbuf_putc(out, '\n');
				begun = false;
			}
			if (!begun) {
				mpk_strbuf_printf(out, "  %s%-6s%s ",
						  style.color ? colors[verdict] : "",
						  verdicts[verdict], style.color ? "\033[0m" : "");
				gate_put_kernel(f->kernel, f->target, out);
				begun = true;
				separator = ": ";
			}
			if (f->measure == MPK_MEASURE_COUNT && !f->target)
				continue;
			mpk_strbuf_puts(out, separator);
			put_gate_change(f, out);
			separator = ", ";
		}
		if (begun)
			mpk_strbuf_putc(out, '\n');
	}
}

/* "x.so: 4 kernels, 1 worse than in base.json" */
static void put_gate_verdict(const struct mpk_gate *g, struct mpk_strbuf *out)
{
	bool lost = false, beyond = false;

	for (size_t i = 0; i < g->count && !g->items[i].kernel; i++) {
		lost |= g->items[i].target != NULL;
		beyond |= g->items[i].verdict == MPK_GATE_LIMIT;
	}
	mpk_escape(out, mpk_span_str(g->file));
	mpk_strbuf_puts(out, ": ");
	mpk_put_count(out, g->now->count, "kernel");
	if (g->worse_kernels)
		mpk_strbuf_printf(out, ", %zu worse than in ", g->worse_kernels);
	else
		mpk_strbuf_puts(out, lost       ? ", for fewer devices than in "
				     : beyond   ? ", beyond the limits of "
				     : g->worse ? ", larger than in "
						: ", none worse than in ");
	mpk_escape(out, mpk_span_str(g->baseline));
}

static void gate_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_gate *g = what;

	put_gate_verdict(g, out);
	mpk_strbuf_putc(out, '\n');
	for (size_t i = 0, end; i < g->count; i = end) {
		for (end = i + 1; end < g->count && g->items[end].kernel == g->items[i].kernel;)
			end++;
		gate_put_lines(g, i, end, style, out);
	}
}

/* --- for a pull request ------------------------------------------------------------------- */

/* Omits allowed changes, which the text shows: a reviewer looks for what to fix. */
static void gate_markdown(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	enum { ROWS_MAX = 50 };
	const struct mpk_gate *g = what;
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf said = { 0 };
	size_t rows = 0;

	(void)style;
	put_gate_verdict(g, &said);
	out->failed |= said.failed;
	mpk_markdown_said(out, mpk_strbuf_text(&said));
	mpk_strbuf_puts(out, "\n\n");
	for (size_t i = 0; i < g->count; i++) {
		const struct mpk_gate_finding *f = &g->items[i];
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 }, how = { 0 };

		if (!fails(f) || ++rows > ROWS_MAX)
			continue;
		if (rows == 1)
			mpk_strbuf_puts(out, "| | what | how |\n|---|---|---|\n");
		gate_put_kernel(f->kernel, f->target, &name);
		put_gate_change(f, &how);
		out->failed |= name.failed || how.failed;
		mpk_strbuf_printf(out, "| %s | ", verdicts[f->verdict]);
		mpk_markdown_said(out, mpk_strbuf_text(&name));
		mpk_strbuf_puts(out, " | ");
		mpk_markdown_said(out, mpk_strbuf_text(&how));
		mpk_strbuf_puts(out, " |\n");
	}
	if (rows > ROWS_MAX)
		mpk_strbuf_printf(out, "\nand %zu more\n", rows - ROWS_MAX);
	mpk_strbuf_puts(out, rows ? "\n" : "");
}

/* --- JSON --------------------------------------------------------------------------------- */

static void gate_json(const void *what, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_gate *g = what;
	struct mpk_json_at *list, *o;

	mpk_json_text(j, at, "file", g->file);
	mpk_json_text(j, at, "baseline", g->baseline);
	mpk_json_u64(j, at, "kernels", g->now->count);
	mpk_json_bool(j, at, "worse", g->worse);
	list = mpk_json_array(j, at, "findings");
	for (size_t i = 0; i < g->count; i++) {
		const struct mpk_gate_finding *f = &g->items[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_text(j, o, "verdict", verdicts[f->verdict]);
		mpk_json_text(j, o, "path", f->kernel ? f->kernel->path : NULL);
		mpk_json_text(j, o, "target", f->kernel ? f->kernel->target : f->target);
		if (f->kernel)
			mpk_json_span(j, o, "name", f->kernel->name);
		else
			mpk_json_null(j, o, "name");
		if (f->measure == MPK_MEASURE_COUNT)
			continue;
		mpk_json_text(j, o, "measure", f->word);
		mpk_figure_json(j, o, "before", f->before);
		mpk_figure_json(j, o, "after", f->after);
		mpk_json_f64(j, o, "tolerance", f->tolerance);
		if (f->verdict == MPK_GATE_LIMIT)
			mpk_json_u64(j, o, f->is_least ? "least" : "most", f->limit);
	}
}

/* --- for a CI --------------------------------------------------------------------------- */

/* The findings of one kernel are consecutive and in the order of the kernels, so one walk is
 * enough. */
static void put_test(const struct mpk_gate *g, const struct mpk_listed_kernel *kernel, size_t *at,
		     struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 }, why = { 0 };

	gate_put_kernel(kernel, NULL, &name);
	for (; *at < g->count && g->items[*at].kernel == kernel; ++*at) {
		if (!fails(&g->items[*at]))
			continue;
		mpk_strbuf_puts(&why, why.len ? ", " : "");
		if (g->items[*at].target) {
			mpk_escape(&why, mpk_span_str(g->items[*at].target));
			mpk_strbuf_puts(&why, ": ");
		}
		put_gate_change(&g->items[*at], &why);
	}
	out->failed |= name.failed || why.failed;
	mpk_strbuf_puts(out, "    <testcase");
	mpk_xml_escaped_attribute(out, "name", mpk_strbuf_text(&name));
	mpk_xml_attribute(out, "classname", g->file);
	mpk_xml_attribute(out, "file", g->baseline);
	mpk_strbuf_printf(out, " line=\"1\" time=\"0.000000\"%s>\n", why.len ? "" : "/");
	if (!why.len)
		return;
	mpk_strbuf_puts(out, "      <failure type=\"different\"");
	mpk_xml_escaped_attribute(out, "message", mpk_strbuf_text(&why));
	mpk_strbuf_puts(out, "/>\n    </testcase>\n");
}

/* Findings about sizes come first, so the walk ends at the first kernel. */
static bool size_is_worse(const struct mpk_gate *g)
{
	for (size_t i = 0; i < g->count && !g->items[i].kernel; i++)
		if (fails(&g->items[i]))
			return true;
	return false;
}

static void gate_junit(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_gate *g = what;
	size_t at = 0, lost = 0;

	(void)style;
	for (size_t i = 0; i < g->count; i++)
		lost += g->items[i].verdict == MPK_GATE_LOST && g->items[i].kernel;
	mpk_strbuf_puts(out, "  <testsuite");
	mpk_xml_attribute(out, "name", g->file);
	mpk_strbuf_printf(
		out,
		" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\" time=\"0.000000\">\n",
		g->now->count + lost + 1, g->worse_kernels + size_is_worse(g));
	put_test(g, NULL, &at, out);
	for (size_t i = 0; i < g->now->count; i++)
		put_test(g, &g->now->items[i], &at, out);
	while (lost && at < g->count)
		put_test(g, g->items[at].kernel, &at, out);
	mpk_strbuf_puts(out, "  </testsuite>\n");
}

const struct mpk_answer mpk_answer_gate = {
	.text = gate_text, .json = gate_json, .markdown = gate_markdown, .junit = gate_junit
};
