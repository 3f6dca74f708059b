/* SPDX-License-Identifier: Apache-2.0 */
/* relax.c - an executable of the Relax VM as a module: its program, decoded once for running
 *
 * Byte code is read when the module is opened: operands are checked, and what is called is looked for in
 * the imports, then among the builtins, then among the runtime's global functions. The loop that runs
 * it (interp.c) can then do without any look-up or check. What nobody has is no failure before a
 * function that needs it is looked up, because a library may have others that run.
 */
#include "executor/relax/relax.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "executor/relax/internal/relax.h"
#include "program/model.h"
#include "runtime/node.h"
#include "text/escape.h"

/* --- the program ---------------------------------------------------------------------------- */

/* --- callees ------------------------------------------------------------------------------- */

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

/* --- steps --------------------------------------------------------------------------------- */

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

/* --- signatures ---------------------------------------------------------------------------- */

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

/* --- the whole ----------------------------------------------------------------------------- */

enum mpk_code mpk_relax_load(struct mpk_program *base, struct mpk_node_module *node,
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

static size_t relax_find_function(const struct mpk_relax_program *p, const char *name)
{
	for (size_t i = 0; i < p->callee_count; i++)
		if (p->x.funcs[i].kind != MPK_RELAX_PACKED && mpk_span_is(p->callees[i].name, name))
			return i;
	return p->callee_count;
}

/* --- what is missing ----------------------------------------------------------------------- */

struct needs {
	const struct mpk_relax_program *p;
	bool *seen;
	size_t *waiting;
	size_t waiting_count, missing;
	bool is_disco; /* one of them is of TVM's sessions of several processes */
	struct mpk_strbuf names;
};

static void needs_fini(struct needs *n)
{
	free(n->seen);
	free(n->waiting);
	mpk_strbuf_fini(&n->names);
}

static void need_callee(struct needs *n, size_t callee)
{
	const struct mpk_relax_callee *c = &n->p->callees[callee];

	if (n->seen[callee])
		return;
	n->seen[callee] = true;
	if (c->action == MPK_ACTION_CALL)
		n->waiting[n->waiting_count++] = callee;
	/* all that is missing is named at once, not one function a try */
	n->is_disco |=
		c->action == MPK_ACTION_MISSING && mpk_span_starts(c->name, "runtime.disco.");
	if (c->action == MPK_ACTION_MISSING)
		mpk_strbuf_printf(&n->names, "%s%s", n->missing++ ? ", " : "", MPK_QUOTE(c->name));
}

static void need_all_of(struct needs *n, const struct mpk_relax_callee *c)
{
	for (size_t at = c->start; at < c->end; at++) {
		const struct mpk_relax_step *s = &n->p->steps[at];

		/* what follows in the enum calls nothing */
		if (s->action > MPK_ACTION_MISSING)
			continue;
		need_callee(n, s->callee);
		for (uint32_t i = 0; i < s->count; i++)
			if (n->p->operands[s->first + i].kind == MPK_OPERAND_FUNCTION)
				need_callee(n, (size_t)n->p->operands[s->first + i].value);
	}
}

static enum mpk_code relax_check_function(const struct mpk_relax_program *p, size_t function,
					  struct mpk_error *err)
{
	MPK_CLEANUP(needs_fini) struct needs n = { .p = p };

	n.seen = calloc(p->callee_count + 1, sizeof *n.seen);
	n.waiting = calloc(p->callee_count + 1, sizeof *n.waiting);
	if (!n.seen || !n.waiting)
		return mpk_fail_nomem(err);
	need_callee(&n, function);
	while (n.waiting_count)
		need_all_of(&n, &p->callees[n.waiting[--n.waiting_count]]);
	if (!n.missing)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_LOAD,
		"'%s' needs %zu function%s that neither the library nor this program has: %s%s",
		MPK_QUOTE(p->callees[function].name), n.missing, n.missing == 1 ? "" : "s",
		mpk_strbuf_text(&n.names),
		n.is_disco
			? "; runtime.disco is of sessions of several processes, which only TVM has"
			: "");
}

/* --- the module ----------------------------------------------------------------------------- */

static const struct mpk_relax_program *program_of(const struct mpk_node_module *node)
{
	const struct mpk_node_model *model = node->state;

	return (const struct mpk_relax_program *)model->program;
}

static bool relax_accepts(struct mpk_span kind)
{
	return mpk_span_is(kind, "relax.VMExecutable") || mpk_span_is(kind, "relax.Executable");
}

static enum mpk_code relax_open_node(struct mpk_node_module *node, struct mpk_error *err)
{
	return mpk_node_model_open(node, &mpk_relax_kind, err);
}

static enum mpk_code find_node(struct mpk_node_module *node, const char *name,
			       struct mpk_function **out, struct mpk_error *err)
{
	const struct mpk_relax_program *p = program_of(node);
	size_t index = relax_find_function(p, name);
	struct mpk_machine *machine;

	*out = NULL;
	if (index == p->callee_count)
		return MPK_OK;
	MPK_TRY(relax_check_function(p, index, err));
	MPK_TRY(mpk_node_model_machine(node->state, &machine, err));
	return mpk_relax_vm_function((struct mpk_relax_vm *)machine, index, out, err);
}

static bool relax_name_at(struct mpk_node_module *node, size_t i, struct mpk_span *out)
{
	const struct mpk_relax_program *p = program_of(node);

	for (size_t k = 0; k < p->callee_count; k++)
		if (p->x.funcs[k].kind != MPK_RELAX_PACKED && i-- == 0) {
			*out = p->callees[k].name;
			return true;
		}
	return false;
}

struct mpk_relax_vm *mpk_relax_machine_of(const struct mpk_node_module *node)
{
	const struct mpk_node_model *model = node->state;

	return model ? (struct mpk_relax_vm *)model->machine : NULL;
}

const struct mpk_loader mpk_relax_executor = {
	.accepts = relax_accepts,
	.payload = &mpk_reader_relax,
	.has = mpk_node_model_has,
	.open = relax_open_node,
	.find = find_node,
	.name_at = relax_name_at,
	.close = mpk_node_model_close,
};
