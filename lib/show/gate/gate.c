/* SPDX-License-Identifier: Apache-2.0 */
/* gate.c - what a library measures against the limits that it is held to, as text, JSON and tests of a CI */
#include <inttypes.h>

#include "gate/gate.h"
#include "text/escape.h"
#include "text/markup.h"
#include "text/phrase.h"

/* --- text --------------------------------------------------------------------------------- */

static const char *const verdicts[] = { [MPK_GATE_WORSE] = "worse",
					[MPK_GATE_GROWN] = "grown",
					[MPK_GATE_BETTER] = "better",
					[MPK_GATE_NEW] = "new",
					[MPK_GATE_GONE] = "gone" };

/* The words of tables for figures, and two of the gate's own for sizes. */
static const char *label(unsigned measure)
{
	return measure < MPK_FIGURE_COUNT          ? mpk_figure_row((enum mpk_figure)measure)->label
	       : measure == MPK_MEASURE_FILE_BYTES ? "file"
						   : "blob";
}

/* Append "registers 24 -> 32 (+33.3%)", and with no measure nothing. Sizes are exact bytes and not "1.2 MiB": a limit
 * that is exceeded by one byte must be visible. */
static void put_gate_change(const struct mpk_gate_finding *f, struct mpk_strbuf *out)
{
	if (f->measure == MPK_MEASURE_COUNT)
		return;
	mpk_strbuf_printf(out, "%s ", label(f->measure));
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

/* No kernel: the finding is about the size of the file or of its blob. */
static void gate_put_kernel(const struct mpk_listed_kernel *k, struct mpk_strbuf *out)
{
	if (!k) {
		mpk_strbuf_puts(out, "size");
		return;
	}
	mpk_strbuf_printf(out, "%s ", k->path);
	mpk_escape_controls(out, k->name); /* escaped when it was measured */
	if (k->target[0])
		mpk_strbuf_printf(out, " (%s)", k->target);
}

/* Findings of one thing and verdict are one line; they follow one another but for others in
 * between. */
static void gate_put_lines(const struct mpk_gate *g, size_t begin, size_t end,
			   struct mpk_style style, struct mpk_strbuf *out)
{
	static const char *const colors[] = { [MPK_GATE_WORSE] = "\033[31m",
					      [MPK_GATE_GROWN] = "\033[33m",
					      [MPK_GATE_BETTER] = "\033[32m",
					      [MPK_GATE_NEW] = "\033[36m",
					      [MPK_GATE_GONE] = "\033[36m" };

	for (unsigned verdict = 0; verdict < MPK_ARRAY_COUNT(verdicts); verdict++) {
		const char *separator = ": ";
		bool begun = false;

		for (size_t i = begin; i < end; i++) {
			const struct mpk_gate_finding *f = &g->items[i];

			if (f->verdict != verdict)
				continue;
			if (!begun) {
				mpk_strbuf_printf(out, "  %s%-6s%s ",
						  style.color ? colors[verdict] : "",
						  verdicts[verdict], style.color ? "\033[0m" : "");
				gate_put_kernel(f->kernel, out);
				begun = true;
			}
			if (f->measure == MPK_MEASURE_COUNT)
				continue;
			mpk_strbuf_puts(out, separator);
			put_gate_change(f, out);
			separator = ", ";
		}
		if (begun)
			mpk_strbuf_putc(out, '\n');
	}
}

static void gate_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_gate *g = what;

	mpk_escape(out, mpk_span_str(g->file));
	mpk_strbuf_puts(out, ": ");
	mpk_put_count(out, g->now->count, "kernel");
	if (g->worse_kernels)
		mpk_strbuf_printf(out, ", %zu worse than in ", g->worse_kernels);
	else
		mpk_strbuf_puts(out, g->worse ? ", larger than in " : ", none worse than in ");
	mpk_escape(out, mpk_span_str(g->baseline));
	mpk_strbuf_putc(out, '\n');
	for (size_t i = 0, end; i < g->count; i = end) {
		for (end = i + 1; end < g->count && g->items[end].kernel == g->items[i].kernel;)
			end++;
		gate_put_lines(g, i, end, style, out);
	}
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
		mpk_json_text(j, o, "target", f->kernel ? f->kernel->target : NULL);
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
	}
}

/* --- for a CI --------------------------------------------------------------------------- */

/* Findings of one kernel follow one another, and those of kernels in their order: one walk does. */
static void put_test(const struct mpk_gate *g, const struct mpk_listed_kernel *kernel, size_t *at,
		     struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 }, why = { 0 };

	gate_put_kernel(kernel, &name);
	for (; *at < g->count && g->items[*at].kernel == kernel; ++*at) {
		if (g->items[*at].verdict != MPK_GATE_WORSE)
			continue;
		mpk_strbuf_puts(&why, why.len ? ", " : "");
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

/* Findings about sizes come before those of kernels, so that the walk ends at the first kernel. */
static bool size_is_worse(const struct mpk_gate *g)
{
	for (size_t i = 0; i < g->count && !g->items[i].kernel; i++)
		if (g->items[i].verdict == MPK_GATE_WORSE)
			return true;
	return false;
}

static void gate_junit(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_gate *g = what;
	size_t at = 0;

	(void)style;
	mpk_strbuf_puts(out, "  <testsuite");
	mpk_xml_attribute(out, "name", g->file);
	mpk_strbuf_printf(
		out,
		" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\" time=\"0.000000\">\n",
		g->now->count + 1, g->worse_kernels + size_is_worse(g));
	put_test(g, NULL, &at, out);
	for (size_t i = 0; i < g->now->count; i++)
		put_test(g, &g->now->items[i], &at, out);
	mpk_strbuf_puts(out, "  </testsuite>\n");
}

const struct mpk_answer mpk_answer_gate = { .text = gate_text,
					    .json = gate_json,
					    .junit = gate_junit };
