/* SPDX-License-Identifier: Apache-2.0 */
/* view.c - prepares the contents of a file once for all printers
 *
 * Every payload is decoded and every path is computed, in time linear in the size of the tree,
 * since a hostile file decides how large that is. A module that cannot be decoded stays in the tree
 * with its problem, so that the rest can still be shown. */
#include <stdio.h>
#include <string.h>

#include "base/strmap.h"
#include "code/format.h"
#include "elf/wants.h"
#include "hostcode/compiled.h"
#include "hostcode/registered.h"
#include "model/device_code.h"
#include "model/view.h"

/* The first importer of a node, and the node's position among its imports. */
struct step {
	size_t parent, position;
	bool known;
};

/* Writes the path of a node from its end. A path that does not fit is cut at the front, as
 * mpk_tree_path does. A step takes at least two characters, so few steps fit. */
static void set_path(const struct step *steps, size_t node, char out[MPK_VIEW_PATH])
{
	size_t at = MPK_VIEW_PATH - 1, start = node;
	bool cut = false;
	char text[32];

	out[at] = '\0';
	while (node && !cut) {
		int n = steps[node].known
				? snprintf(text, sizeof text, "/%zu", steps[node].position)
				: snprintf(text, sizeof text, "#%zu", node);

		cut = (size_t)n > at;
		if (cut)
			break;
		at -= (size_t)n;
		memcpy(out + at, text, (size_t)n);
		node = steps[node].known ? steps[node].parent : 0;
	}
	if (start == 0)
		out[--at] = '/';
	if (cut)
		memcpy(out + at, "...", 3);
	memmove(out, out + at, MPK_VIEW_PATH - at);
}

/* Deep paths are cut. In a chain of single imports they are all equal, so they are stored once. */
static const char *keep_path(const struct mpk_view *view, const struct step *steps, size_t node,
			     struct mpk_arena *arena)
{
	const char *above = steps[node].known ? view->nodes[steps[node].parent].path : "/";
	char path[MPK_VIEW_PATH];

	set_path(steps, node, path);
	return strcmp(path, above) == 0 ? above : mpk_arena_copy(arena, path, strlen(path));
}

/* Children come after their parents, so one pass sets all paths. */
static enum mpk_code set_paths(struct mpk_view *view, struct mpk_arena *arena,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct step *steps = mpk_arena_array(&scratch, view->count, sizeof *steps);

	MPK_TRY_ALLOC(steps, err);
	for (size_t i = 0; i < view->count; i++) {
		const struct mpk_node *n = view->nodes[i].node;

		for (size_t j = 0; j < n->child_count; j++)
			if (!steps[n->children[j]].known)
				steps[n->children[j]] = (struct step){ i, j, true };
		view->nodes[i].path = keep_path(view, steps, i, arena);
		MPK_TRY_ALLOC(view->nodes[i].path, err);
	}
	return MPK_OK;
}

/* Stores a problem outside the node: trees of a hundred thousand modules are legal, and an error is
 * large. */
static enum mpk_code keep_problem(struct mpk_view_node *n, struct mpk_error *problem,
				  struct mpk_arena *arena, struct mpk_error *err)
{
	mpk_error_at_path(problem, n->path);
	n->problem = problem->code == MPK_E_NOMEM
			     ? NULL
			     : mpk_arena_keep(arena, problem, 1, sizeof *problem);
	MPK_TRY_ALLOC(n->problem, err);
	return MPK_OK;
}

/* Decodes one payload. If that fails, the node keeps the problem; a module of unknown kind has
 * none, as nothing is known to be wrong with it. */
static enum mpk_code view_decode(struct mpk_view_node *n, enum mpk_generation gen,
				 struct mpk_arena *arena, struct mpk_error *err)
{
	static const struct mpk_payload none = { .tag = MPK_PAYLOAD_EMPTY };
	struct mpk_error problem;
	struct mpk_payload payload;

