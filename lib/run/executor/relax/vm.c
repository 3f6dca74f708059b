/* SPDX-License-Identifier: Apache-2.0 */
/* vm.c - a machine: its devices and constants, the function table as values, compiled functions
 *
 * Constants are made when they are first used: a model of gigabytes whose function needs a few of them
 * loads these alone. Functions of exec_mode="compiled" are byte code that became code of the library;
 * they work on lists of values that only functions of this file and of their loader look into, and find builtins
 * and kernels by name like any code of the library.
 */
#include "executor/relax/internal/relax.h"

#include <stdlib.h>
#include <string.h>

#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "executor/plan/plan.h"
#include "text/escape.h"

/* --- lists of values ------------------------------------------------------------------------- */

/* Compiled functions name items by number alone and move them through three functions of their loader, so how a
 * list looks is ours: cells of tvm-ffi, or values where the convention is the legacy one. */
struct mpk_any_list {
	enum mpk_convention conv;
	size_t count;
	struct mpk_ffi_any *cells;
	struct mpk_legacy_item *items;
};

/* One of the two arrays is made, and which one says the convention from then on. */
static enum mpk_code any_list_create(enum mpk_convention conv, size_t count,
				     struct mpk_any_list **out, struct mpk_error *err)
{
	struct mpk_any_list *list = calloc(1, sizeof *list);

	MPK_TRY_ALLOC(list, err);
	list->conv = conv;
	list->count = count;
	if (conv == MPK_CONV_LEGACY)
		list->items = calloc(count + 1, sizeof *list->items);
	else
		list->cells = calloc(count + 1, sizeof *list->cells);
	if (!list->items && !list->cells) {
		free(list);
		return mpk_fail_nomem(err);
	}
	*out = list;
	return MPK_OK;
}

static void any_list_destroy(struct mpk_any_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->count; i++) {
		if (list->cells)
			mpk_ffi_any_drop(list->conv, &list->cells[i]);
		else
			mpk_value_drop(&list->items[i].value);
	}
	free(list->cells);
	free(list->items);
	free(list);
}

/* The old item goes first: a list never holds more than its count. */
static enum mpk_code any_list_set(struct mpk_any_list *list, size_t i, const struct mpk_value *v,
				  struct mpk_error *err)
{
	if (list->cells) {
		mpk_ffi_any_drop(list->conv, &list->cells[i]);
		return mpk_ffi_encode(list->conv, v, &list->cells[i], err);
	}
	mpk_value_drop(&list->items[i].value);
	list->items[i].value = mpk_value_hold(*v);
	return MPK_OK;
}

static enum mpk_code any_list_get(const struct mpk_any_list *list, size_t i, struct mpk_value *out,
				  struct mpk_error *err)
{
	if (list->cells)
		return mpk_ffi_decode(list->conv, &list->cells[i], MPK_LIFETIME_OWNED, out, err);
	*out = mpk_value_hold(list->items[i].value);
	return MPK_OK;
}

/* What code is given for the list, and gives to the functions that it imports for it. */
static void *any_list_items(struct mpk_any_list *list)
{
	return list->cells ? (void *)list->cells : (void *)list->items;
}

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
	any_list_destroy(functions);
}

