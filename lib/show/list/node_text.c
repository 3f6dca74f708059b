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

/* A piece for one kernel is told of in that kernel's lines, unless it cannot be read. */
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

struct lines {
	const char *indent;
	struct mpk_strbuf *out;
};

static void kernel_line(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	const struct lines *l = arg;

	if (!code->format->kernel_text)
		return;
	mpk_strbuf_puts(l->out, l->indent);
	code->format->kernel_text(code, kernel, l->out);
	mpk_strbuf_putc(l->out, '\n');
}

/* What --verify finds of this kernel; that its code lacks it, the mark says. */
static void finding_lines(const struct mpk_view_node *node, size_t index, bool is_marked,
			  const struct lines *l)
{
	size_t count;
	const struct mpk_view_finding *f = mpk_node_findings(node, index, &count);

	for (size_t i = 0; i < count; i++)
		if (!is_marked || strcmp(f[i].check, "kernel-defined") != 0)
			mpk_strbuf_printf(l->out, "%s%s: %s [%s]\n", l->indent,
					  mpk_severity_name(f[i].severity), f[i].text, f[i].check);
}

void mpk_node_kernel_lines(const struct mpk_view_node *node, size_t index, const char *indent,
			   struct mpk_strbuf *out)
{
	static const char *const marks[] = {
		[MPK_CODE_DEFINED] = NULL,
		[MPK_CODE_FUNCTION] = "a .func in the code: no driver can launch it",
		[MPK_CODE_POSSIBLE] = NULL,
		[MPK_CODE_MISSING] = "not in the code",
	};
	const struct mpk_kernels *table = mpk_view_kernels(node);
	struct lines lines = { indent, out };
	const char *mark;

	if (!node->show_info || !table)
		return;
	mark = marks[mpk_node_info_defines(node->info, table, index)];
	mpk_node_info_each(node->info, table, index, kernel_line, &lines);
	if (mark)
		mpk_strbuf_printf(out, "%s%s\n", indent, mark);
	finding_lines(node, index, mark != NULL, &lines);
}

/* --- executors ---------------------------------------------------------------------- */

static void relax_lines(const struct mpk_relax *x, const char *indent, struct mpk_strbuf *out)
{
	size_t of_kind[3] = { 0 };

	for (size_t i = 0; i < x->func_count; i++)
		of_kind[x->funcs[i].kind]++; /* the reader refuses other kinds */
	mpk_strbuf_printf(out, "%sbytecode ", indent);
	mpk_escape(out, x->version);
	mpk_strbuf_puts(out, ": ");
	mpk_put_count(out, of_kind[MPK_RELAX_VM], "function");
	mpk_strbuf_printf(out, ", %zu compiled, %zu called by name, ", of_kind[MPK_RELAX_TIR],
			  of_kind[MPK_RELAX_PACKED]);
	mpk_put_count(out, mpk_relax_instr_count(x), "instruction");
	mpk_put_also(out, x->const_count, "constant");
	mpk_strbuf_putc(out, '\n');
	for (size_t i = 0; i < x->func_count; i++) {
		const struct mpk_relax_func *f = &x->funcs[i];

		if (f->kind == MPK_RELAX_PACKED)
			continue;
		mpk_strbuf_printf(out, "%s  ", indent);
		mpk_escape(out, f->name);
		mpk_strbuf_puts(out, ": ");
		mpk_put_count(out, f->params.count, "parameter");
		if (f->kind == MPK_RELAX_VM && f->end > f->start && f->start >= 0)
			mpk_strbuf_printf(out, ", instructions %" PRId64 " to %" PRId64, f->start,
					  f->end - 1);
		mpk_strbuf_printf(out, ", %" PRId64 " registers%s\n", f->register_file_size,
				  f->kind == MPK_RELAX_TIR ? ", compiled" : "");
	}
}

static void relay_lines(const struct mpk_relay *x, const char *indent, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%sbytecode of TVM ", indent);
	mpk_escape(out, x->version);
	mpk_strbuf_puts(out, ": ");
	mpk_put_count(out, x->func_count, "function");
	mpk_put_also(out, x->primitives.count, "primitive");
	mpk_put_also(out, x->const_count, "constant");
	mpk_put_also(out, x->device_count, "device");
	mpk_strbuf_putc(out, '\n');
	for (size_t i = 0; i < x->func_count; i++) {
		const struct mpk_relay_func *f = &x->funcs[i];

		mpk_strbuf_printf(out, "%s  ", indent);
		mpk_escape(out, f->info.count ? f->info.items[0] : (struct mpk_span){ 0 });
		mpk_strbuf_puts(out, ": ");
		mpk_put_count(out, f->params.count, "parameter");
		mpk_put_also(out, f->instr_count, "instruction");
		mpk_put_also(out, f->register_file_size, "register");
		mpk_strbuf_putc(out, '\n');
	}
}

static void graph_lines(const struct mpk_view_node *node, const char *indent,
			struct mpk_strbuf *out)
{
	const struct mpk_graph_json *g = node->models.graph;

	mpk_strbuf_printf(out, "%sgraph: ", indent);
	mpk_put_count(out, g->node_count, "node");
	mpk_put_also(out, g->arg_count, "input");
	mpk_strbuf_puts(out, " (parameters included), ");
	mpk_put_count(out, g->head_count, "output");
	mpk_strbuf_printf(out, ", %" PRIu64 " B storage in ", node->info->storage_bytes);
	mpk_put_count(out, node->info->storage_count, "piece");
	mpk_strbuf_putc(out, '\n');
}

void mpk_node_lines(const struct mpk_view_node *node, const char *indent, struct mpk_strbuf *out)
{
	if (!node->show_info)
		return;
	for (size_t i = 0; i < node->info->piece_count; i++)
		piece_lines(node, &node->info->pieces[i], indent, out);
	if (node->models.graph)
		graph_lines(node, indent, out);
	if (node->decoded && node->payload->tag == MPK_PAYLOAD_RELAX)
		relax_lines(&node->payload->u.relax, indent, out);
	if (node->decoded && node->payload->tag == MPK_PAYLOAD_RELAY)
		relay_lines(&node->payload->u.relay, indent, out);
}
