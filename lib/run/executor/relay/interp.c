/* SPDX-License-Identifier: Apache-2.0 */
/* interp.c - the loop over steps, and the steps that move between them
 *
 * Nothing is looked up here, and no index is checked: decode.c did that. Calls keep their frames in
 * the machine, not on the native stack, so that loops compiled to recursion run as long as memory
 * lasts.
 */
#include "executor/relay/internal/interp.h"

#include <inttypes.h>
#include <string.h>

#include "base/vec.h"
#include "executor/plan/plan.h"
#include "executor/relay/internal/closure.h"
#include "executor/relay/internal/ops.h"
#include "executor/relay/internal/watch.h"
#include "text/escape.h"

/* --- frames -------------------------------------------------------------------------------- */

static enum mpk_code push_frame(struct mpk_relay_vm *vm, size_t callee, struct mpk_error *err)
{
	const struct mpk_relay_callee *c = &vm->program->callees[callee];
	size_t base = vm->stack_used, top = base + c->register_count;

	if (vm->frame_count >= MPK_RELAY_FRAMES_MAX || top > MPK_RELAY_STACK_MAX)
		return mpk_fail(err, MPK_E_RAISED, "RuntimeError: %s: recursion without end",
				MPK_QUOTE(mpk_span_str(c->name)));
	MPK_TRY_ALLOC(mpk_vec_reserve(&vm->frames, &vm->frame_cap, vm->frame_count + 1,
				      sizeof *vm->frames) &&
			      mpk_vec_reserve(&vm->stack, &vm->stack_cap, top, sizeof *vm->stack),
		      err);
	if (c->register_count)
		memset(vm->stack + base, 0, c->register_count * sizeof *vm->stack);
	vm->stack_used = top;
	vm->frames[vm->frame_count++] =
		(struct mpk_relay_frame){ base, (uint32_t)callee, c->start };
	return MPK_OK;
}

static void pop_frame(struct mpk_relay_vm *vm)
{
	const struct mpk_relay_frame *f = &vm->frames[--vm->frame_count];

	for (size_t i = f->base; i < vm->stack_used; i++)
		mpk_value_drop(&vm->stack[i]);
	vm->stack_used = f->base;
}

static void set_register(struct mpk_relay_vm *vm, uint32_t reg, struct mpk_value v)
{
	struct mpk_value *r = &mpk_relay_registers(vm)[reg];
	struct mpk_value old = *r;

	*r = v;
	mpk_value_drop(&old);
}

/* --- steps that make a value --------------------------------------------------------------- */

static enum mpk_code move(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
			  struct mpk_value *result, struct mpk_error *err)
{
	(void)err;
	*result = mpk_value_hold(mpk_relay_registers(vm)[s->reg[0]]);
	return MPK_OK;
}

static enum mpk_code kill_register(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				   struct mpk_value *result, struct mpk_error *err)
{
	(void)vm;
	(void)s;
	(void)result;
	(void)err;
	return MPK_OK;
}

static enum mpk_code load_const(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_value v = { .kind = MPK_VALUE_TENSOR };

	MPK_TRY(mpk_relay_vm_constant(vm, s->index, &v.tensor, err));
	mpk_record_constant(vm->recorder, &v);
	*result = mpk_value_hold(v);
	return MPK_OK;
}

/* An array of the values in the step's registers. */
static enum mpk_code take_list(const struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
			       struct mpk_value *out, struct mpk_error *err)
{
	const uint32_t *registers = vm->program->registers + s->first;

	MPK_TRY(mpk_value_of_array(s->count, out, err));
	for (uint32_t i = 0; i < s->count; i++)
		out->array->items[i] = mpk_value_hold(mpk_relay_registers(vm)[registers[i]]);
	return MPK_OK;
}

static enum mpk_code alloc_adt(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
			       struct mpk_value *result, struct mpk_error *err)
{
	MPK_TRY(take_list(vm, s, result, err));
	result->array->tag = s->number;
	return MPK_OK;
}

static enum mpk_code alloc_closure(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				   struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_value captured;
	struct mpk_function *f;

	MPK_TRY(take_list(vm, s, &captured, err));
	MPK_TRY(mpk_relay_closure_make(vm, s->index, captured, &f, err));
	*result = mpk_value_of_function(f);
	return MPK_OK;
}

