/* SPDX-License-Identifier: Apache-2.0 */
/* interp.c - the loop over steps, the steps that go elsewhere, and what observers see of them
 *
 * Nothing is looked up here, and no index is checked, because decode.c did both. Calls keep their
 * frames in the machine, not on the native stack: TVM compiles loops to recursion, and they are to run
 * as long as memory lasts.
 */
#include "executor/relay/internal/relay.h"

#include <inttypes.h>
#include <stdlib.h>

#include "executor/machine.h"
#include "runtime/observer.h"
#include "runtime/stop.h"

/* --- steps that are observed ---------------------------------------------------------------- */

/* How a step is shown: its word, which kind of operator it is, and how many of reg[] it reads. Those
 * with a list read its registers, too. */
static const struct row {
	const char *name;
	enum mpk_operator_kind kind;
	unsigned reads;
	bool has_list;
} rows[MPK_RELAY_OPS] = {
	[MPK_RELAY_MOVE] = { "move", MPK_OPERATOR_BUILTIN, 1, false },
	[MPK_RELAY_RET] = { "return", MPK_OPERATOR_CONTROL, 1, false },
	[MPK_RELAY_INVOKE] = { "", MPK_OPERATOR_CONTROL, 0, true },
	[MPK_RELAY_INVOKE_CLOSURE] = { "invoke_closure", MPK_OPERATOR_CONTROL, 1, true },
	[MPK_RELAY_INVOKE_PACKED] = { "", MPK_OPERATOR_KERNEL, 0, true },
	[MPK_RELAY_ALLOC_TENSOR] = { "alloc_tensor", MPK_OPERATOR_BUILTIN, 2, false },
	[MPK_RELAY_ALLOC_TENSOR_REG] = { "alloc_tensor_reg", MPK_OPERATOR_BUILTIN, 3, false },
	[MPK_RELAY_ALLOC_ADT] = { "alloc_adt", MPK_OPERATOR_BUILTIN, 0, true },
	[MPK_RELAY_ALLOC_CLOSURE] = { "alloc_closure", MPK_OPERATOR_BUILTIN, 0, true },
	[MPK_RELAY_GET_FIELD] = { "get_field", MPK_OPERATOR_BUILTIN, 1, false },
	[MPK_RELAY_IF] = { "if", MPK_OPERATOR_CONTROL, 2, false },
	[MPK_RELAY_LOAD_CONST] = { "load_const", MPK_OPERATOR_BUILTIN, 0, false },
	[MPK_RELAY_GOTO] = { "goto", MPK_OPERATOR_CONTROL, 0, false },
	[MPK_RELAY_GET_TAG] = { "get_tag", MPK_OPERATOR_BUILTIN, 1, false },
	[MPK_RELAY_FATAL] = { "fatal", MPK_OPERATOR_CONTROL, 0, false },
	[MPK_RELAY_ALLOC_STORAGE] = { "alloc_storage", MPK_OPERATOR_BUILTIN, 1, false },
	[MPK_RELAY_SHAPE_OF] = { "shape_of", MPK_OPERATOR_BUILTIN, 1, false },
	[MPK_RELAY_RESHAPE_TENSOR] = { "reshape_tensor", MPK_OPERATOR_BUILTIN, 2, false },
	[MPK_RELAY_DEVICE_COPY] = { "device_copy", MPK_OPERATOR_COPY, 1, false },
	[MPK_RELAY_KILL_REGISTER] = { "kill_register", MPK_OPERATOR_BUILTIN, 0, false },
};

static struct mpk_span relay_interp_name_of(const struct mpk_relay_program *p,
					    const struct mpk_relay_step *s)
{
	if (s->op == MPK_RELAY_INVOKE_PACKED)
		return p->packed[s->index].name;
	if (s->op == MPK_RELAY_INVOKE)
		return mpk_span_str(p->callees[s->index].name);
	return mpk_span_str(rows[s->op].name);
}

/* Steps that leave something in a register; a kernel fills its arguments instead. */
static bool returns_value(const struct mpk_relay_step *s)
{
	return s->op == MPK_RELAY_INVOKE || s->op == MPK_RELAY_INVOKE_CLOSURE ||
	       (rows[s->op].kind != MPK_OPERATOR_CONTROL && s->op != MPK_RELAY_INVOKE_PACKED);
}

static void put_register(const struct mpk_relay_vm *vm, struct mpk_operand *o, uint32_t reg)
{
	o->place = (struct mpk_place){ MPK_PLACE_REGISTER, reg };
	o->value = mpk_relay_registers(vm)[reg];
}

static enum mpk_code put_number(struct mpk_operator *op, enum mpk_place_kind kind, int64_t number,
				struct mpk_error *err)
{
	MPK_TRY(mpk_operator_init(op, 1, err));
	op->operands[0].place = (struct mpk_place){ kind, number };
	return MPK_OK;
}

