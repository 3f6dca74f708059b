/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/relax/internal/effect.h"

#include <stdlib.h>

#include "executor/plan/plan.h"

/* The function that a builtin calls; NULL: it calls none. */
static const struct mpk_function *called_by(const struct mpk_relax_builtin *b,
					    const struct mpk_value *args, size_t count)
{
	size_t at = b->effect == MPK_EFFECT_CALL ? 1 : 0;

	if ((b->effect != MPK_EFFECT_CALL && b->effect != MPK_EFFECT_KERNEL) || at >= count ||
	    args[at].kind != MPK_VALUE_FUNCTION)
		return NULL;
	return args[at].function;
}

/* Whether a builtin does nothing but call byte code of this machine, which tells what it does. */
static bool passes_on(const struct mpk_relax_vm *vm, const struct mpk_relax_builtin *b,
		      const struct mpk_value *args, size_t count)
{
	const struct mpk_function *f = called_by(b, args, count);

	return f && mpk_relax_vm_owns(vm, f);
}

/* Whether a function is a kernel of the program; not a closure, whose captured tensors are those of
 * this call, and not a builtin, which a step calls by itself. */
static bool is_kernel(const struct mpk_relax_program *p, const struct mpk_function *f)
{
	for (size_t i = 0; i < p->callee_count; i++)
		if (p->callees[i].function == f && (p->callees[i].action == MPK_ACTION_KERNEL ||
						    p->callees[i].action == MPK_ACTION_FUNCTION))
			return true;
	return false;
}

/* What a kernel leaves in a register is not the same in every call. */
static void record_kernel(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
			  struct mpk_function *f, const struct mpk_value *args, size_t count,
			  const struct mpk_value *result)
{
	if (s->dst < 0)
		mpk_record_kernel(vm->recorder, f, args, count, result);
	else
		mpk_record_nothing(vm->recorder);
}

/* call_tir_dyn(function, tensors..., shape), as it calls the function. */
static void record_tir_dyn(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
			   const struct mpk_value *args, size_t count,
			   const struct mpk_value *result)
{
	const struct mpk_shape *shape = args[count - 1].shape;
	size_t tensors = count - 2;
	struct mpk_value *values = NULL;

	if (is_kernel(vm->program, args[0].function))
		values = calloc(tensors + shape->ndim + 1, sizeof *values);
	if (!values) {
		mpk_record_nothing(vm->recorder);
		return;
	}
	for (size_t i = 0; i < tensors; i++)
		values[i] = args[i + 1];
	for (size_t i = 0; i < shape->ndim; i++)
		values[tensors + i] = mpk_value_of_int(shape->extents[i]);
	record_kernel(vm, s, args[0].function, values, tensors + shape->ndim, result);
	free(values);
}

/* Extents of the call are in heaps alone. Any other tensor in the place of one has content that kernels
 * write, or the caller. */
static void record_extents(struct mpk_relax_vm *vm, const struct mpk_value *heap)
{
	if (heap->kind == MPK_VALUE_TENSOR && !mpk_recorder_is_heap(vm->recorder, heap->tensor))
		mpk_record_nothing(vm->recorder);
}

static void record_builtin(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
			   const struct mpk_value *args, size_t count,
			   const struct mpk_value *result)
{
	const struct mpk_relax_builtin *b = vm->program->callees[s->callee].builtin;

	switch (b->effect) {
	case MPK_EFFECT_SHAPES:
		return;
	case MPK_EFFECT_STORAGE:
		mpk_record_storage(vm->recorder, result->storage);
		return;
	case MPK_EFFECT_HEAP:
		mpk_record_heap(vm->recorder, result->tensor->storage);
		return;
	case MPK_EFFECT_MATCH:
		record_extents(vm, &args[1]);
		return;
	case MPK_EFFECT_MAKE:
		record_extents(vm, &args[0]);
		return;
	case MPK_EFFECT_COPY:
		mpk_record_copy(vm->recorder, args[0].tensor, result->tensor);
		return;
	case MPK_EFFECT_CALL:
		if (!passes_on(vm, b, args, count))
			mpk_record_nothing(vm->recorder);
		return;
	case MPK_EFFECT_KERNEL:
		if (!passes_on(vm, b, args, count))
			record_tir_dyn(vm, s, args, count, result);
		return;
	case MPK_EFFECT_DATA:
	case MPK_EFFECT_RESET:
		break;
	}
	mpk_record_nothing(vm->recorder);
}

void mpk_relax_record_before(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
			     const struct mpk_value *args, size_t count)
{
	const struct mpk_relax_callee *c = &vm->program->callees[s->callee];

	vm->passes_on = c->action == MPK_ACTION_BUILTIN && passes_on(vm, c->builtin, args, count);
}

void mpk_relax_record_after(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
			    const struct mpk_value *args, size_t count,
			    const struct mpk_value *result)
{
	const struct mpk_relax_callee *c = &vm->program->callees[s->callee];

	if (c->action == MPK_ACTION_BUILTIN)
		record_builtin(vm, s, args, count, result);
	else if (c->action == MPK_ACTION_KERNEL || c->action == MPK_ACTION_FUNCTION)
		record_kernel(vm, s, c->function, args, count, result);
	else
		mpk_record_nothing(vm->recorder); /* a compiled function: not a step is known */
}
