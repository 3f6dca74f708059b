/* SPDX-License-Identifier: Apache-2.0 */
/* images.c - which tensors of host functions are OpenCL images
 *
 * Host code checks shapes and types, but not whether a tensor is an image: a driver crashes where it is
 * not. The kernels say so. TVM calls the kernels of function f "f_kernel", "f_kernel_1", ..., and their
 * parameters as those of the function, with "_ptr" behind.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "code/param.h"
#include "model/node_info.h"

/* --- which kernels are a function's --------------------------------------------------------- */

/* A kernel that a function's name begins. */
struct kernel {
	struct mpk_span function;
	const struct mpk_view_node *node;
	size_t index; /* in the node's table */
	size_t order;
};

/* Those of all modules, by function: there may be as many functions as kernels. */
struct kernels {
	struct kernel *items;
	size_t count;
};

/* "f" of "f_kernel", "f_kernel_" and "f_kernel_1"; false: the name is none of these. */
static bool function_of(struct mpk_span kernel, struct mpk_span *out)
{
	static const char suffix[] = "_kernel";
	size_t n = sizeof suffix - 1, end = kernel.len;

	while (end && isdigit(kernel.data[end - 1]))
		end--;
	if (end && kernel.data[end - 1] == '_')
		end--;
	else if (end < kernel.len)
		return false;
	if (end < n || memcmp(kernel.data + end - n, suffix, n) != 0)
		return false;
	*out = mpk_span_of(kernel.data, end - n);
	return true;
}

/* By function, then in the order of the file: qsort is not stable. */
static int images_by_function(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;
	int order = mpk_span_compare(x->function, y->function);

	return order ? order : (x->order > y->order) - (x->order < y->order);
}

static bool is_opencl(const struct mpk_view_node *node)
{
	return mpk_view_kernels(node) && mpk_span_is(node->node->kind, "opencl");
}

static enum mpk_code list_kernels(const struct mpk_view *view, struct mpk_arena *arena,
				  struct kernels *out, struct mpk_error *err)
{
	size_t most = 0;

	for (size_t n = 0; n < view->count; n++)
		if (is_opencl(&view->nodes[n]))
			most += mpk_view_kernels(&view->nodes[n])->function_count;
	*out = (struct kernels){ .items = mpk_arena_array(arena, most, sizeof *out->items) };
	MPK_TRY_ALLOC(out->items, err);
	for (size_t n = 0; n < view->count; n++) {
		const struct mpk_view_node *node = &view->nodes[n];
		const struct mpk_kernels *table = mpk_view_kernels(node);

		for (size_t i = 0; is_opencl(node) && i < table->function_count; i++) {
			struct kernel k = { .node = node, .index = i, .order = out->count };

			if (function_of(table->functions[i].key, &k.function))
				out->items[out->count++] = k;
		}
	}
	if (out->count)
		qsort(out->items, out->count, sizeof *out->items, images_by_function);
	return MPK_OK;
}

/* --- what they say -------------------------------------------------------------------------- */

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

static void ask_kernels(const struct kernels *all, struct mpk_span function, struct tensors *t)
{
	/* order 0 is the least, so the search finds the first kernel of the function */
	const struct kernel key = { .function = function };
	size_t at = mpk_lower_bound(all->items, all->count, sizeof key, &key, images_by_function);

	for (; at < all->count && mpk_span_equal(all->items[at].function, function); at++) {
		const struct kernel *k = &all->items[at];

		mpk_node_info_each(k->node->info, mpk_view_kernels(k->node), k->index, ask_kernel,
				   t);
	}
}

/* Replaces *s by a signature that has the scopes, where there are. */
static enum mpk_code mark(const struct kernels *all, struct mpk_arena *arena,
			  const struct mpk_signature **s, struct mpk_error *err)
{
	struct tensors t = { .count = (*s)->input_count, .arena = arena };
	struct mpk_signature *copy;

	t.inputs = mpk_arena_keep(arena, (*s)->inputs, t.count, sizeof *t.inputs);
	MPK_TRY_ALLOC(t.inputs, err);
	ask_kernels(all, (*s)->name, &t);
	if (t.failed)
		return mpk_fail_nomem(err);
	/* most functions have no image: theirs is left as it is */
	if (!t.found)
		return MPK_OK;
	copy = mpk_arena_alloc(arena, sizeof *copy);
	MPK_TRY_ALLOC(copy, err);
	*copy = **s;
	copy->inputs = t.inputs;
	*s = copy;
	return MPK_OK;
}

/* A search in the source is cheap and most files have no image:
 * then no kernel's parameters are read. */
static bool has_images(const struct mpk_view *view)
{
	for (size_t n = 0; n < view->count; n++) {
		const struct mpk_kernels *k = mpk_view_kernels(&view->nodes[n]);

		if (is_opencl(&view->nodes[n]) && k->data.len &&
		    memmem(k->data.data, k->data.len, " image", 6))
			return true;
	}
	return false;
}

enum mpk_code mpk_view_mark_images(struct mpk_view *view, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	const struct mpk_signature **list;
	struct kernels all;

	if (!has_images(view))
		return MPK_OK;
	list = mpk_arena_keep(view->arena, view->host, view->image->function_count, sizeof *list);
	MPK_TRY_ALLOC(list, err);
	MPK_TRY(list_kernels(view, &scratch, &all, err));
	for (size_t i = 0; i < view->image->function_count; i++)
		if (list[i])
			MPK_TRY(mark(&all, view->arena, &list[i], err));
	view->host = list;
	return MPK_OK;
}
