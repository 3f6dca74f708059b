/* SPDX-License-Identifier: Apache-2.0 */
/* vm.c - a machine: its devices, and calls from outside
 *
 * Closures are functions of the program with their first arguments. What a caller looks up is a closure
 * without any, so that both are called in the same way: arguments are put in order and to the devices where the
 * parameters want them, and then a plan is run, or the byte code where there is none.
 *
 * The program says for each parameter on which device it is to be, and kernels of TVM refuse memory that
 * is not compact, not aligned, or begins at an offset. What is right already is shared; anything else
 * is copied once, here, and not by each kernel that uses it. Numbers become tensors of rank 0, because
 * Relay has no other.
 */
#include "executor/relay/internal/relay.h"

#include <inttypes.h>
#include <stdlib.h>

#include "executor/plan/plan.h"
#include "program/model.h"
#include "text/escape.h"
#include "value/element.h"

/* --- devices ------------------------------------------------------------------------------- */

static enum mpk_code choose_device(int32_t type, const struct mpk_dldevice *devices, size_t count,
				   struct mpk_dldevice *out, struct mpk_error *err)
{
	*out = (struct mpk_dldevice){ MPK_DL_CPU, 0 };
	for (size_t i = 0; i < count; i++)
		if (devices[i].type == type) {
			*out = devices[i];
			return MPK_OK;
		}
	if (type == MPK_DL_CPU)
		return MPK_OK;
	/* a device that this program has no back end for, or one that the caller did not name */
	if (mpk_device_kind_from(type) == MPK_DEVICE_NONE)
		return mpk_fail(err, MPK_E_LOAD,
				"the model is compiled for devices of DLPack type %" PRId32
				", which do not run here",
				type);
	return mpk_fail(err, MPK_E_LOAD,
			"the model is compiled for %s and was given no such device",
			mpk_device_kind_name(mpk_device_kind_from(type)));
}

static enum mpk_code relay_vm_take_devices(struct mpk_relay_vm *vm,
					   const struct mpk_dldevice *devices, size_t count,
					   struct mpk_error *err)
{
	const struct mpk_relay_program *p = vm->program;

	for (size_t i = 0; i < p->place_count; i++) {
		MPK_TRY(choose_device(p->places[i].type, devices, count, &vm->devices[i], err));
		MPK_TRY(mpk_devices_allocator(mpk_relay_vm_devices(vm), vm->devices[i],
					      &vm->allocators[i], err));
	}
	vm->plans = mpk_plans_create(&(struct mpk_plan_places){
		.devices = mpk_relay_vm_devices(vm),
		.where = vm->devices,
		.allocators = vm->allocators,
		.count = p->place_count,
	});
	MPK_TRY_ALLOC(vm->plans, err);
	return MPK_OK;
}

/* --- life ---------------------------------------------------------------------------------- */

static enum mpk_code start_vm(struct mpk_machine *m, const struct mpk_dldevice *devices,
			      size_t count, struct mpk_error *err)
{
	struct mpk_relay_vm *vm = (struct mpk_relay_vm *)m;
	const struct mpk_relay_program *p;

	vm->program = (struct mpk_relay_program *)m->program;
	p = vm->program;
	vm->step_limit = UINT64_MAX;
	vm->frames.max = MPK_RELAY_FRAMES_MAX;
	vm->frames.stack_max = MPK_RELAY_STACK_MAX;
	vm->devices = calloc(p->place_count + 1, sizeof *vm->devices);
	vm->allocators = calloc(p->place_count + 1, sizeof(struct mpk_allocator *));
	vm->constants = calloc(p->const_count + 1, sizeof(struct mpk_tensor *));
	MPK_TRY_ALLOC(vm->devices && vm->allocators && vm->constants, err);
	return relay_vm_take_devices(vm, devices, count, err);
}

static void stop_vm(struct mpk_machine *m)
{
	struct mpk_relay_vm *vm = (struct mpk_relay_vm *)m;

	mpk_plans_destroy(vm->plans);
	for (size_t i = 0; vm->constants && i < vm->program->const_count; i++)
		mpk_tensor_drop(vm->constants[i]);
	free(vm->constants);
	free(vm->devices);
	free(vm->allocators);
	mpk_frames_fini(&vm->frames);
}

/* --- as kernels take them ------------------------------------------------------------------ */

/* Arrays within arrays, of a caller. */
enum { NEST_MAX = 256 };

/* TVM of these releases has one type for bool; arrays of others come with DLPack's. */
static bool is_dlpack_bool(struct mpk_dtype t)
{
	return t.code == MPK_DTYPE_BOOL && t.bits == 8;
}

/* On a device an offset is no obstacle: kernels there get it as it is. */
static bool kernels_take(const struct mpk_dltensor *dl)
{
	return mpk_dltensor_is_compact(dl) &&
	       (!mpk_dldevice_is_host(dl->device) ||
		(dl->byte_offset == 0 && (uintptr_t)dl->data % MPK_STORAGE_ALIGN == 0));
}