static enum mpk_code get_field(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
			       struct mpk_value *result, struct mpk_error *err)
{
	const struct mpk_value *v = &mpk_relay_registers(vm)[s->reg[0]];

	if (v->kind != MPK_VALUE_ARRAY)
		return mpk_relay_fault(vm, err, "TypeError",
				       "register %" PRIu32 " must hold a tuple, not %s", s->reg[0],
				       mpk_value_kind_name(v->kind));
	if (s->index >= v->array->count)
		return mpk_relay_fault(vm, err, "IndexError", "field %" PRIu32 " of %zu", s->index,
				       v->array->count);
	*result = mpk_value_hold(v->array->items[s->index]);
	return MPK_OK;
}

static mpk_relay_op_fn *const makers[MPK_RELAY_OPS] = {
	[MPK_RELAY_MOVE] = move,
	[MPK_RELAY_INVOKE_PACKED] = mpk_relay_invoke_packed,
	[MPK_RELAY_ALLOC_TENSOR] = mpk_relay_alloc_tensor,
	[MPK_RELAY_ALLOC_TENSOR_REG] = mpk_relay_alloc_tensor_reg,
	[MPK_RELAY_ALLOC_ADT] = alloc_adt,
	[MPK_RELAY_ALLOC_CLOSURE] = alloc_closure,
	[MPK_RELAY_GET_FIELD] = get_field,
	[MPK_RELAY_LOAD_CONST] = load_const,
	[MPK_RELAY_GET_TAG] = mpk_relay_get_tag,
	[MPK_RELAY_ALLOC_STORAGE] = mpk_relay_alloc_storage,
	[MPK_RELAY_SHAPE_OF] = mpk_relay_shape_of,
	[MPK_RELAY_RESHAPE_TENSOR] = mpk_relay_reshape_tensor,
	[MPK_RELAY_DEVICE_COPY] = mpk_relay_device_copy,
	[MPK_RELAY_KILL_REGISTER] = kill_register,
};

/* --- steps that go elsewhere --------------------------------------------------------------- */

/* The frame that a step works in, and the result of the run once it is done. */
struct run {
	struct mpk_relay_vm *vm;
	size_t floor; /* frames below belong to other runs */
	bool done;
	struct mpk_value result;
};

static struct mpk_relay_frame *frame_of(const struct run *r)
{
	return &r->vm->frames[r->vm->frame_count - 1];
}

/* A frame for a function, whose first registers are what was captured, then the arguments. */
static enum mpk_code enter(struct mpk_relay_vm *vm, size_t function, const struct mpk_relay_step *s,
			   const struct mpk_array *captured, struct mpk_error *err)
{
	const uint32_t *registers = vm->program->registers + s->first;
	size_t caller = vm->frames[vm->frame_count - 1].base, at = 0;

	MPK_TRY(push_frame(vm, function, err));
	struct mpk_value *own = mpk_relay_registers(vm);

	for (size_t i = 0; captured && i < captured->count; i++)
		own[at++] = mpk_value_hold(captured->items[i]);
	for (uint32_t i = 0; i < s->count; i++)
		own[at++] = mpk_value_hold(vm->stack[caller + registers[i]]);
	return MPK_OK;
}

static enum mpk_code invoke(struct run *r, const struct mpk_relay_step *s, struct mpk_error *err)
{
	return enter(r->vm, s->index, s, NULL, err);
}

static enum mpk_code invoke_closure(struct run *r, const struct mpk_relay_step *s,
				    struct mpk_error *err)
{
	struct mpk_relay_vm *vm = r->vm;
	const struct mpk_value *v = &mpk_relay_registers(vm)[s->reg[0]];
	const struct mpk_relay_closure *c = mpk_relay_closure_of(vm, v);
	size_t wanted;

