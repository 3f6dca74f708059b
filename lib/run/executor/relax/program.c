/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - decodes an executable of the Relax VM, and finds out which devices it runs on
 *
 * Byte code is decoded when the module is opened: operands are checked, and callees are looked up
 * in the imports, then among the builtins, then among the runtime's global functions. So the
 * interpreter (interp.c) needs no look-up or check. A missing callee is an error only when a
 * function that needs it is looked up, because a library may have other functions that run.
 *
 * The devices of byte code follow from the kernels that it calls. One pass over a function's steps
 * tracks what each register is: a parameter or a part of one, memory of a device number, or
 * neither. A view is on the device of its tensor. A callee requires its arguments where its
 * parameters must be, so functions are read again until nothing changes. Copies between devices are
 * the weakest hint and are used last. */
#include "executor/relax/internal/relax.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "program/model.h"
#include "runtime/runtime.h"
#include "text/escape.h"

enum mpk_code mpk_relax_find_registered(struct mpk_relax_program *p, size_t callee,
					struct mpk_error *err)
{
	struct mpk_relax_callee *c = &p->callees[callee];
	char *name = strndup((const char *)c->name.data, c->name.len);
	enum mpk_code code;

	MPK_TRY_ALLOC(name, err);
	code = mpk_runtime_find_global(p->base.runtime, name, &c->function, err);
	free(name);
	MPK_TRY(code);
	if (!mpk_function_hold(c->function))
		return MPK_OK;
	/* no call is in this step: no function that needs the callee was returned to anybody */
	c->action = MPK_ACTION_FUNCTION;
	for (size_t i = 0; i < p->step_count; i++)
		if (p->steps[i].action == MPK_ACTION_MISSING && p->steps[i].callee == callee)
			p->steps[i].action = MPK_ACTION_FUNCTION;
	return MPK_OK;
}

/* Finds a compiled function: code of the library under the name that TVM gives it. */
static enum mpk_code resolve_compiled(struct mpk_relax_program *p, struct mpk_node_module *node,
				      struct mpk_relax_callee *c, struct mpk_error *err)
{
	struct mpk_module_search search = { 0 };
	const char *name = mpk_arena_printf(&p->base.arena, "__vmtir__%.*s", (int)c->name.len,
					    (const char *)c->name.data);

	if (!name)
		return mpk_fail_nomem(err);
	MPK_TRY(mpk_module_find_import(&node->base, name, &c->function, &search, err));
	c->action = c->function ? MPK_ACTION_COMPILED : MPK_ACTION_MISSING;
	/* compiled code may call any builtin */
	p->resets_tuples |= c->function != NULL;
	return MPK_OK;
}

/* Refuses a number of registers and arguments that words of byte code cannot address: it comes from
 * a damaged file and would only waste memory. */
static enum mpk_code check_registers(const struct mpk_relax *x, const struct mpk_relax_func *f,
				     struct mpk_error *err)
{
	uint64_t most = x->instr_data.len / 8 + (uint64_t)f->params.count + 4096;

	if (f->register_file_size >= 0 && (uint64_t)f->register_file_size <= most &&
	    f->num_args >= 0 && f->num_args <= f->register_file_size)
		return MPK_OK;
	return mpk_fail(err, MPK_E_CORRUPT,
			"function \"%s\" has %" PRId64 " registers and %" PRId64 " arguments",
			MPK_QUOTE(f->name), f->register_file_size, f->num_args);
}

