/* SPDX-License-Identifier: Apache-2.0 */
/* interp.c - the interpreter of a machine, which runs byte code step by step
 *
 * The loop looks nothing up and checks no index, because program.c did. Calls in byte code keep
 * their frames in the machine instead of on the native stack, so that the depth of loops compiled
 * to recursion is limited only by memory. Only closures and compiled functions call this file
 * recursively.
 *
 * Arguments are borrowed from registers and constants, so that a call changes no reference counts.
 * Code at an address is called with cells on the stack; arguments that need an object take a slower
 * path. */
#include "executor/relax/internal/relax.h"

#include <stdlib.h>

#include "abi/convention.h"
#include "executor/machine.h"
#include "executor/plan/plan.h"
#include "runtime/stop.h"
#include "text/escape.h"

/* --- operands ------------------------------------------------------------------------------ */

static void arguments_fini(struct mpk_relax_arguments *a)
{
	for (size_t i = 0; a->has_functions && i < a->count; i++)
		if (a->values[i].kind == MPK_VALUE_FUNCTION)
			mpk_value_drop(&a->values[i]);
	if (a->values != a->few)
		free(a->values);
}

static enum mpk_code operand_value(struct mpk_relax_vm *vm, const struct mpk_relax_operand *o,
				   struct mpk_value *out, struct mpk_error *err)
{
	const struct mpk_value *constant;
	struct mpk_function *f;

	switch (o->kind) {
	case MPK_OPERAND_REGISTER:
		*out = mpk_relax_registers(vm)[o->value];
		return MPK_OK;
	case MPK_OPERAND_INT:
		*out = mpk_value_of_int(o->value);
		return MPK_OK;
	case MPK_OPERAND_CONSTANT:
		MPK_TRY(mpk_relax_vm_constant(vm, (size_t)o->value, &constant, err));
		mpk_record_constant(vm->recorder, constant);
		*out = *constant;
		return MPK_OK;
	case MPK_OPERAND_NONE:
		*out = (struct mpk_value){ 0 };
		return MPK_OK;
	case MPK_OPERAND_VM:
		*out = mpk_value_of_opaque(vm);
		return MPK_OK;
	case MPK_OPERAND_FUNCTION:
		break;
	}
	MPK_TRY(mpk_relax_vm_function(vm, (size_t)o->value, &f, err));
	*out = mpk_value_of_function(f);
	return MPK_OK;
}

static enum mpk_code arguments_of(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				  struct mpk_relax_arguments *a, struct mpk_error *err)
{
	const struct mpk_relax_operand *operands = &vm->program->operands[s->first];

	a->values = a->few;
	a->count = 0;
	a->has_functions = false;
	if (s->count > MPK_RELAX_ARGUMENTS_FEW)
		a->values = malloc(s->count * sizeof *a->values);
	if (!a->values)
		return mpk_fail_nomem(err);
	for (uint32_t i = 0; i < s->count; i++) {
		enum mpk_code code = operand_value(vm, &operands[i], &a->values[i], err);

		if (code != MPK_OK) {
			arguments_fini(a);
			return code;
		}
		/* a function in a register belongs to the register */
		if (operands[i].kind == MPK_OPERAND_FUNCTION)
			a->has_functions = true;
		else if (a->values[i].kind == MPK_VALUE_FUNCTION)
			(void)mpk_function_hold(a->values[i].function);
		a->has_functions |= a->values[i].kind == MPK_VALUE_FUNCTION;
		a->count++;
	}
	return MPK_OK;
}

/* --- calls --------------------------------------------------------------------------------- */

/* Calls compiled code with borrowed arguments; false: an argument needs an object. */
static bool call_packed(const struct mpk_function *f, const struct mpk_relax_arguments *a,
			struct mpk_value *result, enum mpk_code *code, struct mpk_error *err)
{
	_Alignas(16) char memory[MPK_RELAX_ARGUMENTS_FEW * sizeof(struct mpk_ffi_any)];
	struct mpk_packed p;

	if (a->count > MPK_RELAX_ARGUMENTS_FEW)
		return false;
	p = mpk_packed_at(f->convention, memory, a->count);
	for (size_t i = 0; i < a->count; i++) {
		if (a->values[i].kind == MPK_VALUE_TENSOR)
			mpk_packed_set_tensor(&p, i, &a->values[i].tensor->dl);
		else if (mpk_packed_set(&p, i, &a->values[i], NULL) != MPK_OK)
			return false;
	}
	*code = mpk_packed_call(&p, f->address, result, err);
	return true;
}

