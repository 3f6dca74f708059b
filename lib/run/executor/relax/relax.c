/* SPDX-License-Identifier: Apache-2.0 */
/* relax.c - an executable of the Relax VM as a module: functions, constants, and builtins as values
 *
 * A function is found by its name; if callees are missing, the error lists all of them. Constants
 * are made at their first use: a model of gigabytes whose function needs a few constants loads only
 * these.
 *
 * Builtins are listed in program/relax_builtins.def. Their functions are in four files, by what
 * they work on: shapes, memory, closures, selections; those of caches and other states are in
 * executor/state. Byte code finds them by name when it is loaded; compiled functions find them as
 * globals of the runtime. Both pass arguments from the model, so each argument's kind is checked.
 * Error texts are those of TVM's own builtins. */
#include "executor/executor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/profile.h"
#include "executor/relax/internal/relax.h"
#include "executor/relax/state_globals.h"
#include "runtime/library.h"
#include "runtime/runtime.h"
#include "text/escape.h"

/* --- the whole ----------------------------------------------------------------------------- */

static size_t relax_find_function(const struct mpk_relax_program *p, const char *name)
{
	for (size_t i = 0; i < p->callee_count; i++)
		if (p->x.funcs[i].kind != MPK_RELAX_PACKED && mpk_span_is(p->callees[i].name, name))
			return i;
	return p->callee_count;
}

/* --- what is missing ----------------------------------------------------------------------- */

struct needs {
	struct mpk_relax_program *p;
	bool *seen;
	size_t *waiting;
	size_t waiting_count, missing;
	bool is_disco; /* a missing function belongs to TVM's multi-process sessions (Disco) */
	struct mpk_strbuf names;
};

static void needs_fini(struct needs *n)
{
	free(n->seen);
	free(n->waiting);
	mpk_strbuf_fini(&n->names);
}

/* A callee that was missing when the program was read may be registered now. */
static enum mpk_code need_callee(struct needs *n, size_t callee, struct mpk_error *err)
{
	const struct mpk_relax_callee *c = &n->p->callees[callee];

	if (n->seen[callee])
		return MPK_OK;
	n->seen[callee] = true;
	if (c->action == MPK_ACTION_MISSING)
		MPK_TRY(mpk_relax_find_registered(n->p, callee, err));
	if (c->action == MPK_ACTION_CALL)
		n->waiting[n->waiting_count++] = callee;
	/* collects all missing functions, so that one error lists them */
	n->is_disco |=
		c->action == MPK_ACTION_MISSING && mpk_span_starts(c->name, "runtime.disco.");
	if (c->action == MPK_ACTION_MISSING)
		mpk_strbuf_printf(&n->names, "%s%s", n->missing++ ? ", " : "", MPK_QUOTE(c->name));
	return MPK_OK;
}

static enum mpk_code need_all_of(struct needs *n, const struct mpk_relax_callee *c,
				 struct mpk_error *err)
{
	for (size_t at = c->start; at < c->end; at++) {
		const struct mpk_relax_step *s = &n->p->steps[at];

		/* later values of the enum do not call anything */
		if (s->action > MPK_ACTION_MISSING)
			continue;
		MPK_TRY(need_callee(n, s->callee, err));
		for (uint32_t i = 0; i < s->count; i++)
			if (n->p->operands[s->first + i].kind == MPK_OPERAND_FUNCTION)
				MPK_TRY(need_callee(n, (size_t)n->p->operands[s->first + i].value,
						    err));
	}
	return MPK_OK;
}

static enum mpk_code relax_check_function(struct mpk_relax_program *p, size_t function,
					  struct mpk_error *err)
{
	MPK_CLEANUP(needs_fini) struct needs n = { .p = p };

	n.seen = calloc(p->callee_count + 1, sizeof *n.seen);
	n.waiting = calloc(p->callee_count + 1, sizeof *n.waiting);
	if (!n.seen || !n.waiting)
		return mpk_fail_nomem(err);
	MPK_TRY(need_callee(&n, function, err));
	while (n.waiting_count)
		MPK_TRY(need_all_of(&n, &p->callees[n.waiting[--n.waiting_count]], err));
	if (!n.missing)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_LOAD,
		"'%s' needs %zu function%s that neither the library nor this program has: %s%s",
		MPK_QUOTE(p->callees[function].name), n.missing, n.missing == 1 ? "" : "s",
		mpk_strbuf_text(&n.names),
		n.is_disco
			? "; runtime.disco is of sessions of several processes, which only TVM has"
			: "");
}

