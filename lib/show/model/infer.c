/* SPDX-License-Identifier: Apache-2.0 */
/* infer.c - what kernels tell of arguments of functions: types of a model's inputs that its byte code does not check, and
 * which tensors of host functions are OpenCL images
 *
 * TVM leaves out the checks of weights that are inputs. Such an input is a register that nobody writes; where a kernel
 * of the file gets it, the errors of the kernel say its type. Kernels that disagree say nothing. Compiled functions are
 * read back as byte code first, where their code is understood: then all that is known of byte code is known of them,
 * what they return among it.
 *
 * Host code checks shapes and types, but not whether a tensor is an image: a driver crashes where it is
 * not. The kernels say so. TVM calls the kernels of function f "f_kernel", "f_kernel_1", ..., and their
 * parameters as those of the function, with "_ptr" behind.
 */
#include "model/view.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "code/info.h"
#include "elf/wants.h"
#include "hostcode/compiled.h"
#include "model/node_info.h"

/* One function while its calls are read. */
struct inference {
	const struct mpk_relax *x;
	const struct mpk_relax_func *f;
	const struct mpk_signature *const *host;
	const struct mpk_strmap *by_name; /* index into host */
	struct mpk_param *inputs;         /* its signature's, to be filled */
	size_t count;
	bool *is_open; /* of each input: its type is not known, or only from a kernel */
};

static bool is_fixed(const struct mpk_type *t)
{
	if (t->kind != MPK_TYPE_TENSOR || !t->ranked || !t->dtype.bits || t->scope)
		return false;
	for (size_t i = 0; i < t->ndim; i++)
		if (mpk_type_symbol(t, i).len)
			return false;
	return true;
}

static bool is_same(const struct mpk_type *a, const struct mpk_type *b)
{
	if (a->ndim != b->ndim || !mpk_dtype_equal(a->dtype, b->dtype))
		return false;
	for (size_t i = 0; i < a->ndim; i++)
		if (a->shape[i] != b->shape[i])
			return false;
	return true;
}

/* Input `input` goes to a kernel as this. */
static void infer_take(struct inference *n, size_t input, const struct mpk_type *t)
{
	struct mpk_type *own = &n->inputs[input].type;

	if (own->kind == MPK_TYPE_ANY) {
		*own = mpk_type_tensor(t->dtype, t->shape, t->ndim, NULL);
	} else if (!is_same(own, t)) {
		*own = (struct mpk_type){ 0 };
		n->is_open[input] = false;
	}
}

static void infer_call(struct inference *n, const struct mpk_relax_instr *instr)
{
	const struct mpk_signature *kernel;
	size_t at;

	if (instr->func < 0 || (uint64_t)instr->func >= n->x->func_count ||
	    !mpk_strmap_find(n->by_name, n->x->funcs[instr->func].name, &at))
		return;
	kernel = n->host[at];
	for (size_t i = 0; kernel && i < instr->arg_count && i < kernel->input_count; i++) {
		struct mpk_relax_arg arg = mpk_relax_arg(instr, i);

		if (arg.kind == MPK_RELAX_ARG_REG && arg.value >= 0 &&
		    (uint64_t)arg.value < n->count && n->is_open[arg.value] &&
		    is_fixed(&kernel->inputs[i].type))
			infer_take(n, (size_t)arg.value, &kernel->inputs[i].type);
	}
}

/* An input whose register is written is no longer the input.
 * @left    instructions that may still be read: functions may claim the same ones */
static void infer_function(struct inference *n, size_t *left)
{
	struct mpk_relax_instr instr;

	for (int64_t i = n->f->start; i < n->f->end && *left; i++, --*left) {
		if (mpk_relax_instr(n->x, (size_t)i, &instr, NULL) != MPK_OK)
			return;
		if (instr.op != MPK_RELAX_CALL)
			continue;
		infer_call(n, &instr);
		if (instr.reg >= 0 && (uint64_t)instr.reg < n->count)
			n->is_open[instr.reg] = false;
	}
}

/* The signature with types in the place of those that it lacks. */
static enum mpk_code infer_signature(struct inference *n, struct mpk_signature *s, size_t *left,
				     struct mpk_arena *arena, struct mpk_error *err)
{
	bool any = false;

