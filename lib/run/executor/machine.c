/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - programs, machines and their functions: the life that all kinds of models share
 *
 * The order of what is dropped matters. A function holds its machine, a machine its program, a program
 * the library whose blob and code it points into.
 */
#include "executor/machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/lock.h"
#include "base/vec.h"
#include "runtime/runtime.h"
#include "text/escape.h"

/* --- programs ------------------------------------------------------------------------------ */

/* What is shared is found by where it lies in the library, and where it is wanted. */
struct shared_key {
	const uint8_t *data;
	uint64_t len;
	struct mpk_dldevice where;
};

struct mpk_shared_constant {
	struct shared_key key;
	struct mpk_storage *storage;
	struct mpk_shared_constant *next;
};

/* The program is locked. */
static enum mpk_code share(struct mpk_program *p, const struct mpk_shared_constant *like,
			   struct mpk_dtype type, struct mpk_shared_constant **out,
			   struct mpk_error *err)
{
	struct mpk_shared_constant *c = malloc(sizeof *c);
	enum mpk_code code;
	size_t ignored;

	MPK_TRY_ALLOC(c, err);
	*c = *like;
	code = mpk_constant_storage(p->host, mpk_span_of(c->key.data, (size_t)c->key.len), type,
				    c->key.where, &c->storage, err);
	if (code != MPK_OK) {
		free(c);
		return mpk_failed(code);
	}
	if (mpk_strmap_put(&p->shared, mpk_span_of(&c->key, sizeof c->key), (size_t)(uintptr_t)c,
			   &ignored) < 0) {
		mpk_storage_drop(c->storage);
		free(c);
		return mpk_fail_nomem(err);
	}
	p->last_shared = c;
	*out = c;
	return MPK_OK;
}

enum mpk_code mpk_program_constant(struct mpk_program *p, struct mpk_span content,
				   struct mpk_dtype type, struct mpk_dldevice where,
				   struct mpk_storage **out, struct mpk_error *err)
{
	struct mpk_shared_constant *c, like = { .key = { content.data, content.len, where } };
	enum mpk_code code = MPK_OK;
	size_t found;

	(void)pthread_mutex_lock(&p->lock);
	like.next = p->last_shared;
	if (mpk_strmap_find(&p->shared, mpk_span_of(&like.key, sizeof like.key), &found))
		c = (struct mpk_shared_constant *)(uintptr_t)found;
	else
		code = share(p, &like, type, &c, err);
	if (code == MPK_OK)
		*out = mpk_storage_hold(c->storage);
	(void)pthread_mutex_unlock(&p->lock);
	return code;
}

static void program_drop(struct mpk_program *p)
{
	if (!p || mpk_refs_drop(&p->refs))
		return;
	p->kind->unload(p);

	while (p->last_shared) {
		struct mpk_shared_constant *next = p->last_shared->next;

		mpk_storage_drop(p->last_shared->storage);
		free(p->last_shared);
		p->last_shared = next;
	}
	mpk_strmap_fini(&p->shared);
	(void)pthread_mutex_destroy(&p->lock);

	mpk_arena_fini(&p->arena);
	/* last: views of the blob may have been read by unload */
	mpk_host_drop(p->host);
	free(p);
}

/* One reference in *out. */
static enum mpk_code program_load(const struct mpk_model_kind *kind, struct mpk_node_module *node,
				  struct mpk_program **out, struct mpk_error *err)
{
	struct mpk_program *p = calloc(1, kind->program_bytes);
	enum mpk_code code;

	MPK_TRY_ALLOC(p, err);
	atomic_init(&p->refs, 1);
	(void)pthread_mutex_init(&p->lock, NULL);
	p->kind = kind;
	p->runtime = node->host->runtime;
	p->context = mpk_host_context(node->host);
	p->host = mpk_host_hold(node->host);
	code = kind->load(p, node, err);
	if (code != MPK_OK) {
		program_drop(p);
		return mpk_failed(code);
	}
	*out = p;
	return MPK_OK;
}

enum mpk_code mpk_node_payload(const struct mpk_node_module *node, struct mpk_arena *arena,
			       struct mpk_payload *out, struct mpk_error *err)
{
	return mpk_payload_decode_as(node->loader->payload, node->host->code.tree->gen,
				     mpk_source_of(node->node), arena, out, err);
}

/* --- machines ------------------------------------------------------------------------------ */

static struct mpk_machine *machine_hold(struct mpk_machine *m)
{
	mpk_refs_hold(&m->refs);
	return m;
}

static void machine_drop(struct mpk_machine *m)
{
	unsigned left;

	if (!m)
		return;
	left = mpk_refs_drop(&m->refs);
	/* The rest is a circle: functions that the machine keeps, which hold the machine. The
	 * reference that is taken meanwhile lets it outlive the first of them. */
	if (left && left == m->own_refs) {
		m->own_refs = 0;
		m->kind->drop_own(machine_hold(m));
		machine_drop(m);
		return;
	}
	if (left)
		return;
	m->kind->stop(m);
	(void)pthread_mutex_destroy(&m->lock);
	program_drop(m->program);
	free(m);
}

