/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - prints the module tree, one line for each module and its contents below: code by the
 * formats of lib/know/code, executors by their payloads
 *
 * The walk has its own stack, since the file decides how deep the tree is. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "code/format.h"
#include "code/show.h"
#include "model/node_info.h"
#include "model/view.h"
#include "text/escape.h"
#include "text/phrase.h"
#include "text/table.h"

/* --- code --------------------------------------------------------------------------- */

struct unlisted {
	struct mpk_span name;
	const char *indent;
	struct mpk_strbuf *out;
};

/* A format that has kernel figures also prints them as text. */
static void figure_line(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	const struct unlisted *u = arg;
	struct mpk_figures figures;

	if (!mpk_code_figures(code, kernel, &figures))
		return;
	mpk_strbuf_printf(u->out, "%s  ", u->indent);
	mpk_escape(u->out, u->name);
	mpk_strbuf_puts(u->out, ": ");
	mpk_code_kernel_text(code, kernel, u->out);
	mpk_strbuf_putc(u->out, '\n');
}

/* Prints the figures of the kernels that unlisted_lines names. */
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

/* Lists kernels that are in the code but not in the table. */
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

/* Prints the findings of --verify about this kernel. A mark already tells that the code lacks
 * it. */
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

/* First prints what the code says of the kernel, then its findings. */
void mpk_node_kernel_lines(const struct mpk_view_node *node, size_t index, const char *indent,
			   struct mpk_strbuf *out)
{
	static const char *const marks[] = {
		[MPK_CODE_DEFINED] = NULL,
		[MPK_CODE_FUNCTION] = "a .func in the code: no driver can launch it",
		/* code whose kernels cannot be listed may contain it, so there is no mark */
		[MPK_CODE_POSSIBLE] = NULL,
		[MPK_CODE_MISSING] = "not in the code",
	};
	const struct mpk_kernels *table = mpk_view_kernels(node);
	const char *mark;

	if (!node->show_info || !table)
		return;
	mark = marks[mpk_node_info_defines(node->info, table, index)];
	/* the page passes no indentation, and has no room for instruction counts */
	mpk_code_figure_lines(mpk_node_code(node->info, table, index), table->functions[index].key,
			      indent, indent[0] != '\0', out);
	if (mark)
		mpk_strbuf_printf(out, "%s%s\n", indent, mark);
	finding_lines(node, index, mark != NULL, indent, out);
}

/* Prints nothing if the code was not read: the plain listing calls this too. */
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

/* --- what is in a module ------------------------------------------------------------------- */

void mpk_view_counts(const struct mpk_view_node *node, struct mpk_strbuf *out)
{
	const struct mpk_payload_view *row = mpk_view_row(node);

	if (!node->decoded)
		return;
	if (node->models.count)
		mpk_put_also(out, node->models.count, "function");
	if (row->counts)
		row->counts(node->payload, out);
}

/* A part and a kernel have the same index, that of the table. */
static void part_lines(const struct mpk_view_node *node, const struct mpk_payload_view *row,
		       struct mpk_strbuf *out)
{
	struct mpk_span name;

	for (size_t i = 0; row->part(node->payload, i, &name); i++) {
		if (!mpk_view_shows_part(node, name))
			continue;
		row->part_text(node->payload, i, out);
		mpk_strbuf_putc(out, '\n');
		if (row->kernels)
			mpk_node_kernel_lines(node, i, "  ", out);
		mpk_strbuf_pass(out);
	}
}

/* Prints the tensors with their values, including unnamed constants of byte code, which are not
 * parts. */
static void measured_lines(const struct mpk_view_node *node, struct mpk_strbuf *out)
{
	const struct mpk_node_info *info = node->info;

	for (size_t i = 0; i < info->tensor_count; i++) {
		const struct mpk_tensor_info *t = &info->tensors[i];

		if (!mpk_view_shows_part(node, mpk_span_str(t->name)))
			continue;
		mpk_tensor_text(mpk_span_str(t->name), t->record, &t->stats, out);
		mpk_strbuf_putc(out, '\n');
		mpk_strbuf_pass(out);
	}
}

/* Prints the contents of a module, one per line. The filter is asked immediately before a part is
 * printed, since it notes what it chose. */
