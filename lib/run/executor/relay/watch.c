/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/relay/internal/watch.h"

#include "runtime/observer.h"

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

static struct mpk_span name_of(const struct mpk_relay_program *p, const struct mpk_relay_step *s)
{
	if (s->op == MPK_RELAY_INVOKE_PACKED)
		return p->packed[s->index].name;
	if (s->op == MPK_RELAY_INVOKE)
		return mpk_span_str(p->callees[s->index].name);
	return mpk_span_str(rows[s->op].name);
}

static bool returns(const struct mpk_relay_step *s)
{
	return s->op == MPK_RELAY_INVOKE || s->op == MPK_RELAY_INVOKE_CLOSURE ||
	       (rows[s->op].kind != MPK_OPERATOR_CONTROL && s->op != MPK_RELAY_INVOKE_PACKED);
}

static void put(const struct mpk_relay_vm *vm, struct mpk_operand *o, uint32_t reg)
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

static enum mpk_code describe(const struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
			      struct mpk_operator *op, struct mpk_error *err)
{
	const struct mpk_relay_frame *f = &vm->frames[vm->frame_count - 1];
	const struct mpk_relay_callee *caller = &vm->program->callees[f->callee];
	const struct row *row = &rows[s->op];
	/* a storage has its size in a register, or extents */
	unsigned reads = s->op == MPK_RELAY_ALLOC_STORAGE && s->count ? 0 : row->reads;
	uint32_t listed = row->has_list ? s->count : 0;
	/* behind its inputs a kernel is given what it fills */
	uint32_t inputs = s->op == MPK_RELAY_INVOKE_PACKED ? listed - (uint32_t)s->number : listed;

	*op = (struct mpk_operator){
		.kind = row->kind,
		.name = name_of(vm->program, s),
		.function = mpk_span_str(caller->name),
		.index = f->at - caller->start,
	};
	if (returns(s))
		op->to = (struct mpk_place){ MPK_PLACE_REGISTER, s->dst };
	if (s->op == MPK_RELAY_LOAD_CONST)
		return put_number(op, MPK_PLACE_CONSTANT, s->index, err);
	if (s->op == MPK_RELAY_KILL_REGISTER)
		return put_number(op, MPK_PLACE_REGISTER, s->dst, err);
	MPK_TRY(mpk_operator_init(op, reads + listed, err));
	for (unsigned i = 0; i < reads; i++)
		put(vm, &op->operands[i], s->reg[i]);
	for (uint32_t i = 0; i < listed; i++) {
		put(vm, &op->operands[reads + i], vm->program->registers[s->first + i]);
		op->operands[reads + i].is_result = i >= inputs;
	}
	return MPK_OK;
}

enum mpk_code mpk_relay_watch(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
			      mpk_relay_op_fn *run, struct mpk_value *result, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_operator_fini) struct mpk_operator op = { 0 };
	enum mpk_code code;

	MPK_TRY(describe(vm, s, &op, err));
	MPK_TRY(mpk_operator_begin(vm->observers, &op, err));
	MPK_TRY(run(vm, s, result, err));
	code = mpk_operator_end(vm->observers, &op, result, err);
	if (code != MPK_OK)
		mpk_value_drop(result);
	return code;
}

enum mpk_code mpk_relay_watch_control(struct mpk_relay_vm *vm, const struct mpk_relay_step *s,
				      struct mpk_error *err)
{
	MPK_CLEANUP(mpk_operator_fini) struct mpk_operator op = { 0 };

	MPK_TRY(describe(vm, s, &op, err));
	return mpk_operator_control(vm->observers, &op, err);
}
