/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - reports steps to a recorder and to observers
 *
 * A recorder (plan/plan.h) is told about each call according to the effect of the builtin. If the
 * call runs a function of the machine, that function's steps are recorded too. So the caller must
 * be byte code, or a builtin that does nothing else. If a kernel or a closure calls byte code, its
 * steps would be recorded twice, as steps and as part of the caller: then there is no plan.
 *
 * Observers want to know what a kernel reads and what it writes, but byte code does not tell which
 * arguments are which. Each result is allocated just before its kernel: the first operator that
 * gets a newly allocated tensor writes it. An operator without such a tensor may write to any of
 * its tensors except constants and the heap of symbolic extents. */
#include "executor/relax/internal/relax.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "executor/plan/plan.h"

/* --- what a recorder is informed of --------------------------------------------------------- */

/* Returns the function that a builtin calls; NULL: it calls none. */
static const struct mpk_function *called_by(const struct mpk_relax_builtin *b,
					    const struct mpk_value *args, size_t count)
{
	size_t at = b->effect == MPK_EFFECT_CALL ? 1 : 0;

	if ((b->effect != MPK_EFFECT_CALL && b->effect != MPK_EFFECT_KERNEL) || at >= count ||
	    args[at].kind != MPK_VALUE_FUNCTION)
		return NULL;
	return args[at].function;
}

/* Whether a builtin only calls byte code of this machine, which records its own steps. */
static bool passes_on(const struct mpk_relax_vm *vm, const struct mpk_relax_builtin *b,
		      const struct mpk_value *args, size_t count)
{
	const struct mpk_function *f = called_by(b, args, count);

	return f && mpk_machine_owns(&vm->base, f);
}

/* Whether a function is a kernel of the program. A closure is not, because its captured tensors
 * belong to this call; a builtin is not, because it is a step of its own. */
static bool is_kernel(const struct mpk_relax_program *p, const struct mpk_function *f)
{
	for (size_t i = 0; i < p->callee_count; i++)
		if (p->callees[i].function == f && (p->callees[i].action == MPK_ACTION_KERNEL ||
						    p->callees[i].action == MPK_ACTION_FUNCTION))
			return true;
	return false;
}

/* A kernel's value in a register may differ in the next call. */
static void record_kernel(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
			  struct mpk_function *f, const struct mpk_value *args, size_t count,
			  const struct mpk_value *result)
{
	if (s->dst < 0)
		mpk_record_kernel(vm->recorder, f, args, count, result);
	else
		mpk_record_nothing(vm->recorder);
}

/* Records the kernel that call_tir_dyn(function, tensors..., shape) calls. */
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

/* Only heaps hold extents that follow from the key. The content of any other tensor comes from
 * kernels or from the caller. */
