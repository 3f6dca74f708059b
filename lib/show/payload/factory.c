/* SPDX-License-Identifier: Apache-2.0 */
/* factory.c - printers for graph and AOT executors, parameters, graphs in JSON, and constants of
 * host code
 *
 * The graph is read when the file is opened (lib/know/program/model.c), since it also gives the
 * model's inputs and outputs. A graph that cannot be read is the module's problem and is not
 * mentioned here. */
#include "payload/payload_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/strmap.h"
#include "graphjson/graphjson.h"
#include "text/escape.h"
#include "text/phrase.h"

/* --- storage ------------------------------------------------------------------------------ */

/* Returns the bytes of one entry; UINT64_MAX if that overflows. */
static uint64_t entry_bytes(const struct mpk_graph_entry *e)
{
	uint64_t bytes = mpk_dtype_bytes(e->dtype);

	for (size_t i = 0; i < e->ndim; i++)
		if (!mpk_mul_u64(bytes, (uint64_t)e->shape[i], &bytes))
			return UINT64_MAX;
	return bytes;
}

struct storage {
	int64_t id;
	uint64_t bytes;
};

static int by_storage(const void *left, const void *right)
{
	const struct storage *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/* Tensors with one storage id share memory, as much as the largest of them needs: the list is
 * sorted so that the largest of each id comes first. */
static enum mpk_code read_storage(const struct mpk_payload_content *c, struct mpk_arena *arena,
				  struct mpk_node_info *out, struct mpk_error *err)
{
	const struct mpk_graph_json *graph = c->graph;
	struct storage *list;
	uint64_t total = 0;
	size_t n = 0;

	(void)arena; /* the sums need no memory */
	if (!graph)
		return MPK_OK;
	/* one spare element, as calloc(0) may return NULL */
	list = calloc(graph->entry_count + 1, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < graph->entry_count; i++)
		list[i] = (struct storage){ graph->entries[i].storage_id,
					    entry_bytes(&graph->entries[i]) };
	qsort(list, graph->entry_count, sizeof *list, by_storage);
	for (size_t i = 0; i < graph->entry_count; i++) {
		if (i && list[i].id == list[i - 1].id)
			continue;
		/* saturate on overflow, as for one entry */
		if (!mpk_add_u64(total, list[i].bytes, &total))
			total = UINT64_MAX;
		n++;
	}
	free(list);
	out->storage_bytes = total;
	out->storage_count = n;
	return MPK_OK;
}

/* --- parameters --------------------------------------------------------------------------- */

static const struct mpk_params *factory_params(const struct mpk_payload *p)
{
	return &p->u.factory.params;
}

static const struct mpk_params *host_consts(const struct mpk_payload *p)
{
	return &p->u.consts.consts;
}

/* Names of both kinds of tensors are parts for --filter, and let --diff recognise a module that has
 * moved. */
static bool param_at(const struct mpk_payload *p, size_t index, struct mpk_span *name)
{
	const struct mpk_strs *names = &mpk_payload_view_of(p)->params(p)->names;

	if (index >= names->count)
		return false;
	*name = names->items[index];
	return true;
}

static void put_param_counts(const struct mpk_payload *p, struct mpk_strbuf *out)
{
	const struct mpk_payload_view *row = mpk_payload_view_of(p);
	const struct mpk_params *params = row->params(p);
	uint64_t bytes = 0;

	/* all are parts of one file, so the sum cannot overflow */
	for (size_t i = 0; i < params->names.count; i++)
		bytes += params->tensors[i].data.len;
	mpk_put_tensor_counts(params->names.count, bytes, row->params_word, out);
}

static void put_param(const struct mpk_payload *p, size_t index, struct mpk_strbuf *out)
{
	const struct mpk_params *params = mpk_payload_view_of(p)->params(p);

	mpk_tensor_text(params->names.items[index], &params->tensors[index], NULL, out);
}

const struct mpk_payload_view mpk_payload_view_consts = {
	.params = host_consts,
	.params_word = "constant",
	.part = param_at,
	.defines = param_at,
	.counts = put_param_counts,
	.part_text = put_param,
};

/* --- text and JSON ------------------------------------------------------------------------ */

static void factory_put_lines(const struct mpk_payload_content *c, const char *indent,
			      struct mpk_strbuf *out)
{
	const struct mpk_graph_json *g = c->graph;

	if (!g)
		return;
	mpk_strbuf_printf(out, "%sgraph: ", indent);
	mpk_put_count(out, g->node_count, "node");
	mpk_put_also(out, g->arg_count, "input");
	/* "arg_nodes" of TVM's graph also lists parameters, which callers need not set */
	mpk_strbuf_puts(out, " (parameters included), ");
	mpk_put_count(out, g->head_count, "output");
	mpk_strbuf_printf(out, ", %" PRIu64 " B storage in ", c->info->storage_bytes);
	mpk_put_count(out, c->info->storage_count, "piece");
	mpk_strbuf_putc(out, '\n');
}

static void factory_put_json(const struct mpk_payload_content *c, struct mpk_json *j,
			     struct mpk_json_at *at)
{
	const struct mpk_graph_json *g = c->graph;
	struct mpk_json_at *o;

	if (!g)
		return;
	o = mpk_json_object(j, at, "executor");
	mpk_json_u64(j, o, "nodes", g->node_count);
	mpk_json_u64(j, o, "inputs", g->arg_count);
	mpk_json_u64(j, o, "outputs", g->head_count);
	mpk_json_u64(j, o, "storage_bytes", c->info->storage_bytes);
	mpk_json_u64(j, o, "storage_pieces", c->info->storage_count);
}

/* --- the graph as a drawing --------------------------------------------------------------- */

/* The entries of a node lie between its row and the next: "node_row_ptr" of TVM's graph. */
static void put_result_type(const struct mpk_graph_json *g, size_t node, struct mpk_strbuf *out)
{
	for (size_t e = g->row_ptr[node]; e < g->row_ptr[node + 1]; e++) {
		const struct mpk_graph_entry *t = &g->entries[e];
		const struct mpk_type type = mpk_type_tensor(t->dtype, t->shape, t->ndim, NULL);

		mpk_strbuf_puts(out, e > g->row_ptr[node] ? ", " : "");
		mpk_type_text(&type, out);
	}
}

/* An operator is labelled with its function; inputs and operations of the executor itself, with
 * their own name. */
static size_t draw_node(struct mpk_graph_builder *b, const struct mpk_graph_json *g, size_t index)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf label = { 0 }, detail = { 0 };
	const struct mpk_graph_node *n = &g->nodes[index];
	bool plain = n->is_input || n->func_name[0] == '_'; /* __nop, __copy */
	size_t at;

	mpk_escape(&label, mpk_span_str(plain ? n->name : n->func_name));
	put_result_type(g, index, &detail);
	at = mpk_graph_add_node(b,
				n->is_input ? MPK_MODEL_INPUT
				: plain     ? MPK_MODEL_BUILTIN
					    : MPK_MODEL_OPERATOR,
				&label, &detail);
	if (at != MPK_NO_NODE)
		b->nodes[at].type = b->nodes[at].detail;
	return at;
}

