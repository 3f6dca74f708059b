/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - a program's life, what it calls by name, and what is missing of it */
#include "executor/relay/internal/program.h"

#include <stdlib.h>
#include <string.h>

#include "executor/relay/internal/decode.h"
#include "text/escape.h"

/* Kernels come from the imports alone: TVM asks its global functions for none. */
static enum mpk_code resolve(struct mpk_relay_program *p, struct mpk_node_module *node,
			     struct mpk_error *err)
{
	p->packed_count = p->x.primitives.count;
	p->packed = mpk_arena_array(&p->arena, p->packed_count + 1, sizeof *p->packed);
	MPK_TRY_ALLOC(p->packed, err);
	for (size_t i = 0; i < p->packed_count; i++) {
		struct mpk_module_search search = { 0 };
		const char *name = mpk_arena_text(&p->arena, p->x.primitives.items[i]);

		MPK_TRY_ALLOC(name, err);
		p->packed[i].name = p->x.primitives.items[i];
		MPK_TRY(mpk_module_find_import(&node->base, name, &p->packed[i].function, &search,
					       err));
	}
	return MPK_OK;
}

static enum mpk_code load(struct mpk_relay_program *p, struct mpk_node_module *node,
			  struct mpk_error *err)
{
	const struct mpk_tree *tree = node->host->code.tree;
	struct mpk_payload payload;

	MPK_TRY(mpk_payload_decode(mpk_kind_find(node->node->kind), tree->gen,
				   mpk_source_of(node->node), &p->arena, &payload, err));
	p->x = payload.u.relay;
	MPK_TRY(mpk_relay_check(&p->x, err));
	MPK_TRY(mpk_models_of(&payload, &p->arena, &p->models, err));
	MPK_TRY(mpk_relay_decode(p, err));
	p->late = mpk_arena_array(&p->arena, p->x.const_count + 1, sizeof(struct mpk_tensor *));
	MPK_TRY_ALLOC(p->late, err);
	return resolve(p, node, err);
}

enum mpk_code mpk_relay_program_load(struct mpk_node_module *node, struct mpk_relay_program **out,
				     struct mpk_error *err)
{
	struct mpk_relay_program *p = calloc(1, sizeof *p);

	MPK_TRY_ALLOC(p, err);
	atomic_init(&p->refs, 1);
	p->runtime = node->host->runtime;
	p->context = mpk_host_context(node->host);
	p->host = mpk_host_hold(node->host);
	enum mpk_code code = load(p, node, err);

	if (code != MPK_OK) {
		mpk_relay_program_drop(p);
		return mpk_failed(code);
	}
	*out = p;
	return MPK_OK;
}

struct mpk_relay_program *mpk_relay_program_hold(struct mpk_relay_program *p)
{
	(void)atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
	return p;
}

void mpk_relay_program_drop(struct mpk_relay_program *p)
{
	if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; p->packed && i < p->packed_count; i++)
		mpk_function_drop(p->packed[i].function);
	for (size_t i = 0; p->late && i < p->x.const_count; i++)
		mpk_tensor_drop(p->late[i]);
	mpk_arena_fini(&p->arena);
	mpk_host_drop(p->host);
	free(p);
}

size_t mpk_relay_program_find(const struct mpk_relay_program *p, const char *name)
{
	for (size_t i = 0; i < p->callee_count && i < p->x.globals.count; i++)
		if (mpk_span_is(p->x.globals.items[i], name))
			return i;
	return p->callee_count;
}

/* --- what is missing ----------------------------------------------------------------------- */

/* What was met on the way through all that a function may call. */
struct needs {
	const struct mpk_relay_program *p;
	bool *functions, *packed, *consts; /* met; by index */
	size_t *waiting;                   /* functions to be looked into */
	size_t waiting_count;
};

static void needs_fini(struct needs *n)
{
	free(n->functions);
	free(n->packed);
	free(n->consts);
	free(n->waiting);
}

static void need_function(struct needs *n, size_t index)
{
	if (!n->functions[index])
		n->waiting[n->waiting_count++] = index;
	n->functions[index] = true;
}

static void need_step(struct needs *n, const struct mpk_relay_step *s)
{
	if (s->op == MPK_RELAY_INVOKE || s->op == MPK_RELAY_ALLOC_CLOSURE)
		need_function(n, s->index);
	else if (s->op == MPK_RELAY_INVOKE_PACKED)
		n->packed[s->index] = true;
	else if (s->op == MPK_RELAY_LOAD_CONST)
		n->consts[s->index] = true;
}

/* The list of names has room for some; the number tells of the rest. */
static void put_name(struct mpk_strbuf *names, size_t *count, struct mpk_span name)
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
			put_name(&names, &missing, p->packed[i].name);
	if (missing)
		return mpk_fail(err, MPK_E_LOAD,
				"'%s' needs %zu function%s that the library does not have: %s",
				MPK_QUOTE(mpk_span_str(name)), missing, missing == 1 ? "" : "s",
				mpk_strbuf_text(&names));
	for (size_t i = 0; i < p->x.const_count; i++)
		if (n->consts[i] && p->x.consts[i].late_bound && !p->late[i])
			put_name(&names, &missing, p->x.consts[i].name);
	if (missing)
		return mpk_fail(
			err, MPK_E_LOAD,
			"'%s' needs %zu constant%s that the library names and leaves to a file of parameters: %s",
			MPK_QUOTE(mpk_span_str(name)), missing, missing == 1 ? "" : "s",
			mpk_strbuf_text(&names));
	return MPK_OK;
}

enum mpk_code mpk_relay_program_needs(const struct mpk_relay_program *p, size_t function,
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