static void record_extents(struct mpk_relax_vm *vm, const struct mpk_value *heap)
{
	if (heap->kind == MPK_VALUE_TENSOR &&
	    mpk_recorder_look(vm->recorder, heap->tensor) != MPK_RECORDED_HEAP)
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
		mpk_record_origin(vm->recorder, result->tensor->storage, MPK_ORIGIN_HEAP, 0);
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

static void record_after(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
			 const struct mpk_value *args, size_t count, const struct mpk_value *result)
{
	const struct mpk_relax_callee *c = &vm->program->callees[s->callee];

	if (c->action == MPK_ACTION_BUILTIN)
		record_builtin(vm, s, args, count, result);
	else if (c->action == MPK_ACTION_KERNEL || c->action == MPK_ACTION_FUNCTION)
		record_kernel(vm, s, c->function, args, count, result);
	else
		mpk_record_nothing(vm->recorder); /* the steps of a compiled function are unknown */
}

static enum mpk_code call_recorded(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				   const struct mpk_relax_arguments *a, mpk_relax_call_fn *call,
				   struct mpk_value *result, struct mpk_error *err)
{
	const struct mpk_relax_callee *c = &vm->program->callees[s->callee];

	vm->passes_on =
		c->action == MPK_ACTION_BUILTIN && passes_on(vm, c->builtin, a->values, a->count);
	MPK_TRY(call(vm, s, a, result, err));
	record_after(vm, s, a->values, a->count, result);
	return MPK_OK;
}

/* --- tensors that nothing filled so far ------------------------------------------------------ */

/* Searches the list in order: few tensors are waiting to be written at any time. */
static size_t find_fresh(const struct mpk_relax_vm *vm, const struct mpk_tensor *t)
{
	size_t i = 0;

	while (i < vm->fresh.count && vm->fresh.items[i].tensor != t)
		i++;
	return i;
}

/* Returns the entry of a value; NULL if there is none. */
static const struct mpk_relax_fresh_tensor *known(const struct mpk_relax_vm *vm,
						  const struct mpk_value *v)
{
	size_t i = v->kind == MPK_VALUE_TENSOR ? find_fresh(vm, v->tensor) : vm->fresh.count;

	return i < vm->fresh.count ? &vm->fresh.items[i] : NULL;
}

static bool is_fresh(const struct mpk_relax_vm *vm, const struct mpk_value *v)
{
	const struct mpk_relax_fresh_tensor *t = known(vm, v);

	return t && !t->is_heap;
}

/* Also called when a new tensor has the address of a freed one that was never used. */
static void watch_forget(struct mpk_relax_vm *vm, const struct mpk_value *v)
{
	if (known(vm, v))
		vm->fresh.items[find_fresh(vm, v->tensor)] = vm->fresh.items[--vm->fresh.count];
}

/* Keeps addresses without references: an entry is removed when its address is used again. */
static bool watch_remember(struct mpk_relax_vm *vm, const struct mpk_tensor *t, bool is_heap)
{
	struct mpk_relax_fresh *f = &vm->fresh;

	if (!mpk_vec_reserve(&f->items, &f->cap, f->count + 1, sizeof f->items[0]))
		return false;
	f->items[f->count++] = (struct mpk_relax_fresh_tensor){ t, is_heap };
	return true;
}

/* --- operands -------------------------------------------------------------------------------- */

static struct mpk_place watch_place_of(const struct mpk_relax_operand *o)
{
	switch (o->kind) {
	case MPK_OPERAND_REGISTER:
		return (struct mpk_place){ MPK_PLACE_REGISTER, o->value };
	case MPK_OPERAND_CONSTANT:
		return (struct mpk_place){ MPK_PLACE_CONSTANT, o->value };
	case MPK_OPERAND_INT:
	case MPK_OPERAND_FUNCTION:
	case MPK_OPERAND_NONE:
	case MPK_OPERAND_VM:
		break;
	}
	return (struct mpk_place){ MPK_PLACE_NONE, 0 };
}

/* Describes what is called, and from where. */
static struct mpk_operator head(const struct mpk_relax_vm *vm, const struct mpk_relax_step *s)
{
	const struct mpk_frame *f = mpk_frames_top(&vm->frames);
	const struct mpk_relax_callee *caller = &vm->program->callees[f->callee];
	struct mpk_operator op = {
		.function = caller->name,
		.index = f->at - caller->start,
	};

	if (s->dst >= 0)
		op.to = (struct mpk_place){ MPK_PLACE_REGISTER, s->dst };
	return op;
}

/* Compares names, because the builtin may be in any file. */
static bool is_builtin(const struct mpk_relax_callee *c, const char *name)
{
	return c->action == MPK_ACTION_BUILTIN && strcmp(c->builtin->name, name) == 0;
}

static enum mpk_operator_kind watch_kind_of(const struct mpk_relax_callee *c)
{
	if (c->action != MPK_ACTION_BUILTIN)
		return MPK_OPERATOR_KERNEL;
	return c->builtin->effect == MPK_EFFECT_COPY ? MPK_OPERATOR_COPY : MPK_OPERATOR_BUILTIN;
}

static enum mpk_code describe_call(const struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				   const struct mpk_value *values, struct mpk_operator *op,
				   struct mpk_error *err)
{
	const struct mpk_relax_callee *c = &vm->program->callees[s->callee];
	const struct mpk_relax_operand *operands = &vm->program->operands[s->first];

	/* call_tir_dyn only unpacks a shape for its first argument, the kernel. */
	uint32_t skip = is_builtin(c, "vm.builtin.call_tir_dyn") && s->count &&
			values[0].kind == MPK_VALUE_FUNCTION;

	*op = head(vm, s);
	op->kind = skip ? MPK_OPERATOR_KERNEL : watch_kind_of(c);
	op->name = skip ? mpk_span_str(values[0].function->name) : c->name;
	MPK_TRY(mpk_operator_init(op, s->count - skip, err));
	for (uint32_t i = skip; i < s->count; i++)
		op->operands[i - skip] =
			(struct mpk_operand){ .place = watch_place_of(&operands[i]),
					      .value = values[i] };
	if (op->kind == MPK_OPERATOR_KERNEL) {
		/* Lists newly allocated tensors; if there are none, all tensors that may be changed in place. */
		bool any = false;

		for (size_t i = 0; i < op->count; i++)
			any |= op->operands[i].is_result = is_fresh(vm, &op->operands[i].value);
		for (size_t i = 0; i < op->count && !any; i++)
			op->operands[i].is_result =
				op->operands[i].value.kind == MPK_VALUE_TENSOR &&
				op->operands[i].place.kind != MPK_PLACE_CONSTANT &&
				!known(vm, &op->operands[i].value);
	}
	return MPK_OK;
}

static enum mpk_code note_call(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
			       struct mpk_operator *op, const struct mpk_value *result,
			       struct mpk_error *err)
{
	const struct mpk_relax_callee *c = &vm->program->callees[s->callee];
	bool was_fresh = false;

	for (size_t i = 0; i < op->count && op->kind == MPK_OPERATOR_KERNEL; i++) {
		if (!is_fresh(vm, &op->operands[i].value))
			continue;
		was_fresh = true;
		watch_forget(vm, &op->operands[i].value);
	}
	/* a function that returns its result changes nothing in place */
	for (size_t i = 0; i < op->count && !was_fresh; i++)
		op->operands[i].is_result &= result->kind == MPK_VALUE_NONE;
	watch_forget(vm, result);
	if (result->kind != MPK_VALUE_TENSOR || c->action != MPK_ACTION_BUILTIN)
		return MPK_OK;
	if (c->builtin->effect == MPK_EFFECT_HEAP || is_builtin(c, "vm.builtin.alloc_tensor"))
		MPK_TRY_ALLOC(
			watch_remember(vm, result->tensor, c->builtin->effect == MPK_EFFECT_HEAP),
			err);
	return MPK_OK;
}

static enum mpk_code call_observed(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				   const struct mpk_relax_arguments *a, mpk_relax_call_fn *call,
				   struct mpk_value *result, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_operator_fini) struct mpk_operator op = { 0 };
	bool is_skipped = false;
	enum mpk_code code;

	MPK_TRY(describe_call(vm, s, a->values, &op, err));
	if (op.kind == MPK_OPERATOR_KERNEL)
		op.skips = &is_skipped;
	MPK_TRY(mpk_operator_begin(vm->observers, &op, err));
	if (!is_skipped)
		MPK_TRY(call(vm, s, a, result, err));
	code = note_call(vm, s, &op, result, err);
	if (code == MPK_OK && !is_skipped)
		code = mpk_operator_end(vm->observers, &op, result, err);
	if (code != MPK_OK)
		mpk_value_drop(result);
	return code;
}