/* --- builtins ----------------------------------------------------------------------------------- */

/* Every builtin, with the family that implements it. */
static const struct {
	const char *name;
	const struct mpk_relax_builtins *family;
} names[] = {
#if !MPK_RUN_STATE
#define MPK_RELAX_STATE(...)
#endif
#define MPK_RELAX_BUILTIN(name, effect, family, call, typing)                                      \
	{ name, &mpk_relax_##family##_builtins },
#include "program/relax_builtins.def"
#undef MPK_RELAX_BUILTIN
};

const struct mpk_relax_builtin *mpk_relax_builtin_at(size_t i)
{
	size_t row = 0;

	if (i >= MPK_ARRAY_COUNT(names))
		return NULL;
	/* the rows of a family are in the order of this table */
	while (strcmp(names[i].family->rows[row].name, names[i].name) != 0)
		row++;
	return &names[i].family->rows[row];
}

const struct mpk_relax_builtin *mpk_relax_builtin_find(struct mpk_span name)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		if (mpk_span_is(name, names[i].name))
			return mpk_relax_builtin_at(i);
	return NULL;
}

/* A builtin as a value. Its row has no machine: callers pass it as the first argument if needed. */
struct builtin_function {
	struct mpk_function base;
	const struct mpk_relax_builtin *builtin;
	struct mpk_runtime *runtime; /* runtime for calls that do not come from module code; NULL:
				      * there are no such calls */
};

static enum mpk_code call_builtin(struct mpk_function *self, const struct mpk_args *args,
				  struct mpk_value *result, struct mpk_error *err)
{
	struct builtin_function *f = (struct builtin_function *)self;

	struct mpk_context before = mpk_context_get(), own = before;
	enum mpk_code code;

	if (before.runtime || !f->runtime)
		return f->builtin->call(args->values, args->count, result, err);
	own.runtime = f->runtime;
	(void)mpk_context_swap(own);
	code = f->builtin->call(args->values, args->count, result, err);
	(void)mpk_context_swap(before);
	return code;
}

static void destroy_builtin(struct mpk_function *self)
{
	free(self);
}

static void *cells_of(const char *builtin)
{
	const struct mpk_relax_cells *row = mpk_relax_cells;

	while (row->name && strcmp(row->name, builtin) != 0)
		row++;
	return (void *)(uintptr_t)row->code;
}

enum mpk_code mpk_relax_builtin_function(const struct mpk_relax_builtin *builtin,
					 struct mpk_function **out, struct mpk_error *err)
{
	struct builtin_function *f = calloc(1, sizeof *f);

	if (!f)
		return mpk_fail_nomem(err);
	f->base = (struct mpk_function){
		.refs = 1,
		.name = builtin->name,
		.call = call_builtin,
		.destroy = destroy_builtin,
		.cells = cells_of(builtin->name),
	};
	f->builtin = builtin;
	*out = &f->base;
	return MPK_OK;
}

enum mpk_code mpk_relax_add_globals(struct mpk_runtime *runtime, struct mpk_error *err)
{
	const struct mpk_relax_builtin *b;

	for (size_t i = 0; (b = mpk_relax_builtin_at(i)) != NULL; i++) {
		struct mpk_function *f;

		MPK_TRY(mpk_relax_builtin_function(b, &f, err));
		((struct builtin_function *)f)->runtime = runtime;
		MPK_TRY(mpk_runtime_add_function(runtime, f, err));
	}
#if MPK_RUN_STATE
	MPK_TRY(mpk_runtime_add_globals(runtime, mpk_state_globals, MPK_STATE_GLOBALS, err));
#endif
	return MPK_OK;
}

/* --- constants ----------------------------------------------------------------------------- */

