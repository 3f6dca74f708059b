/* SPDX-License-Identifier: Apache-2.0 */
/* dot.c - collects the graphs of the models in a file, and prints them or the module tree for
 * Graphviz
 *
 * Names come from the file. Graphviz interprets backslashes and quotes in strings, so both are
 * escaped once more after control characters are. */
#include "graph/dot.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "text/escape.h"
#include "text/table.h"

/* Writes text for double quotes. Escaped text has no control characters, but it has backslashes,
 * which Graphviz would interpret. Line feeds are our own. */
static void put_quoted(const char *text, struct mpk_strbuf *out)
{
	mpk_strbuf_putc(out, '"');
	for (; *text; text++) {
		if (*text == '\n') {
			mpk_strbuf_puts(out, "\\n");
			continue;
		}
		if (*text == '"' || *text == '\\')
			mpk_strbuf_putc(out, '\\');
		mpk_strbuf_putc(out, *text);
	}
	mpk_strbuf_putc(out, '"');
}

/* First turns control characters into backslash escapes, then keeps Graphviz from interpreting
 * those. */
static void put_escaped(struct mpk_span text, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf escaped = { 0 };

	mpk_escape(&escaped, text);
	out->failed |= escaped.failed;
	put_quoted(mpk_strbuf_text(&escaped), out);
}

static void dot_begin(const struct mpk_view *view, struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, "digraph ");
	put_escaped(mpk_span_str(view->name), out);
	mpk_strbuf_puts(out, " {\n"
			     "  graph [fontname=\"Helvetica\", fontsize=11]\n"
			     "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#f4f5f7\", "
			     "color=\"#7a828e\", fontname=\"Helvetica\", fontsize=10]\n"
			     "  edge [color=\"#7a828e\", fontname=\"Helvetica\", fontsize=9]\n");
}

/* --- the tree ------------------------------------------------------------------------------- */

/* Each role has a colour. A broken module keeps its colour and has a red border. */
static const char *color_of(const struct mpk_view_node *n)
{
	static const char *const colors[] = {
		[MPK_ROLE_HOST] = "#dfe8f7",     [MPK_ROLE_DEVICE] = "#d9efe9",
		[MPK_ROLE_EXECUTOR] = "#e9e2f5", [MPK_ROLE_DATA] = "#f7ead2",
		[MPK_ROLE_EXTERN] = "#f4e1de",   [MPK_ROLE_SOURCE] = "#e6efd8",
		[MPK_ROLE_UNKNOWN] = "#f4f5f7",
	};

	return colors[n->kind ? n->kind->role : MPK_ROLE_UNKNOWN];
}

static void dot_put_module(const struct mpk_view *view, size_t index, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf label = { 0 };
	const struct mpk_view_node *n = &view->nodes[index];

	mpk_escape(&label, n->node->kind);
	mpk_strbuf_printf(&label, "\n%s", mpk_view_title(n));
	mpk_view_counts(n, &label);
	if (n->node->is_lib && view->image->function_count)
		mpk_strbuf_printf(&label, ", %zu function%s", view->image->function_count,
				  view->image->function_count == 1 ? "" : "s");
	if (!n->node->is_lib)
		mpk_strbuf_printf(&label, "\n%s", MPK_SIZE(n->node->payload.len));
	if (n->problem)
		mpk_strbuf_puts(&label, "\nbroken");
	out->failed |= label.failed;
	mpk_strbuf_printf(out, "  n%zu [label=", index);
	put_quoted(mpk_strbuf_text(&label), out);
	/* a path has only slashes, digits, dots and '#', so it needs no escaping */
	mpk_strbuf_printf(out, ", tooltip=\"%s\", fillcolor=\"%s\"%s]\n", n->path, color_of(n),
			  n->problem ? ", color=\"#b3261e\"" : "");
	mpk_strbuf_pass(out);
}

static void tree_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_view *view = what;

	(void)style;
	dot_begin(view, out);
	for (size_t i = 0; i < view->count; i++)
		dot_put_module(view, i, out);
	for (size_t i = 0; i < view->count; i++) {
		const struct mpk_node *n = view->nodes[i].node;

		for (size_t k = 0; k < n->child_count; k++)
			mpk_strbuf_printf(out, "  n%zu -> n%zu\n", i, (size_t)n->children[k]);
		mpk_strbuf_pass(out);
	}
	mpk_strbuf_puts(out, "}\n");
}

const struct mpk_answer mpk_answer_dot_tree = { .text = tree_text };

/* --- models ---------------------------------------------------------------------------------- */

