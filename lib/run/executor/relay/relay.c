/* SPDX-License-Identifier: Apache-2.0 */
/* relay.c - an executable of the Relay VM as a module: its functions, and constants bound to it
 *
 * A function's kernels and constants are looked up only when the function is, because a library may
 * contain functions that cannot run here beside others that can. */
#include "executor/executor.h"

#include <stdlib.h>
#include <string.h>

#include "executor/relay/internal/relay.h"
#include "program/model.h"
#include "runtime/library.h"
#include "text/escape.h"

/* --- what is in a program ------------------------------------------------------------------ */

/* Finds a function by its name in the table of globals; its position there is its index. */
static size_t relay_find_function(const struct mpk_relay_program *p, const char *name)
{
	for (size_t i = 0; i < p->callee_count && i < p->x.globals.count; i++)
		if (mpk_span_is(p->x.globals.items[i], name))
			return i;
	return p->callee_count;
}

/* --- what is missing ----------------------------------------------------------------------- */

/* Everything that a function may call or use, found by following its calls. */
struct needs {
	const struct mpk_relay_program *p;
	bool *functions, *packed, *consts; /* flags by index: reached so far */
	size_t *waiting;                   /* functions whose steps are still to be visited */
	size_t waiting_count;
};

static void needs_fini(struct needs *n)
{
	free(n->functions);
	free(n->packed);
	free(n->consts);
	free(n->waiting);
}

/* Each function is visited once, even if functions call each other. */
static void need_function(struct needs *n, size_t index)
{
	if (!n->functions[index])
		n->waiting[n->waiting_count++] = index;
	n->functions[index] = true;
}

/* A closure may be called anywhere later, so a step that makes a closure needs its function. */
static void need_step(struct needs *n, const struct mpk_relay_step *s)
{
	if (s->op == MPK_RELAY_INVOKE || s->op == MPK_RELAY_ALLOC_CLOSURE)
		need_function(n, s->index);
	else if (s->op == MPK_RELAY_INVOKE_PACKED)
		n->packed[s->index] = true;
	else if (s->op == MPK_RELAY_LOAD_CONST)
		n->consts[s->index] = true;
}

/* The list of names is limited; the count also includes the names left out. */
static void relay_put_name(struct mpk_strbuf *names, size_t *count, struct mpk_span name)
{
	if ((*count)++ < 16)
		mpk_strbuf_printf(names, "%s%s", names->len ? ", " : "", MPK_QUOTE(name));
	else if (*count == 17)
		mpk_strbuf_puts(names, ", ...");
}

static enum mpk_code check_needs(const struct needs *n, const char *name, struct mpk_error *err)
{
	const struct mpk_relay_program *p = n->p;
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf names = { 0 };
	size_t missing = 0;

	for (size_t i = 0; i < p->packed_count; i++)
		if (n->packed[i] && !p->packed[i].function)
			relay_put_name(&names, &missing, p->packed[i].name);
	if (missing)
		return mpk_fail(err, MPK_E_LOAD,
				"'%s' needs %zu function%s that the library does not have: %s",
				MPK_QUOTE(mpk_span_str(name)), missing, missing == 1 ? "" : "s",
				mpk_strbuf_text(&names));
	for (size_t i = 0; i < p->x.const_count; i++)
		if (n->consts[i] && p->x.consts[i].late_bound && !p->late[i])
			relay_put_name(&names, &missing, p->x.consts[i].name);
	if (missing)
		return mpk_fail(
			err, MPK_E_LOAD,
			"'%s' needs %zu constant%s that the library names and leaves to a file of parameters: %s",
			MPK_QUOTE(mpk_span_str(name)), missing, missing == 1 ? "" : "s",
			mpk_strbuf_text(&names));
	return MPK_OK;
}

static enum mpk_code relay_check_function(const struct mpk_relay_program *p, size_t function,
					  struct mpk_error *err)
{
	MPK_CLEANUP(needs_fini) struct needs n = { .p = p };

