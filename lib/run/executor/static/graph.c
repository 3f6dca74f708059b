/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - models of the graph executor: a graph in JSON as a program
 *
 * TVM's GraphExecutorFactory (src/runtime/graph_executor of apache/tvm up to 0.19) stores the graph
 * as JSON: nodes, and entries with type, shape and storage number. Entries become tensors, storage
 * numbers become storages, operators become steps. The JSON reader has checked indexes. This file
 * checks what the executor relies on: devices, sizes, and that every input is filled. */
#include "executor/executor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "executor/static/internal/static.h"
#include "graphjson/graphjson.h"
#include "program/model.h"
#include "text/escape.h"

struct loader {
	struct mpk_node_module *node;
	const struct mpk_factory *factory;
	struct mpk_graph_json g;
	struct mpk_static_program *p; /* its first tensors are the graph's entries */
	struct mpk_function *linked;  /* function that finds linked parameters; NULL if there is
				       * none */
	struct mpk_error *err;
};

/* Adds the node's name to a failure. */
static enum mpk_code of_node(const struct loader *l, size_t node, enum mpk_code code)
{
	if (code != MPK_OK)
		mpk_error_prefix(l->err, "graph: node '%s': ",
				 MPK_QUOTE(mpk_span_str(l->g.nodes[node].name)));
	return code;
}

/* --- storages ------------------------------------------------------------------------------- */

struct place {
	int64_t storage_id;
	uint32_t entry;
};

/* Sorted by storage, then by entry: entries of one storage are neighbours, and the order is
 * deterministic. */
MPK_ORDER_BY2(by_storage, struct place, storage_id, entry)

/* Storage ids may be any numbers; each id in use becomes a storage. */
static enum mpk_code make_storages(const struct loader *l, const struct place *places,
				   uint32_t *storages)
{
	const struct mpk_graph_entry *before = NULL;

	for (size_t i = 0; i < l->g.entry_count; i++) {
		const struct mpk_graph_entry *e = &l->g.entries[places[i].entry];
		uint32_t *storage = &storages[places[i].entry];

		struct mpk_span scope = mpk_span_str(e->storage_scope);

		if (scope.len && !mpk_span_is(scope, "global"))
			return mpk_fail(
				l->err, MPK_E_UNSUPPORTED,
				"graph: storage %" PRId64
				" is of scope '%s'; the graph executor here has plain memory only",
				e->storage_id, MPK_QUOTE(scope));
		if (e->device_type < 0 || e->device_type > INT32_MAX)
			return mpk_fail(l->err, MPK_E_CORRUPT,
					"graph: storage %" PRId64
					" is on a device of type %" PRId64,
					e->storage_id, e->device_type);

		if (!before || before->storage_id != e->storage_id)
			MPK_TRY(mpk_static_add_storage(l->p, (int32_t)e->device_type, storage,
						       l->err));
		else if (before->device_type != e->device_type)
			return mpk_fail(l->err, MPK_E_CORRUPT,
					"graph: storage %" PRId64 " is on devices of type %" PRId64
					" and %" PRId64,
					e->storage_id, before->device_type, e->device_type);
		else
			*storage = storages[places[i - 1].entry];
		before = e;
	}
	return MPK_OK;
}

/* --- inputs --------------------------------------------------------------------------------- */

/* Finds the content of a graph argument; data is NULL if the caller provides it. */
static enum mpk_code find_content(const struct loader *l, size_t arg, struct mpk_span *out,
				  bool *is_linked)
{
	static const uint8_t nothing[1];
	uint32_t node = l->g.arg_nodes[arg];
	const struct mpk_params *params = &l->factory->params;
	size_t at = mpk_params_find(params, mpk_span_str(l->g.nodes[node].name));

	*is_linked = at == params->names.count;
	if (*is_linked) {
		/* A parameter that was linked into the library is looked up by its storage id. */
		uint32_t entry = l->g.row_ptr[node];
		struct mpk_value id = mpk_value_of_int(l->g.entries[entry].storage_id),
				 data = { 0 };
		uint64_t bytes = l->p->tensors[entry].bytes;

		*out = (struct mpk_span){ 0 };
		if (!l->linked)
			return MPK_OK;
		MPK_TRY(mpk_function_call(l->linked, &(struct mpk_args){ &id, NULL, 1 }, &data,
					  l->err));
		/* a library without this parameter returns a null pointer */
		if (data.kind == MPK_VALUE_OPAQUE && data.opaque)
			*out = mpk_span_of(data.opaque, (size_t)bytes);
		mpk_value_drop(&data);
		if (out->data && mpk_static_room(l->linked->address, out->data) < bytes)
			return mpk_fail(l->err, MPK_E_CORRUPT,
					"graph: storage %" PRId64
					" is a linked parameter of %" PRIu64
					" bytes, which the library has not where it says",
					l->g.entries[entry].storage_id, bytes);
		return MPK_OK;
	}
	*out = params->tensors[at].data;
	/* a parameter without elements may have no address; NULL would mean an input */
	if (!out->data)
		*out = mpk_span_of(nothing, 0);
	return MPK_OK;
}