static enum mpk_code resolve_callee(struct mpk_relax_program *p, struct mpk_node_module *node,
				    size_t i, struct mpk_error *err)
{
	const struct mpk_relax_func *f = &p->x.funcs[i];
	struct mpk_relax_callee *c = &p->callees[i];

	c->name = f->name;
	if (f->kind == MPK_RELAX_PACKED) {
		/* --- callees ------------------------------------------------------------------ --- */
		struct mpk_module_search search = { 0 };
		const char *name = mpk_arena_text(&p->base.arena, c->name);

		if (!name)
			return mpk_fail_nomem(err);
		/* a function of the library shadows a builtin of the same name */
		MPK_TRY(mpk_module_find_import(&node->base, name, &c->function, &search, err));
		if (!c->function)
			c->builtin = mpk_relax_builtin_find(c->name);
		if (!c->function && !c->builtin) {
			MPK_TRY(mpk_runtime_find_global(p->base.runtime, name, &c->function, err));
			(void)mpk_function_hold(c->function);
		}
		if (c->builtin)
			c->action = MPK_ACTION_BUILTIN;
		else if (!c->function)
			c->action = MPK_ACTION_MISSING;
		else
			c->action = c->function->address ? MPK_ACTION_KERNEL : MPK_ACTION_FUNCTION;
		p->resets_tuples |= c->builtin && c->builtin->effect == MPK_EFFECT_RESET;
		return MPK_OK;
	}
	MPK_TRY(check_registers(&p->x, f, err));
	c->arg_count = (uint32_t)f->num_args;
	c->register_count = (uint32_t)f->register_file_size;
	if (f->kind == MPK_RELAX_TIR)
		return resolve_compiled(p, node, c, err);
	c->action = MPK_ACTION_CALL;
	c->start = (uint32_t)f->start;
	c->end = (uint32_t)f->end;
	return MPK_OK;
}

/* --- steps -------------------------------------------------------------------------------------- */

static struct mpk_relax_operand register_operand(int64_t reg)
{
	if (reg == MPK_RELAX_REG_VOID)
		return (struct mpk_relax_operand){ MPK_OPERAND_NONE, 0 };
	if (reg == MPK_RELAX_REG_VM)
		return (struct mpk_relax_operand){ MPK_OPERAND_VM, 0 };
	return (struct mpk_relax_operand){ MPK_OPERAND_REGISTER, reg };
}

static struct mpk_relax_operand operand_of(struct mpk_relax_arg arg)
{
	switch (arg.kind) {
	case MPK_RELAX_ARG_REG:
		return register_operand(arg.value);
	case MPK_RELAX_ARG_INT:
		return (struct mpk_relax_operand){ MPK_OPERAND_INT, arg.value };
	case MPK_RELAX_ARG_CONST:
		return (struct mpk_relax_operand){ MPK_OPERAND_CONSTANT, arg.value };
	default:
		return (struct mpk_relax_operand){ MPK_OPERAND_FUNCTION, arg.value };
	}
}

struct builder {
	struct mpk_relax_program *p;
	size_t operand_count, operand_room;
};

/* The list has room, because all operands were counted. */
static void put_operand(struct builder *b, struct mpk_relax_operand operand)
{
	b->p->operands[b->operand_count++] = operand;
}

static void put_step(struct builder *b, size_t at, const struct mpk_relax_instr *instr)
{
	struct mpk_relax_step *s = &b->p->steps[at];

	s->dst = -1;
	s->first = (uint32_t)b->operand_count;
	switch (instr->op) {
	case MPK_RELAX_CALL:
		s->action = b->p->callees[instr->func].action;
		s->callee = (uint32_t)instr->func;
		s->count = (uint32_t)instr->arg_count;
		/* the void register and the machine have numbers above all registers */
		if (instr->reg < MPK_RELAX_REG_VOID)
			s->dst = (int32_t)instr->reg;
		for (size_t i = 0; i < instr->arg_count; i++)
			put_operand(b, operand_of(mpk_relax_arg(instr, i)));
		break;
	case MPK_RELAX_RET:
		s->action = MPK_ACTION_RETURN;
		put_operand(b, register_operand(instr->reg));
		break;
	case MPK_RELAX_GOTO:
		s->action = MPK_ACTION_GOTO;
		s->target = (int64_t)at + instr->offset;
		break;
	case MPK_RELAX_IF:
		s->action = MPK_ACTION_IF;
		s->target = (int64_t)at + instr->offset;
		put_operand(b, register_operand(instr->reg));
		break;
	}
}

