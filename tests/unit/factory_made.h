/* SPDX-License-Identifier: Apache-2.0 */
/* factory_made.h - models of executor factories, made in the test: a payload, and kernels in C
 *
 * A model is a tree of a factory and host code. The host code is no library but functions of the
 * test program, registered as a system library's constructor would: kernels that tests can look
 * into.
 */
#ifndef MPK_TESTS_UNIT_FACTORY_MADE_H
#define MPK_TESTS_UNIT_FACTORY_MADE_H

#include "abi/internal/layout.h"
#include "assert_error.h"
#include "executor/executor.h"
#include "factory/factory.h"
#include "harness.h"
#include "runtime/devices.h"
#include "runtime/library.h"

/* A kernel in the legacy convention, as compiled code has it. */
#define KERNEL(name)                                                                               \
	static int name(union mpk_tvm_value *args, int *codes, int count,                          \
			union mpk_tvm_value *result, int *result_code, void *resource)
/* its argument i; every one is a tensor */
#define ARG(i) ((struct mpk_dltensor *)args[i].v_handle)
#define UNUSED_KERNEL_ARGS (void)args, (void)codes, (void)result, (void)result_code, (void)resource

struct made_kernel {
	const char *name;
	mpk_tvm_function *code;
};

/* What a payload says. Parameters are records of host memory. */
struct made_factory {
	const char *kind;  /* NULL: GraphExecutorFactory */
	const char *graph; /* JSON; NULL: an AOT factory */
	const struct mpk_tensor_record *params;
	const struct mpk_span *param_names;
	size_t param_count;
};

struct made_model {
	struct mpk_arena arena;
	struct mpk_runtime *runtime;
	struct mpk_span payload;
	struct mpk_node nodes[2];
	struct mpk_tree tree;
	struct mpk_module *root;
	struct mpk_function *run; /* "default"; NULL when it could not be made */
};

/* made_payload - the bytes of a factory; they begin so that offset `aligned` of them is at a multiple
 * of 64, the alignment of kernels, and another 64 behind them are readable */
HARNESS_FN struct mpk_span made_payload(struct mpk_arena *arena, const struct made_factory *f,
					size_t aligned)
{
	struct mpk_factory factory = {
		.has_graph = f->graph != NULL,
		.graph_json = mpk_span_str(f->graph ? f->graph : ""),
		.params = { .names = { f->param_names, f->param_count }, .tensors = f->params },
		.module_name = mpk_span_str("default"),
	};
	struct mpk_rope rope = mpk_rope_of(arena);
	struct mpk_error err = { 0 };
	struct mpk_span flat;
	uint8_t *room;

	mpk_factory_write(&rope, &factory);
	ck_assert_ok(mpk_rope_flat(&rope, &flat, &err), err);
	room = mpk_arena_alloc(arena, flat.len + 192);
	ck_assert_ptr_nonnull(room);
	room += (64 - ((uintptr_t)room + aligned) % 64) % 64;
	memcpy(room, flat.data, flat.len);
	return mpk_span_of(room, flat.len);
}

/* made_load - the modules of a payload; model_find is what may fail. kernels end with a name NULL */
HARNESS_FN void made_load(struct made_model *m, const char *kind, struct mpk_span payload,
			  const struct made_kernel *kernels)
{
	static const size_t child = 1;
	struct mpk_host_code code = { .tree = &m->tree, .convention = MPK_CONV_LEGACY };
	struct mpk_module *context = NULL;
	struct mpk_host *host = NULL;
	struct mpk_error err = { 0 };

	m->payload = payload;
	m->nodes[0] = (struct mpk_node){
		.kind = mpk_span_str(kind), .payload = payload, .children = &child, .child_count = 1
	};
	m->nodes[1] = (struct mpk_node){ .kind = mpk_span_str("_lib"), .is_lib = true };
	m->tree = (struct mpk_tree){ .gen = MPK_GEN_LEGACY, .nodes = m->nodes, .count = 2 };
	ck_assert_ok(mpk_runtime_create(&(struct mpk_runtime_options){ 0 }, &m->runtime, &err),
		     err);
	ck_assert_ok(mpk_executors_add(m->runtime, &err), err);
	ck_assert_ok(mpk_host_create(m->runtime, &code, &host, &err), err);
	for (; kernels && kernels->name; kernels++)
		ck_assert(mpk_host_register(host, kernels->name, (void *)(uintptr_t)kernels->code));
	ck_assert_ok(mpk_node_modules(host, &m->root, &context, &err), err);
	mpk_host_drop(host);
}

/* made_find - look "default" up
 * Returns  MPK_OK and the function in m->run; what made the model fail; MPK_E_NOTFOUND: that is not
 *          its name */
HARNESS_FN enum mpk_code made_find(struct made_model *m, struct mpk_error *err)
{
	struct mpk_module_search search = { 0 };

	ck_assert_ok(mpk_module_find(m->root, "default", &m->run, &search, err), *err);
	if (m->run)
		return MPK_OK;
	*err = search.failure;
	return err->code != MPK_OK ? err->code : MPK_E_NOTFOUND;
}

/* made_open - a model that is there and runs */
HARNESS_FN void made_open(struct made_model *m, const struct made_factory *f,
			  const struct made_kernel *kernels)
{
	struct mpk_error err = { 0 };

	*m = (struct made_model){ 0 };
	made_load(m, f->kind ? f->kind : "GraphExecutorFactory", made_payload(&m->arena, f, 0),
		  kernels);
	ck_assert_ok(made_find(m, &err), err);
}

HARNESS_FN void made_close(struct made_model *m)
{
	mpk_function_drop(m->run);
	mpk_module_drop(m->root);
	mpk_runtime_destroy(m->runtime);
	mpk_arena_fini(&m->arena);
}

/* made_call - run with values by position, or with names
 * Returns  what the call returned, which the caller drops; a failure ends the test */
HARNESS_FN struct mpk_value made_call(struct made_model *m, const struct mpk_value *values,
				      const struct mpk_span *names, size_t count)
{
	struct mpk_args args = { values, names, count };
	struct mpk_value result = { 0 };
	struct mpk_error err = { 0 };

	ck_assert_ok(mpk_function_call(m->run, &args, &result, &err), err);
	return result;
}

/* f32_made - a tensor of one dimension that holds first, first + 1, ...; the caller drops it */
HARNESS_FN struct mpk_value f32_made(int64_t count, float first)
{
	static const struct mpk_dtype f32 = { MPK_DTYPE_FLOAT, 32, 1 };
	struct mpk_error err = { 0 };
	struct mpk_tensor *t;

	ck_assert_ok(mpk_tensor_create(f32, &count, 1, MPK_STORAGE_PRIVATE, &t, &err), err);
	for (int64_t i = 0; i < count; i++)
		((float *)t->dl.data)[i] = first + (float)i;
	return mpk_value_of_tensor(t);
}

/* element - of a tensor of float32 in host memory */
HARNESS_FN float element(const struct mpk_value *v, size_t i)
{
	ck_assert_int_eq(v->kind, MPK_VALUE_TENSOR);
	ck_assert_uint_lt(i, mpk_tensor_count(v->tensor));
	return ((const float *)mpk_dltensor_data(&v->tensor->dl))[i];
}

#endif