/* An output gets a node of its own, as its value may also be an input of other nodes. */
static void draw_heads(struct mpk_graph_builder *b, const struct mpk_graph_json *g,
		       const struct mpk_graph_register *drawn)
{
	for (size_t i = 0; i < g->head_count; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf label = { 0 };

		mpk_strbuf_puts(&label, "result");
		if (g->head_count > 1)
			mpk_strbuf_printf(&label, " %zu", i);
		mpk_graph_add_edge(b, drawn[g->heads[i].node].node,
				   mpk_graph_add_node(b, MPK_MODEL_OUTPUT, &label, NULL), "");
	}
}

/* Draws the nodes; each has a register. Parameters, which are inputs with a value in the payload,
 * are not drawn. */
static void draw_nodes(const struct mpk_graph_code *code, struct mpk_graph_builder *b,
		       struct mpk_graph_register *drawn)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap weights = { 0 };
	const struct mpk_payload_content *c = code->code;
	const struct mpk_params *params = &c->payload->u.factory.params;
	const struct mpk_graph_json *g = c->graph;

	for (size_t i = 0; i < params->names.count; i++)
		b->failed |= mpk_strmap_put(&weights, params->names.items[i], i, NULL) < 0;
	for (size_t i = 0; i < g->node_count; i++) {
		const struct mpk_graph_node *node = &g->nodes[i];

		if (node->is_input && mpk_strmap_find(&weights, mpk_span_str(node->name), NULL))
			continue;
		drawn[i].node = draw_node(b, g, i);
		for (size_t k = 0; k < node->input_count; k++)
			if (node->inputs[k].node < i) /* in execution order */
				mpk_graph_pass(b, &drawn[node->inputs[k].node], drawn[i].node);
	}
	draw_heads(b, g, drawn);
}

