/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads of graph executors, loaded and run with kernels that believe what they are given: reading
 * and writing all of each tensor is what finds memory that is not there. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "abi/internal/layout.h"
#include "base/compiler.h"
#include "executor/executor.h"
#include "fuzz.h"
#include "graphjson/graphjson.h"
#include "payload.h"
#include "runtime/library.h"
#include "value/tensor.h"

enum { MOST_BYTES = 1 << 20 }; /* of the tensors of one graph */

static struct mpk_span input; /* parameters may lie in it: it must not be written to */

static int touch(union mpk_tvm_value *args, int *codes, int count, union mpk_tvm_value *result,
		 int *result_code, void *resource)
{
	static volatile unsigned sum;

	(void)codes, (void)result, (void)result_code, (void)resource;
	for (int i = 0; i < count; i++) {
		const struct mpk_dltensor *t = args[i].v_handle;
		uint8_t *at = t->data;
		uint64_t bytes = 0;

		/* of all elements: those of a type of 73 bits stand without a gap */
		FUZZ_REQUIRE(mpk_tensor_bytes_of(t->dtype, t->shape, (size_t)t->ndim, &bytes,
						 NULL) == MPK_OK);
		for (size_t k = 0; k < bytes; k++)
			sum += at[k];
		/* an operator without outputs ends in an input */
		if (i + 1 == count && (at < input.data || at >= input.data + input.len) && bytes)
			memset(at, 1, bytes);
	}
	return 0;
}

/* Whether the graph is small and for the CPU; anything that does not parse is. */
static bool is_modest(const struct mpk_graph_json *g)
{
	uint64_t total = 0, bytes = 0;

	for (size_t i = 0; i < g->entry_count; i++) {
		const struct mpk_graph_entry *e = &g->entries[i];

		if (e->device_type != 0 && e->device_type != MPK_DL_CPU)
			return false;
		if (mpk_tensor_bytes_of(e->dtype, e->shape, e->ndim, &bytes, NULL) != MPK_OK)
			continue;
		total += bytes;
		if (bytes > MOST_BYTES || total > MOST_BYTES)
			return false;
	}
	return true;
}

static struct mpk_module *load(struct mpk_runtime *runtime, const struct mpk_tree *tree)
{
	static const char *const names[] = { "add", "twice", "both", "tvmgen_default_fused_add" };
	struct mpk_host_code code = { .tree = tree, .convention = MPK_CONV_LEGACY };
	struct mpk_module *root = NULL, *context = NULL;
	struct mpk_host *host = NULL;

	FUZZ_REQUIRE(mpk_host_create(runtime, &code, &host, NULL) == MPK_OK);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		FUZZ_REQUIRE(mpk_host_register(host, names[i], (void *)(uintptr_t)touch));
	FUZZ_REQUIRE(mpk_node_modules(host, &root, &context, NULL) == MPK_OK);
	mpk_host_drop(host);
	return root;
}

/* A tensor for each argument that no parameter fills, as the graph wants it. */
static void call(struct mpk_function *f, const struct mpk_factory *factory,
		 const struct mpk_graph_json *g, struct mpk_arena *arena)
{
	struct mpk_value *values = mpk_arena_array(arena, g->arg_count + 1, sizeof *values);
	struct mpk_value result = { 0 };
	struct mpk_error err;
	size_t count = 0;

	for (size_t i = 0; i < g->arg_count; i++) {
		const struct mpk_graph_entry *e = &g->entries[g->row_ptr[g->arg_nodes[i]]];
		struct mpk_span name = mpk_span_str(g->nodes[g->arg_nodes[i]].name);

		if (mpk_params_find(&factory->params, name) < factory->params.names.count)
			continue;
		FUZZ_REQUIRE(mpk_tensor_create(e->dtype, e->shape, e->ndim, MPK_STORAGE_PRIVATE,
					       &values[count].tensor, NULL) == MPK_OK);
		values[count++].kind = MPK_VALUE_TENSOR;
	}
	for (int round = 0; round < 2; round++) {
		FUZZ_REQUIRE(mpk_function_call(f, &(struct mpk_args){ values, NULL, count },
					       &result, &err) == MPK_OK);
		mpk_value_drop(&result);
	}
	for (size_t i = 0; i < count; i++)
		mpk_value_drop(&values[i]);
}

static void run(const struct mpk_tree *tree, const struct mpk_factory *factory,
		const struct mpk_graph_json *g, struct mpk_arena *arena)
{
	char *name = mpk_arena_text(arena, factory->module_name);
	struct mpk_module_search search = { 0 };
	struct mpk_runtime *runtime;
	struct mpk_function *f;
	struct mpk_module *root;

	/* without global functions, which check their arguments and may refuse them */
	FUZZ_REQUIRE(mpk_runtime_create_empty(&(struct mpk_runtime_options){ 0 }, &runtime, NULL) ==
		     MPK_OK);
	FUZZ_REQUIRE(mpk_runtime_add_loader(runtime, &mpk_graph_executor, NULL) == MPK_OK);
	root = load(runtime, tree);
	FUZZ_REQUIRE(mpk_module_find(root, name, &f, &search, NULL) == MPK_OK);
	if (f && f->takes_names)
		call(f, factory, g, arena);
	mpk_function_drop(f);
	mpk_module_drop(root);
	mpk_runtime_destroy(runtime);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	static const size_t child = 1;
	struct mpk_node nodes[] = {
		{ .kind = mpk_span_str("GraphExecutorFactory"),
		  .payload = bytes,
		  .children = &child,
		  .child_count = 1 },
		{ .kind = mpk_span_str("_lib"), .is_lib = true },
	};
	const struct mpk_tree tree = { .gen = MPK_GEN_LEGACY, .nodes = nodes, .count = 2 };
	struct mpk_graph_json g;
	struct mpk_payload p;

	input = nodes[0].payload;
	if (mpk_payload_decode(mpk_kind_find(nodes[0].kind), tree.gen, mpk_source_of(&nodes[0]),
			       arena, &p, NULL) != MPK_OK ||
	    mpk_graph_json_read(p.u.factory.graph_json, arena, &g, NULL) != MPK_OK ||
	    !is_modest(&g))
		return;
	run(&tree, &p.u.factory, &g, arena);
}
