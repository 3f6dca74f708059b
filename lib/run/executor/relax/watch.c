/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/relax/internal/watch.h"

#include <string.h>

#include "base/vec.h"

/* --- tensors that nothing filled so far ------------------------------------------------------ */

static size_t find_fresh(const struct mpk_relax_vm *vm, const struct mpk_tensor *t)
{
	size_t i = 0;

	while (i < vm->fresh.count && vm->fresh.items[i].tensor != t)
		i++;
	return i;
}

/* What is known of a value; NULL: nothing. */
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

/* Also when a new tensor has the address of one that went without being used. */
static void forget(struct mpk_relax_vm *vm, const struct mpk_value *v)
{
	if (known(vm, v))
		vm->fresh.items[find_fresh(vm, v->tensor)] = vm->fresh.items[--vm->fresh.count];
}

static bool remember(struct mpk_relax_vm *vm, const struct mpk_tensor *t, bool is_heap)
{
	struct mpk_relax_fresh *f = &vm->fresh;

	if (!mpk_vec_reserve(&f->items, &f->cap, f->count + 1, sizeof f->items[0]))
		return false;
	f->items[f->count++] = (struct mpk_relax_fresh_tensor){ t, is_heap };
	return true;
}

/* --- operands -------------------------------------------------------------------------------- */

static struct mpk_place place_of(const struct mpk_relax_operand *o)
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

/* What is called, and from where. */
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

static bool is_builtin(const struct mpk_relax_callee *c, const char *name)
{
	return c->action == MPK_ACTION_BUILTIN && strcmp(c->builtin->name, name) == 0;
}

/* call_tir_dyn only takes a shape apart for the kernel that is its first argument. */
static bool is_kernel_by_shape(const struct mpk_relax_callee *c, const struct mpk_relax_step *s,
			       const struct mpk_value *values)
{
	return is_builtin(c, "vm.builtin.call_tir_dyn") && s->count &&
	       values[0].kind == MPK_VALUE_FUNCTION;
}

static enum mpk_operator_kind kind_of(const struct mpk_relax_callee *c)
{
	if (c->action != MPK_ACTION_BUILTIN)
		return MPK_OPERATOR_KERNEL;
	return c->builtin->effect == MPK_EFFECT_COPY ? MPK_OPERATOR_COPY : MPK_OPERATOR_BUILTIN;
}

static void mark_results(const struct mpk_relax_vm *vm, struct mpk_operator *op)
{
	bool any = false;

	for (size_t i = 0; i < op->count; i++)
		any |= op->operands[i].is_result = is_fresh(vm, &op->operands[i].value);
	for (size_t i = 0; i < op->count && !any; i++)
		op->operands[i].is_result = op->operands[i].value.kind == MPK_VALUE_TENSOR &&
					    op->operands[i].place.kind != MPK_PLACE_CONSTANT &&
					    !known(vm, &op->operands[i].value);
}

enum mpk_code mpk_relax_watch_call(const struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				   const struct mpk_value *values, struct mpk_operator *op,
				   struct mpk_error *err)
{
	const struct mpk_relax_callee *c = &vm->program->callees[s->callee];
	const struct mpk_relax_operand *operands = &vm->program->operands[s->first];
	uint32_t skip = is_kernel_by_shape(c, s, values);

	*op = head(vm, s);
	op->kind = skip ? MPK_OPERATOR_KERNEL : kind_of(c);
	op->name = skip ? mpk_span_str(values[0].function->name) : c->name;
	MPK_TRY(mpk_operator_init(op, s->count - skip, err));
	for (uint32_t i = skip; i < s->count; i++)
		op->operands[i - skip] =
			(struct mpk_operand){ .place = place_of(&operands[i]), .value = values[i] };
	if (op->kind == MPK_OPERATOR_KERNEL)
		mark_results(vm, op);
	return MPK_OK;
}

enum mpk_code mpk_relax_watch_done(struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
				   struct mpk_operator *op, const struct mpk_value *result,
				   struct mpk_error *err)
{
	const struct mpk_relax_callee *c = &vm->program->callees[s->callee];
	bool was_fresh = false;

	for (size_t i = 0; i < op->count && op->kind == MPK_OPERATOR_KERNEL; i++) {
		if (!is_fresh(vm, &op->operands[i].value))
			continue;
		was_fresh = true;
		forget(vm, &op->operands[i].value);
	}
	/* a function that returns its result works on nothing in place */
	for (size_t i = 0; i < op->count && !was_fresh; i++)
		op->operands[i].is_result &= result->kind == MPK_VALUE_NONE;
	forget(vm, result);
	if (result->kind != MPK_VALUE_TENSOR || c->action != MPK_ACTION_BUILTIN)
		return MPK_OK;
	if (c->builtin->effect == MPK_EFFECT_HEAP || is_builtin(c, "vm.builtin.alloc_tensor"))
		MPK_TRY_ALLOC(remember(vm, result->tensor, c->builtin->effect == MPK_EFFECT_HEAP),
			      err);
	return MPK_OK;
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
	/* a constant that was not made yet is made by the step itself */
	if (o->kind == MPK_OPERAND_CONSTANT)
		return vm->constants[o->value];
	return (struct mpk_value){ 0 };
}

static enum mpk_code fill(const struct mpk_relax_vm *vm, const struct mpk_relax_step *s,
			  struct mpk_operator *op, struct mpk_error *err)
{
	const struct mpk_relax_program *p = vm->program;
	uint32_t count = s->count;

	if (s->action == MPK_ACTION_RETURN || s->action == MPK_ACTION_IF)
		count = 1;
	op->kind = MPK_OPERATOR_CONTROL;
	if (s->action == MPK_ACTION_CALL)
		op->name = p->callees[s->callee].name;
	else
		op->name = mpk_span_str(s->action == MPK_ACTION_RETURN ? "return"
					: s->action == MPK_ACTION_GOTO ? "goto"
								       : "if");
	MPK_TRY(mpk_operator_init(op, count, err));
	for (uint32_t i = 0; i < count; i++) {
		const struct mpk_relax_operand *o = &p->operands[s->first + i];

		op->operands[i] = (struct mpk_operand){ .place = place_of(o),
							.value = register_value(vm, o) };
	}
	return MPK_OK;
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
	MPK_TRY(fill(vm, s, &op, err));
	return mpk_operator_control(vm->observers, &op, err);
}

enum mpk_code mpk_relax_watch_compiled(const struct mpk_relax_callee *c,
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