	n->kind = mpk_kind_find(n->node->kind);
	n->payload = &none;
	if (!n->kind || n->node->opaque)
		return MPK_OK;
	if (mpk_payload_decode(n->kind, gen, mpk_source_of(n->node), arena, &payload, &problem) !=
	    MPK_OK)
		return keep_problem(n, &problem, arena, err);
	n->payload = mpk_arena_keep(arena, &payload, 1, sizeof payload);
	MPK_TRY_ALLOC(n->payload, err);
	n->decoded = true;
	if (mpk_models_of(n->payload, arena, &n->models, &problem) == MPK_OK)
		return MPK_OK;
	return keep_problem(n, &problem, arena, err);
}

/* --- types of inputs ----------------------------------------------------------------------------
 *
 * TVM omits the argument checks of inputs that are weights. Such an input is a register that no
 * instruction writes. If it is passed to a kernel of the file, the kernel's error messages give its
 * type. If kernels disagree, the type stays unknown. Compiled functions are first converted back to
 * byte code, if their code is understood: then the same rules apply to them, also for results. */

/* One function while its calls are read. */
struct inference {
	const struct mpk_relax *x;
	const struct mpk_relax_func *f;
	const struct mpk_signature *const *host;
	const struct mpk_strmap *by_name; /* maps names to indexes into host */
	struct mpk_param *inputs;         /* inputs of its signature, to be filled */
	size_t count;
	bool *is_open; /* for each input: its type is unknown, or known only from a kernel */
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

/* Notes that input `input` is passed to a kernel with this type. */
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

/* Reads the calls of a function. A register that is written no longer holds its input.
 * @left    instructions that may still be read: functions of a hostile file may share them */
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

/* Makes a signature with the missing types filled in. */
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

/* Converts compiled functions to byte code, and reads their signatures. */
static enum mpk_code read_compiled(const struct mpk_view *view, struct mpk_view_node *node,
				   const struct mpk_wants *wants, struct mpk_relax *out,
				   struct mpk_error *err)
{
	struct mpk_signature *items;
	size_t count;

	MPK_TRY(mpk_compiled_read(mpk_view_relax(node), view->image, wants, view->arena, out, err));
	MPK_TRY_ARRAY(items, view->arena, out->func_count + 1, err);
	MPK_TRY(mpk_relax_signatures(out, view->arena, items, &count, err));
	if (count == node->models.count) /* they are the same functions */
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
	/* signatures are those of callable functions, in the order of the table */
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

/* Opens the library's code, if some of its models are compiled.
 * @any     false if there are none, or if the code cannot be read, which --verify reports */
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
	code = mpk_elf_open_mapped(view->image->bytes, 0, elf, NULL, &problem);
	if (code == MPK_OK)
		code = mpk_wants_read(elf, wants, &problem);
	*any = code == MPK_OK;
	return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}

/* Runs after payloads are decoded and host functions known; linear in both. A function with a state
 * gets its kind from the builtins that compiled code looks up. */
static enum mpk_code view_infer(const struct mpk_view *view, struct mpk_error *err)
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
		const struct mpk_relax *own = mpk_view_relax(node);
		struct mpk_relax x;

		if (!own)
			continue;
		x = *own;
		if (has_code && is_compiled(node))
			MPK_TRY(read_compiled(view, node, &wants, &x, err));
		if (view->host)
			MPK_TRY(infer_node(view, node, &by_name, &x, err));
	}
	return MPK_OK;
}

/* --- the view ----------------------------------------------------------------------------------- */

/* Images that getters name are read once. GPU code of any library, which may be gigabytes, is read
 * when shown. */
static enum mpk_code read_embedded(const struct mpk_image *image, struct mpk_arena *arena,
				   const struct mpk_view_code **out, struct mpk_error *err)
{
	struct mpk_view_code *list = mpk_arena_array(arena, image->embedded_count, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 0; i < image->embedded_count; i++) {
		const struct mpk_image_code *at = &image->embedded[i];

		list[i].at = at;
		list[i].path = mpk_arena_printf(arena, MPK_EMBEDDED_PATH "%s", at->name);
		MPK_TRY_ALLOC(list[i].path, err);
		/* outside the tree no kind tells the format, so the bytes do */
		MPK_TRY(mpk_code_info_read(at->bytes, at->off, NULL, arena, &list[i].code, err));
	}
	*out = list;
	return MPK_OK;
}

