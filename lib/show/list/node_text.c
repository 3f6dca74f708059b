/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a module, as lines: its code by the rows of lib/know/code, executors by kind. */
#include <inttypes.h>
#include <string.h>

#include "code/show.h"
#include "graphjson/graphjson.h"
#include "model/node_info.h"
#include "text/escape.h"
#include "text/phrase.h"

/* --- code --------------------------------------------------------------------------- */

struct unlisted {
	struct mpk_span name;
	const char *indent;
	struct mpk_strbuf *out;
};

/* A format that has figures of kernels has a text of them, too. */
static void figure_line(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	const struct unlisted *u = arg;

	if (!code->format->figures)
		return;
	mpk_strbuf_printf(u->out, "%s  ", u->indent);
	mpk_escape(u->out, u->name);
	mpk_strbuf_puts(u->out, ": ");
	code->format->kernel_text(code, kernel, u->out);
	mpk_strbuf_putc(u->out, '\n');
}

/* What those need that unlisted_lines names. */
static void unlisted_figures(const struct mpk_view_node *node, const struct mpk_code_info *code,
			     const char *indent, struct mpk_strbuf *out)
{
	const struct mpk_code_info *lister = mpk_code_info_lister(code);
	size_t extra = 0;

	for (size_t i = 0; lister && i < lister->kernel_count && extra < MPK_NAMES_SHOWN; i++) {
		struct unlisted u = { lister->kernels[i].name, indent, out };

		if (mpk_names_find(&node->info->table, u.name, NULL))
			continue;
		extra++;
		mpk_code_info_each(code, u.name, figure_line, &u);
	}
}

/* Kernels that the code lists and the table does not. */
static void unlisted_lines(const struct mpk_view_node *node, const struct mpk_code_info *code,
			   const char *indent, struct mpk_strbuf *out)
{
	const struct mpk_code_info *lister = mpk_code_info_lister(code);
	size_t extra = 0;

	for (size_t i = 0; lister && i < lister->kernel_count && extra <= MPK_NAMES_SHOWN; i++) {
		struct mpk_span name = lister->kernels[i].name;

		if (mpk_names_find(&node->info->table, name, NULL) || extra++ == MPK_NAMES_SHOWN)
			continue;
		if (extra == 1)
			mpk_strbuf_printf(out, "%sin the code, not in the table: ", indent);
		mpk_strbuf_puts(out, extra > 1 ? ", " : "");
		mpk_escape(out, name);
	}
	if (extra)
		mpk_strbuf_puts(out, extra > MPK_NAMES_SHOWN ? " and more\n" : "\n");
	unlisted_figures(node, code, indent, out);
	if (!lister || !lister->function_count)
		return;
	mpk_strbuf_printf(out, "%s.func, which no driver can launch: ", indent);
	mpk_put_names(out, lister->functions, lister->function_count);
	mpk_strbuf_putc(out, '\n');
}

/* A piece for one kernel is described in that kernel's lines, unless it cannot be read. */
static void piece_lines(const struct mpk_view_node *node, const struct mpk_code_piece *p,
			const char *indent, struct mpk_strbuf *out)
{
	const struct mpk_code_info *code = &p->code;

	if (p->key && !code->problem)
		return;
	mpk_strbuf_puts(out, indent);
	if (p->key) {
		mpk_escape(out, *p->key);
		mpk_strbuf_puts(out, ": ");
	}
	mpk_code_info_text(code, out);
	mpk_strbuf_putc(out, '\n');
	if (code->format->lines && !code->problem)
		code->format->lines(code, indent, out);
	if (!p->key)
		unlisted_lines(node, code, indent, out);
}

/* What --verify finds of this kernel; that its code lacks it, the mark says. */
static void finding_lines(const struct mpk_view_node *node, size_t index, bool is_marked,
			  const char *indent, struct mpk_strbuf *out)
{
	size_t count;
	const struct mpk_view_finding *f = mpk_node_findings(node, index, &count);

	for (size_t i = 0; i < count; i++)
		if (!is_marked || strcmp(f[i].check, "kernel-defined") != 0)
			mpk_strbuf_printf(out, "%s%s: %s [%s]\n", indent,
					  mpk_severity_name(f[i].severity), f[i].text, f[i].check);
}

/* First what the code says of the kernel, then what is wrong with it. */
void mpk_node_kernel_lines(const struct mpk_view_node *node, size_t index, const char *indent,
			   struct mpk_strbuf *out)
{
	static const char *const marks[] = {
		[MPK_CODE_DEFINED] = NULL,
		[MPK_CODE_FUNCTION] = "a .func in the code: no driver can launch it",
		/* code that cannot be listed may have the kernel: nothing is claimed */
		[MPK_CODE_POSSIBLE] = NULL,
		[MPK_CODE_MISSING] = "not in the code",
	};
	const struct mpk_kernels *table = mpk_view_kernels(node);
	const char *mark;

	if (!node->show_info || !table)
		return;
	mark = marks[mpk_node_info_defines(node->info, table, index)];
	mpk_code_figure_lines(mpk_node_code(node->info, table, index), table->functions[index].key,
			      indent, out);
	if (mark)
		mpk_strbuf_printf(out, "%s%s\n", indent, mark);
	finding_lines(node, index, mark != NULL, indent, out);
}

/* Nothing where the code was not read: the plain listing comes here, too. */
void mpk_node_lines(const struct mpk_view_node *node, const char *indent, struct mpk_strbuf *out)
{
	const struct mpk_payload_view *row = mpk_view_row(node);
	struct mpk_payload_content content = mpk_view_content(node);

	if (!node->show_info)
		return;
	for (size_t i = 0; i < node->info->piece_count; i++)
		piece_lines(node, &node->info->pieces[i], indent, out);
	if (row->text)
		row->text(&content, indent, out);
}