static enum mpk_code call_callee(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				 const struct mpk_relax_arguments *a, struct mpk_value *result,
				 struct mpk_error *err)
{
	const struct mpk_relax_callee *c = &vm->program->callees[s->callee];

	if (c->action == MPK_ACTION_BUILTIN)
		return c->builtin->call(a->values, a->count, result, err);
	if (c->action == MPK_ACTION_COMPILED)
		return mpk_relax_call_compiled(vm, c, a->values, a->count, result, err);
	if (c->action == MPK_ACTION_MISSING)
		return mpk_fail(err, MPK_E_LOAD, "nobody has the function '%s'",
				MPK_QUOTE(c->name));

	/* Calls a function of the library or of the runtime; arguments that do not fit a cell are passed as
	 * objects. */
	enum mpk_code code;

	if (c->action != MPK_ACTION_KERNEL || !call_packed(c->function, a, result, &code, err))
		code = mpk_function_call(
			c->function, &(struct mpk_args){ a->values, NULL, a->count }, result, err);
	return code;
}

/* --- frames -------------------------------------------------------------------------------- */

static enum mpk_code push_frame(struct mpk_relax_vm *vm, uint32_t callee,
				const struct mpk_value *args, size_t count, struct mpk_error *err)
{
	const struct mpk_relax_callee *c = &vm->program->callees[callee];

	/* closures add captured values, so the number is known only at the call */
	if (count != c->arg_count)
		return mpk_relax_raise(err, "TypeError", "%s takes %u arguments, not %zu",
				       MPK_QUOTE(c->name), c->arg_count, count);
	MPK_TRY(mpk_frames_push(&vm->frames, c->name, callee, c->start, c->register_count, err));
	for (size_t i = 0; i < count; i++)
		mpk_relax_registers(vm)[i] = mpk_value_hold(args[i]);
	return MPK_OK;
}

/* Register -1 means that the result is dropped. */
static void set_register(struct mpk_relax_vm *vm, int32_t reg, struct mpk_value v)
{
	if (reg < 0)
		mpk_value_drop(&v);
	else
		mpk_frames_set(&vm->frames, (uint32_t)reg, v);
}

/* --- steps --------------------------------------------------------------------------------- */

static enum mpk_code relax_interp_enter(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
					struct mpk_error *err)
{
	struct mpk_relax_arguments a;
	enum mpk_code code;

	MPK_TRY(arguments_of(vm, s, &a, err));
	code = push_frame(vm, s->callee, a.values, a.count, err);
	arguments_fini(&a);
	return code;
}

/* Notes the call of an operator that failed, in the innermost frame. As the call before it counts a
 * kernel or function, not a builtin that only prepares memory. */
static void note_failure(const struct mpk_relax_vm *vm, const struct mpk_relax_step *s)
{
	const struct mpk_relax_program *p = vm->program;
	const struct mpk_frame *f = mpk_frames_top(&vm->frames);
	const struct mpk_relax_callee *caller = &p->callees[f->callee];
	struct mpk_span before = { 0 };

	for (size_t at = f->at; at-- > caller->start && !before.len;) {
		const struct mpk_relax_step *earlier = &p->steps[at];

		if (earlier->action != MPK_ACTION_NONE && earlier->action <= MPK_ACTION_MISSING &&
		    p->callees[earlier->callee].action != MPK_ACTION_BUILTIN)
			before = p->callees[earlier->callee].name;
	}
	mpk_failed_note(mpk_stop_get(), p->callees[s->callee].name, caller->name,
			(int64_t)(f->at - caller->start), before);
}

static enum mpk_code relax_interp_take_step(struct mpk_relax_vm *vm, size_t floor,
					    struct mpk_value *result, bool *done,
					    struct mpk_error *err)
{
	struct mpk_frame *f = mpk_frames_top(&vm->frames);
	const struct mpk_relax_step *s = &vm->program->steps[f->at];
	struct mpk_value got = { 0 };
	bool yes;