/* The same elements in memory of their own. */
static enum mpk_code copy_tensor(struct mpk_relay_vm *vm, struct mpk_tensor *t,
				 struct mpk_dldevice where, struct mpk_tensor **out,
				 struct mpk_error *err)
{
	struct mpk_tensor *from = NULL, *to = NULL;
	enum mpk_code code = MPK_OK;

	if (mpk_dldevice_is_host(t->dl.device) && !mpk_dltensor_is_compact(&t->dl))
		code = mpk_tensor_compact(t, &from, err);
	else if (!mpk_dltensor_is_compact(&t->dl))
		code = mpk_fail(err, MPK_E_UNSUPPORTED,
				"a tensor on a device whose rows are not contiguous");
	else
		from = mpk_tensor_hold(t);
	MPK_TRY(code);
	code = mpk_devices_empty(mpk_relay_vm_devices(vm), from, where, &to, err);
	if (code == MPK_OK)
		code = mpk_devices_copy(mpk_relay_vm_devices(vm), &from->dl, &to->dl, from->bytes,
					err);
	mpk_tensor_drop(from);
	if (code == MPK_OK)
		*out = to;
	else
		mpk_tensor_drop(to);
	return code;
}

static enum mpk_code take_tensor(struct mpk_relay_vm *vm, struct mpk_tensor *t, uint32_t place,
				 struct mpk_tensor **out, struct mpk_error *err)
{
	struct mpk_tensor *taken;
	enum mpk_code code;

	if (!mpk_relay_place_is_plain(&vm->program->places[place]))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "an input that is to be an image, '%s'",
				MPK_QUOTE(vm->program->places[place].scope));
	if (mpk_dldevice_equal(t->dl.device, vm->devices[place]) && kernels_take(&t->dl))
		taken = mpk_tensor_hold(t);
	else
		MPK_TRY(copy_tensor(vm, t, vm->devices[place], &taken, err));
	/* kernels of these releases compare with uint1 and refuse DLPack's bool */
	if (!is_dlpack_bool(t->dl.dtype)) {
		*out = taken;
		return MPK_OK;
	}

	/* The same memory under the type that TVM's kernels know. */
	struct mpk_dltensor dl = taken->dl;

	dl.dtype = (struct mpk_dtype){ MPK_DTYPE_UINT, 1, dl.dtype.lanes };
	code = mpk_tensor_wrap(&dl, taken->storage, out, err);

	mpk_tensor_drop(taken);
	return code;
}

/* A number as TVM's own callers pass it: of the type that was said, else of 32 bits. */
static enum mpk_code relay_inputs_take_number(struct mpk_relay_vm *vm, const struct mpk_value *v,
					      uint32_t place, struct mpk_tensor **out,
					      struct mpk_error *err)
{
	bool real = v->kind == MPK_VALUE_FLOAT;
	struct mpk_element e = { .i = v->integer, .u = (uint64_t)v->integer, .f = v->real };
	struct mpk_dtype type = { real ? MPK_DTYPE_FLOAT : MPK_DTYPE_INT, 32, 1 };
	struct mpk_tensor *t;
	enum mpk_code code;

	if (v->kind == MPK_VALUE_BOOL) {
		/* take_tensor turns it into what the kernels know */
		type = (struct mpk_dtype){ MPK_DTYPE_BOOL, 8, 1 };
		e.i = v->boolean;
	} else if (v->type.bits) {
		type = v->type;
	}
	e.class = mpk_element_class(type);
	MPK_TRY(mpk_tensor_create(type, NULL, 0, MPK_STORAGE_PRIVATE, &t, err));
	mpk_element_store(type, e, t->dl.data);
	code = take_tensor(vm, t, place, out, err);
	mpk_tensor_drop(t);
	return code;
}

/* Where a value belongs. */
struct target {
	struct mpk_relay_vm *vm;
	const struct mpk_relay_callee *callee;
	size_t param;
};

static enum mpk_code wrong_kind(const struct target *to, const char *what, struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_USAGE, "input '%s' of %s takes a tensor, not %s",
			MPK_QUOTE(to->callee->params.items[to->param]),
			MPK_QUOTE(mpk_span_str(to->callee->name)), what);
}

static enum mpk_code relay_inputs_take_value(const struct target *to, const struct mpk_value *v,
					     unsigned depth, struct mpk_value *out,
					     struct mpk_error *err);

static enum mpk_code take_array(const struct target *to, const struct mpk_array *array,
				unsigned depth, struct mpk_value *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_value_drop) struct mpk_value made = { 0 };

	/* a caller's tuples may be nested without end; this recursion may not */
	if (depth == NEST_MAX)
		return wrong_kind(to, "tuples nested too deep", err);
	MPK_TRY(mpk_value_of_array(array->count, &made, err));
	made.array->tag = array->tag;
	for (size_t i = 0; i < array->count; i++)
		MPK_TRY(relay_inputs_take_value(to, &array->items[i], depth + 1,
						&made.array->items[i], err));
	*out = made;
	made = (struct mpk_value){ 0 };
	return MPK_OK;
}