/* Checks the last step: a function without an end would run on into the next one. */
static enum mpk_code relax_check_end(const struct mpk_relax_program *p,
				     const struct mpk_relax_callee *c, struct mpk_error *err)
{
	enum mpk_relax_action last = p->steps[c->end - 1].action;

	if (last == MPK_ACTION_RETURN || last == MPK_ACTION_GOTO)
		return MPK_OK;
	return mpk_fail(err, MPK_E_CORRUPT, "function \"%s\" does not end in a return",
			MPK_QUOTE(c->name));
}

static enum mpk_code count_operands(const struct mpk_relax *x, size_t *out, struct mpk_error *err)
{
	struct mpk_relax_instr instr;

	*out = 0;
	for (size_t i = 0; i < mpk_relax_instr_count(x); i++) {
		MPK_TRY(mpk_relax_instr(x, i, &instr, err));
		*out += 1 + instr.arg_count;
		/* instructions may share words, so only this check limits their sum */
		if (*out > UINT32_MAX / 2 || *out > 16 * (x->instr_data.len + 64))
			return mpk_fail(
				err, MPK_E_CORRUPT,
				"instructions name more operands than the byte code has words");
	}
	return MPK_OK;
}

/* Signatures are read with the program, because calls by name and checks of arguments need them. */
static enum mpk_code make_signatures(struct mpk_relax_program *p, struct mpk_error *err)
{
	struct mpk_signature *list =
		mpk_arena_array(&p->base.arena, p->callee_count + 1, sizeof *list);
	size_t count, at = 0;

	MPK_TRY_ALLOC(list, err);
	MPK_TRY(mpk_relax_signatures(&p->x, &p->base.arena, list, &count, err));
	for (size_t i = 0; i < p->callee_count; i++)
		if (p->x.funcs[i].kind != MPK_RELAX_PACKED)
			p->callees[i].signature = &list[at++];
	return MPK_OK;
}

/* --- on which devices ---------------------------------------------------------------------------- */

enum { PASSES = 8, REGISTERS_MAX = 1 << 16 };

/* The origin of a register's value; zero: unknown. */
struct origin {
	struct mpk_type *input; /* a parameter, or a field of a parameter */
	unsigned memory;        /* device number + 1 */
};

struct placing {
	struct mpk_relax_program *p;
	int32_t *
		wanted; /* for each callee that is a kernel: the device of its tensors; 0: unknown */
	struct origin *registers;
	size_t register_count;
	bool changed;
	bool guesses; /* copies count as hints too */
};

/* --- on which devices: where from ----------------------------------------------------------------------------- */

static struct origin *register_at(const struct placing *pl, int64_t number)
{
	return number >= 0 && (uint64_t)number < pl->register_count ? &pl->registers[number] : NULL;
}

static const struct mpk_relax_operand *operand(const struct placing *pl,
					       const struct mpk_relax_step *s, uint32_t i)
{
	return i < s->count ? &pl->p->operands[s->first + i] : NULL;
}

static struct origin origin_of(const struct placing *pl, const struct mpk_relax_step *s, uint32_t i)
{
	const struct mpk_relax_operand *o = operand(pl, s, i);
	const struct origin *r =
		o && o->kind == MPK_OPERAND_REGISTER ? register_at(pl, o->value) : NULL;

	return r ? *r : (struct origin){ 0 };
}

static struct origin result_of(const struct placing *pl, const struct mpk_relax_step *s)
{
	static const char *const views[] = { "vm.builtin.alloc_tensor", "vm.builtin.reshape",
					     "vm.builtin.ensure_zero_offset" };
	struct mpk_span name = pl->p->callees[s->callee].name;
	const struct mpk_relax_operand *number = operand(pl, s, 2);

	for (size_t i = 0; i < MPK_ARRAY_COUNT(views); i++)
		if (mpk_span_is(name, views[i]))
			return origin_of(pl, s, 0);
	if (mpk_span_is(name, "vm.builtin.tuple_getitem")) {
		struct mpk_type *tuple = origin_of(pl, s, 0).input;
		const struct mpk_relax_operand *index = operand(pl, s, 1);

		if (!tuple || tuple->kind != MPK_TYPE_TUPLE || !index ||
		    index->kind != MPK_OPERAND_INT || index->value < 0 ||
		    (uint64_t)index->value >= tuple->field_count)
			return (struct origin){ 0 };
		return (struct origin){
			.input = (struct mpk_type *)(uintptr_t)&tuple->fields[index->value].type
		};
	}
	if (mpk_span_is(name, "vm.builtin.alloc_storage") && number &&
	    number->kind == MPK_OPERAND_INT && number->value >= 0 &&
	    number->value < MPK_RUNTIME_DEVICES_MAX)
		return (struct origin){ .memory = (unsigned)number->value + 1 };
	return (struct origin){ 0 };
}