/* Inputs come before parameters. */
static enum mpk_code load_inputs(const struct loader *l)
{
	struct mpk_span *contents =
		mpk_arena_array(&l->p->base.arena, l->g.arg_count + 1, sizeof *contents);
	bool *is_linked = mpk_arena_array(&l->p->base.arena, l->g.arg_count + 1, sizeof *is_linked);

	if (!contents || !is_linked)
		return mpk_fail_nomem(l->err);
	for (size_t i = 0; i < l->g.arg_count; i++) {
		uint32_t node = l->g.arg_nodes[i];

		MPK_TRY(find_content(l, i, &contents[i], &is_linked[i]));
		if (!contents[i].data)
			MPK_TRY(mpk_static_add_input(l->p, mpk_span_str(l->g.nodes[node].name),
						     l->g.row_ptr[node], l->err));
	}
	for (size_t i = 0; i < l->g.arg_count; i++) {
		uint32_t node = l->g.arg_nodes[i];

		if (contents[i].data)
			MPK_TRY(mpk_static_add_param(l->p, mpk_span_str(l->g.nodes[node].name),
						     l->g.row_ptr[node], contents[i], is_linked[i],
						     l->err));
	}
	return MPK_OK;
}

/* --- operators ------------------------------------------------------------------------------ */

/* The tensors that an operator reads, followed by those it writes. */
struct operands {
	uint32_t *tensors;
	size_t count, read_count;
};

static enum mpk_code collect_operands(const struct loader *l, size_t i, struct operands *out)
{
	const struct mpk_graph_node *node = &l->g.nodes[i];
	size_t count = node->input_count + node->num_outputs;

	out->tensors = mpk_arena_array(&l->p->base.arena, count + 1, sizeof *out->tensors);
	if (!out->tensors)
		return mpk_fail_nomem(l->err);
	for (size_t k = 0; k < node->input_count; k++)
		out->tensors[k] = (uint32_t)mpk_graph_json_entry(&l->g, node->inputs[k]);
	for (size_t k = 0; k < node->num_outputs; k++)
		out->tensors[node->input_count + k] = l->g.row_ptr[i] + (uint32_t)k;
	out->count = count;
	out->read_count = node->input_count;
	return MPK_OK;
}

static enum mpk_code add_copy(const struct loader *l, const struct operands *operands)
{
	if (operands->read_count != 1 || operands->count != 2)
		return mpk_fail(l->err, MPK_E_CORRUPT, "a copy of %zu tensors to %zu",
				operands->read_count, operands->count - operands->read_count);
	return mpk_static_add_step(l->p,
				   &(struct mpk_static_step){
					   .operands = operands->tensors,
					   .count = 2,
					   .read_count = 1,
					   .result_count = 1,
				   },
				   l->err);
}

static enum mpk_code load_operator(const struct loader *l, size_t i)
{
	const struct mpk_graph_node *node = &l->g.nodes[i];
	struct operands operands = { 0 };
	struct mpk_function *f;

	MPK_TRY(collect_operands(l, i, &operands));
	/* the two names that TVM's graph executor handles itself (graph_executor.cc) */
	if (strcmp(node->func_name, "__nop") == 0) {
		/* A reshape needs no work if its output lies in the storage of its input. */
		const struct mpk_static_tensor *tensors = l->p->tensors;

		if (operands.read_count >= 1 && operands.count == operands.read_count + 1 &&
		    tensors[operands.tensors[0]].storage ==
			    tensors[operands.tensors[operands.read_count]].storage)
			return MPK_OK;
		return add_copy(l, &operands);
	}
	if (strcmp(node->func_name, "__copy") == 0)
		return add_copy(l, &operands);
	MPK_TRY(mpk_node_import(l->node, node->func_name, &f, l->err));
	if (node->flatten_data) {
		/* A view of the same memory with one dimension. */
		for (size_t k = 0; k < operands.count; k++) {
			const struct mpk_static_tensor t = l->p->tensors[operands.tensors[k]];
			int64_t *extent = mpk_arena_array(&l->p->base.arena, 1, sizeof *extent);

			if (!extent)
				return mpk_fail_nomem(l->err);
			*extent = 1;
			for (size_t d = 0; d < t.ndim; d++)
				if (__builtin_mul_overflow(*extent, t.shape[d], extent))
					*extent = 0; /* the size was checked: it is 0 because
						      * another extent is 0 */
			MPK_TRY(mpk_static_add_tensor(l->p, t.dtype, extent, 1, t.storage,
						      &operands.tensors[k], l->err));
		}
	}
	return mpk_static_add_step(l->p,
				   &(struct mpk_static_step){
					   .function = f,
					   .operands = operands.tensors,
					   .count = operands.count,
					   .read_count = operands.read_count,
					   .result_count = operands.count - operands.read_count,
					   .label = mpk_span_str(node->name),
				   },
				   l->err);
}