enum mpk_code mpk_relax_call_watched(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				     const struct mpk_relax_arguments *a, mpk_relax_call_fn *call,
				     struct mpk_value *result, struct mpk_error *err)
{
	return vm->observers ? call_observed(vm, s, a, call, result, err)
			     : call_recorded(vm, s, a, call, result, err);
}

/* --- other steps ----------------------------------------------------------------------------- */

static struct mpk_value register_value(const struct mpk_relax_vm *vm,
				       const struct mpk_relax_operand *o)
{
	const struct mpk_frame *f = mpk_frames_top(&vm->frames);

	if (o->kind == MPK_OPERAND_REGISTER)
		return vm->frames.stack[f->base + (size_t)o->value];
	if (o->kind == MPK_OPERAND_INT)
		return mpk_value_of_int(o->value);
	/* the step makes a constant that does not exist yet */
	if (o->kind == MPK_OPERAND_CONSTANT)
		return vm->constants[o->value];
	return (struct mpk_value){ 0 };
}

enum mpk_code mpk_relax_watch_control(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				      struct mpk_error *err)
{
	MPK_CLEANUP(mpk_operator_fini) struct mpk_operator op = head(vm, s);

	if (s->action != MPK_ACTION_CALL && s->action != MPK_ACTION_RETURN &&
	    s->action != MPK_ACTION_GOTO && s->action != MPK_ACTION_IF)
		return MPK_OK;
	if (s->action != MPK_ACTION_CALL)
		op.to = (struct mpk_place){ 0 };

	const struct mpk_relax_program *p = vm->program;
	uint32_t count = s->count;

	if (s->action == MPK_ACTION_RETURN || s->action == MPK_ACTION_IF)
		count = 1;
	op.kind = MPK_OPERATOR_CONTROL;
	if (s->action == MPK_ACTION_CALL)
		op.name = p->callees[s->callee].name;
	else
		op.name = mpk_span_str(s->action == MPK_ACTION_RETURN ? "return"
				       : s->action == MPK_ACTION_GOTO ? "goto"
								      : "if");
	MPK_TRY(mpk_operator_init(&op, count, err));
	for (uint32_t i = 0; i < count; i++) {
		const struct mpk_relax_operand *o = &p->operands[s->first + i];

		op.operands[i] = (struct mpk_operand){ .place = watch_place_of(o),
						       .value = register_value(vm, o) };
	}

	return mpk_operator_control(vm->observers, &op, err);
}