	n.functions = calloc(p->callee_count + 1, sizeof *n.functions);
	n.packed = calloc(p->packed_count + 1, sizeof *n.packed);
	n.consts = calloc(p->const_count + 1, sizeof *n.consts);
	n.waiting = calloc(p->callee_count + 1, sizeof *n.waiting);
	MPK_TRY_ALLOC(n.functions && n.packed && n.consts && n.waiting, err);
	need_function(&n, function);
	while (n.waiting_count) {
		const struct mpk_relay_callee *c = &p->callees[n.waiting[--n.waiting_count]];

		for (uint32_t at = c->start; at < c->end; at++)
			need_step(&n, &p->steps[at]);
	}
	return check_needs(&n, p->callees[function].name, err);
}

/* --- the module ----------------------------------------------------------------------------- */

static struct mpk_relay_program *program_of(const struct mpk_node_module *node)
{
	return (struct mpk_relay_program *)((const struct mpk_node_model *)node->state)->program;
}

static bool relay_accepts(struct mpk_span kind)
{
	return mpk_span_is(kind, "VMExecutable");
}

static enum mpk_code relay_open_node(struct mpk_node_module *node, struct mpk_error *err)
{
	return mpk_node_model_open(node, &mpk_relay_kind, err);
}

static enum mpk_code find_node(struct mpk_node_module *node, const char *name,
			       struct mpk_function **out, struct mpk_error *err)
{
	const struct mpk_relay_program *p = program_of(node);
	size_t index = relay_find_function(p, name);
	struct mpk_machine *machine;
	struct mpk_value nothing;

	*out = NULL;
	if (index == p->callee_count)
		return MPK_OK;
	MPK_TRY(relay_check_function(p, index, err));
	MPK_TRY(mpk_node_model_machine(node, &machine, err));
	MPK_TRY(mpk_value_of_array(0, &nothing, err));
	return mpk_relay_closure_make((struct mpk_relay_vm *)machine, index, nothing, out, err);
}

static bool relay_name_at(struct mpk_node_module *node, size_t i, struct mpk_span *out)
{
	const struct mpk_relay_program *p = program_of(node);

	if (i >= p->callee_count || i >= p->x.globals.count)
		return false;
	*out = p->x.globals.items[i];
	return true;
}

static enum mpk_code relay_signature_at(struct mpk_node_module *node, size_t i,
					const struct mpk_signature **out, struct mpk_error *err)
{
	const struct mpk_relay_program *p = program_of(node);

	(void)err;
	*out = i < p->callee_count ? &p->signatures[i] : NULL;
	return MPK_OK;
}

const struct mpk_loader mpk_relay_executor = {
	.accepts = relay_accepts,
	.payload = &mpk_reader_relay,
	.has = mpk_node_model_has,
	.open = relay_open_node,
	.find = find_node,
	.name_at = relay_name_at,
	.signature_at = relay_signature_at,
	.close = mpk_node_model_close,
};

/* --- late-bound constants ------------------------------------------------------------------ */

/* Returns the module's node, opened for binding. */
static enum mpk_code open_module(struct mpk_module *module, struct mpk_node_module **out,
				 struct mpk_error *err)
{
	struct mpk_function *nothing = NULL;

	if (!relay_accepts(module->kind) || !module->find)
		return mpk_fail(err, MPK_E_USAGE,
				"constants are bound to an executable of the Relay VM alone");
	/* no function has this name: the lookup only makes the module load */
	MPK_TRY(module->find(module, "", &nothing, err));
	mpk_function_drop(nothing);
	*out = (struct mpk_node_module *)module;
	return MPK_OK;
}

/* Returns the tensor in a form that kernels accept: compact and aligned. */
static enum mpk_code usable(struct mpk_tensor *t, struct mpk_tensor **out, struct mpk_error *err)
{
	bool aligned = (uintptr_t)mpk_dltensor_data(&t->dl) % MPK_STORAGE_ALIGN == 0;

