/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - calls of a machine from outside: arguments, then a plan or the byte code */
#include <stdlib.h>

#include "executor/plan/plan.h"
#include "executor/relay/internal/inputs.h"
#include "executor/relay/internal/interp.h"
#include "runtime/context.h"
#include "text/escape.h"

enum { FEW = 16 }; /* arguments that find room without an allocation */

static enum mpk_code interpret(void *machine, size_t function, const struct mpk_value *args,
			       size_t count, struct mpk_value *result, struct mpk_error *err)
{
	return mpk_relay_run(machine, function, args, count, result, err);
}

static enum mpk_code call(struct mpk_relay_vm *vm, size_t function, const struct mpk_value *args,
			  size_t count, struct mpk_value *result, struct mpk_error *err)
{
	const struct mpk_plan_interpreter self = { interpret, vm, &vm->recorder };

	if (vm->depth > 1) {
		/* a kernel calls back: its steps are a part of what the kernel does */
		mpk_record_nothing(vm->recorder);
		return mpk_relay_run(vm, function, args, count, result, err);
	}
	vm->steps_left = vm->step_limit;
	vm->observers = mpk_runtime_observers(vm->program->runtime);
	if (vm->observers)
		return mpk_relay_run(vm, function, args, count, result, err);
	return mpk_plan_call(vm->plans, &self, function, args, count, result, err);
}

static enum mpk_code take_and_call(struct mpk_relay_vm *vm, size_t function,
				   const struct mpk_value *args, size_t count,
				   struct mpk_value *result, struct mpk_error *err)
{
	const struct mpk_relay_callee *callee = &vm->program->callees[function];
	struct mpk_value few[FEW], *taken = few;
	enum mpk_code code;

	if (count != callee->params.count)
		return mpk_fail(err, MPK_E_RAISED, "TypeError: %s takes %zu arguments, not %zu",
				MPK_QUOTE(mpk_span_str(callee->name)), callee->params.count, count);
	if (count > FEW)
		taken = malloc(count * sizeof *taken);
	MPK_TRY_ALLOC(taken, err);
	code = mpk_relay_inputs_take(vm, callee, args, taken, err);
	if (code == MPK_OK) {
		code = call(vm, function, taken, count, result, err);
		for (size_t i = 0; i < count; i++)
			mpk_value_drop(&taken[i]);
	}
	if (taken != few)
		free(taken);
	return code;
}

enum mpk_code mpk_relay_vm_invoke(struct mpk_relay_vm *vm, size_t function,
				  const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_context before;
	enum mpk_code code;

	(void)pthread_mutex_lock(&vm->lock);
	before = mpk_context_swap(vm->program->context);
	if (vm->depth == MPK_RELAY_DEPTH_MAX) {
		code = mpk_fail(err, MPK_E_RAISED, "RuntimeError: recursion without end");
	} else {
		vm->depth++;
		code = take_and_call(vm, function, args, count, result, err);
		vm->depth--;
	}
	(void)mpk_context_swap(before);
	(void)pthread_mutex_unlock(&vm->lock);
	return code;
}
