/* SPDX-License-Identifier: Apache-2.0 */
/* The data flow of Relay byte code: as that of Relax, but instructions say by their shape which of their
 * words are registers, and invoke_packed how many of its arguments it writes. */
#include "graph/internal/builder.h"
#include "text/escape.h"

struct reader {
	const struct mpk_relay *x;
	const struct mpk_relay_func *f;
	struct mpk_graph_builder *b;
	struct mpk_graph_register *regs; /* f->register_file_size of them */
};

static enum mpk_relay_op op_of(const struct mpk_relay_instr *instr)
{
	return (enum mpk_relay_op)mpk_relay_word(instr, 0);
}

/* What an instruction makes of its destination, or that it is a step of the model. */
enum effect { STEP, NOTHING, ROOM, SAME };

static enum effect effect_of(enum mpk_relay_op op)
{
	switch (op) {
	case MPK_RELAY_ALLOC_TENSOR:
	case MPK_RELAY_ALLOC_TENSOR_REG:
		return ROOM;
	case MPK_RELAY_MOVE:
	case MPK_RELAY_GET_FIELD:
		return SAME;
	case MPK_RELAY_ALLOC_STORAGE:
	case MPK_RELAY_LOAD_CONST:
	case MPK_RELAY_LOAD_CONSTI:
	case MPK_RELAY_KILL_REGISTER:
	case MPK_RELAY_FATAL:
		return NOTHING;
	case MPK_RELAY_RET:
	case MPK_RELAY_INVOKE:
	case MPK_RELAY_INVOKE_CLOSURE:
	case MPK_RELAY_INVOKE_PACKED:
	case MPK_RELAY_ALLOC_ADT:
	case MPK_RELAY_ALLOC_CLOSURE:
	case MPK_RELAY_IF:
	case MPK_RELAY_GOTO:
	case MPK_RELAY_GET_TAG:
	case MPK_RELAY_SHAPE_OF:
	case MPK_RELAY_RESHAPE_TENSOR:
	case MPK_RELAY_DEVICE_COPY:
	case MPK_RELAY_OPS:
		break;
	}
	return STEP;
}

/* The function that an instruction calls; empty: none. */
static struct mpk_span callee(const struct reader *r, const struct mpk_relay_instr *instr)
{
	int64_t index = mpk_relay_word(instr, instr->count > 1 ? 1 : 0);
	const struct mpk_strs *names = op_of(instr) == MPK_RELAY_INVOKE_PACKED ? &r->x->primitives
				       : op_of(instr) == MPK_RELAY_INVOKE      ? &r->x->globals
									       : NULL;

	return names && (uint64_t)index < names->count ? names->items[index]
						       : (struct mpk_span){ 0 };
}

static size_t add_step(const struct reader *r, const struct mpk_relay_instr *instr)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf label = { 0 };
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf detail = { 0 };
	struct mpk_span name = callee(r, instr);

	mpk_relay_dump_instr(r->x, instr, &detail);
	if (op_of(instr) == MPK_RELAY_RET) {
		mpk_strbuf_puts(&label, "result");
		return mpk_graph_add_node(r->b, MPK_MODEL_OUTPUT, &label, NULL);
	}
	if (name.len)
		mpk_escape(&label, name);
	else
		mpk_strbuf_puts(&label, mpk_relay_op_name(op_of(instr)));
	return mpk_graph_add_node(r->b, name.len ? MPK_MODEL_OPERATOR : MPK_MODEL_BUILTIN, &label,
				  &detail);
}

