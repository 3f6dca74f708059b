/* SPDX-License-Identifier: Apache-2.0 */
/* vm.c - a machine: its devices and constants, and the function table as values
 *
 * Constants are made when they are first used: a model of gigabytes whose function needs a few of them
 * loads these alone.
 */
#include "executor/relax/internal/relax.h"

#include <stdlib.h>
#include <string.h>

#include "executor/plan/plan.h"
#include "text/escape.h"

/* --- devices and constants -------------------------------------------------------------------- */

static enum mpk_code relax_vm_take_devices(struct mpk_relax_vm *vm,
					   const struct mpk_dldevice *devices, size_t count,
					   struct mpk_error *err)
{
	/* byte code takes the last device for the host's, where shapes and scalars are */
	bool has_host = count && devices[count - 1].type == MPK_DL_CPU;

	if (count + !has_host > MPK_RELAX_DEVICES_MAX)
		return mpk_fail(err, MPK_E_RANGE, "%zu devices; at most %d", count,
				MPK_RELAX_DEVICES_MAX);
	for (size_t i = 0; i < count; i++)
		vm->devices[vm->device_count++] = devices[i];
	if (!has_host)
		vm->devices[vm->device_count++] = (struct mpk_dldevice){ MPK_DL_CPU, 0 };
	for (size_t i = 0; i < vm->device_count; i++)
		MPK_TRY(mpk_devices_allocator(mpk_runtime_devices(vm->program->base.runtime),
					      vm->devices[i], &vm->allocators[i], err));
	return MPK_OK;
}

static enum mpk_code start_vm(struct mpk_machine *m, const struct mpk_dldevice *devices,
			      size_t count, struct mpk_error *err)
{
	struct mpk_relax_vm *vm = (struct mpk_relax_vm *)m;

	vm->program = (struct mpk_relax_program *)m->program;
	vm->frames.max = MPK_RELAX_FRAMES_MAX;
	vm->frames.stack_max = MPK_RELAX_STACK_MAX;
	vm->constants = calloc(vm->program->x.const_count + 1, sizeof *vm->constants);
	MPK_TRY_ALLOC(vm->constants, err);
	MPK_TRY(relax_vm_take_devices(vm, devices, count, err));
	vm->plans = mpk_plans_create(&(struct mpk_plan_places){
		.devices = mpk_runtime_devices(m->program->runtime),
		.where = vm->devices,
		.allocators = vm->allocators,
		.count = vm->device_count,
	});
	MPK_TRY_ALLOC(vm->plans, err);
	return MPK_OK;
}

/* The list of functions for compiled code holds the machine once for each of its functions. */
static void drop_own(struct mpk_machine *m)
{
	struct mpk_relax_vm *vm = (struct mpk_relax_vm *)m;
	struct mpk_any_list *functions = vm->function_list;

	vm->function_list = NULL;
	mpk_relax_list_destroy(functions);
}

static void stop_vm(struct mpk_machine *m)
{
	struct mpk_relax_vm *vm = (struct mpk_relax_vm *)m;

	mpk_plans_destroy(vm->plans);
	mpk_relax_list_destroy(vm->constant_list);
	mpk_relax_kept_destroy(vm->kept, vm->program->callee_count);
	for (size_t i = 0; vm->constants && i < vm->program->x.const_count; i++)
		mpk_value_drop(&vm->constants[i]);
	free(vm->constants);
	free(vm->fresh.items);
	mpk_frames_fini(&vm->frames);
}

static void relax_vm_unload_program(struct mpk_program *base)
{
	struct mpk_relax_program *p = (struct mpk_relax_program *)base;

	for (size_t i = 0; p->callees && i < p->callee_count; i++)
		mpk_function_drop(p->callees[i].function);
}

/* The devices that were asked for, followed by those that the program means by their numbers; of a guess
 * the program's replace what was guessed. */
static size_t choose_devices(const struct mpk_program *base, struct mpk_dldevice *out)
{
	const struct mpk_relax_program *p = (const struct mpk_relax_program *)base;
	size_t count, most = 0;
	const struct mpk_dldevice *said = mpk_runtime_get_devices(p->base.runtime, &count);
	bool guessed = mpk_runtime_are_devices_guessed(p->base.runtime);

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

const struct mpk_model_kind mpk_relax_kind = {
	.program_bytes = sizeof(struct mpk_relax_program),
	.machine_bytes = sizeof(struct mpk_relax_vm),
	.depth_max = MPK_RELAX_DEPTH_MAX,
	.load = mpk_relax_load,
	.unload = relax_vm_unload_program,
	.choose_devices = choose_devices,
	.start = start_vm,
	.stop = stop_vm,
	.drop_own = drop_own,
	.invoke = mpk_relax_vm_invoke,
};

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

/* Extents as they are stored, eight bytes each, at any address. */
static enum mpk_code make_shape(struct mpk_span raw, struct mpk_value *out, struct mpk_error *err)
{
	int64_t extents[MPK_TENSOR_NDIM_MAX];
	size_t ndim = raw.len / 8;

	if (ndim > MPK_TENSOR_NDIM_MAX)
		return mpk_fail(err, MPK_E_RANGE, "a shape of %zu dimensions", ndim);
	for (size_t i = 0; i < ndim; i++)
		extents[i] = (int64_t)mpk_load_u64(raw.data + 8 * i);
	return mpk_value_of_shape(extents, ndim, out, err);
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