	n->count = s->input_count;
	n->is_open = mpk_arena_array(arena, n->count + 1, sizeof *n->is_open);
	n->inputs = mpk_arena_array(arena, n->count + 1, sizeof *n->inputs);
	MPK_TRY_ALLOC(n->is_open && n->inputs, err);
	for (size_t i = 0; i < n->count; i++) {
		n->inputs[i] = s->inputs[i];
		n->is_open[i] = s->inputs[i].type.kind == MPK_TYPE_ANY;
		any |= n->is_open[i];
	}
	if (!any)
		return MPK_OK;
	infer_function(n, left);
	s->inputs = n->inputs;
	return MPK_OK;
}

static bool is_compiled(const struct mpk_view_node *n)
{
	const struct mpk_relax *x = mpk_view_relax(n);
	bool any = false;

	for (size_t i = 0; x && i < x->func_count && !any; i++)
		any = x->funcs[i].kind == MPK_RELAX_TIR;
	return any;
}

/* Its compiled functions as byte code, and signatures read from that. */
static enum mpk_code read_compiled(const struct mpk_view *view, struct mpk_view_node *node,
				   const struct mpk_wants *wants, struct mpk_relax *out,
				   struct mpk_error *err)
{
	struct mpk_signature *items;
	size_t count;

	MPK_TRY(mpk_compiled_read(mpk_view_relax(node), view->image, wants, view->arena, out, err));
	items = mpk_arena_array(view->arena, out->func_count + 1, sizeof *items);
	MPK_TRY_ALLOC(items, err);
	MPK_TRY(mpk_relax_signatures(out, view->arena, items, &count, err));
	if (count == node->models.count) /* of the same functions */
		node->models.items = items;
	return MPK_OK;
}

static enum mpk_code infer_node(const struct mpk_view *view, struct mpk_view_node *node,
				const struct mpk_strmap *by_name, const struct mpk_relax *x,
				struct mpk_error *err)
{
	size_t left = mpk_relax_instr_count(x), at = 0;
	struct mpk_signature *items =
		mpk_arena_array(view->arena, node->models.count + 1, sizeof *items);

	MPK_TRY_ALLOC(items, err);
	/* signatures are those of functions that can be called, in the order of the table */
	for (size_t i = 0; i < x->func_count && at < node->models.count; i++) {
		struct inference n = {
			.x = x, .f = &x->funcs[i], .host = view->host, .by_name = by_name
		};

		if (x->funcs[i].kind == MPK_RELAX_PACKED)
			continue;
		items[at] = node->models.items[at];
		if (x->funcs[i].kind == MPK_RELAX_VM && x->funcs[i].start >= 0)
			MPK_TRY(infer_signature(&n, &items[at], &left, view->arena, err));
		at++;
	}
	if (at == node->models.count)
		node->models.items = items;
	return MPK_OK;
}

/* What the code of the library looks up, for those of its models that are compiled.
 * @any     false: there are none, or the code does not read, of which --verify has an error */
static enum mpk_code open_code(const struct mpk_view *view, struct mpk_elf *elf,
			       struct mpk_wants *wants, bool *any, struct mpk_error *err)
{
	struct mpk_error problem;
	enum mpk_code code;

	*any = false;
	for (size_t i = 0; i < view->count; i++)
		*any |= is_compiled(&view->nodes[i]);
	*any = *any && view->image->container == MPK_CONTAINER_ELF_SO;
	if (!*any)
		return MPK_OK;
	code = mpk_elf_open(view->image->bytes, 0, elf, &problem);
	if (code == MPK_OK)
		code = mpk_wants_read(elf, wants, &problem);
	*any = code == MPK_OK;
	return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}

enum mpk_code mpk_view_infer(const struct mpk_view *view, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap by_name = { 0 };
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	MPK_CLEANUP(mpk_wants_fini) struct mpk_wants wants = { 0 };
	const struct mpk_image *image = view->image;
	bool has_code;

	MPK_TRY(open_code(view, &elf, &wants, &has_code, err));
	for (size_t i = 0; view->host && view->count && i < image->function_count; i++)
		MPK_TRY_ALLOC(mpk_strmap_put(&by_name, mpk_span_str(image->functions[i].name), i,
					     NULL) >= 0,
			      err);
	for (size_t i = 0; i < view->count; i++) {
		struct mpk_view_node *node = &view->nodes[i];
		struct mpk_relax x;

		if (!mpk_view_relax(node))
			continue;
		x = *mpk_view_relax(node);
		if (has_code && is_compiled(node))
			MPK_TRY(read_compiled(view, node, &wants, &x, err));
		if (view->host)
			MPK_TRY(infer_node(view, node, &by_name, &x, err));
	}
	return MPK_OK;
}

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