static enum mpk_code payload_factory_read_graph(const struct mpk_payload_content *c, size_t index,
						struct mpk_arena *arena,
						struct mpk_model_graph *out, struct mpk_error *err)
{
	const struct mpk_graph_code g = { .code = c,
					  .values = draw_nodes,
					  .registers = c->graph->node_count };

	(void)index; /* there is only one graph */
	return mpk_graph_of_code(&g, arena, out, err);
}

static size_t factory_count_graphs(const struct mpk_payload_content *c)
{
	return c->graph ? 1 : 0;
}

/* --- difference --------------------------------------------------------------------------- */

/* A node, and the graph to which its numbers refer. */
struct graph_node {
	const struct mpk_graph_json *graph;
	const struct mpk_graph_node *node;
	size_t index;
};

static struct mpk_span node_name(const void *item)
{
	const struct graph_node *n = item;

	return mpk_span_str(n->node->name);
}

static const char *op_of(const struct mpk_graph_node *n)
{
	return n->is_input ? "input" : n->func_name;
}

/* Writes "(data, conv:1)": an output has a number unless it is the first of its node. */
static void put_inputs(const struct graph_node *n, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < n->node->input_count; i++) {
		struct mpk_graph_ref ref = n->node->inputs[i];

		mpk_strbuf_puts(out, i ? ", " : "(");
		mpk_escape(out, mpk_span_str(n->graph->nodes[ref.node].name));
		if (ref.index)
			mpk_strbuf_printf(out, ":%" PRIu32, ref.index);
	}
	mpk_strbuf_puts(out, n->node->input_count ? ")" : "()");
}

static void put_types(const struct graph_node *n, struct mpk_strbuf *out)
{
	size_t end = n->graph->row_ptr[n->index + 1];

	for (size_t i = n->graph->row_ptr[n->index]; i < end; i++) {
		const struct mpk_graph_entry *e = &n->graph->entries[i];

		mpk_strbuf_puts(out, i > n->graph->row_ptr[n->index] ? ", " : "");
		mpk_differ_put_type(e->dtype, e->shape, e->ndim, out);
	}
}

/* Writes the allocation of an output: storage id, and device and scope if given. */
static void put_storage(const struct graph_node *n, struct mpk_strbuf *out)
{
	size_t end = n->graph->row_ptr[n->index + 1];

	for (size_t i = n->graph->row_ptr[n->index]; i < end; i++) {
		const struct mpk_graph_entry *e = &n->graph->entries[i];

		mpk_strbuf_printf(out, "%s%" PRId64, i > n->graph->row_ptr[n->index] ? ", " : "",
				  e->storage_id);
		if (e->device_type)
			mpk_strbuf_printf(out, " on device %" PRId64, e->device_type);
		if (e->storage_scope[0]) {
			mpk_strbuf_puts(out, " in ");
			mpk_escape(out, mpk_span_str(e->storage_scope));
		}
	}
}

static void put_op(const struct graph_node *n, struct mpk_strbuf *out)
{
	mpk_escape(out, mpk_span_str(op_of(n->node)));
	mpk_strbuf_puts(out, n->node->flatten_data ? ", flattened" : "");
}

