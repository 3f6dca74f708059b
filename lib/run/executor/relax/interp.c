/* SPDX-License-Identifier: Apache-2.0 */
/* interp.c - runs byte code, step by step
 *
 * Nothing is looked up here, and no index is checked: relax.c did that. Calls within byte code keep
 * their frames in the machine, not on the native stack, so that loops compiled to recursion run as long
 * as memory lasts; only closures and compiled functions come back here by recursion.
 */
#include "executor/relax/internal/call.h"

#include <stdlib.h>

#include "executor/check.h"
#include "executor/plan/plan.h"
#include "executor/relax/internal/builtin.h"
#include "executor/relax/internal/vm.h"
#include "executor/relax/internal/watch.h"
#include "text/escape.h"

/* --- frames -------------------------------------------------------------------------------- */

static enum mpk_code push_frame(struct mpk_relax_vm *vm, uint32_t callee,
				const struct mpk_value *args, size_t count, struct mpk_error *err)
{
	const struct mpk_relax_callee *c = &vm->program->callees[callee];

	if (count != c->arg_count)
		return mpk_relax_raise(err, "TypeError", "%s takes %u arguments, not %zu",
				       MPK_QUOTE(c->name), c->arg_count, count);
	MPK_TRY(mpk_frames_push(&vm->frames, c->name, callee, c->start, c->register_count, err));
	for (size_t i = 0; i < count; i++)
		mpk_relax_registers(vm)[i] = mpk_value_hold(args[i]);
	return MPK_OK;
}

static void set_register(struct mpk_relax_vm *vm, int32_t reg, struct mpk_value v)
{
	if (reg < 0)
		mpk_value_drop(&v);
	else
		mpk_frames_set(&vm->frames, (uint32_t)reg, v);
}

/* --- steps --------------------------------------------------------------------------------- */

static enum mpk_code enter(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
			   struct mpk_error *err)
{
	struct mpk_relax_arguments a;
	enum mpk_code code;

	MPK_TRY(mpk_relax_arguments_of(vm, s, &a, err));
	code = push_frame(vm, s->callee, a.values, a.count, err);
	mpk_relax_arguments_fini(&a);
	return code;
}

static enum mpk_code is_true(struct mpk_relax_vm *vm, const struct mpk_relax_step *s, bool *out,
			     struct mpk_error *err)
{
	struct mpk_value v;
	int64_t number;

	MPK_TRY(mpk_relax_operand_value(vm, &vm->program->operands[s->first], &v, err));
	MPK_TRY(mpk_relax_int("if", &v, 0, &number, err));
	*out = number != 0;
	return MPK_OK;
}

/* Leaves a frame; *done when it was the outermost of this run_function. */
static enum mpk_code leave(struct mpk_relax_vm *vm, const struct mpk_relax_step *s, size_t floor,
			   struct mpk_value *result, bool *done, struct mpk_error *err)
{
	struct mpk_value v;

	MPK_TRY(mpk_relax_operand_value(vm, &vm->program->operands[s->first], &v, err));
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

static enum mpk_code take_step(struct mpk_relax_vm *vm, size_t floor, struct mpk_value *result,
			       bool *done, struct mpk_error *err)
{
	struct mpk_frame *f = mpk_frames_top(&vm->frames);
	const struct mpk_relax_step *s = &vm->program->steps[f->at];
	struct mpk_value got = { 0 };
	bool yes;

	if (vm->observers)
		MPK_TRY(mpk_relax_watch_control(vm, s, err));
	if (s->action == MPK_ACTION_CALL)
		return enter(vm, s, err);
	if (s->action == MPK_ACTION_RETURN)
		return leave(vm, s, floor, result, done, err);
	if (s->action == MPK_ACTION_GOTO) {
		f->at = (uint32_t)s->target;
		return MPK_OK;
	}
	if (s->action == MPK_ACTION_IF) {
		MPK_TRY(is_true(vm, s, &yes, err));
		f->at = yes ? f->at + 1 : (uint32_t)s->target;
		return MPK_OK;
	}
	MPK_TRY(mpk_relax_call_out(vm, s, &got, err));
	set_register(vm, s->dst, got);
	mpk_frames_top(&vm->frames)->at++; /* a call back may have moved the frames */
	return MPK_OK;
}

static enum mpk_code run_function(struct mpk_relax_vm *vm, size_t function,
				  const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	size_t floor = vm->frames.count;
	bool done = false;
	enum mpk_code code = push_frame(vm, (uint32_t)function, args, count, err);

	while (code == MPK_OK && !done) {
		code = take_step(vm, floor, result, &done, err);
		if (vm->step_limit && ++vm->steps > vm->step_limit)
			code = mpk_relax_raise(err, "RuntimeError", "more than %llu steps",
					       (unsigned long long)vm->step_limit);
	}
	mpk_frames_pop(&vm->frames, floor);
	return code;
}

/* --- calls from outside -------------------------------------------------------------------- */

/* A call that has a plan is right: its types and shapes were checked when the plan was made. */
static enum mpk_code interpret(void *machine, size_t function, const struct mpk_value *args,
			       size_t count, struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_relax_vm *vm = machine;

	MPK_TRY(mpk_signature_check(vm->program->callees[function].signature, args, count, err));
	return run_function(vm, function, args, count, result, err);
}

static enum mpk_code invoke_compiled(struct mpk_relax_vm *vm, const struct mpk_relax_callee *c,
				     const struct mpk_value *args, size_t count,
				     struct mpk_value *result, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_operator_fini) struct mpk_operator op = { 0 };

	if (vm->base.depth == 1)
		MPK_TRY(mpk_signature_check(c->signature, args, count, err));
	if (!vm->observers)
		return mpk_relax_call_compiled(vm, c, args, count, result, err);
	MPK_TRY(mpk_relax_watch_compiled(c, args, count, &op, err));
	MPK_TRY(mpk_operator_begin(vm->observers, &op, err));
	MPK_TRY(mpk_relax_call_compiled(vm, c, args, count, result, err));
	enum mpk_code code = mpk_operator_end(vm->observers, &op, result, err);

	if (code != MPK_OK)
		mpk_value_drop(result);
	return code;
}

/* Who is recorded gets tuples of its own: a function that resets items would not reset the caller's. */
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

	if (vm->base.depth == 1) {
		vm->steps = 0;
		vm->fresh.count = 0;
		vm->observers = mpk_runtime_observers(vm->program->base.runtime);
	}
	if (vm->recorder && (!vm->passes_on || c->action == MPK_ACTION_COMPILED))
		mpk_record_nothing(vm->recorder);
	vm->passes_on = false;
	if (c->action == MPK_ACTION_COMPILED)
		return invoke_compiled(vm, c, args, count, result, err);
	if (vm->base.depth > 1)
		return run_function(vm, function, args, count, result, err);
	if (vm->observers || may_reset(vm->program, args, count))
		return interpret(vm, function, args, count, result, err);
	return mpk_plan_call(vm->plans, &self, function, args, count, result, err);
}

enum mpk_code mpk_relax_vm_invoke(struct mpk_machine *m, size_t function,
				  const struct mpk_args *args, struct mpk_value *result,
				  struct mpk_error *err)
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