static enum mpk_code describe_step(const struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				   struct mpk_operator *op, struct mpk_error *err)
{
	const struct mpk_frame *f = mpk_frames_top(&vm->frames);
	const struct mpk_relay_callee *caller = &vm->program->callees[f->callee];
	const struct row *row = &rows[s->op];
	/* a storage has its size in a register, or extents */
	unsigned reads = s->op == MPK_RELAY_ALLOC_STORAGE && s->count ? 0 : row->reads;
	uint32_t listed = row->has_list ? s->count : 0;
	/* a kernel is given its inputs, then what it fills */
	uint32_t inputs = s->op == MPK_RELAY_INVOKE_PACKED ? listed - (uint32_t)s->number : listed;

	*op = (struct mpk_operator){
		.kind = row->kind,
		.name = relay_interp_name_of(vm->program, s),
		.function = mpk_span_str(caller->name),
		.index = f->at - caller->start,
	};
	if (returns_value(s))
		op->to = (struct mpk_place){ MPK_PLACE_REGISTER, s->dst };
	if (s->op == MPK_RELAY_LOAD_CONST)
		return put_number(op, MPK_PLACE_CONSTANT, s->index, err);
	if (s->op == MPK_RELAY_KILL_REGISTER)
		return put_number(op, MPK_PLACE_REGISTER, s->dst, err);
	MPK_TRY(mpk_operator_init(op, reads + listed, err));
	for (unsigned i = 0; i < reads; i++)
		put_register(vm, &op->operands[i], s->reg[i]);
	for (uint32_t i = 0; i < listed; i++) {
		put_register(vm, &op->operands[reads + i], vm->program->registers[s->first + i]);
		op->operands[reads + i].is_result = i >= inputs;
	}
	return MPK_OK;
}

/* --- steps that go elsewhere --------------------------------------------------------------- */

/* The frame that a step works in, and the result of the run once it is done. */
struct run {
	struct mpk_relay_vm *vm;
	size_t floor; /* frames below belong to other runs */
	bool done;
	struct mpk_value result;
};

/* --- steps that are observed ---------------------------------------------------------------- */

static enum mpk_code watch_step(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				mpk_relay_op_fn *run, struct mpk_value *result,
				struct mpk_error *err)
{
	MPK_CLEANUP(mpk_operator_fini) struct mpk_operator op = { 0 };
	enum mpk_code code;

	MPK_TRY(describe_step(vm, s, &op, err));
	MPK_TRY(mpk_operator_begin(vm->observers, &op, err));
	MPK_TRY(run(vm, s, result, err));
	/* an observer that fails ends the call, whose result nobody takes then */
	code = mpk_operator_end(vm->observers, &op, result, err);
	if (code != MPK_OK)
		mpk_value_drop(result);
	return code;
}

static enum mpk_code watch_control(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				   struct mpk_error *err)
{
	MPK_CLEANUP(mpk_operator_fini) struct mpk_operator op = { 0 };

	MPK_TRY(describe_step(vm, s, &op, err));
	return mpk_operator_control(vm->observers, &op, err);
}

/* --- closures --------------------------------------------------------------------------------- */

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

	const struct mpk_array *captured = c->captured.array;
	const struct mpk_signature *model = &c->vm->program->signatures[c->function];

	for (size_t i = 0; i < captured->count; i++)
		values[i] = captured->items[i];
	code = order_inputs(model, captured->count, args, values + captured->count, err);

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

/* The closure that a value is, when it is one of this machine; else NULL. */
static const struct mpk_relay_closure *relay_closure_of(const struct mpk_relay_vm *vm,
							const struct mpk_value *v)
{
	const struct mpk_relay_closure *c;

	/* any function may be in a register, also one of another machine */
	if (v->kind != MPK_VALUE_FUNCTION || v->function->call != call_closure)
		return NULL;
	c = (const struct mpk_relay_closure *)v->function;
	return c->vm == vm ? c : NULL;
}

/* --- steps that go elsewhere --------------------------------------------------------------- */

/* A call of a function of the program. */
static enum mpk_code push_frame(struct mpk_relay_vm *vm, size_t callee, struct mpk_error *err)
{
	const struct mpk_relay_callee *c = &vm->program->callees[callee];

	return mpk_frames_push(&vm->frames, mpk_span_str(c->name), (uint32_t)callee, c->start,
			       c->register_count, err);
}

static struct mpk_frame *frame_of(const struct run *r)
{
	return mpk_frames_top(&r->vm->frames);
}

