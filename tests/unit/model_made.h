/* SPDX-License-Identifier: Apache-2.0 */
/* model_made.h - models that a test wrote, loaded like the payload of a file, with kernels in C */
#ifndef MPK_TESTS_UNIT_MODEL_MADE_H
#define MPK_TESTS_UNIT_MODEL_MADE_H

#include "abi/convention.h"
#include "assert_error.h"
#include "executor/executor.h"
#include "harness.h"
#include "runtime/devices.h"
#include "runtime/library.h"

/* The kernels of the test: a table that its loader looks into. */
struct made_kernel {
	const char *name;
	enum mpk_code (*call)(const struct mpk_args *args, struct mpk_value *result,
			      struct mpk_error *err);
	mpk_tvm_function *compiled; /* instead: code of the legacy convention, called as it is */
};

struct made_function_value {
	struct mpk_function base;
	const struct made_kernel *kernel;
};

static const struct made_kernel *made_kernels;

HARNESS_FN enum mpk_code made_call_kernel(struct mpk_function *self, const struct mpk_args *args,
					  struct mpk_value *result, struct mpk_error *err)
{
	const struct made_kernel *k = ((struct made_function_value *)self)->kernel;

	if (k->compiled)
		return mpk_conv_call(MPK_CONV_LEGACY, (void *)(uintptr_t)k->compiled, args, result,
				     err);
	return k->call(args, result, err);
}

HARNESS_FN void made_destroy_kernel(struct mpk_function *self)
{
	free(self);
}

HARNESS_FN bool made_accepts(struct mpk_span kind)
{
	return mpk_span_is(kind, "test.kernels");
}

HARNESS_FN enum mpk_code made_open(struct mpk_node_module *node, struct mpk_error *err)
{
	(void)node;
	(void)err;
	return MPK_OK;
}

HARNESS_FN enum mpk_code made_find(struct mpk_node_module *node, const char *name,
				   struct mpk_function **out, struct mpk_error *err)
{
	struct made_function_value *f;

	(void)node;
	(void)err;
	*out = NULL;
	for (const struct made_kernel *k = made_kernels; k && k->name; k++) {
		if (strcmp(k->name, name) != 0)
			continue;
		f = calloc(1, sizeof *f);
		ck_assert_ptr_nonnull(f);
		f->base = (struct mpk_function){ .refs = 1,
						 .name = k->name,
						 .call = made_call_kernel,
						 .destroy = made_destroy_kernel };
		f->base.address = (void *)(uintptr_t)k->compiled;
		f->base.convention = MPK_CONV_LEGACY;
		f->kernel = k;
		*out = &f->base;
		break;
	}
	return MPK_OK;
}

static const struct mpk_loader made_loader = { .accepts = made_accepts,
					       .open = made_open,
					       .find = made_find };

/* A loaded program. */
struct model {
	struct mpk_node nodes[2];
	struct mpk_tree tree;
	size_t child;
	uint8_t *payload;
	struct mpk_runtime *runtime;
	struct mpk_module *root;
};

HARNESS_FN void model_open_payload(struct model *m, const char *kind, enum mpk_generation gen,
				   struct mpk_span payload, const struct made_kernel *kernels)
{
	struct mpk_host_code code = {
		.tree = &m->tree,
		.gen = gen,
		.convention = gen == MPK_GEN_LEGACY ? MPK_CONV_LEGACY : MPK_CONV_FFI,
	};
	struct mpk_host *host = NULL;
	struct mpk_module *context = NULL;
	struct mpk_error err = { 0 };

	made_kernels = kernels;
	m->child = 1;
	m->nodes[0] = (struct mpk_node){ .kind = mpk_span_str(kind),
					 .payload = payload,
					 .children = &m->child,
					 .child_count = 1 };
	m->nodes[1] = (struct mpk_node){ .kind = mpk_span_str("test.kernels") };
	m->tree = (struct mpk_tree){ .gen = gen, .nodes = m->nodes, .count = 2 };
	ck_assert_ok(mpk_runtime_create(&(struct mpk_runtime_options){ 0 }, &m->runtime, &err),
		     err);
	ck_assert_ok(mpk_executors_add(m->runtime, &err), err);
	ck_assert_ok(mpk_runtime_add_loader(m->runtime, &made_loader, &err), err);
	ck_assert_ok(mpk_host_create(m->runtime, &code, &host, &err), err);
	ck_assert_ok(mpk_node_modules(host, &m->root, &context, &err), err);
	mpk_host_drop(host);
}

HARNESS_FN void model_close(struct model *m)
{
	mpk_module_drop(m->root);
	mpk_runtime_destroy(m->runtime);
	free(m->payload);
	*m = (struct model){ 0 };
}

HARNESS_FN enum mpk_code model_find(struct model *m, const char *name, struct mpk_function **out,
				    struct mpk_error *err)
{
	struct mpk_module_search search = { 0 };

	ck_assert_ok(mpk_module_find(m->root, name, out, &search, err), *err);
	if (!*out)
		*err = search.failure;
	return *out ? MPK_OK : search.failure.code;
}

HARNESS_FN enum mpk_code model_call(struct model *m, const char *name, const struct mpk_value *args,
				    size_t count, struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_function *f = NULL;
	enum mpk_code code = model_find(m, name, &f, err);

	*result = (struct mpk_value){ 0 };
	if (code == MPK_OK)
		code = mpk_function_call(f, &(struct mpk_args){ args, NULL, count }, result, err);
	mpk_function_drop(f);
	return code;
}

#endif