/* --- on which devices: where to ------------------------------------------------------------------------------- */

static void want(struct placing *pl, struct origin o, int32_t device)
{
	int32_t *place = o.input    ? &o.input->device
			 : o.memory ? &pl->p->devices[o.memory - 1]
				    : NULL;

	/* the first finding stays; checks of types are read before calls */
	if (!device || !place || *place)
		return;
	*place = device;
	pl->changed = true;
}

/* The source of a copy to another device is on the host, unless something else is known. */
static bool is_copy_from_host(const struct placing *pl, const struct mpk_relax_step *s)
{
	const struct mpk_relax_operand *type = operand(pl, s, 1);

	return mpk_span_is(pl->p->callees[s->callee].name, "vm.builtin.to_device") && type &&
	       type->kind == MPK_OPERAND_INT && type->value != MPK_DL_CPU;
}

static void place_read_call(struct placing *pl, const struct mpk_relax_step *s)
{
	const struct mpk_relax_callee *c = &pl->p->callees[s->callee];
	struct origin *dst = register_at(pl, s->dst);

	for (uint32_t i = 0; i < s->count; i++) {
		int32_t device = pl->wanted[s->callee];

		if (c->signature && i < c->signature->input_count)
			device = c->signature->inputs[i].type.device;
		want(pl, origin_of(pl, s, i), device);
	}
	if (pl->guesses && is_copy_from_host(pl, s))
		want(pl, origin_of(pl, s, 0), MPK_DL_CPU);
	if (dst)
		*dst = result_of(pl, s);
}

static void place_read_function(struct placing *pl, const struct mpk_relax_callee *c)
{
	const struct mpk_signature *s = c->signature;

	pl->register_count = c->register_count < REGISTERS_MAX ? c->register_count : REGISTERS_MAX;
	for (size_t i = 0; i < pl->register_count; i++)
		pl->registers[i] = (struct origin){
			.input = i < s->input_count
					 ? (struct mpk_type *)(uintptr_t)&s->inputs[i].type
					 : NULL
		};
	for (size_t at = c->start; at < c->end; at++) {
		enum mpk_relax_action action = pl->p->steps[at].action;

		if (action >= MPK_ACTION_KERNEL && action <= MPK_ACTION_MISSING)
			place_read_call(pl, &pl->p->steps[at]);
	}
}

/* Limits the work, because functions that share code can add up to many times the file's size. */
static void place_read_all(struct placing *pl)
{
	const struct mpk_relax_program *p = pl->p;
	uint64_t steps = 0, most = 16 * ((uint64_t)p->step_count + p->callee_count) + 4096;

	pl->changed = true;
	for (unsigned pass = 0; pl->changed && pass < PASSES; pass++) {
		pl->changed = false;
		for (size_t i = 0; i < p->callee_count; i++) {
			const struct mpk_relax_callee *c = &p->callees[i];

			if (c->action != MPK_ACTION_CALL || !c->signature)
				continue;
			steps += c->end - c->start + c->register_count / 16;
			if (steps > most)
				return;
			place_read_function(pl, c);
		}
	}
}

static enum mpk_code relax_place(struct mpk_relax_program *p, struct mpk_error *err)
{
	struct placing pl = { .p = p };

	if (!p->base.host->code.device_of)
		return MPK_OK;
	pl.wanted = calloc(p->callee_count + 1, sizeof *pl.wanted);
	pl.registers = calloc(REGISTERS_MAX, sizeof *pl.registers);
	bool room = pl.wanted && pl.registers;