/* A machine that does not start is dropped like any other: stop frees what start had made. */
static enum mpk_code create_machine(struct mpk_program *program, const struct mpk_dldevice *devices,
				    size_t count, struct mpk_machine **out, struct mpk_error *err)
{
	const struct mpk_machine_kind *kind = program->kind->machine;
	struct mpk_machine *m = calloc(1, kind->bytes);
	enum mpk_code code;

	MPK_TRY_ALLOC(m, err);
	atomic_init(&m->refs, 1);
	mpk_lock_init_recursive(&m->lock);
	mpk_refs_hold(&program->refs);
	m->kind = kind;
	m->program = program;
	m->device_count = count;
	memcpy(m->devices, devices, count * sizeof *devices);
	code = kind->start(m, devices, count, err);
	if (code != MPK_OK) {
		machine_drop(m);
		return mpk_failed(code);
	}
	*out = m;
	return MPK_OK;
}

/* Kernels look for the runtime and for what else they need in the context of their thread, which
 * is the program's while they run. A kernel may call back into the machine, so that the lock is
 * recursive; what that costs in native stack is bounded by the depth. */
static enum mpk_code machine_invoke(struct mpk_machine *m, size_t function,
				    const struct mpk_args *args, struct mpk_value *result,
				    struct mpk_error *err)
{
	const struct mpk_machine_kind *kind = m->kind;
	struct mpk_context before;
	enum mpk_code code;

	(void)pthread_mutex_lock(&m->lock);
	before = mpk_context_swap(m->program->context);
	if (m->depth == kind->depth_max) {
		code = mpk_fail(err, MPK_E_RAISED, "RuntimeError: recursion without end");
	} else {
		m->depth++;
		code = kind->invoke(m, function, args, result, err);
		m->depth--;
	}
	(void)mpk_context_swap(before);
	(void)pthread_mutex_unlock(&m->lock);
	return code;
}

/* --- functions as values ------------------------------------------------------------------- */

/* A function of the program, bound to a machine. The name is copied: functions need one that
 * ends in NUL. */
struct bound_function {
	struct mpk_function base;
	struct mpk_machine *machine;
	size_t index;
	char name[];
};

static enum mpk_code call_bound(struct mpk_function *self, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err)
{
	struct bound_function *b = (struct bound_function *)self;

	return machine_invoke(b->machine, b->index, args, result, err);
}

static void destroy_bound(struct mpk_function *self)
{
	struct mpk_machine *machine = ((struct bound_function *)self)->machine;

	free(self);
	machine_drop(machine);
}

enum mpk_code mpk_machine_bind(struct mpk_machine *m, size_t function, struct mpk_span name,
			       const struct mpk_signature *signature, struct mpk_function **out,
			       struct mpk_error *err)
{
	struct bound_function *b = calloc(1, sizeof *b + name.len + 1);

	MPK_TRY_ALLOC(b, err);
	if (name.len)
		memcpy(b->name, name.data, name.len);
	b->base = (struct mpk_function){
		.refs = 1,
		.name = b->name,
		.call = call_bound,
		.destroy = destroy_bound,
		.takes_names = true,
		.signature = signature,
	};
	b->machine = machine_hold(m);
	b->index = function;
	*out = &b->base;
	return MPK_OK;
}

enum mpk_code mpk_machine_again(const struct mpk_function *f, struct mpk_function **out,
				struct mpk_error *err)
{
	const struct bound_function *b = (const struct bound_function *)f;
	struct mpk_machine *again;
	enum mpk_code code;

	*out = NULL;
	if (f->call != call_bound)
		return MPK_OK;
	MPK_TRY(create_machine(b->machine->program, b->machine->devices, b->machine->device_count,
			       &again, err));
	code = mpk_machine_bind(again, b->index, mpk_span_str(b->name), f->signature, out, err);
	/* the function holds it */
	machine_drop(again);
	return code;
}

bool mpk_machine_owns(const struct mpk_machine *m, const struct mpk_function *f)
{
	return f->call == call_bound && ((const struct bound_function *)f)->machine == m;
}

/* --- nodes --------------------------------------------------------------------------------- */

enum mpk_code mpk_node_model_open(struct mpk_node_module *node, const struct mpk_model_kind *kind,
				  struct mpk_error *err)
{
	struct mpk_node_model *model = calloc(1, sizeof *model);
	enum mpk_code code;

	MPK_TRY_ALLOC(model, err);
	model->kind = kind;
	code = program_load(kind, node, &model->program, err);
	if (code != MPK_OK) {
		free(model);
		return mpk_failed(code);
	}
	node->state = model;
	return MPK_OK;
}

void mpk_node_model_close(struct mpk_node_module *node)
{
	struct mpk_node_model *model = node->state;

	machine_drop(model->machine);
	program_drop(model->program);
	free(model);
}

