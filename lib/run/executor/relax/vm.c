/* SPDX-License-Identifier: Apache-2.0 */
/* vm.c - a machine: its devices and constants, and the function table as values
 *
 * Constants are made when they are first used: a model of gigabytes whose function needs a few of them
 * loads these alone.
 */
#include "executor/relax/internal/relax.h"

#include <inttypes.h>
#include <stdlib.h>

#include "executor/executor.h"
#include "executor/plan/plan.h"
#include "program/model.h"
#include "runtime/library.h"
#include "text/escape.h"

/* --- loading ---------------------------------------------------------------------------------- */

static enum mpk_code resolve_packed(struct mpk_relax_program *p, struct mpk_node_module *node,
				    struct mpk_relax_callee *c, struct mpk_error *err)
{
	struct mpk_module_search search = { 0 };
	const char *name = mpk_arena_text(&p->base.arena, c->name);

	if (!name)
		return mpk_fail_nomem(err);
	/* a function of the library shadows a builtin of the same name */
	MPK_TRY(mpk_module_find_import(&node->base, name, &c->function, &search, err));
	if (!c->function)
		c->builtin = mpk_relax_builtin_find(c->name);
	if (!c->function && !c->builtin)
		c->function = mpk_function_hold(mpk_runtime_find_global(p->base.runtime, name));
	if (c->builtin)
		c->action = MPK_ACTION_BUILTIN;
	else if (!c->function)
		c->action = MPK_ACTION_MISSING;
	else
		c->action = c->function->address ? MPK_ACTION_KERNEL : MPK_ACTION_FUNCTION;
	p->resets_tuples |= c->builtin && c->builtin->effect == MPK_EFFECT_RESET;
	return MPK_OK;
}

/* A compiled function is code of the library under the name that TVM gives it
 *. */
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

/* Registers and arguments that words of byte code could name at all: a number beyond that is a
 * damaged one, and would only take memory. */
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
	if (f->kind == MPK_RELAX_PACKED)
		return resolve_packed(p, node, c, err);
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

/* Room for all operands was counted. */
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
		/* void and the machine are numbers above all registers */
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

/* A function that ran past its last instruction would run another's. */
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
		/* instructions may share words: what they add up to is bounded by nothing else */
		if (*out > UINT32_MAX / 2 || *out > 16 * (x->instr_data.len + 64))
			return mpk_fail(
				err, MPK_E_CORRUPT,
				"instructions name more operands than the byte code has words");
	}
	return MPK_OK;
}

static enum mpk_code make_steps(struct mpk_relax_program *p, struct mpk_error *err)
{
	struct builder b = { .p = p };

	p->step_count = mpk_relax_instr_count(&p->x);
	MPK_TRY(count_operands(&p->x, &b.operand_room, err));
	p->steps = mpk_arena_array(&p->base.arena, p->step_count + 1, sizeof *p->steps);
	p->operands = mpk_arena_array(&p->base.arena, b.operand_room + 1, sizeof *p->operands);
	if (!p->steps || !p->operands)
		return mpk_fail_nomem(err);
	for (size_t i = 0; i < p->callee_count; i++) {
		const struct mpk_relax_callee *c = &p->callees[i];

		/* only what belongs to a function was checked */
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
	return MPK_OK;
}

/* Signatures are read with the program, as calls by name and checks of arguments need them. */
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

/* Of struct mpk_model_kind; arguments by position or by name. */
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
	MPK_TRY(make_steps(p, err));
	return mpk_relax_place(p, err);
}

/* --- devices and constants -------------------------------------------------------------------- */

static enum mpk_code relax_vm_take_devices(struct mpk_relax_vm *vm,
					   const struct mpk_dldevice *devices, size_t count,
					   struct mpk_error *err)
{
	/* byte code takes the last device for the host's, where shapes and scalars are */
	bool has_host = count && devices[count - 1].type == MPK_DL_CPU;

	if (count + !has_host > MPK_RELAX_DEVICES_MAX)
		return mpk_fail(err, MPK_E_RANGE, "%zu devices; at most %d", count,
				MPK_RELAX_DEVICES_MAX);
	for (size_t i = 0; i < count; i++)
		vm->devices[vm->device_count++] = devices[i];
	if (!has_host)
		vm->devices[vm->device_count++] = (struct mpk_dldevice){ MPK_DL_CPU, 0 };
	for (size_t i = 0; i < vm->device_count; i++)
		MPK_TRY(mpk_devices_allocator(mpk_runtime_devices(vm->program->base.runtime),
					      vm->devices[i], &vm->allocators[i], err));
	return MPK_OK;
}

static enum mpk_code start_vm(struct mpk_machine *m, const struct mpk_dldevice *devices,
			      size_t count, struct mpk_error *err)
{
	struct mpk_relax_vm *vm = (struct mpk_relax_vm *)m;

	vm->program = (struct mpk_relax_program *)m->program;
	vm->frames.max = MPK_RELAX_FRAMES_MAX;
	vm->frames.stack_max = MPK_RELAX_STACK_MAX;
	vm->constants = calloc(vm->program->x.const_count + 1, sizeof *vm->constants);
	MPK_TRY_ALLOC(vm->constants, err);
	MPK_TRY(relax_vm_take_devices(vm, devices, count, err));
	vm->plans = mpk_plans_create(&(struct mpk_plan_places){
		.devices = mpk_runtime_devices(m->program->runtime),
		.where = vm->devices,
		.allocators = vm->allocators,
		.count = vm->device_count,
	});
	MPK_TRY_ALLOC(vm->plans, err);
	return MPK_OK;
}