static void read_instr(const struct reader *r, const struct mpk_relay_instr *instr)
{
	enum effect effect = effect_of(op_of(instr));
	size_t node = effect == STEP ? add_step(r, instr) : MPK_NO_NODE;
	int64_t destination = -1;

	for (size_t i = 1; i < instr->count; i++) {
		char role = mpk_relay_word_role(r->x, instr, i);
		int64_t reg = mpk_relay_word(instr, i);

		if (role != 'r' && role != 'd')
			continue;
		if (reg < 0 || (uint64_t)reg >= r->f->register_file_size)
			continue;
		if (role == 'd')
			destination = reg;
		else if (effect == STEP)
			mpk_graph_pass(r->b, &r->regs[reg], node);
		else if (effect == SAME && node == MPK_NO_NODE)
			node = r->regs[reg].node;
	}
	if (destination >= 0)
		r->regs[destination] =
			(struct mpk_graph_register){ .node = node, .is_room = effect == ROOM };
}

static enum mpk_code put_values(struct reader *r, struct mpk_error *err)
{
	r->regs = mpk_arena_array(r->b->arena, (size_t)r->f->register_file_size, sizeof *r->regs);
	MPK_TRY_ALLOC(r->regs, err);
	for (uint64_t i = 0; i < r->f->register_file_size; i++)
		r->regs[i].node = MPK_NO_NODE;
	for (size_t i = 0; i < r->f->params.count && i < r->f->register_file_size; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf label = { 0 };

		mpk_escape(&label, r->f->params.items[i]);
		r->regs[i].node = mpk_graph_add_node(r->b, MPK_MODEL_INPUT, &label, NULL);
	}
	for (size_t i = 0; i < r->f->instr_count; i++)
		read_instr(r, &r->f->instrs[i]);
	return MPK_OK;
}

/* --- functions that jump -------------------------------------------------------------------- */

static const struct mpk_relay_instr *instr_at(const struct mpk_graph_code *g, size_t at)
{
	return &((const struct reader *)g->code)->f->instrs[at];
}

static void find_jumps(const struct mpk_graph_code *g, size_t at, size_t to[2],
		       const char *labels[2], bool *falls)
{
	const struct reader *r = g->code;
	const struct mpk_relay_instr *instr = instr_at(g, at);
	enum mpk_relay_op op = op_of(instr);
	size_t count = 0;

	*falls = op != MPK_RELAY_IF && op != MPK_RELAY_GOTO && op != MPK_RELAY_RET &&
		 op != MPK_RELAY_FATAL;
	for (size_t i = 1; i < instr->count && count < 2; i++) {
		if (mpk_relay_word_role(r->x, instr, i) != 'j')
			continue;
		labels[count] = op == MPK_RELAY_GOTO ? "" : count ? "else" : "then";
		to[count++] = (size_t)((int64_t)at + mpk_relay_word(instr, i)); /* checked */
	}
}

static void print_instr(const struct mpk_graph_code *g, size_t at, struct mpk_strbuf *out)
{
	mpk_relay_dump_instr(((const struct reader *)g->code)->x, instr_at(g, at), out);
}

static void print_name(const struct mpk_graph_code *g, size_t at, struct mpk_strbuf *out)
{
	mpk_escape(out, callee(g->code, instr_at(g, at)));
}

/* Each register is a parameter or the destination of an instruction. More of them than that is a
 * number that a file claims, and no memory is taken for it. */
static bool has_its_registers(const struct mpk_relay_func *f)
{
	return f->register_file_size <= (uint64_t)f->params.count + f->instr_count + 1;
}

enum mpk_code mpk_graph_of_relay(const struct mpk_relay *x, size_t index, struct mpk_arena *arena,
				 struct mpk_model_graph *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_graph_builder_fini) struct mpk_graph_builder b = { .arena = arena };
	struct reader r = { .x = x, .f = &x->funcs[index], .b = &b };
	struct mpk_graph_code g = { .code = &r,
				    .count = r.f->instr_count,
				    .jumps = find_jumps,
				    .print = print_instr,
				    .name = print_name };

	out->name = r.f->info.count ? r.f->info.items[0] : (struct mpk_span){ 0 };
	out->is_flow = mpk_graph_jumps(&g);
	if (out->is_flow)
		mpk_graph_put_blocks(&b, &g);
	else if (has_its_registers(r.f))
		MPK_TRY(put_values(&r, err));
	return mpk_graph_builder_finish(&b, out, err);
}
