/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - what can be called in the payload of a model: names, inputs, outputs
 *
 * Who lists or checks a file needs this without running anything, so nothing here knows of devices or
 * values. A graph says its types itself, Relax byte code says them by its checks (relax.c), and
 * Relay byte code has names alone.
 */
#include "program/model.h"

#include "base/strmap.h"
#include "graphjson/graphjson.h"
#include "kinds.h"

/* Functions in byte code; the rest of the table are the functions that they call. */
static enum mpk_code relax_models(const struct mpk_payload *p, struct mpk_arena *arena,
				  struct mpk_models *out, struct mpk_error *err)
{
	const struct mpk_relax *x = &p->u.relax;
	struct mpk_signature *list = mpk_arena_array(arena, x->func_count, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	out->items = list;
	return mpk_relax_signatures(x, arena, list, &out->count, err);
}

/* Parameters of which only the names are known. */
static struct mpk_param *untyped(struct mpk_strs names, struct mpk_arena *arena)
{
	struct mpk_param *list = mpk_arena_array(arena, names.count, sizeof *list);

	for (size_t i = 0; list && i < names.count; i++)
		list[i].name = names.items[i];
	return list;
}

enum mpk_code mpk_relay_signatures(const struct mpk_relay *x, struct mpk_arena *arena,
				   const struct mpk_signature **out, struct mpk_error *err)
{
	struct mpk_signature *list = mpk_arena_array(arena, x->func_count, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < x->func_count; i++) {
		const struct mpk_relay_func *f = &x->funcs[i];

		list[i] = (struct mpk_signature){
			.name = f->info.count ? f->info.items[0] : (struct mpk_span){ 0 },
			.named_inputs = true,
			.inputs = untyped(f->params, arena),
			.input_count = f->params.count,
		};
		MPK_TRY_ALLOC(list[i].inputs, err);
	}
	*out = list;
	return MPK_OK;
}

static enum mpk_code relay_models(const struct mpk_payload *p, struct mpk_arena *arena,
				  struct mpk_models *out, struct mpk_error *err)
{
	out->count = p->u.relay.func_count;
	return mpk_relay_signatures(&p->u.relay, arena, &out->items, err);
}

static struct mpk_param typed(const struct mpk_graph_json *g, struct mpk_graph_ref ref,
			      struct mpk_span name)
{
	const struct mpk_graph_entry *e = &g->entries[mpk_graph_json_entry(g, ref)];

	return (struct mpk_param){ name, mpk_type_tensor(e->dtype, e->shape, e->ndim, NULL) };
}

/* Lists the inputs that no parameter of the file fills, with the graph's types. */
static enum mpk_code graph_model(const struct mpk_factory *f, const struct mpk_graph_json *g,
				 struct mpk_signature *m, struct mpk_arena *arena,
				 struct mpk_error *err)
{
	struct mpk_param *inputs = mpk_arena_array(arena, g->arg_count, sizeof *inputs);
	struct mpk_param *outputs = mpk_arena_array(arena, g->head_count, sizeof *outputs);

	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap params = { 0 };
	size_t ignored;

	if (!inputs || !outputs)
		return mpk_fail_nomem(err);
	/* A graph may have thousands of arguments, and as many parameters that fill them. */
	for (size_t i = 0; i < f->params.names.count; i++)
		MPK_TRY_ALLOC(mpk_strmap_put(&params, f->params.names.items[i], i, &ignored) >= 0,
			      err);
	for (size_t i = 0; i < g->arg_count; i++) {
		struct mpk_graph_ref ref = { g->arg_nodes[i], 0 };
		struct mpk_span name = mpk_span_str(g->nodes[ref.node].name);

		if (!mpk_strmap_find(&params, name, &ignored))
			inputs[m->input_count++] = typed(g, ref, name);
	}
	for (size_t i = 0; i < g->head_count; i++)
		outputs[i] = typed(g, g->heads[i], (struct mpk_span){ 0 });
	m->inputs = inputs;
	m->outputs = outputs;
	m->output_count = g->head_count;
	m->outputs_known = true;
	return MPK_OK;
}

static enum mpk_code factory_models(const struct mpk_payload *p, struct mpk_arena *arena,
				    struct mpk_models *out, struct mpk_error *err)
{
	const struct mpk_factory *f = &p->u.factory;
	struct mpk_graph_json *graph = mpk_arena_alloc(arena, sizeof *graph);
	struct mpk_signature *m = mpk_arena_alloc(arena, sizeof *m);

	if (!m || !graph)
		return mpk_fail_nomem(err);
	m->name = f->module_name;
	m->named_inputs = true;
	if (f->has_graph) {
		MPK_TRY(mpk_graph_json_read(f->graph_json, arena, graph, err));
		MPK_TRY(graph_model(f, graph, m, arena, err));
	}
	*out = (struct mpk_models){ m, 1, f->has_graph ? graph : NULL };
	return MPK_OK;
}

bool mpk_model_is_kind(struct mpk_span kind)
{
	const struct mpk_kind *row = mpk_kind_find(kind);

	return row && row->role == MPK_ROLE_EXECUTOR;
}

typedef enum mpk_code models_fn(const struct mpk_payload *p, struct mpk_arena *arena,
				struct mpk_models *out, struct mpk_error *err);

enum mpk_code mpk_models_of(const struct mpk_payload *p, struct mpk_arena *arena,
			    struct mpk_models *out, struct mpk_error *err)
{
	static models_fn *const executors[] = {
		[MPK_PAYLOAD_RELAX] = relax_models,
		[MPK_PAYLOAD_RELAY] = relay_models,
		[MPK_PAYLOAD_FACTORY] = factory_models,
	};

	*out = (struct mpk_models){ 0 };
	if (p->tag >= MPK_ARRAY_COUNT(executors) || !executors[p->tag])
		return MPK_OK;
	return executors[p->tag](p, arena, out, err);
}