/* --- the whole ------------------------------------------------------------------------------ */

/* Refuses an input node that is not an argument: it would be read without ever being filled. */
static enum mpk_code check_inputs(const struct loader *l)
{
	bool *named = mpk_arena_array(&l->p->base.arena, l->g.node_count + 1, sizeof *named);

	if (!named)
		return mpk_fail_nomem(l->err);
	for (size_t i = 0; i < l->g.arg_count; i++)
		named[l->g.arg_nodes[i]] = true;
	for (size_t i = 0; i < l->g.node_count; i++)
		if (l->g.nodes[i].is_input && !named[i])
			return of_node(l, i,
				       mpk_fail(l->err, MPK_E_CORRUPT,
						"an input that is not in arg_nodes"));
	return MPK_OK;
}

static enum mpk_code load_all(struct loader *l)
{
	struct mpk_module_search search = { 0 };

	MPK_TRY(mpk_graph_json_read(l->factory->graph_json, &l->p->base.arena, &l->g, l->err));
	MPK_TRY(check_inputs(l));
	MPK_TRY(mpk_module_find_import(&l->node->base, "_lookup_linked_param", &l->linked, &search,
				       l->err));

	size_t count = l->g.entry_count;
	struct place *places = mpk_arena_array(&l->p->base.arena, count + 1, sizeof *places);
	uint32_t *storages = mpk_arena_array(&l->p->base.arena, count + 1, sizeof *storages);

	if (!places || !storages)
		return mpk_fail_nomem(l->err);
	for (size_t i = 0; i < count; i++)
		places[i] = (struct place){ l->g.entries[i].storage_id, (uint32_t)i };
	qsort(places, count, sizeof *places, by_storage);
	MPK_TRY(make_storages(l, places, storages));

	for (size_t node = 0; node < l->g.node_count; node++)
		for (size_t i = l->g.row_ptr[node]; i < l->g.row_ptr[node + 1]; i++) {
			const struct mpk_graph_entry *e = &l->g.entries[i];
			uint32_t tensor;

			MPK_TRY(of_node(l, node,
					mpk_static_add_tensor(l->p, e->dtype, e->shape, e->ndim,
							      storages[i], &tensor, l->err)));
		}

	MPK_TRY(load_inputs(l));
	for (size_t i = 0; i < l->g.node_count; i++)
		if (!l->g.nodes[i].is_input)
			MPK_TRY(of_node(l, i, load_operator(l, i)));
	for (size_t i = 0; i < l->g.head_count; i++)
		MPK_TRY(mpk_static_add_result(
			l->p, (uint32_t)mpk_graph_json_entry(&l->g, l->g.heads[i]), l->err));
	return mpk_static_program_finish(l->p, l->factory->module_name, l->err);
}

static enum mpk_code load_graph(struct mpk_static_program *p, struct mpk_node_module *node,
				const struct mpk_factory *factory, struct mpk_error *err)
{
	struct loader l = { .node = node, .factory = factory, .p = p, .err = err };
	enum mpk_code code = load_all(&l);

	mpk_function_drop(l.linked);
	return code;
}

/* --- as a loader ---------------------------------------------------------------------------- */

static bool accepts_graph(struct mpk_span kind)
{
	return mpk_span_is(kind, "GraphExecutorFactory") ||
	       mpk_span_is(kind, "GraphRuntimeFactory");
}

static enum mpk_code open_graph(struct mpk_node_module *node, struct mpk_error *err)
{
	return mpk_static_open(node, load_graph, err);
}

const struct mpk_loader mpk_graph_executor = {
	.accepts = accepts_graph,
	.payload = &mpk_reader_graph,
	.has = mpk_node_model_has,
	.open = open_graph,
	.find = mpk_static_find,
	.name_at = mpk_static_name_at,
	.signature_at = mpk_static_signature_at,
	.close = mpk_static_close,
};