static enum mpk_code relax_vm_make_tensor(struct mpk_relax_vm *vm,
					  const struct mpk_tensor_record *r, struct mpk_value *out,
					  struct mpk_error *err)
{
	struct mpk_storage *storage;
	struct mpk_tensor *t;
	enum mpk_code code;

	MPK_TRY(mpk_program_constant(&vm->program->base, r->data, r->dtype, vm->devices[0],
				     &storage, err));
	code = mpk_tensor_view(storage, 0, r->dtype, r->shape, r->ndim, &t, err);
	mpk_storage_drop(storage);
	MPK_TRY(code);
	*out = mpk_value_of_tensor(t);
	return MPK_OK;
}

/* Reads extents in their stored form: eight bytes each, not aligned. */
static enum mpk_code make_shape(struct mpk_span raw, struct mpk_value *out, struct mpk_error *err)
{
	size_t ndim = raw.len / 8;

	MPK_TRY(mpk_value_of_shape(NULL, ndim, out, err));
	for (size_t i = 0; i < ndim; i++)
		out->shape->extents[i] = (int64_t)mpk_load_u64(raw.data + 8 * i);
	return MPK_OK;
}

static enum mpk_code make_constant(struct mpk_relax_vm *vm, const struct mpk_relax_const *c,
				   struct mpk_value *out, struct mpk_error *err)
{
	switch (c->kind) {
	case MPK_RELAX_TENSOR:
		return relax_vm_make_tensor(vm, &c->u.tensor, out, err);
	case MPK_RELAX_DTYPE:
		*out = (struct mpk_value){ .kind = MPK_VALUE_DTYPE, .dtype = c->u.dtype };
		return MPK_OK;
	case MPK_RELAX_SHAPE:
		return make_shape(c->u.shape, out, err);
	case MPK_RELAX_STRING:
		return mpk_value_of_text(MPK_VALUE_STR, c->u.string, out, err);
	case MPK_RELAX_INT:
		*out = mpk_value_of_int(c->u.i);
		return MPK_OK;
	case MPK_RELAX_FLOAT:
		*out = mpk_value_of_float(c->u.f);
		return MPK_OK;
	case MPK_RELAX_CONST_KINDS:
		break;
	}
	return mpk_fail(err, MPK_E_INTERNAL, "a constant of kind %d", (int)c->kind);
}

enum mpk_code mpk_relax_vm_constant(struct mpk_relax_vm *vm, size_t index,
				    const struct mpk_value **out, struct mpk_error *err)
{
	struct mpk_value *v = &vm->constants[index];

	if (v->kind == MPK_VALUE_NONE)
		MPK_TRY(make_constant(vm, &vm->program->x.consts[index], v, err));
	*out = v;
	return MPK_OK;
}

/* --- functions ----------------------------------------------------------------------------- */

enum mpk_code mpk_relax_vm_function(struct mpk_relax_vm *vm, size_t index,
				    struct mpk_function **out, struct mpk_error *err)
{
	const struct mpk_relax_callee *c = &vm->program->callees[index];

	switch (c->action) {
	case MPK_ACTION_CALL:
	case MPK_ACTION_COMPILED:
		return mpk_machine_bind(&vm->base, index, c->name, c->signature, out, err);
	case MPK_ACTION_KERNEL:
	case MPK_ACTION_FUNCTION:
		*out = mpk_function_hold(c->function);
		return MPK_OK;
	case MPK_ACTION_BUILTIN:
		return mpk_relax_builtin_function(c->builtin, out, err);
	case MPK_ACTION_NONE:
	case MPK_ACTION_MISSING:
	case MPK_ACTION_RETURN:
	case MPK_ACTION_GOTO:
	case MPK_ACTION_IF:
		break;
	}
	return mpk_fail(err, MPK_E_LOAD, "nobody has the function '%s'", MPK_QUOTE(c->name));
}

/* --- the module ----------------------------------------------------------------------------- */

static struct mpk_relax_program *program_of(const struct mpk_node_module *node)
{
	const struct mpk_node_model *model = node->state;

	return (struct mpk_relax_program *)model->program;
}

static bool relax_accepts(struct mpk_span kind)
{
	return mpk_span_is(kind, "relax.VMExecutable") || mpk_span_is(kind, "relax.Executable");
}