/* Writes "inputs (a) -> (a, b)" if the texts differ. */
static void put_change(const char *what, const struct graph_node *a, const struct graph_node *b,
		       void (*put)(const struct graph_node *n, struct mpk_strbuf *out),
		       struct mpk_strbuf *out)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf x = { 0 }, y = { 0 };

	put(a, &x);
	put(b, &y);
	out->failed |= x.failed || y.failed;
	if (strcmp(mpk_strbuf_text(&x), mpk_strbuf_text(&y)) != 0)
		mpk_strbuf_printf(out, "%s%s %s -> %s", out->len ? "; " : "", what,
				  mpk_strbuf_text(&x), mpk_strbuf_text(&y));
}

/* Nodes are matched by name and inputs are written by name, so that shifted numbers do not count as
 * differences. */
static void compare_graph_nodes(struct mpk_differ *d, struct mpk_span name, const void *a,
				const void *b)
{
	struct mpk_strbuf text = { 0 };

	put_change("operator", a, b, put_op, &text);
	put_change("inputs", a, b, put_inputs, &text);
	put_change("type", a, b, put_types, &text);
	put_change("storage", a, b, put_storage, &text);
	if (text.len || text.failed)
		(void)mpk_differ_add(d, MPK_DIFF_CHANGED, "node", name, mpk_differ_take(d, &text));
	mpk_strbuf_fini(&text);
}

/* Pairs each node with its graph, which has the names of the inputs. */
static const struct graph_node *nodes_of(struct mpk_differ *d, const struct mpk_graph_json *g)
{
	struct graph_node *list = mpk_arena_array(d->arena, g->node_count, sizeof *list);

	d->diff->failed |= !list;
	for (size_t i = 0; list && i < g->node_count; i++)
		list[i] = (struct graph_node){ g, &g->nodes[i], i };
	return list;
}

/* Writes the outputs in order: another order is a difference. */
static void put_outputs(const struct mpk_graph_json *g, struct mpk_strbuf *out)
{
	for (size_t i = 0; i < g->head_count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_escape(out, mpk_span_str(g->nodes[g->heads[i].node].name));
		if (g->heads[i].index)
			mpk_strbuf_printf(out, ":%" PRIu32, g->heads[i].index);
	}
}

/* Returns whether a difference was found. */
static bool compare_graphs(struct mpk_differ *d, const struct mpk_graph_json *a,
			   const struct mpk_graph_json *b)
{
	static const struct mpk_diff_thing node = { .what = "node",
						    .bytes = sizeof(struct graph_node),
						    .name = node_name,
						    .compare = compare_graph_nodes };
	const struct graph_node *x = nodes_of(d, a), *y = nodes_of(d, b);
	struct mpk_strbuf was = { 0 }, is = { 0 };
	size_t before = d->diff->count;

	if (x && y)
		mpk_differ_match(d, &node, x, a->node_count, y, b->node_count);
	put_outputs(a, &was);
	put_outputs(b, &is);
	(void)mpk_differ_texts(d, "graph outputs", (struct mpk_span){ 0 }, &was, &is);
	return d->diff->count != before;
}

/* If graphs differ only in attributes that executors ignore or in formatting, their texts are
 * compared. */
static void factory_diff(struct mpk_differ *d, const struct mpk_payload_content *a,
			 const struct mpk_payload_content *b)
{
	const struct mpk_factory *x = &a->payload->u.factory, *y = &b->payload->u.factory;

	if (a->graph && b->graph && compare_graphs(d, a->graph, b->graph))
		return;
	if (x->has_graph && y->has_graph)
		mpk_differ_content(d, "graph", (struct mpk_span){ 0 }, x->graph_json,
				   y->graph_json);
}

const struct mpk_payload_view mpk_payload_view_factory = {
	.params = factory_params,
	.params_word = "parameter",
	.read = read_storage,
	.part = param_at,
	.counts = put_param_counts,
	.part_text = put_param,
	.text = factory_put_lines,
	.json = factory_put_json,
	.graph_count = factory_count_graphs,
	.graph = payload_factory_read_graph,
	.diff = factory_diff,
};