static enum mpk_code relay_inputs_take_value(const struct target *to, const struct mpk_value *v,
					     unsigned depth, struct mpk_value *out,
					     struct mpk_error *err)
{
	uint32_t place = to->callee->param_places[to->param];
	struct mpk_tensor *t;

	switch (v->kind) {
	case MPK_VALUE_TENSOR:
		MPK_TRY(take_tensor(to->vm, v->tensor, place, &t, err));
		*out = mpk_value_of_tensor(t);
		return MPK_OK;
	case MPK_VALUE_BOOL:
	case MPK_VALUE_INT:
	case MPK_VALUE_FLOAT:
		MPK_TRY(relay_inputs_take_number(to->vm, v, place, &t, err));
		*out = mpk_value_of_tensor(t);
		return MPK_OK;
	case MPK_VALUE_ARRAY:
		return take_array(to, v->array, depth, out, err);
	case MPK_VALUE_NONE:
	case MPK_VALUE_FUNCTION:
		*out = mpk_value_hold(*v);
		return MPK_OK;
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
	case MPK_VALUE_SHAPE:
	case MPK_VALUE_DTYPE:
	case MPK_VALUE_DEVICE:
	case MPK_VALUE_STORAGE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	return wrong_kind(to, mpk_value_kind_name(v->kind), err);
}

/* Arguments as kernels take them: each on the device of its parameter, in host
 * memory compact and aligned. What is so already is shared, not copied.
 * @out     owned values, as many as args */
static enum mpk_code relay_inputs_take(struct mpk_relay_vm *vm, const struct mpk_relay_callee *c,
				       const struct mpk_value *args, struct mpk_value *out,
				       struct mpk_error *err)
{
	for (size_t i = 0; i < c->params.count; i++) {
		const struct target to = { vm, c, i };
		enum mpk_code code = relay_inputs_take_value(&to, &args[i], 0, &out[i], err);

		if (code == MPK_OK)
			continue;
		/* what was taken so far is given back: on failure nothing is owned */
		while (i-- > 0)
			mpk_value_drop(&out[i]);
		return code;
	}
	return MPK_OK;
}

/* --- calls ---------------------------------------------------------------------------------- */

enum { FEW = 16 }; /* arguments that find room without an allocation */

static enum mpk_code interpret(void *machine, size_t function, const struct mpk_value *args,
			       size_t count, struct mpk_value *result, struct mpk_error *err)
{
	return mpk_relay_run(machine, function, args, count, result, err);
}

static enum mpk_code call_planned(struct mpk_relay_vm *vm, size_t function,
				  const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	const struct mpk_plan_interpreter self = { interpret, vm, &vm->recorder };

	if (vm->base.depth > 1) {
		/* a kernel calls back: its steps are a part of what the kernel does */
		mpk_record_nothing(vm->recorder);
		return mpk_relay_run(vm, function, args, count, result, err);
	}
	/* the outermost call: nothing of the one before matters any more */
	vm->steps_left = vm->step_limit;
	vm->observers = mpk_runtime_observers(vm->program->base.runtime);
	/* observers see byte code, not the plan that would leave most of it out */
	if (vm->observers)
		return mpk_relay_run(vm, function, args, count, result, err);
	return mpk_plan_call(vm->plans, &self, function, args, count, result, err);
}

static enum mpk_code invoke_vm(struct mpk_machine *m, size_t function, const struct mpk_args *given,
			       struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_relay_vm *vm = (struct mpk_relay_vm *)m;
	const struct mpk_relay_callee *callee = &vm->program->callees[function];
	struct mpk_value few[FEW], *taken = few;
	enum mpk_code code;

	if (given->count != callee->params.count)
		return mpk_fail(err, MPK_E_RAISED, "TypeError: %s takes %zu arguments, not %zu",
				MPK_QUOTE(mpk_span_str(callee->name)), callee->params.count,
				given->count);
	if (given->count > FEW)
		taken = malloc(given->count * sizeof *taken);
	MPK_TRY_ALLOC(taken, err);
	code = relay_inputs_take(vm, callee, given->values, taken, err);
	if (code == MPK_OK) {
		code = call_planned(vm, function, taken, given->count, result, err);
		for (size_t i = 0; i < given->count; i++)
			mpk_value_drop(&taken[i]);
	}
	if (taken != few)
		free(taken);
	return code;
}

const struct mpk_machine_kind mpk_relay_machine_kind = {
	.bytes = sizeof(struct mpk_relay_vm),
	.depth_max = MPK_RELAY_DEPTH_MAX,
	.start = start_vm,
	.stop = stop_vm,
	.invoke = invoke_vm,
};