enum mpk_code mpk_node_model_program(struct mpk_node_module *node, struct mpk_error *err)
{
	struct mpk_node_model *model = node->state;

	return model->program ? MPK_OK : program_load(model->kind, node, &model->program, err);
}

enum mpk_code mpk_node_model_machine(struct mpk_node_module *node, struct mpk_machine **out,
				     struct mpk_error *err)
{
	struct mpk_node_model *model = node->state;
	struct mpk_dldevice chosen[MPK_RUNTIME_DEVICES_MAX];
	const struct mpk_dldevice *devices = chosen;
	struct mpk_machine *made;
	size_t count;

	MPK_TRY(mpk_node_model_program(node, err));
	if (model->kind->choose_devices)
		count = model->kind->choose_devices(model->program, chosen);
	else
		devices = mpk_runtime_get_devices(model->program->runtime, &count, NULL);
	if (!model->machine || count != model->device_count ||
	    memcmp(devices, model->devices, count * sizeof *devices) != 0) {
		MPK_TRY(create_machine(model->program, devices, count, &made, err));
		/* functions that were given out keep the machine they are bound to */
		machine_drop(model->machine);
		model->machine = made;
		model->device_count = count;
		memcpy(model->devices, devices, count * sizeof *devices);
	}
	*out = model->machine;
	return MPK_OK;
}

static bool relax_has(const struct mpk_payload *p, struct mpk_span name)
{
	const struct mpk_relax *x = &p->u.relax;

	for (size_t i = 0; i < x->func_count; i++)
		if (x->funcs[i].kind != MPK_RELAX_PACKED && mpk_span_equal(x->funcs[i].name, name))
			return true;
	return false;
}

static bool relay_has(const struct mpk_payload *p, struct mpk_span name)
{
	const struct mpk_relay *x = &p->u.relay;

	for (size_t i = 0; i < x->func_count && i < x->globals.count; i++)
		if (mpk_span_equal(x->globals.items[i], name))
			return true;
	return false;
}

static bool factory_has(const struct mpk_payload *p, struct mpk_span name)
{
	return mpk_span_equal(p->u.factory.module_name, name);
}

/* model_has - whether a caller finds a function of that name in an executor's payload; nothing is
 * read but names */
static bool model_has(const struct mpk_payload *p, struct mpk_span name)
{
	static bool (*const rows[])(const struct mpk_payload *, struct mpk_span) = {
		[MPK_PAYLOAD_RELAX] = relax_has,
		[MPK_PAYLOAD_RELAY] = relay_has,
		[MPK_PAYLOAD_FACTORY] = factory_has,
	};

	return (size_t)p->tag < MPK_ARRAY_COUNT(rows) && rows[p->tag] && rows[p->tag](p, name);
}

enum mpk_code mpk_node_model_has(struct mpk_node_module *node, const char *name, bool *out,
				 struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena arena = { 0 };
	struct mpk_span item, wanted = mpk_span_str(name);
	struct mpk_payload payload;
	enum mpk_code code;

	*out = false;
	if (node->is_open) {
		for (size_t i = 0; !*out && node->loader->name_at(node, i, &item); i++)
			*out = mpk_span_equal(item, wanted);
		return MPK_OK;
	}
	code = mpk_node_payload(node, &arena, &payload, err);
	if (code == MPK_E_NOMEM)
		return code;
	/* a payload that nobody can read has no function: opening it will say why */
	*out = code == MPK_OK && model_has(&payload, wanted);
	return MPK_OK;
}

/* --- calls in byte code -------------------------------------------------------------------- */

enum mpk_code mpk_frames_push(struct mpk_frames *f, struct mpk_span name, uint32_t callee,
			      uint32_t at, uint32_t register_count, struct mpk_error *err)
{
	size_t base = f->stack_used, top = base + register_count;

	if (f->count >= f->max || top > f->stack_max)
		return mpk_fail(err, MPK_E_RAISED, "RuntimeError: %s: recursion without end",
				MPK_QUOTE(name));
	MPK_TRY_ALLOC(MPK_VEC_ROOM(f->items, f->count, f->cap) &&
			      mpk_vec_reserve(&f->stack, &f->stack_cap, top, sizeof *f->stack),
		      err);
	if (register_count)
		memset(f->stack + base, 0, register_count * sizeof *f->stack);
	f->stack_used = top;
	f->items[f->count++] = (struct mpk_frame){ base, callee, at };
	return MPK_OK;
}

void mpk_frames_pop(struct mpk_frames *f, size_t floor)
{
	while (f->count > floor) {
		size_t base = f->items[--f->count].base;

		for (size_t i = base; i < f->stack_used; i++)
			mpk_value_drop(&f->stack[i]);
		f->stack_used = base;
	}
}

void mpk_frames_fini(struct mpk_frames *f)
{
	free(f->stack);
	free(f->items);
}