static void put_details(const struct mpk_view_node *node, struct mpk_strbuf *out)
{
	const struct mpk_payload_view *row = mpk_view_row(node);
	bool measured = node->show_info && node->info->measured;

	if (!node->decoded)
		return;
	if (mpk_view_shows_whole(node))
		mpk_node_lines(node, "", out);
	for (size_t i = 0; i < node->models.count; i++) {
		if (!mpk_view_shows_part(node, node->models.items[i].name))
			continue;
		mpk_signature_text(&node->models.items[i], out);
		mpk_strbuf_putc(out, '\n');
	}
	/* measured tensors have a longer line below, which includes all of this line */
	if (row->part && (row->kernels || !measured))
		part_lines(node, row, out);
	if (row->fields)
		row->fields(node->payload, out);
	if (measured)
		measured_lines(node, out);
}

/* --- the tree --------------------------------------------------------------------------- */

enum {
	DETAILS_SHOWN = 12, /* lines for one module, unless the user asks for details */
	/* deeper nodes are drawn at this level with their depth as a number: the indentation of a
	 * chain would else grow with its square */
	LEVELS_DRAWN = 32,
};

struct frame {
	size_t node, next; /* next child to visit */
};

struct walk {
	const struct mpk_view *view;
	struct mpk_style style;
	struct mpk_strbuf *out;
	struct frame *stack; /* view->count frames are enough: indices decrease along the path */
	size_t depth;
	bool *seen;
};

static void color(const struct walk *w, const char *code)
{
	if (w->style.color)
		mpk_strbuf_puts(w->out, code);
}

/* Draws the tree lines in front of a node at the walk's depth, or in front of its details. */
static void draw_lines(const struct walk *w, bool detail, bool has_children)
{
	const char *const *pen;
	static const char *const ascii[] = { "|  ", "   ", "|- ", "`- " };
	static const char *const unicode[] = { "\u2502  ", "   ", "\u251c\u2500 ",
					       "\u2514\u2500 " };

	pen = w->style.unicode ? unicode : ascii;
	size_t levels = w->depth < LEVELS_DRAWN ? w->depth : LEVELS_DRAWN;

	for (size_t i = 0; i < levels; i++) {
		const struct frame *f = &w->stack[i];
		/* `next` is already past the child being drawn,
		 * so at the end of the list that child is the last */
		bool last = f->next == w->view->nodes[f->node].node->child_count;
		bool branch = i + 1 == levels && !detail;

		mpk_strbuf_puts(w->out, pen[(branch ? 2 : 0) + (last ? 1 : 0)]);
	}
	if (detail)
		mpk_strbuf_puts(w->out, pen[has_children && !w->view->choice ? 0 : 1]);
}

/* The details of one module. They are not stored: there may be a million, of which a few are
 * shown. */
struct details {
	const struct walk *w;
	const struct mpk_view_node *node;
	size_t shown, left;
};

/* Receives whole lines: printers flush their text only at line ends,
 * and the last line ends too. */
static void draw_some(const char *text, size_t len, void *arg)
{
	struct details *d = arg;
	const struct mpk_view_node *n = d->node;

	for (const char *at = text, *end; at < text + len; at = end + 1) {
		end = strchr(at, '\n');
		if (d->shown < DETAILS_SHOWN || n->show_info) {
			d->shown++;
			draw_lines(d->w, true, n->node->child_count > 0);
			mpk_strbuf_put(d->w->out, at, (size_t)(end + 1 - at));
			mpk_strbuf_pass(d->w->out);
		} else {
			d->left++;
		}
	}
}

static void draw_details(const struct walk *w, const struct mpk_view_node *n)
{
	struct details d = { .w = w, .node = n };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf lines = { .take = draw_some, .arg = &d };

	put_details(n, &lines);
	if (lines.failed) {
		w->out->failed = true;
		return;
	}
	/* print the rest that was not flushed */
	draw_some(mpk_strbuf_text(&lines), lines.len, &d);
	if (d.left) {
		draw_lines(w, true, n->node->child_count > 0);
		mpk_strbuf_printf(w->out, "and %zu more (minspect functions, --json)\n", d.left);
	}
}

/* Prints the format, "cubin sm_90", "fatbin sm_80 sm_90 + PTX 8.0", before the kind, since TVM
 * labels fatbins as cubins. */