	if (room) {
		/* --- on which devices: all of them ---------------------------------------- */
		const struct mpk_host_code *code = &pl.p->base.host->code;

		for (size_t i = 0; i < pl.p->callee_count; i++) {
			const struct mpk_relax_callee *c = &pl.p->callees[i];

			if (c->action == MPK_ACTION_KERNEL)
				pl.wanted[i] =
					code->device_of(code->device_user, c->function->name);
		}

		place_read_all(&pl);
		pl.guesses = true;
		place_read_all(&pl);
	}
	free(pl.registers);
	free(pl.wanted);
	return room ? MPK_OK : mpk_fail_nomem(err);
}

/* --- the program ----------------------------------------------------------------------------------- */

/* The load operation of struct mpk_model_kind. Arguments may be given by position or by name. */
static enum mpk_code relax_load(struct mpk_program *base, struct mpk_node_module *node,
				struct mpk_error *err)
{
	struct mpk_relax_program *p = (struct mpk_relax_program *)base;
	struct mpk_payload payload;

	MPK_TRY(mpk_node_payload(node, &p->base.arena, &payload, err));
	p->x = payload.u.relax;
	MPK_TRY(mpk_relax_check(&p->x, err));
	p->callee_count = p->x.func_count;
	p->callees = mpk_arena_array(&p->base.arena, p->callee_count + 1, sizeof *p->callees);
	if (!p->callees)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < p->callee_count; i++)
		MPK_TRY(resolve_callee(p, node, i, err));
	MPK_TRY(make_signatures(p, err));

	struct builder b = { .p = p };

	p->step_count = mpk_relax_instr_count(&p->x);
	MPK_TRY(count_operands(&p->x, &b.operand_room, err));
	p->steps = mpk_arena_array(&p->base.arena, p->step_count + 1, sizeof *p->steps);
	p->operands = mpk_arena_array(&p->base.arena, b.operand_room + 1, sizeof *p->operands);
	if (!p->steps || !p->operands)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < p->callee_count; i++) {
		const struct mpk_relax_callee *c = &p->callees[i];

		/* only steps that belong to a function were checked */
		for (size_t at = c->start; c->action == MPK_ACTION_CALL && at < c->end; at++) {
			struct mpk_relax_instr instr;

			if (p->steps[at].action != MPK_ACTION_NONE)
				continue; /* two functions may share code */
			MPK_TRY(mpk_relax_instr(&p->x, at, &instr, err));
			put_step(&b, at, &instr);
		}
	}
	for (size_t i = 0; i < p->callee_count; i++)
		if (p->callees[i].action == MPK_ACTION_CALL)
			MPK_TRY(relax_check_end(p, &p->callees[i], err));

	return relax_place(p, err);
}

static void relax_vm_unload_program(struct mpk_program *base)
{
	struct mpk_relax_program *p = (struct mpk_relax_program *)base;

	for (size_t i = 0; p->callees && i < p->callee_count; i++)
		mpk_function_drop(p->callees[i].function);
}

/* Returns the requested devices, followed by those that the program's device numbers stand for. If
 * the request was a guess, the program's devices replace it. */
static size_t choose_devices(const struct mpk_program *base, struct mpk_dldevice *out)
{
	const struct mpk_relax_program *p = (const struct mpk_relax_program *)base;
	size_t count, most = 0;
	bool guessed;
	const struct mpk_dldevice *said =
		mpk_runtime_get_devices(p->base.runtime, &count, &guessed);

	for (size_t i = 0; i < MPK_RUNTIME_DEVICES_MAX; i++)
		if (p->devices[i])
			most = i + 1;
	for (size_t i = 0; i < count || i < most; i++) {
		int32_t known = p->devices[i] ? p->devices[i] : MPK_DL_CPU;

		out[i] = (struct mpk_dldevice){ .type = known };
		if (i < count && (!guessed || !p->devices[i]))
			out[i] = said[i];
	}
	return count > most ? count : most;
}

const struct mpk_model_kind mpk_relax_kind = {
	.program_bytes = sizeof(struct mpk_relax_program),
	.machine = &mpk_relax_machine_kind,
	.load = relax_load,
	.unload = relax_vm_unload_program,
	.choose_devices = choose_devices,
};