	if (vm->observers)
		MPK_TRY(mpk_relax_watch_control(vm, s, err));
	if (s->action == MPK_ACTION_CALL)
		return relax_interp_enter(vm, s, err);
	if (s->action == MPK_ACTION_RETURN) {
		/* Leaves a frame; *done if it was the outermost frame of this run_function. */
		struct mpk_value v;

		MPK_TRY(operand_value(vm, &vm->program->operands[s->first], &v, err));
		v = mpk_value_hold(v);
		mpk_frames_pop(&vm->frames, vm->frames.count - 1);
		*done = vm->frames.count == floor;
		if (*done) {
			*result = v;
			return MPK_OK;
		}
		struct mpk_frame *caller = mpk_frames_top(&vm->frames);

		set_register(vm, vm->program->steps[caller->at].dst, v);
		caller->at++;
		return MPK_OK;
	}
	if (s->action == MPK_ACTION_GOTO) {
		f->at = (uint32_t)s->target;
		return MPK_OK;
	}
	if (s->action == MPK_ACTION_IF) {
		/* A condition is an integer or bool; vm.builtin.read_if_cond converts tensors. */
		struct mpk_value v;
		int64_t number;

		MPK_TRY(operand_value(vm, &vm->program->operands[s->first], &v, err));
		MPK_TRY(mpk_relax_int("if", &v, 0, &number, err));
		yes = number != 0;
		f->at = yes ? f->at + 1 : (uint32_t)s->target;
		return MPK_OK;
	}

	struct mpk_relax_arguments a;
	enum mpk_code code;

	MPK_TRY(arguments_of(vm, s, &a, err));
	code = vm->observers || vm->recorder
		       ? mpk_relax_call_watched(vm, s, &a, call_callee, &got, err)
		       : call_callee(vm, s, &a, &got, err);
	arguments_fini(&a);
	if (code != MPK_OK) {
		note_failure(vm, s);
		return code;
	}

	set_register(vm, s->dst, got);
	mpk_frames_top(&vm->frames)->at++; /* looks the frame up again, because a call back may have
					    * moved the frames */
	return MPK_OK;
}

static enum mpk_code run_function(struct mpk_relax_vm *vm, size_t function,
				  const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	size_t floor = vm->frames.count;
	bool done = false;
	struct mpk_stop *stop = mpk_stop_get();
	enum mpk_code code = push_frame(vm, (uint32_t)function, args, count, err);

	while (code == MPK_OK && !done) {
		code = mpk_stop_check(stop, err);
		if (code == MPK_OK)
			code = relax_interp_take_step(vm, floor, result, &done, err);
		/* the limit is set by callers that run untrusted byte code */
		if (vm->step_limit && ++vm->steps > vm->step_limit)
			code = mpk_relax_raise(err, "RuntimeError", "more than %llu steps",
					       (unsigned long long)vm->step_limit);
	}
	mpk_frames_pop(&vm->frames, floor);
	return code;
}

/* --- calls from outside -------------------------------------------------------------------- */

/* Checks the values against the signature. A few inputs need no allocation. */
static enum mpk_code check_inputs(const struct mpk_signature *s, const struct mpk_value *values,
				  size_t count, struct mpk_error *err)
{
	const struct mpk_value *few[32], **bound = few;
	size_t room = s->input_count + s->param_count;
	enum mpk_code code;

	if (room > MPK_ARRAY_COUNT(few))
		bound = calloc(room, sizeof(const struct mpk_value *));
	MPK_TRY_ALLOC(bound, err);
	code = mpk_signature_bind(s, &(struct mpk_args){ values, NULL, count }, bound, err);
	if (bound != few)
		free(bound);
	return code;
}

/* A call with a plan is not checked: its types and shapes were checked when the plan was made. */
static enum mpk_code interpret(void *machine, size_t function, const struct mpk_value *args,
			       size_t count, struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_relax_vm *vm = machine;

	MPK_TRY(check_inputs(vm->program->callees[function].signature, args, count, err));
	return run_function(vm, function, args, count, result, err);
}

/* A compiled function counts as one operator, because its steps are unknown. */
static enum mpk_code describe_compiled(const struct mpk_relax_callee *c,
				       const struct mpk_value *values, size_t count,
				       struct mpk_operator *op, struct mpk_error *err)
{
	*op = (struct mpk_operator){ .kind = MPK_OPERATOR_KERNEL, .name = c->name };
	MPK_TRY(mpk_operator_init(op, count, err));
	for (size_t i = 0; i < count; i++)
		op->operands[i] = (struct mpk_operand){ .place = { MPK_PLACE_REGISTER, (int64_t)i },
							.value = values[i] };
	return MPK_OK;
}