static void draw_format(const struct walk *w, const struct mpk_view_node *n)
{
	const struct mpk_kernels *k = mpk_view_kernels(n);
	const struct mpk_code_target *targets;
	const char *word;
	size_t count;

	if (!k || !k->fmt.len)
		return;
	mpk_strbuf_puts(w->out, ", ");
	w->out->failed |= mpk_view_targets(w->view, n, &targets, &count, NULL) != MPK_OK;
	if (!count) {
		mpk_escape(w->out, k->fmt);
		return;
	}
	word = mpk_code_format_of(k->data)->word;
	mpk_strbuf_printf(w->out, "%s ", word);
	mpk_code_targets_put(targets, count, w->out);
	if (mpk_span_is(k->fmt, word))
		return;
	mpk_strbuf_puts(w->out, " (format ");
	mpk_escape(w->out, k->fmt);
	mpk_strbuf_putc(w->out, ')');
}

static void draw_title(const struct walk *w, const struct mpk_view_node *n)
{

	mpk_strbuf_printf(w->out, "%s: ", n->path);
	color(w, "\033[1m");
	mpk_escape(w->out, n->node->kind);
	color(w, "\033[0m");
	mpk_strbuf_printf(w->out, "  %s", mpk_view_title(n));
	draw_format(w, n);
	mpk_view_counts(n, w->out);
	if (!n->node->is_lib)
		mpk_strbuf_printf(w->out, ", %s at blob+0x%" PRIx64, MPK_SIZE(n->node->payload.len),
				  n->node->payload_off);
	else if (w->view->image->function_count)
		mpk_strbuf_printf(w->out, ", %zu function%s", w->view->image->function_count,
				  w->view->image->function_count == 1 ? "" : "s");
}

static void draw_node(const struct walk *w, size_t index)
{
	const struct mpk_view_node *n = &w->view->nodes[index];

	draw_lines(w, false, false);
	if (w->depth > LEVELS_DRAWN)
		mpk_strbuf_printf(w->out, "depth %zu: ", w->depth);
	/* a module imported several times is drawn once: the paths to it may be exponentially
	 * many */
	if (w->seen[index]) {
		mpk_strbuf_printf(w->out, "see %s: ", n->path);
		mpk_escape(w->out, n->node->kind);
		mpk_strbuf_putc(w->out, '\n');
		return;
	}
	draw_title(w, n);
	mpk_strbuf_putc(w->out, '\n');
	if (n->problem) {
		draw_lines(w, true, n->node->child_count > 0);
		color(w, "\033[1;31m");
		mpk_strbuf_puts(w->out, "broken: ");
		if (n->problem->at.has_offset)
			mpk_strbuf_printf(w->out, "%s+0x%" PRIx64 ": ", n->problem->at.space,
					  n->problem->at.offset);
		mpk_strbuf_puts(w->out, n->problem->text);
		color(w, "\033[0m");
		mpk_strbuf_putc(w->out, '\n');
	}
	draw_details(w, n);
	mpk_strbuf_pass(w->out);
}

/* Walks depth first. A module that was drawn is not entered again,
 * so the time is linear in the imports. */
static void walk_from(struct walk *w, size_t root)
{
	draw_node(w, root);
	w->seen[root] = true;
	w->stack[w->depth++] = (struct frame){ root, 0 };
	while (w->depth) {
		struct frame *f = &w->stack[w->depth - 1];
		const struct mpk_node *n = w->view->nodes[f->node].node;

		if (f->next == n->child_count) {
			w->depth--;
			continue;
		}
		size_t child = n->children[f->next++];
		draw_node(w, child);
		if (w->seen[child])
			continue;
		w->seen[child] = true;
		w->stack[w->depth++] = (struct frame){ child, 0 };
	}
}

void mpk_view_tree(const struct mpk_view *view, struct mpk_style style, struct mpk_strbuf *out)
{
	struct walk w = { .view = view, .style = style, .out = out };

	w.stack = calloc(view->count + 1, sizeof *w.stack);
	w.seen = calloc(view->count + 1, sizeof *w.seen);
	if (!w.stack || !w.seen) {
		out->failed = true;
	} else {
		/* draws the root, then modules that a broken blob no longer connects. With a
		 * filter, modules are drawn below each other instead of as a tree, and their paths
		 * tell the place */
		for (size_t i = 0; i < view->count; i++)
			if (view->choice && mpk_view_shows_node(&view->nodes[i]))
				draw_node(&w, i);
			else if (!view->choice && !w.seen[i])
				walk_from(&w, i);
	}
	free(w.stack);
	free(w.seen);
}