	if (aligned && t->dl.byte_offset == 0)
		return mpk_tensor_compact(t, out, err);
	MPK_TRY(mpk_tensor_create(t->dl.dtype, t->dl.shape, (size_t)t->dl.ndim, MPK_STORAGE_PRIVATE,
				  out, err));
	mpk_tensor_copy_from(*out, &t->dl);
	return MPK_OK;
}

static enum mpk_code bind_constant(struct mpk_relay_program *p, size_t index,
				   struct mpk_tensor *tensor, struct mpk_error *err)
{
	struct mpk_tensor *t;

	if (!mpk_dldevice_is_host(tensor->dl.device))
		return mpk_fail(err, MPK_E_USAGE, "a constant is bound to a tensor on a device");
	/* converted once here instead of in each call */
	MPK_TRY(usable(tensor, &t, err));
	mpk_tensor_drop(p->late[index]);
	p->late[index] = t;
	return MPK_OK;
}

static enum mpk_code bind_found(struct mpk_module *module, mpk_relay_find_fn *find_value,
				void *user, struct mpk_error *err)
{
	struct mpk_relay_program *p;
	struct mpk_node_module *node;

	MPK_TRY(open_module(module, &node, err));
	/* a machine may already have made the constant */
	if (mpk_node_machine(node))
		return mpk_fail(err, MPK_E_CONFLICT,
				"constants are bound before a function is looked up, not after");
	p = program_of(node);
	for (size_t i = 0; i < p->x.const_count; i++) {
		struct mpk_tensor *t = NULL;
		enum mpk_code code;

		if (!p->x.consts[i].late_bound)
			continue;
		MPK_TRY(find_value(user, p->x.consts[i].name, &t, err));
		code = t ? bind_constant(p, i, t, err) : MPK_OK;
		mpk_tensor_drop(t);
		MPK_TRY(code);
	}
	return MPK_OK;
}

struct bindings {
	const struct mpk_relay_binding *items;
	size_t count;
};

/* If a name was bound twice, the last binding counts. */
static enum mpk_code find_binding(void *user, struct mpk_span name, struct mpk_tensor **out,
				  struct mpk_error *err)
{
	const struct bindings *b = user;

	(void)err;
	for (size_t i = b->count; i-- > 0;)
		if (mpk_span_equal(b->items[i].name, name)) {
			*out = mpk_tensor_hold(b->items[i].tensor);
			break;
		}
	return MPK_OK;
}

enum mpk_code mpk_relay_bind(struct mpk_module *module, const struct mpk_relay_binding *bindings,
			     size_t count, struct mpk_error *err)
{
	struct bindings b = { bindings, count };

	return bind_found(module, find_binding, &b, err);
}

/* Returns false for modules of another kind and for those that cannot be loaded. */
static bool has_late(struct mpk_module *module)
{
	const struct mpk_relay_program *p;
	struct mpk_node_module *node;

	if (!relay_accepts(module->kind) || open_module(module, &node, NULL) != MPK_OK)
		return false;
	p = program_of(node);
	for (size_t i = 0; i < p->x.const_count; i++)
		if (p->x.consts[i].late_bound)
			return true;
	return false;
}

enum mpk_code mpk_relay_bind_library(struct mpk_library *library, mpk_relay_find_fn *find_value,
				     void *user, struct mpk_error *err)
{
	struct mpk_module **modules;
	enum mpk_code code = MPK_OK;
	size_t count;

	MPK_TRY(mpk_library_modules(library, &modules, &count, err));
	for (size_t i = 0; i < count && code == MPK_OK; i++)
		if (modules[i] && has_late(modules[i]))
			code = bind_found(modules[i], find_value, user, err);
	free(modules);
	return code;
}