static enum mpk_code relax_open_node(struct mpk_node_module *node, struct mpk_error *err)
{
	return mpk_node_model_open(node, &mpk_relax_kind, err);
}

static enum mpk_code find_node(struct mpk_node_module *node, const char *name,
			       struct mpk_function **out, struct mpk_error *err)
{
	struct mpk_relax_program *p = program_of(node);
	size_t index = relax_find_function(p, name);
	struct mpk_machine *machine;

	*out = NULL;
	if (index == p->callee_count)
		return MPK_OK;
	MPK_TRY(relax_check_function(p, index, err));
	MPK_TRY(mpk_node_model_machine(node, &machine, err));
	return mpk_relax_vm_function((struct mpk_relax_vm *)machine, index, out, err);
}

static bool relax_name_at(struct mpk_node_module *node, size_t i, struct mpk_span *out)
{
	const struct mpk_relax_program *p = program_of(node);

	for (size_t k = 0; k < p->callee_count; k++)
		if (p->x.funcs[k].kind != MPK_RELAX_PACKED && i-- == 0) {
			*out = p->callees[k].name;
			return true;
		}
	return false;
}

static enum mpk_code relax_signature_at(struct mpk_node_module *node, size_t i,
					const struct mpk_signature **out, struct mpk_error *err)
{
	const struct mpk_relax_program *p = program_of(node);

	(void)err;
	*out = NULL;
	for (size_t k = 0; k < p->callee_count && !*out; k++)
		if (p->x.funcs[k].kind != MPK_RELAX_PACKED && i-- == 0)
			*out = p->callees[k].signature;
	return MPK_OK;
}

const struct mpk_loader mpk_relax_executor = {
	.accepts = relax_accepts,
	.payload = &mpk_reader_relax,
	.has = mpk_node_model_has,
	.open = relax_open_node,
	.find = find_node,
	.name_at = relax_name_at,
	.signature_at = relax_signature_at,
	.close = mpk_node_model_close,
};

/* --- what builtins ask of their arguments ------------------------------------------------------------------------------ */

enum mpk_code(mpk_relax_raise)(struct mpk_error *err, const char *kind, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	return mpk_fail(err, MPK_E_RAISED, "%s: %s", kind, text);
}

enum mpk_code mpk_relax_arity(const char *name, size_t count, size_t least, size_t most,
			      struct mpk_error *err)
{
	if (count >= least && count <= most)
		return MPK_OK;
	return mpk_relax_raise(err, "TypeError", "%s got %zu arguments", name, count);
}

enum mpk_code mpk_relax_int(const char *name, const struct mpk_value *args, size_t i, int64_t *out,
			    struct mpk_error *err)
{
	if (args[i].kind == MPK_VALUE_INT)
		*out = args[i].integer;
	else if (args[i].kind == MPK_VALUE_BOOL)
		*out = args[i].boolean;
	else
		return mpk_relax_raise(err, "TypeError", "%s: argument %zu must be an int, not %s",
				       name, i, mpk_value_kind_name(args[i].kind));
	return MPK_OK;
}

enum mpk_code mpk_relax_machine(const char *name, const struct mpk_value *args,
				struct mpk_relax_vm **out, struct mpk_error *err)
{
	/* the machine's register is the only pointer that byte code can pass */
	if (args[0].kind != MPK_VALUE_OPAQUE || !args[0].opaque)
		return mpk_relax_raise(err, "TypeError",
				       "%s: argument 0 must be the machine, not %s", name,
				       mpk_value_kind_name(args[0].kind));
	*out = args[0].opaque;
	return MPK_OK;
}

enum mpk_code mpk_relax_tensor(const char *name, const struct mpk_value *args, size_t i,
			       struct mpk_tensor **out, struct mpk_error *err)
{
	if (args[i].kind != MPK_VALUE_TENSOR)
		return mpk_relax_raise(err, "TypeError",
				       "%s: argument %zu must be a tensor, not %s", name, i,
				       mpk_value_kind_name(args[i].kind));
	*out = args[i].tensor;
	return MPK_OK;
}
