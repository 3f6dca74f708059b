/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - operands of a step as values, and calls of what is not byte code of the machine
 *
 * Values are borrowed from registers and constants, so that a call costs no reference counts. Code at an
 * address is called by cells that lie on the stack; what cannot be written into a cell without an
 * object goes the longer way.
 *
 * A recorder (plan/plan.h) is informed of each call by what the row of a builtin says of its effect. A
 * function of the machine that is called meanwhile records its own steps. So it may be called by byte
 * code, or by a builtin that does nothing else. Called by a kernel or a closure its steps would be
 * recorded twice, as its own and as a part of theirs: then there is no plan.
 */
#include "executor/relax/internal/call.h"

#include <stdlib.h>

#include "abi/packed.h"
#include "executor/plan/plan.h"
#include "executor/relax/internal/vm.h"
#include "executor/relax/internal/watch.h"
#include "text/escape.h"

/* --- what a recorder is informed of --------------------------------------------------------- */

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

	return f && mpk_machine_owns(&vm->base, f);
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

static void record_before(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
			  const struct mpk_value *args, size_t count)
{
	const struct mpk_relax_callee *c = &vm->program->callees[s->callee];

	vm->passes_on = c->action == MPK_ACTION_BUILTIN && passes_on(vm, c->builtin, args, count);
}

static void record_after(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
			 const struct mpk_value *args, size_t count, const struct mpk_value *result)
{
	const struct mpk_relax_callee *c = &vm->program->callees[s->callee];

	if (c->action == MPK_ACTION_BUILTIN)
		record_builtin(vm, s, args, count, result);
	else if (c->action == MPK_ACTION_KERNEL || c->action == MPK_ACTION_FUNCTION)
		record_kernel(vm, s, c->function, args, count, result);
	else
		mpk_record_nothing(vm->recorder); /* a compiled function: not a step is known */
}

/* --- operands ------------------------------------------------------------------------------ */

void mpk_relax_arguments_fini(struct mpk_relax_arguments *a)
{
	for (size_t i = 0; a->has_functions && i < a->count; i++)
		if (a->values[i].kind == MPK_VALUE_FUNCTION)
			mpk_value_drop(&a->values[i]);
	if (a->values != a->few)
		free(a->values);
}

enum mpk_code mpk_relax_operand_value(struct mpk_relax_vm *vm, const struct mpk_relax_operand *o,
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

enum mpk_code mpk_relax_arguments_of(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
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
		enum mpk_code code = mpk_relax_operand_value(vm, &operands[i], &a->values[i], err);

		if (code != MPK_OK) {
			mpk_relax_arguments_fini(a);
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

/* Compiled code with arguments as they lie; false: one of them needs an object. */
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

static enum mpk_code call_function(const struct mpk_relax_callee *c,
				   const struct mpk_relax_arguments *a, struct mpk_value *result,
				   struct mpk_error *err)
{
	enum mpk_code code;

	if (c->action != MPK_ACTION_KERNEL || !call_packed(c->function, a, result, &code, err))
		code = mpk_function_call(
			c->function, &(struct mpk_args){ a->values, NULL, a->count }, result, err);
	return code;
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
	return call_function(c, a, result, err);
}

static enum mpk_code call_recorded(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				   const struct mpk_relax_arguments *a, struct mpk_value *result,
				   struct mpk_error *err)
{
	record_before(vm, s, a->values, a->count);
	MPK_TRY(call_callee(vm, s, a, result, err));
	record_after(vm, s, a->values, a->count, result);
	return MPK_OK;
}

static enum mpk_code call_observed(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				   const struct mpk_relax_arguments *a, struct mpk_value *result,
				   struct mpk_error *err)
{
	MPK_CLEANUP(mpk_operator_fini) struct mpk_operator op = { 0 };
	enum mpk_code code;

	MPK_TRY(mpk_relax_watch_call(vm, s, a->values, &op, err));
	MPK_TRY(mpk_operator_begin(vm->observers, &op, err));
	MPK_TRY(call_callee(vm, s, a, result, err));
	code = mpk_relax_watch_done(vm, s, &op, result, err);
	if (code == MPK_OK)
		code = mpk_operator_end(vm->observers, &op, result, err);
	if (code != MPK_OK)
		mpk_value_drop(result);
	return code;
}

enum mpk_code mpk_relax_call_out(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				 struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_relax_arguments a;
	enum mpk_code code;

	MPK_TRY(mpk_relax_arguments_of(vm, s, &a, err));
	if (vm->observers)
		code = call_observed(vm, s, &a, result, err);
	else if (vm->recorder)
		code = call_recorded(vm, s, &a, result, err);
	else
		code = call_callee(vm, s, &a, result, err);
	mpk_relax_arguments_fini(&a);
	return code;
}