/* A frame for a function, whose first registers are what was captured, then the arguments. */
static enum mpk_code relay_interp_enter(struct mpk_relay_vm *vm, size_t function,
					const struct mpk_relay_step *s,
					const struct mpk_array *captured, struct mpk_error *err)
{
	const uint32_t *registers = vm->program->registers + s->first;
	size_t caller = mpk_frames_top(&vm->frames)->base, at = 0;

	MPK_TRY(push_frame(vm, function, err));
	struct mpk_value *own = mpk_relay_registers(vm);

	for (size_t i = 0; captured && i < captured->count; i++)
		own[at++] = mpk_value_hold(captured->items[i]);
	for (uint32_t i = 0; i < s->count; i++)
		own[at++] = mpk_value_hold(vm->frames.stack[caller + registers[i]]);
	return MPK_OK;
}

static enum mpk_code invoke_callee(struct run *r, const struct mpk_relay_step *s,
				   struct mpk_error *err)
{
	return relay_interp_enter(r->vm, s->index, s, NULL, err);
}

static enum mpk_code invoke_closure(struct run *r, const struct mpk_relay_step *s,
				    struct mpk_error *err)
{
	struct mpk_relay_vm *vm = r->vm;
	const struct mpk_value *v = &mpk_relay_registers(vm)[s->reg[0]];
	const struct mpk_relay_closure *c = relay_closure_of(vm, v);
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
	return relay_interp_enter(vm, c->function, s, c->captured.array, err);
}

static enum mpk_code return_value(struct run *r, const struct mpk_relay_step *s,
				  struct mpk_error *err)
{
	struct mpk_relay_vm *vm = r->vm;
	struct mpk_value v = mpk_value_hold(mpk_relay_registers(vm)[s->reg[0]]);

	(void)err;
	mpk_frames_pop(&vm->frames, vm->frames.count - 1);
	r->done = vm->frames.count == r->floor;
	if (r->done) {
		r->result = v;
		return MPK_OK;
	}
	/* the caller's frame is still at the step that called */
	mpk_frames_set(&vm->frames, vm->program->steps[frame_of(r)->at].dst, v);
	frame_of(r)->at++;
	return MPK_OK;
}

static enum mpk_code jump_if(struct run *r, const struct mpk_relay_step *s, struct mpk_error *err)
{
	struct mpk_value equal;

	MPK_TRY(mpk_relay_makers[MPK_RELAY_IF](r->vm, s, &equal, err));
	frame_of(r)->at = s->jump[!equal.boolean];
	return MPK_OK;
}

static enum mpk_code jump_to(struct run *r, const struct mpk_relay_step *s, struct mpk_error *err)
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
	[MPK_RELAY_RET] = return_value,
	[MPK_RELAY_INVOKE] = invoke_callee,
	[MPK_RELAY_INVOKE_CLOSURE] = invoke_closure,
	[MPK_RELAY_IF] = jump_if,
	[MPK_RELAY_GOTO] = jump_to,
	[MPK_RELAY_FATAL] = fatal,
};

/* --- the loop ------------------------------------------------------------------------------ */

static enum mpk_code relay_interp_take_step(struct run *r, struct mpk_error *err)
{
	struct mpk_relay_vm *vm = r->vm;
	const struct mpk_relay_step *s = &vm->program->steps[frame_of(r)->at];
	struct mpk_value made = { 0 };

	/* a program that comes from strangers may have no end */
	if (vm->steps_left-- == 0)
		return mpk_relay_fault(vm, err, "RuntimeError", "a loop without end");
	if (vm->observers && jumps[s->op])
		MPK_TRY(watch_control(vm, s, err));
	if (jumps[s->op])
		return jumps[s->op](r, s, err);
	if (vm->observers)
		MPK_TRY(watch_step(vm, s, mpk_relay_makers[s->op], &made, err));
	else
		MPK_TRY(mpk_relay_makers[s->op](vm, s, &made, err));
	/* what a kernel made is in the tensors that it was given */
	if (s->op != MPK_RELAY_INVOKE_PACKED)
		mpk_frames_set(&vm->frames, s->dst, made);
	frame_of(r)->at++;
	return MPK_OK;
}

enum mpk_code mpk_relay_run(struct mpk_relay_vm *vm, size_t function, const struct mpk_value *args,
			    size_t count, struct mpk_value *result, struct mpk_error *err)
{
	struct run r = { .vm = vm, .floor = vm->frames.count };
	struct mpk_stop *stop = mpk_stop_get();
	enum mpk_code code = push_frame(vm, function, err);

	for (size_t i = 0; i < count && code == MPK_OK; i++)
		mpk_relay_registers(vm)[i] = mpk_value_hold(args[i]);
	while (code == MPK_OK && !r.done) {
		code = mpk_stop_check(stop, err);
		if (code == MPK_OK)
			code = relay_interp_take_step(&r, err);
	}
	mpk_frames_pop(&vm->frames, r.floor);
	if (code == MPK_OK)
		*result = r.result;
	return code;
}
