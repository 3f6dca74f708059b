/* SPDX-License-Identifier: Apache-2.0 */
/* relax.c - an executable's node as a module */
#include "executor/relax/relax.h"

#include <stdlib.h>
#include <string.h>

#include "executor/model.h"
#include "executor/relax/internal/vm.h"
#include "runtime/node.h"

/* A node's program, and the machine for the devices that were asked for last. */
struct model {
	struct mpk_relax_program *program;
	struct mpk_relax_vm *vm;
	struct mpk_dldevice devices[MPK_RUNTIME_DEVICES_MAX];
	size_t device_count;
};

static bool accepts(struct mpk_span kind)
{
	return mpk_span_is(kind, "relax.VMExecutable") || mpk_span_is(kind, "relax.Executable");
}

static void model_free(struct model *m)
{
	mpk_relax_vm_drop(m->vm);
	mpk_relax_program_drop(m->program);
	free(m);
}

static enum mpk_code open_node(struct mpk_node_module *node, struct mpk_error *err)
{
	struct model *m = calloc(1, sizeof *m);
	enum mpk_code code;

	if (!m)
		return mpk_fail_nomem(err);
	code = mpk_relax_program_load(node, &m->program, err);
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

/* The devices that were asked for, and behind them, or in the place of a guess, those that the program
 * means by their numbers. */
static size_t choose_devices(const struct mpk_relax_program *p, struct mpk_dldevice *out)
{
	size_t count, most = 0;
	const struct mpk_dldevice *said = mpk_runtime_get_devices(p->runtime, &count);
	bool guessed = mpk_runtime_are_devices_guessed(p->runtime);

	for (size_t i = 0; i < MPK_RUNTIME_DEVICES_MAX; i++)
		if (p->devices[i])
			most = i + 1;
	for (size_t i = 0; i < count || i < most; i++) {
		int32_t known = p->devices[i] ? p->devices[i] : MPK_DL_CPU;

		out[i] = (struct mpk_dldevice){ .type = known };
		if (i < count && (!guessed || !p->devices[i]))
			out[i] = said[i];
	}
	return count > most ? count : most;
}

/* Functions that were given out keep the machine they are bound to. */
static enum mpk_code need_machine(struct model *m, struct mpk_error *err)
{
	struct mpk_dldevice devices[MPK_RUNTIME_DEVICES_MAX];
	size_t count = choose_devices(m->program, devices);
	struct mpk_relax_vm *vm;

	if (m->vm && count == m->device_count &&
	    memcmp(devices, m->devices, count * sizeof *devices) == 0)
		return MPK_OK;
	MPK_TRY(mpk_relax_vm_create(m->program, mpk_relax_vm_invoke, devices, count, &vm, err));
	mpk_relax_vm_drop(m->vm);
	m->vm = vm;
	m->device_count = count;
	memcpy(m->devices, devices, count * sizeof *devices);
	return MPK_OK;
}

static enum mpk_code find(struct mpk_node_module *node, const char *name, struct mpk_function **out,
			  struct mpk_error *err)
{
	struct model *m = node->state;
	size_t index = mpk_relax_program_find(m->program, name);

	*out = NULL;
	if (index == m->program->callee_count)
		return MPK_OK;
	MPK_TRY(mpk_relax_program_needs(m->program, index, err));
	MPK_TRY(need_machine(m, err));
	return mpk_relax_vm_function(m->vm, index, out, err);
}

static bool name_at(struct mpk_node_module *node, size_t i, struct mpk_span *out)
{
	const struct mpk_relax_program *p = ((struct model *)node->state)->program;

	for (size_t k = 0; k < p->callee_count; k++)
		if (p->x.funcs[k].kind != MPK_RELAX_PACKED && i-- == 0) {
			*out = p->callees[k].name;
			return true;
		}
	return false;
}

struct mpk_relax_vm *mpk_relax_machine_of(const struct mpk_node_module *node)
{
	return node->state ? ((const struct model *)node->state)->vm : NULL;
}

const struct mpk_loader mpk_relax_executor = {
	.accepts = accepts,
	.has = mpk_model_node_has,
	.open = open_node,
	.find = find,
	.name_at = name_at,
	.close = close_node,
};

enum mpk_code mpk_relax_add_builtins(struct mpk_runtime *runtime, struct mpk_error *err)
{
	const struct mpk_relax_builtin *b;

	for (size_t i = 0; (b = mpk_relax_builtin_at(i)) != NULL; i++) {
		struct mpk_function *f;

		MPK_TRY(mpk_relax_builtin_function(b, &f, err));
		MPK_TRY(mpk_runtime_add_function(runtime, f, err));
	}
	return MPK_OK;
}