/* Whether a call may reset items of the caller's tuples. A recorded call works on copies of tuples,
 * so the caller's would not be reset. */
static bool may_reset(const struct mpk_relax_program *p, const struct mpk_value *args, size_t count)
{
	size_t i = 0;

	while (p->resets_tuples && i < count && args[i].kind != MPK_VALUE_ARRAY)
		i++;
	return p->resets_tuples && i < count;
}

static enum mpk_code invoke_planned(struct mpk_relax_vm *vm, size_t function,
				    const struct mpk_value *args, size_t count,
				    struct mpk_value *result, struct mpk_error *err)
{
	const struct mpk_relax_callee *c = &vm->program->callees[function];
	const struct mpk_plan_interpreter self = { interpret, vm, &vm->recorder };

	/* the outermost call */
	if (vm->base.depth == 1) {
		vm->steps = 0;
		vm->fresh.count = 0;
		vm->observers = mpk_runtime_observers(vm->program->base.runtime);
	}
	if (vm->recorder && (!vm->passes_on || c->action == MPK_ACTION_COMPILED))
		mpk_record_nothing(vm->recorder);
	vm->passes_on = false;
	if (c->action == MPK_ACTION_COMPILED) {
		MPK_CLEANUP(mpk_operator_fini) struct mpk_operator op = { 0 };

		if (vm->base.depth == 1)
			MPK_TRY(check_inputs(c->signature, args, count, err));
		if (!vm->observers)
			return mpk_relax_call_compiled(vm, c, args, count, result, err);
		MPK_TRY(describe_compiled(c, args, count, &op, err));
		MPK_TRY(mpk_operator_begin(vm->observers, &op, err));
		MPK_TRY(mpk_relax_call_compiled(vm, c, args, count, result, err));
		enum mpk_code code = mpk_operator_end(vm->observers, &op, result, err);

		if (code != MPK_OK)
			mpk_value_drop(result);
		return code;
	}
	if (vm->base.depth > 1)
		return run_function(vm, function, args, count, result, err);
	if (vm->observers || may_reset(vm->program, args, count))
		return interpret(vm, function, args, count, result, err);
	enum mpk_code code = mpk_plan_call(vm->plans, &self, function, args, count, result, err);

	/* the steps of a plan do not tell which function they belong to */
	if (code != MPK_OK)
		mpk_failed_note_function(mpk_stop_get(), c->name);
	return code;
}

static enum mpk_code invoke_vm(struct mpk_machine *m, size_t function, const struct mpk_args *args,
			       struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_relax_vm *vm = (struct mpk_relax_vm *)m;
	const struct mpk_signature *s = vm->program->callees[function].signature;
	struct mpk_value *values;
	enum mpk_code code;

	if (!args->names)
		return invoke_planned(vm, function, args->values, args->count, result, err);
	MPK_TRY(mpk_signature_order(s, args, &values, err));
	code = invoke_planned(vm, function, values, s->input_count, result, err);
	free(values);
	return code;
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

	/* --- life ------------------------------------------------------------------------- */
	/* byte code uses the last device as the host, for shapes and scalars */
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

	vm->plans = mpk_plans_create(&(struct mpk_plan_places){
		.devices = mpk_runtime_devices(m->program->runtime),
		.where = vm->devices,
		.allocators = vm->allocators,
		.count = vm->device_count,
	});
	MPK_TRY_ALLOC(vm->plans, err);
	return MPK_OK;
}

/* The lists for compiled code hold one reference to the machine for each of its functions. */
static void drop_own(struct mpk_machine *m)
{
	mpk_relax_compiled_fini((struct mpk_relax_vm *)m);
}

static void stop_vm(struct mpk_machine *m)
{
	struct mpk_relax_vm *vm = (struct mpk_relax_vm *)m;

	mpk_plans_destroy(vm->plans);
	mpk_relax_compiled_fini(vm);
	for (size_t i = 0; vm->constants && i < vm->program->x.const_count; i++)
		mpk_value_drop(&vm->constants[i]);
	free(vm->constants);
	free(vm->fresh.items);
	mpk_frames_fini(&vm->frames);
}

const struct mpk_machine_kind mpk_relax_machine_kind = {
	.bytes = sizeof(struct mpk_relax_vm),
	.depth_max = MPK_RELAX_DEPTH_MAX,
	.start = start_vm,
	.stop = stop_vm,
	.drop_own = drop_own,
	.invoke = invoke_vm,
};
