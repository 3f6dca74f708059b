/* SPDX-License-Identifier: Apache-2.0 */
/* relay.c - an executable's node as a module */
#include "executor/relay/relay.h"

#include <stdlib.h>
#include <string.h>

#include "executor/model.h"
#include "executor/relay/internal/closure.h"
#include "runtime/node.h"

/* A node's program, and the machine for the devices that were asked for last. */
struct model {
	struct mpk_relay_program *program;
	struct mpk_relay_vm *vm;
	struct mpk_dldevice devices[MPK_RUNTIME_DEVICES_MAX];
	size_t device_count;
};

static bool accepts(struct mpk_span kind)
{
	return mpk_span_is(kind, "VMExecutable");
}

static void model_free(struct model *m)
{
	mpk_relay_vm_drop(m->vm);
	mpk_relay_program_drop(m->program);
	free(m);
}

static enum mpk_code open_node(struct mpk_node_module *node, struct mpk_error *err)
{
	struct model *m = calloc(1, sizeof *m);
	enum mpk_code code;

	MPK_TRY_ALLOC(m, err);
	code = mpk_relay_program_load(node, &m->program, err);
	if (code != MPK_OK) {
		model_free(m);
		return mpk_failed(code);
	}
	node->state = m;
	return MPK_OK;
}

static void close_node(struct mpk_node_module *node)
{
	model_free(node->state);
}

/* Functions that were given out keep the machine they are bound to. */
static enum mpk_code need_machine(struct model *m, struct mpk_error *err)
{
	size_t count;
	const struct mpk_dldevice *devices = mpk_runtime_get_devices(m->program->runtime, &count);
	struct mpk_relay_vm *vm;

	if (m->vm && count == m->device_count &&
	    memcmp(devices, m->devices, count * sizeof *devices) == 0)
		return MPK_OK;
	MPK_TRY(mpk_relay_vm_create(m->program, mpk_relay_vm_invoke, devices, count, &vm, err));
	mpk_relay_vm_drop(m->vm);
	m->vm = vm;
	m->device_count = count;
	memcpy(m->devices, devices, count * sizeof *devices);
	return MPK_OK;
}

static enum mpk_code find(struct mpk_node_module *node, const char *name, struct mpk_function **out,
			  struct mpk_error *err)
{
	struct model *m = node->state;
	size_t index = mpk_relay_program_find(m->program, name);
	struct mpk_value nothing;

	*out = NULL;
	if (index == m->program->callee_count)
		return MPK_OK;
	MPK_TRY(mpk_relay_program_needs(m->program, index, err));
	MPK_TRY(need_machine(m, err));
	MPK_TRY(mpk_value_of_array(0, &nothing, err));
	return mpk_relay_closure_make(m->vm, index, nothing, out, err);
}

static bool name_at(struct mpk_node_module *node, size_t i, struct mpk_span *out)
{
	const struct mpk_relay_program *p = ((const struct model *)node->state)->program;

	if (i >= p->callee_count || i >= p->x.globals.count)
		return false;
	*out = p->x.globals.items[i];
	return true;
}

const struct mpk_loader mpk_relay_executor = {
	.accepts = accepts,
	.has = mpk_model_node_has,
	.open = open_node,
	.find = find,
	.name_at = name_at,
	.close = close_node,
};

struct mpk_relay_vm *mpk_relay_machine_of(const struct mpk_node_module *node)
{
	return node->state ? ((const struct model *)node->state)->vm : NULL;
}

/* --- late-bound constants ------------------------------------------------------------------ */

/* The model of a module, which is opened for it. */
static enum mpk_code model_of(struct mpk_module *module, struct model **out, struct mpk_error *err)
{
	struct mpk_function *nothing = NULL;

	if (!accepts(module->kind) || !module->find)
		return mpk_fail(err, MPK_E_USAGE,
				"constants are bound to an executable of the Relay VM alone");
	/* no function has this name: it only makes the module ready */
	MPK_TRY(module->find(module, "", &nothing, err));
	mpk_function_drop(nothing);
	*out = ((struct mpk_node_module *)module)->state;
	return MPK_OK;
}

/* As kernels take it: compact and aligned. */
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

static enum mpk_code bind(struct mpk_relay_program *p, size_t index, struct mpk_tensor *tensor,
			  struct mpk_error *err)
{
	struct mpk_tensor *t;

	if (!mpk_dldevice_is_host(tensor->dl.device))
		return mpk_fail(err, MPK_E_USAGE, "a constant is bound to a tensor on a device");
	MPK_TRY(usable(tensor, &t, err));
	mpk_tensor_drop(p->late[index]);
	p->late[index] = t;
	return MPK_OK;
}

enum mpk_code mpk_relay_bind_found(struct mpk_module *module, mpk_relay_find_fn *find_value,
				   void *user, struct mpk_error *err)
{
	struct mpk_relay_program *p;
	struct model *m;

	MPK_TRY(model_of(module, &m, err));
	if (m->vm)
		return mpk_fail(err, MPK_E_CONFLICT,
				"constants are bound before a function is looked up, not after");
	p = m->program;
	for (size_t i = 0; i < p->x.const_count; i++) {
		struct mpk_tensor *t = NULL;
		enum mpk_code code;

		if (!p->x.consts[i].late_bound)
			continue;
		MPK_TRY(find_value(user, p->x.consts[i].name, &t, err));
		code = t ? bind(p, i, t, err) : MPK_OK;
		mpk_tensor_drop(t);
		MPK_TRY(code);
	}
	return MPK_OK;
}

struct bindings {
	const struct mpk_relay_binding *items;
	size_t count;
};

/* Of a name given twice the last counts. */
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

	return mpk_relay_bind_found(module, find_binding, &b, err);
}

bool mpk_relay_has_late(struct mpk_module *module)
{
	struct model *m;

	if (!accepts(module->kind) || model_of(module, &m, NULL) != MPK_OK)
		return false;
	for (size_t i = 0; i < m->program->x.const_count; i++)
		if (m->program->x.consts[i].late_bound)
			return true;
	return false;
}
