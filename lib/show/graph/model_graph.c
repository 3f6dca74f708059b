/* SPDX-License-Identifier: Apache-2.0 */
/* Which modules have graphs, and the graph that a graph executor stores. */
#include "graph/model_graph.h"

#include <stdlib.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "graph/internal/builder.h"
#include "graphjson/graphjson.h"
#include "signature/signature.h"
#include "text/escape.h"

struct list {
	struct mpk_model_graph *items; /* malloc'ed while it grows */
	size_t count, cap;
};

static void list_fini(struct list *list)
{
	free(list->items);
}

const char *mpk_model_node_kind_name(enum mpk_model_node_kind kind)
{
	static const char *const names[] = {
		[MPK_MODEL_INPUT] = "input",     [MPK_MODEL_OPERATOR] = "operator",
		[MPK_MODEL_BUILTIN] = "builtin", [MPK_MODEL_BLOCK] = "block",
		[MPK_MODEL_OUTPUT] = "output",
	};

	return names[kind];
}

static void put_type(const struct mpk_graph_json *g, size_t node, struct mpk_strbuf *out)
{
	for (size_t e = g->row_ptr[node]; e < g->row_ptr[node + 1]; e++) {
		const struct mpk_graph_entry *t = &g->entries[e];
		const struct mpk_type type = mpk_type_tensor(t->dtype, t->shape, t->ndim, NULL);

		mpk_strbuf_puts(out, e > g->row_ptr[node] ? ", " : "");
		mpk_type_text(&type, out);
	}
}

static size_t put_node(struct mpk_graph_builder *b, const struct mpk_graph_json *g, size_t index)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf label = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf detail = { 0 };
	const struct mpk_graph_node *n = &g->nodes[index];
	bool plain = n->is_input || n->func_name[0] == '_'; /* __nop, __copy */
	size_t at;

	mpk_escape(&label, mpk_span_str(plain ? n->name : n->func_name));
	put_type(g, index, &detail);
	at = mpk_graph_add_node(b,
				n->is_input ? MPK_MODEL_INPUT
				: plain     ? MPK_MODEL_BUILTIN
					    : MPK_MODEL_OPERATOR,
				&label, &detail);
	mpk_graph_add_type(b, at, at == MPK_NO_NODE ? NULL : b->nodes[at].detail);
	return at;
}

static void put_heads(struct mpk_graph_builder *b, const struct mpk_graph_json *g,
		      const size_t *drawn)
{
	for (size_t i = 0; i < g->head_count; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf label = { 0 };

		mpk_strbuf_puts(&label, "result");
		if (g->head_count > 1)
			mpk_strbuf_printf(&label, " %zu", i);
		mpk_graph_add_edge(b, drawn[g->heads[i].node],
				   mpk_graph_add_node(b, MPK_MODEL_OUTPUT, &label, NULL), "");
	}
}

static enum mpk_code read_stored(const struct mpk_view_node *n, struct mpk_arena *arena,
				 struct mpk_model_graph *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_graph_builder_fini) struct mpk_graph_builder b = { .arena = arena };
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap weights = { 0 };
	const struct mpk_params *params = &n->payload->u.factory.params;
	const struct mpk_graph_json *g = n->models.graph;
	size_t *drawn = mpk_arena_array(arena, g->node_count, sizeof *drawn), found;

	MPK_TRY_ALLOC(drawn, err);
	for (size_t i = 0; i < params->names.count; i++)
		if (mpk_strmap_put(&weights, params->names.items[i], i, &found) < 0)
			return mpk_fail_nomem(err);
	for (size_t i = 0; i < g->node_count; i++) {
		const struct mpk_graph_node *node = &g->nodes[i];

		drawn[i] = MPK_NO_NODE;
		if (node->is_input && mpk_strmap_find(&weights, mpk_span_str(node->name), &found))
			continue;
		drawn[i] = put_node(&b, g, i);
		for (size_t k = 0; k < node->input_count; k++)
			if (node->inputs[k].node < i) /* in the order that they run */
				mpk_graph_add_edge(&b, drawn[node->inputs[k].node], drawn[i], "");
	}
	put_heads(&b, g, drawn);
	return mpk_graph_builder_finish(&b, out, err);
}

static enum mpk_code add(struct list *list, const struct mpk_view_node *n,
			 struct mpk_model_graph graph, struct mpk_error *err)
{
	if (!graph.node_count)
		return MPK_OK;
	MPK_TRY_ALLOC(
		mpk_vec_reserve(&list->items, &list->cap, list->count + 1, sizeof *list->items),
		err);
	graph.path = n->path;
	list->items[list->count++] = graph;
	return MPK_OK;
}

static enum mpk_code read_node(const struct mpk_view_node *n, struct mpk_arena *arena,
			       struct list *list, struct mpk_error *err)
{
	const struct mpk_relax *relax = &n->payload->u.relax;
	const struct mpk_relay *relay = &n->payload->u.relay;
	struct mpk_model_graph graph = { 0 };

	if (n->models.graph && n->payload->tag == MPK_PAYLOAD_FACTORY) {
		MPK_TRY(read_stored(n, arena, &graph, err));
		return add(list, n, graph, err);
	}
	if (n->payload->tag == MPK_PAYLOAD_RELAX && mpk_relax_check(relax, NULL) == MPK_OK)
		for (size_t i = 0; i < relax->func_count; i++) {
			graph = (struct mpk_model_graph){ 0 };
			MPK_TRY(mpk_graph_of_relax(relax, i, arena, &graph, err));
			MPK_TRY(add(list, n, graph, err));
		}
	if (n->payload->tag == MPK_PAYLOAD_RELAY && mpk_relay_check(relay, NULL) == MPK_OK)
		for (size_t i = 0; i < relay->func_count; i++) {
			graph = (struct mpk_model_graph){ 0 };
			MPK_TRY(mpk_graph_of_relay(relay, i, arena, &graph, err));
			MPK_TRY(add(list, n, graph, err));
		}
	return MPK_OK;
}

enum mpk_code mpk_model_graphs_read(const struct mpk_view *view, struct mpk_model_graphs *out,
				    struct mpk_error *err)
{
	MPK_CLEANUP(list_fini) struct list list = { 0 };
	struct mpk_model_graph *items;

	for (size_t i = 0; i < view->count; i++)
		if (view->nodes[i].decoded)
			MPK_TRY(read_node(&view->nodes[i], view->arena, &list, err));
	items = mpk_arena_keep(view->arena, list.items, list.count, sizeof *items);
	MPK_TRY_ALLOC(items, err);
	*out = (struct mpk_model_graphs){ items, list.count };
	return MPK_OK;
}