static void stop_vm(struct mpk_machine *m)
{
	struct mpk_relax_vm *vm = (struct mpk_relax_vm *)m;

	mpk_plans_destroy(vm->plans);
	any_list_destroy(vm->constant_list);
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

/* --- compiled functions --------------------------------------------------------------------- */

static enum mpk_code relax_vm_put_functions(struct mpk_relax_vm *vm, enum mpk_convention conv,
					    struct mpk_error *err)
{
	const struct mpk_relax_program *p = vm->program;

	MPK_TRY(any_list_create(conv, p->callee_count, &vm->function_list, err));
	for (size_t i = 0; i < p->callee_count; i++) {
		struct mpk_value v = { 0 };
		bool own;

		MPK_TRY(mpk_relax_vm_function(vm, i, &v.function, err));
		v.kind = MPK_VALUE_FUNCTION;
		/* each reference that the list has to this machine is counted, to see when there
		 * are no others */
		own = mpk_machine_owns(&vm->base, v.function);

		enum mpk_code code = any_list_set(vm->function_list, i, &v, err);

		vm->base.own_refs += own && code == MPK_OK;
		mpk_value_drop(&v);
		MPK_TRY(code);
	}
	return MPK_OK;
}

static enum mpk_code put_constants(struct mpk_relax_vm *vm, enum mpk_convention conv,
				   struct mpk_error *err)
{
	const struct mpk_relax_program *p = vm->program;

	MPK_TRY(any_list_create(conv, p->x.const_count, &vm->constant_list, err));
	for (size_t i = 0; i < p->x.const_count; i++) {
		const struct mpk_value *v;

		MPK_TRY(mpk_relax_vm_constant(vm, i, &v, err));
		MPK_TRY(any_list_set(vm->constant_list, i, v, err));
	}
	return MPK_OK;
}

/* Half of a list would be taken for all of it by the next call_with_lists. */
static void empty_lists(struct mpk_relax_vm *vm)
{
	struct mpk_any_list *functions = vm->function_list;

	vm->function_list = NULL;
	vm->base.own_refs = 0;
	any_list_destroy(functions);
	any_list_destroy(vm->constant_list);
	vm->constant_list = NULL;
}

/* All constants and all functions, made when the first compiled function runs. */
static enum mpk_code fill_lists(struct mpk_relax_vm *vm, enum mpk_convention conv,
				struct mpk_error *err)
{
	enum mpk_code code;

	if (vm->constant_list)
		return MPK_OK;
	code = relax_vm_put_functions(vm, conv, err);
	if (code == MPK_OK)
		code = put_constants(vm, conv, err);
	if (code != MPK_OK)
		empty_lists(vm);
	return code;
}

/* f(machine, registers, constants, functions); the result is in the register after the arguments. */
static enum mpk_code call_with_lists(struct mpk_relax_vm *vm, const struct mpk_relax_callee *c,
				     struct mpk_any_list *registers, struct mpk_value *result,
				     struct mpk_error *err)
{
	struct mpk_value lists[] = {
		mpk_value_of_opaque(vm),
		mpk_value_of_opaque(any_list_items(registers)),
		mpk_value_of_opaque(any_list_items(vm->constant_list)),
		mpk_value_of_opaque(any_list_items(vm->function_list)),
	};
	struct mpk_value none = { 0 };

	MPK_TRY(mpk_function_call(c->function, &(struct mpk_args){ lists, NULL, 4 }, &none, err));
	mpk_value_drop(&none);
	return any_list_get(registers, c->arg_count, result, err);
}

enum mpk_code mpk_relax_call_compiled(struct mpk_relax_vm *vm, const struct mpk_relax_callee *c,
				      const struct mpk_value *args, size_t count,
				      struct mpk_value *result, struct mpk_error *err)
{
	enum mpk_convention conv = c->function->convention;
	struct mpk_any_list *registers;
	enum mpk_code code;

	if (count != c->arg_count)
		return mpk_relax_raise(err, "TypeError", "%s takes %u arguments, not %zu",
				       MPK_QUOTE(c->name), c->arg_count, count);
	MPK_TRY(fill_lists(vm, conv, err));
	/* one more: a function of no result may name no register for it */
	MPK_TRY(any_list_create(conv, (size_t)c->register_count + 1, &registers, err));
	code = MPK_OK;
	for (size_t i = 0; i < count && code == MPK_OK; i++)
		code = any_list_set(registers, i, &args[i], err);
	if (code == MPK_OK)
		code = call_with_lists(vm, c, registers, result, err);
	any_list_destroy(registers);
	return code;
}