/* The list of functions for compiled code holds the machine once for each of its functions. */
static void drop_own(struct mpk_machine *m)
{
	struct mpk_relax_vm *vm = (struct mpk_relax_vm *)m;
	struct mpk_any_list *functions = vm->function_list;

	vm->function_list = NULL;
	mpk_relax_list_destroy(functions);
}

static void stop_vm(struct mpk_machine *m)
{
	struct mpk_relax_vm *vm = (struct mpk_relax_vm *)m;

	mpk_plans_destroy(vm->plans);
	mpk_relax_list_destroy(vm->constant_list);
	mpk_relax_list_destroy(vm->register_list);
	mpk_relax_kept_destroy(vm->kept, vm->program->callee_count);
	for (size_t i = 0; vm->constants && i < vm->program->x.const_count; i++)
		mpk_value_drop(&vm->constants[i]);
	free(vm->constants);
	free(vm->fresh.items);
	mpk_frames_fini(&vm->frames);
}

static void relax_vm_unload_program(struct mpk_program *base)
{
	struct mpk_relax_program *p = (struct mpk_relax_program *)base;

	for (size_t i = 0; p->callees && i < p->callee_count; i++)
		mpk_function_drop(p->callees[i].function);
}

/* The devices that were asked for, followed by those that the program means by their numbers; of a guess
 * the program's replace what was guessed. */
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
	.machine_bytes = sizeof(struct mpk_relax_vm),
	.depth_max = MPK_RELAX_DEPTH_MAX,
	.load = relax_load,
	.unload = relax_vm_unload_program,
	.choose_devices = choose_devices,
	.start = start_vm,
	.stop = stop_vm,
	.drop_own = drop_own,
	.invoke = mpk_relax_vm_invoke,
};

/* --- constants ----------------------------------------------------------------------------- */

static enum mpk_code relax_vm_make_tensor(struct mpk_relax_vm *vm,
					  const struct mpk_tensor_record *r, struct mpk_value *out,
					  struct mpk_error *err)
{
	struct mpk_storage *storage;
	struct mpk_tensor *t;
	enum mpk_code code;

	MPK_TRY(mpk_program_constant(&vm->program->base, r->data, r->dtype, vm->devices[0],
				     &storage, err));
	code = mpk_tensor_view(storage, 0, r->dtype, r->shape, r->ndim, &t, err);
	mpk_storage_drop(storage);
	MPK_TRY(code);
	*out = mpk_value_of_tensor(t);
	return MPK_OK;
}

/* Extents as they are stored, eight bytes each, at any address. */
static enum mpk_code make_shape(struct mpk_span raw, struct mpk_value *out, struct mpk_error *err)
{
	size_t ndim = raw.len / 8;

	MPK_TRY(mpk_value_of_shape(NULL, ndim, out, err));
	for (size_t i = 0; i < ndim; i++)
		out->shape->extents[i] = (int64_t)mpk_load_u64(raw.data + 8 * i);
	return MPK_OK;
}

static enum mpk_code make_constant(struct mpk_relax_vm *vm, const struct mpk_relax_const *c,
				   struct mpk_value *out, struct mpk_error *err)
{
	switch (c->kind) {
	case MPK_RELAX_TENSOR:
		return relax_vm_make_tensor(vm, &c->u.tensor, out, err);
	case MPK_RELAX_DTYPE:
		*out = (struct mpk_value){ .kind = MPK_VALUE_DTYPE, .dtype = c->u.dtype };
		return MPK_OK;
	case MPK_RELAX_SHAPE:
		return make_shape(c->u.shape, out, err);
	case MPK_RELAX_STRING:
		return mpk_value_of_text(MPK_VALUE_STR, c->u.string, out, err);
	case MPK_RELAX_INT:
		*out = mpk_value_of_int(c->u.i);
		return MPK_OK;
	case MPK_RELAX_FLOAT:
		*out = mpk_value_of_float(c->u.f);
		return MPK_OK;
	case MPK_RELAX_CONST_KINDS:
		break;
	}
	return mpk_fail(err, MPK_E_INTERNAL, "a constant of kind %d", (int)c->kind);
}

enum mpk_code mpk_relax_vm_constant(struct mpk_relax_vm *vm, size_t index,
				    const struct mpk_value **out, struct mpk_error *err)
{
	struct mpk_value *v = &vm->constants[index];

	if (v->kind == MPK_VALUE_NONE)
		MPK_TRY(make_constant(vm, &vm->program->x.consts[index], v, err));
	*out = v;
	return MPK_OK;
}

/* --- functions ----------------------------------------------------------------------------- */

enum mpk_code mpk_relax_vm_function(struct mpk_relax_vm *vm, size_t index,
				    struct mpk_function **out, struct mpk_error *err)
{
	const struct mpk_relax_callee *c = &vm->program->callees[index];

	switch (c->action) {
	case MPK_ACTION_CALL:
	case MPK_ACTION_COMPILED:
		return mpk_machine_bind(&vm->base, index, c->name, c->signature, out, err);
	case MPK_ACTION_KERNEL:
	case MPK_ACTION_FUNCTION:
		*out = mpk_function_hold(c->function);
		return MPK_OK;
	case MPK_ACTION_BUILTIN:
		return mpk_relax_builtin_function(c->builtin, out, err);
	case MPK_ACTION_NONE:
	case MPK_ACTION_MISSING:
	case MPK_ACTION_RETURN:
	case MPK_ACTION_GOTO:
	case MPK_ACTION_IF:
		break;
	}
	return mpk_fail(err, MPK_E_LOAD, "nobody has the function '%s'", MPK_QUOTE(c->name));
}
