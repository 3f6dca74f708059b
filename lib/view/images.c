/* SPDX-License-Identifier: Apache-2.0 */
/* images.c - which tensors of host functions are OpenCL images
 *
 * Host code checks shapes and types, but not whether a tensor is an image: a driver crashes where it is
 * not. The kernels say so. TVM calls the kernels of function f "f_kernel", "f_kernel_1", ..., and their
 * parameters as those of the function, with "_ptr" behind.
 */
#include <ctype.h>
#include <string.h>

#include "code/param.h"
#include "view/node_info.h"

static bool is_kernel_of(struct mpk_span kernel, struct mpk_span function)
{
	static const char suffix[] = "_kernel";
	size_t i = function.len + sizeof suffix - 1;

	if (kernel.len < i || memcmp(kernel.data, function.data, function.len) != 0 ||
	    memcmp(kernel.data + function.len, suffix, sizeof suffix - 1) != 0)
		return false;
	if (i < kernel.len) {
		if (kernel.data[i] != '_')
			return false;
		i++;
	}
	while (i < kernel.len && isdigit(kernel.data[i]))
		i++;
	return i == kernel.len;
}

static bool is_param_of(struct mpk_span kernel, struct mpk_span function)
{
	return mpk_span_equal(kernel, function) ||
	       (kernel.len == function.len + 4 && function.len &&
		memcmp(kernel.data, function.data, function.len) == 0 &&
		memcmp(kernel.data + function.len, "_ptr", 4) == 0);
}

/* One function's tensors, while kernels are asked for them. */
struct tensors {
	struct mpk_param *inputs;
	size_t count;
	struct mpk_arena *arena;
	bool failed, found;
};

/* Images of up to three dimensions lie the same way in every scope. */
static const char *scope_of(const struct mpk_type *t)
{
	return t->ranked && t->ndim <= 3 ? "texture" : "";
}

static void ask_kernel(const struct mpk_code_info *code, size_t kernel, void *arg)
{
	struct tensors *t = arg;
	const struct mpk_code_param *params;

	if (mpk_code_info_params(code, kernel, t->arena, &params, NULL) != MPK_OK) {
		t->failed = true;
		return;
	}
	for (size_t k = 0; k < code->kernels[kernel].param_count; k++)
		for (size_t i = 0; params[k].kind == MPK_CODE_PARAM_IMAGE && i < t->count; i++) {
			struct mpk_type *type = &t->inputs[i].type;

			if (type->kind != MPK_TYPE_TENSOR ||
			    !is_param_of(params[k].name, t->inputs[i].name))
				continue;
			type->scope = scope_of(type);
			t->found = true;
		}
}

static void ask_kernels(const struct mpk_view *view, struct mpk_span function, struct tensors *t)
{
	for (size_t n = 0; n < view->count; n++) {
		const struct mpk_view_node *node = &view->nodes[n];
		const struct mpk_kernels *table = mpk_view_kernels(node);

		if (!table || !mpk_span_is(node->node->kind, "opencl"))
			continue;
		for (size_t i = 0; i < table->function_count; i++)
			if (is_kernel_of(table->functions[i].key, function))
				mpk_node_info_each(node->info, table, i, ask_kernel, t);
	}
}

/* Replaces *s by a signature that has the scopes, where there are. */
static enum mpk_code mark(const struct mpk_view *view, const struct mpk_signature **s,
			  struct mpk_error *err)
{
	struct tensors t = { .count = (*s)->input_count, .arena = view->arena };
	struct mpk_signature *copy;

	t.inputs = mpk_arena_keep(view->arena, (*s)->inputs, t.count, sizeof *t.inputs);
	MPK_TRY_ALLOC(t.inputs, err);
	ask_kernels(view, (*s)->name, &t);
	if (t.failed)
		return mpk_fail_nomem(err);
	if (!t.found)
		return MPK_OK;
	copy = mpk_arena_alloc(view->arena, sizeof *copy);
	MPK_TRY_ALLOC(copy, err);
	*copy = **s;
	copy->inputs = t.inputs;
	*s = copy;
	return MPK_OK;
}

static bool has_images(const struct mpk_view *view)
{
	for (size_t n = 0; n < view->count; n++) {
		const struct mpk_kernels *k = mpk_view_kernels(&view->nodes[n]);

		if (k && mpk_span_is(view->nodes[n].node->kind, "opencl") && k->data.len &&
		    memmem(k->data.data, k->data.len, " image", 6))
			return true;
	}
	return false;
}

enum mpk_code mpk_view_mark_images(struct mpk_view *view, struct mpk_error *err)
{
	const struct mpk_signature **list;

	if (!has_images(view))
		return MPK_OK;
	list = mpk_arena_keep(view->arena, view->host, view->image->function_count, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < view->image->function_count; i++)
		if (list[i])
			MPK_TRY(mark(view, &list[i], err));
	view->host = list;
	return MPK_OK;
}
