/* SPDX-License-Identifier: Apache-2.0 */
/* vm.c - a program and its machines: devices and constants, functions as values, calls from outside
 *
 * Closures are functions of the program with their first arguments. What a caller looks up is a closure
 * without any, so that both are called in the same way: arguments are put in order and to the devices where the
 * parameters want them, and then a plan is run, or the byte code where there is none.
 */
#include "executor/relay/internal/relay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "executor/check.h"
#include "executor/plan/plan.h"
#include "program/model.h"
#include "text/escape.h"

/* --- the program ---------------------------------------------------------------------------- */

/* Kernels come from the imports alone: TVM asks its global functions for none. */
static enum mpk_code resolve_packed(struct mpk_relay_program *p, struct mpk_node_module *node,
				    struct mpk_error *err)
{
	p->packed_count = p->x.primitives.count;
	p->packed = mpk_arena_array(&p->base.arena, p->packed_count + 1, sizeof *p->packed);
	MPK_TRY_ALLOC(p->packed, err);
	for (size_t i = 0; i < p->packed_count; i++) {
		struct mpk_module_search search = { 0 };
		const char *name = mpk_arena_text(&p->base.arena, p->x.primitives.items[i]);

		MPK_TRY_ALLOC(name, err);
		p->packed[i].name = p->x.primitives.items[i];
		MPK_TRY(mpk_module_find_import(&node->base, name, &p->packed[i].function, &search,
					       err));
	}
	return MPK_OK;
}

/* The order matters: decoding relies on what mpk_relay_check found sound. */
static enum mpk_code load_program(struct mpk_program *base, struct mpk_node_module *node,
				  struct mpk_error *err)
{
	struct mpk_relay_program *p = (struct mpk_relay_program *)base;
	struct mpk_payload payload;

	MPK_TRY(mpk_node_payload(node, &p->base.arena, &payload, err));
	p->x = payload.u.relay;
	MPK_TRY(mpk_relay_check(&p->x, err));
	MPK_TRY(mpk_relay_signatures(&p->x, &p->base.arena, &p->signatures, err));
	MPK_TRY(mpk_relay_decode(p, err));
	p->late =
		mpk_arena_array(&p->base.arena, p->x.const_count + 1, sizeof(struct mpk_tensor *));
	MPK_TRY_ALLOC(p->late, err);
	return resolve_packed(p, node, err);
}

static void relay_vm_unload_program(struct mpk_program *base)
{
	struct mpk_relay_program *p = (struct mpk_relay_program *)base;

	for (size_t i = 0; p->packed && i < p->packed_count; i++)
		mpk_function_drop(p->packed[i].function);
	for (size_t i = 0; p->late && i < p->x.const_count; i++)
		mpk_tensor_drop(p->late[i]);
}

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
	code = mpk_relay_inputs_take(vm, callee, given->values, taken, err);
	if (code == MPK_OK) {
		code = call_planned(vm, function, taken, given->count, result, err);
		for (size_t i = 0; i < given->count; i++)
			mpk_value_drop(&taken[i]);
	}
	if (taken != few)
		free(taken);
	return code;
}

const struct mpk_model_kind mpk_relay_kind = {
	.program_bytes = sizeof(struct mpk_relay_program),
	.machine_bytes = sizeof(struct mpk_relay_vm),
	.depth_max = MPK_RELAY_DEPTH_MAX,
	.load = load_program,
	.unload = relay_vm_unload_program,
	.start = start_vm,
	.stop = stop_vm,
	.invoke = invoke_vm,
};

/* --- functions as values -------------------------------------------------------------------- */

/* Arguments in the order of the parameters: named ones at their parameter's place, the others at the
 * places that are left. The first `skip` parameters have their values already. */
static enum mpk_code order_inputs(const struct mpk_signature *model, size_t skip,
				  const struct mpk_args *args, struct mpk_value *out,
				  struct mpk_error *err)
{
	struct mpk_signature left = *model;
	struct mpk_value *values;

	left.inputs += skip;
	left.input_count -= skip;
	if (!args->names && args->count == left.input_count) { /* in order as they stand */
		for (size_t i = 0; i < args->count; i++)
			out[i] = args->values[i];
		return MPK_OK;
	}
	MPK_TRY(mpk_signature_order(&left, args, &values, err));
	for (size_t i = 0; i < left.input_count; i++)
		out[i] = values[i];
	free(values);
	return MPK_OK;
}

static enum mpk_code fill_values(struct mpk_relay_closure *c, const struct mpk_args *args,
				 struct mpk_value *values, struct mpk_error *err)
{
	const struct mpk_array *captured = c->captured.array;
	const struct mpk_signature *model = &c->vm->program->signatures[c->function];

	for (size_t i = 0; i < captured->count; i++)
		values[i] = captured->items[i];
	return order_inputs(model, captured->count, args, values + captured->count, err);
}

static enum mpk_code call_closure(struct mpk_function *self, const struct mpk_args *args,
				  struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_relay_closure *c = (struct mpk_relay_closure *)self;
	size_t count = c->vm->program->callees[c->function].params.count;
	struct mpk_value few[16], *values = few;
	enum mpk_code code;

	if (count > MPK_ARRAY_COUNT(few))
		values = malloc(count * sizeof *values);
	MPK_TRY_ALLOC(values, err);
	code = fill_values(c, args, values, err);
	if (code == MPK_OK)
		code = mpk_function_call(c->bound, &(struct mpk_args){ values, NULL, count },
					 result, err);
	if (values != few)
		free(values);
	return code;
}

static void destroy_closure(struct mpk_function *self)
{
	struct mpk_relay_closure *c = (struct mpk_relay_closure *)self;
	struct mpk_function *bound = c->bound;

	mpk_value_drop(&c->captured);
	free(c);
	/* last: it may be what keeps the machine */
	mpk_function_drop(bound);
}

enum mpk_code mpk_relay_closure_make(struct mpk_relay_vm *vm, size_t function,
				     struct mpk_value captured, struct mpk_function **out,
				     struct mpk_error *err)
{
	struct mpk_span name = mpk_span_str(vm->program->callees[function].name);
	struct mpk_relay_closure *c = calloc(1, sizeof *c);
	enum mpk_code code = c ? mpk_machine_bind(&vm->base, function, name, NULL, &c->bound, err)
			       : mpk_fail_nomem(err);

	if (code != MPK_OK) {
		mpk_value_drop(&captured);
		free(c);
		return code;
	}
	c->base = (struct mpk_function){
		.refs = 1,
		.name = vm->program->callees[function].name,
		.call = call_closure,
		.destroy = destroy_closure,
		.takes_names = true,
	};
	/* what a closure captured is missing in its parameters, which no signature says */
	if (captured.array->count == 0)
		c->base.signature = &vm->program->signatures[function];
	c->vm = vm;
	c->function = function;
	c->captured = captured;
	*out = &c->base;
	return MPK_OK;
}

const struct mpk_relay_closure *mpk_relay_closure_of(const struct mpk_relay_vm *vm,
						     const struct mpk_value *v)
{
	const struct mpk_relay_closure *c;

	/* any function may be in a register, also one of another machine */
	if (v->kind != MPK_VALUE_FUNCTION || v->function->call != call_closure)
		return NULL;
	c = (const struct mpk_relay_closure *)v->function;
	return c->vm == vm ? c : NULL;
}
