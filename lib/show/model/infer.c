/* SPDX-License-Identifier: Apache-2.0 */
/* infer.c - types of a model's inputs that its byte code does not check: those of the kernels that take them
 *
 * TVM leaves out the checks of weights that are inputs. Such an input is a register that nobody writes; where a kernel
 * of the file gets it, the errors of the kernel say its type. Kernels that disagree say nothing. Compiled functions are
 * read back as byte code first, where their code is understood: then all that is known of byte code is known of them,
 * what they return among it.
 */
#include "model/view.h"

#include "base/strmap.h"
#include "elf/wants.h"
#include "hostcode/compiled.h"

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