static void put_node(const struct mpk_model_node *n, size_t graph, size_t index,
		     struct mpk_strbuf *out)
{
	static const char *const looks[] = {
		[MPK_MODEL_INPUT] = "shape=ellipse, style=filled, fillcolor=\"#dfe8f7\"",
		[MPK_MODEL_OPERATOR] = "fillcolor=\"#d9efe9\"",
		[MPK_MODEL_BUILTIN] = "fillcolor=\"#f4f5f7\", style=\"rounded,filled,dashed\"",
		[MPK_MODEL_BLOCK] = "shape=box, style=filled, fillcolor=\"#e9e2f5\"",
		[MPK_MODEL_OUTPUT] = "shape=ellipse, style=filled, fillcolor=\"#f7ead2\"",
	};

	mpk_strbuf_printf(out, "    g%zun%zu [label=", graph, index);
	put_quoted(n->label, out);
	if (n->detail[0]) {
		mpk_strbuf_puts(out, ", tooltip=");
		put_quoted(n->detail, out);
	}
	mpk_strbuf_printf(out, ", %s]\n", looks[n->kind]);
	mpk_strbuf_pass(out);
}

/* Graphviz draws a box around a subgraph whose name begins with "cluster". Node names are global in
 * a digraph, so they contain the number of the graph. */
static void put_graph(const struct mpk_model_graph *g, size_t index, struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf label = { 0 };

	mpk_strbuf_printf(&label, "%s%s", g->path, g->name.len ? " " : "");
	mpk_escape(&label, g->name);
	out->failed |= label.failed;
	mpk_strbuf_printf(out,
			  "  subgraph cluster_%zu {\n    color=\"#c9ced6\"\n    label=", index);
	put_quoted(mpk_strbuf_text(&label), out);
	mpk_strbuf_putc(out, '\n');
	for (size_t i = 0; i < g->node_count; i++)
		put_node(&g->nodes[i], index, i, out);
	for (size_t i = 0; i < g->edge_count; i++) {
		const struct mpk_model_edge *e = &g->edges[i];

		mpk_strbuf_printf(out, "    g%zun%zu -> g%zun%zu", index, e->from, index, e->to);
		/* edge labels are words of this program, so they need no escaping */
		if (e->label[0])
			mpk_strbuf_printf(out, " [label=\"%s\"]", e->label);
		mpk_strbuf_putc(out, '\n');
		mpk_strbuf_pass(out);
	}
	mpk_strbuf_puts(out, "  }\n");
}

static void model_text(const void *what, struct mpk_style style, struct mpk_strbuf *out)
{
	const struct mpk_model_graphs *graphs = what;

	(void)style;
	dot_begin(graphs->view, out);
	for (size_t i = 0; i < graphs->count; i++)
		put_graph(&graphs->items[i], i, out);
	mpk_strbuf_puts(out, "}\n");
}

const struct mpk_answer mpk_answer_dot_model = { .text = model_text };

/* --- graphs of the models ------------------------------------------------------------------------ */

struct list {
	struct mpk_model_graph *items; /* malloc'ed while it grows */
	size_t count, cap;
};

static void dot_list_fini(struct list *list)
{
	free(list->items);
}

/* Adds a graph unless it has no nodes to draw. */
static enum mpk_code add_graph(struct list *list, const struct mpk_view_node *n,
			       struct mpk_model_graph graph, struct mpk_error *err)
{
	if (!graph.node_count)
		return MPK_OK;
	MPK_TRY_ALLOC(MPK_VEC_ROOM(list->items, list->count, list->cap), err);
	graph.path = n->path;
	list->items[list->count++] = graph;
	return MPK_OK;
}

/* Reads the graphs of one module by its kind; most kinds have none. */
static enum mpk_code dot_read_node(const struct mpk_view_node *n, struct mpk_arena *arena,
				   struct list *list, struct mpk_error *err)
{
	const struct mpk_payload_view *row = mpk_view_row(n);
	struct mpk_payload_content content = mpk_view_content(n);
	size_t count = row->graph_count ? row->graph_count(&content) : 0;

	for (size_t i = 0; i < count; i++) {
		struct mpk_model_graph graph = { 0 };

		MPK_TRY(row->graph(&content, i, arena, &graph, err));
		MPK_TRY(add_graph(list, n, graph, err));
	}
	return MPK_OK;
}

enum mpk_code mpk_model_graphs_read(const struct mpk_view *view, struct mpk_model_graphs *out,
				    struct mpk_error *err)
{
	MPK_CLEANUP(dot_list_fini) struct list list = { 0 };
	struct mpk_model_graph *items;

	for (size_t i = 0; i < view->count; i++)
		MPK_TRY(dot_read_node(&view->nodes[i], view->arena, &list, err));
	items = mpk_arena_keep(view->arena, list.items, list.count, sizeof *items);
	MPK_TRY_ALLOC(items, err);
	*out = (struct mpk_model_graphs){ view, items, list.count };
	return MPK_OK;
}
