/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/gate.h"
#include "text/escape.h"
#include "text/xml.h"

/* Findings of one kernel stand behind one another, and those of kernels in their order: one walk does. */
static void put_test(const struct mpk_gate *g, const struct mpk_listed_kernel *kernel, size_t *at,
		     struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf name = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf why = { 0 };

	if (kernel) {
		mpk_strbuf_printf(&name, "%s ", kernel->path);
		mpk_escape_controls(&name, kernel->name); /* escaped when it was measured */
		mpk_strbuf_printf(&name, kernel->target[0] ? " (%s)" : "%s", kernel->target);
	} else {
		mpk_strbuf_puts(&name, "size");
	}
	for (; *at < g->count && g->items[*at].kernel == kernel; ++*at) {
		if (g->items[*at].verdict != MPK_GATE_WORSE)
			continue;
		mpk_strbuf_puts(&why, why.len ? ", " : "");
		mpk_gate_change(&g->items[*at], &why);
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

static bool size_is_worse(const struct mpk_gate *g)
{
	for (size_t i = 0; i < g->count && !g->items[i].kernel; i++)
		if (g->items[i].verdict == MPK_GATE_WORSE)
			return true;
	return false;
}

void mpk_gate_junit(const struct mpk_gate *g, struct mpk_strbuf *out)
{
	size_t at = 0;

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