enum mpk_code mpk_view_init(struct mpk_view *view, const char *name, uint64_t file_bytes,
			    const struct mpk_image *image, const struct mpk_tree *tree,
			    struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_view v = {
		.name = name, .file_bytes = file_bytes, .image = image, .arena = arena
	};

	if (tree && image->has_blob) {
		v.tree = tree;
		v.count = tree->count;
		MPK_TRY_ARRAY(v.nodes, arena, v.count, err);
	}
	for (size_t i = 0; i < v.count; i++)
		v.nodes[i].node = &tree->nodes[i];
	MPK_TRY(mpk_host_signatures(image, arena, &v.host, err));
	MPK_TRY(read_embedded(image, arena, &v.embedded, err));
	MPK_TRY(set_paths(&v, arena, err));
	for (size_t i = 0; i < v.count; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): no nodes without a tree */
		MPK_TRY(view_decode(&v.nodes[i], tree->gen, arena, err));
	MPK_TRY(view_infer(&v, err));
	/* last, as it uses the models and kernels of all modules */
	MPK_TRY(mpk_view_read_names(&v, err));
	*view = v;
	return MPK_OK;
}

enum mpk_code mpk_view_read_registered(struct mpk_view *view, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct mpk_global_names *out;
	enum mpk_code code;

	if (!view->image->registers || view->registered)
		return MPK_OK;
	MPK_TRY_ARRAY(out, view->arena, 1, err);
	code = mpk_elf_open_mapped(view->image->bytes, 0, &elf, NULL, NULL);
	if (code == MPK_OK)
		code = mpk_registered_read(&elf, view->arena, out, err);
	if (code == MPK_OK)
		view->registered = out;
	return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}

struct mpk_span mpk_view_format(const struct mpk_view_node *node)
{
	const struct mpk_kernels *k = mpk_view_kernels(node);

	return k ? k->fmt : (struct mpk_span){ 0 };
}

const char *mpk_view_title(const struct mpk_view_node *node)
{
	return node->kind ? node->kind->title : "unknown kind";
}

const char *mpk_view_role(const struct mpk_view_node *node)
{
	static const char *const roles[] = {
		[MPK_ROLE_HOST] = "host",         [MPK_ROLE_DEVICE] = "device",
		[MPK_ROLE_EXECUTOR] = "executor", [MPK_ROLE_DATA] = "data",
		[MPK_ROLE_EXTERN] = "extern",     [MPK_ROLE_SOURCE] = "source",
		[MPK_ROLE_UNKNOWN] = "unknown",
	};

	return roles[node->kind ? node->kind->role : MPK_ROLE_UNKNOWN];
}

/* --- loaders ---------------------------------------------------------------------------- */

enum mpk_code mpk_view_loaders(const struct mpk_view *view, const struct mpk_span **out,
			       size_t *count, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap known = { 0 };
	struct mpk_span *kinds = mpk_arena_array(view->arena, view->count, sizeof *kinds);
	size_t n = 0;

	MPK_TRY_ALLOC(kinds, err);
	for (size_t i = 0; i < view->count; i++) {
		const struct mpk_node *node = view->nodes[i].node;
		int added = node->is_lib ? 0 : mpk_strmap_put(&known, node->kind, 0, NULL);

		MPK_TRY_ALLOC(added >= 0, err);
		if (added)
			kinds[n++] = node->kind;
	}
	*out = kinds;
	*count = n;
	return MPK_OK;
}

enum mpk_code mpk_view_targets(const struct mpk_view *view, const struct mpk_view_node *node,
			       const struct mpk_code_target **out, size_t *count,
			       struct mpk_error *err)
{
	const struct mpk_kernels *k = mpk_view_kernels(node);
	struct mpk_error problem = { 0 };

	*count = 0;
	/* other layouts have a source for each kernel and no
	 * container whose header names devices */
	if (!k || k->layout != MPK_KERNELS_PLAIN || !mpk_code_kind_has_targets(node->node->kind))
		return MPK_OK;
	if (mpk_code_targets(k->data, view->arena, out, count, &problem) != MPK_OK)
		*count = 0; /* --verify reports why */
	return problem.code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}