	if (!c)
		return mpk_relay_fault(vm, err, "TypeError",
				       "register %" PRIu32 " must hold a closure, not %s",
				       s->reg[0], mpk_value_kind_name(v->kind));
	wanted = vm->program->callees[c->function].params.count - c->captured.array->count;
	if (s->count != wanted)
		return mpk_relay_fault(vm, err, "TypeError",
				       "a closure takes %zu arguments, not %" PRIu32, wanted,
				       s->count);
	/* the register keeps it until the new frame has what it captured */
	return enter(vm, c->function, s, c->captured.array, err);
}

static enum mpk_code ret(struct run *r, const struct mpk_relay_step *s, struct mpk_error *err)
{
	struct mpk_relay_vm *vm = r->vm;
	struct mpk_value v = mpk_value_hold(mpk_relay_registers(vm)[s->reg[0]]);

	(void)err;
	pop_frame(vm);
	r->done = vm->frame_count == r->floor;
	if (r->done) {
		r->result = v;
		return MPK_OK;
	}
	set_register(vm, vm->program->steps[frame_of(r)->at].dst, v);
	frame_of(r)->at++;
	return MPK_OK;
}

static enum mpk_code jump_if(struct run *r, const struct mpk_relay_step *s, struct mpk_error *err)
{
	int64_t test, target;

	MPK_TRY(mpk_relay_scalar(r->vm, s->reg[0], &test, err));
	MPK_TRY(mpk_relay_scalar(r->vm, s->reg[1], &target, err));
	/* TVM compares 32 bits, whatever the tensors have */
	frame_of(r)->at = s->jump[(uint32_t)(uint64_t)test != (uint32_t)(uint64_t)target];
	return MPK_OK;
}

static enum mpk_code jump(struct run *r, const struct mpk_relay_step *s, struct mpk_error *err)
{
	(void)err;
	frame_of(r)->at = s->jump[0];
	return MPK_OK;
}

static enum mpk_code fatal(struct run *r, const struct mpk_relay_step *s, struct mpk_error *err)
{
	(void)s;
	return mpk_relay_fault(r->vm, err, "RuntimeError", "a match has no case for this value");
}

typedef enum mpk_code jump_fn(struct run *r, const struct mpk_relay_step *s, struct mpk_error *err);

static jump_fn *const jumps[MPK_RELAY_OPS] = {
	[MPK_RELAY_RET] = ret,
	[MPK_RELAY_INVOKE] = invoke,
	[MPK_RELAY_INVOKE_CLOSURE] = invoke_closure,
	[MPK_RELAY_IF] = jump_if,
	[MPK_RELAY_GOTO] = jump,
	[MPK_RELAY_FATAL] = fatal,
};

/* --- the loop ------------------------------------------------------------------------------ */

static enum mpk_code take_step(struct run *r, struct mpk_error *err)
{
	struct mpk_relay_vm *vm = r->vm;
	const struct mpk_relay_step *s = &vm->program->steps[frame_of(r)->at];
	struct mpk_value made = { 0 };

	if (vm->steps_left-- == 0)
		return mpk_relay_fault(vm, err, "RuntimeError", "a loop without end");
	if (vm->observers && !makers[s->op])
		MPK_TRY(mpk_relay_watch_control(vm, s, err));
	if (!makers[s->op])
		return jumps[s->op](r, s, err);
	if (vm->observers)
		MPK_TRY(mpk_relay_watch(vm, s, makers[s->op], &made, err));
	else
		MPK_TRY(makers[s->op](vm, s, &made, err));
	if (s->op != MPK_RELAY_INVOKE_PACKED)
		set_register(vm, s->dst, made);
	frame_of(r)->at++;
	return MPK_OK;
}

enum mpk_code mpk_relay_run(struct mpk_relay_vm *vm, size_t function, const struct mpk_value *args,
			    size_t count, struct mpk_value *result, struct mpk_error *err)
{
	struct run r = { .vm = vm, .floor = vm->frame_count };
	enum mpk_code code = push_frame(vm, function, err);

	for (size_t i = 0; i < count && code == MPK_OK; i++)
		mpk_relay_registers(vm)[i] = mpk_value_hold(args[i]);
	while (code == MPK_OK && !r.done)
		code = take_step(&r, err);
	while (vm->frame_count > r.floor)
		pop_frame(vm);
	if (code == MPK_OK)
		*result = r.result;
	return code;
}
