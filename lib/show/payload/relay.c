/* SPDX-License-Identifier: Apache-2.0 */
/* relay.c - printers for executables of the Relay virtual machine: byte code, constants, and graphs
 * of its functions
 *
 * The graph is built as for Relax (relax_graph.c). But here the instruction tells which of its
 * words are registers, and invoke_packed how many of its arguments it writes. */
#include "payload/payload_view.h"

#include <stdio.h>

#include "text/escape.h"
#include "text/phrase.h"

/* --- text and JSON ------------------------------------------------------------------------ */

/* The version of TVM comes first: no other version runs this byte code. */
static void relay_put_counts(const struct mpk_payload *p, struct mpk_strbuf *out)
{
	const struct mpk_relay *x = &p->u.relay;
	uint64_t bytes = 0;

	for (size_t i = 0; i < x->const_count; i++)
		bytes += x->consts[i].tensor.data.len;
	mpk_strbuf_puts(out, ", TVM ");
	mpk_escape(out, x->version);
	mpk_put_tensor_counts(x->const_count, bytes, "constant", out);
}

static void relay_put_lines(const struct mpk_payload_content *c, const char *indent,
			    struct mpk_strbuf *out)
{
	const struct mpk_relay *x = &c->payload->u.relay;

	mpk_strbuf_printf(out, "%sbytecode of TVM ", indent);
	mpk_escape(out, x->version);
	mpk_strbuf_puts(out, ": ");
	mpk_put_count(out, x->func_count, "function");
	mpk_put_also(out, x->primitives.count, "primitive");
	mpk_put_also(out, x->const_count, "constant");
	mpk_put_also(out, x->device_count, "device");
	mpk_strbuf_putc(out, '\n');
	for (size_t i = 0; i < x->func_count; i++) {
		const struct mpk_relay_func *f = &x->funcs[i];

		mpk_strbuf_printf(out, "%s  ", indent);
		mpk_escape(out, f->info.count ? f->info.items[0] : (struct mpk_span){ 0 });
		mpk_strbuf_puts(out, ": ");
		mpk_put_count(out, f->params.count, "parameter");
		mpk_put_also(out, f->instr_count, "instruction");
		mpk_put_also(out, f->register_file_size, "register");
		mpk_strbuf_putc(out, '\n');
	}
}

static void relay_put_json(const struct mpk_payload_content *c, struct mpk_json *j,
			   struct mpk_json_at *at)
{
	const struct mpk_relay *x = &c->payload->u.relay;
	struct mpk_json_at *o = mpk_json_object(j, at, "executor"), *list, *f;
	uint64_t instructions = 0;

	/* each has bytes, so the sum cannot overflow */
	for (size_t i = 0; i < x->func_count; i++)
		instructions += x->funcs[i].instr_count;
	mpk_json_span(j, o, "version", x->version);
	mpk_json_u64(j, o, "instructions", instructions);
	mpk_json_u64(j, o, "constants", x->const_count);
	mpk_json_u64(j, o, "devices", x->device_count);
	mpk_json_spans(j, o, "primitives", x->primitives.items, x->primitives.count);
	list = mpk_json_array(j, o, "functions");
	for (size_t i = 0; i < x->func_count; i++) {
		const struct mpk_relay_func *r = &x->funcs[i];

		f = mpk_json_object(j, list, NULL);
		mpk_json_span(j, f, "name",
			      r->info.count ? r->info.items[0] : (struct mpk_span){ 0 });
		mpk_json_text(j, f, "kind", "bytecode");
		mpk_json_spans(j, f, "parameters", r->params.items, r->params.count);
		mpk_json_u64(j, f, "registers", r->register_file_size);
		mpk_json_u64(j, f, "instructions", r->instr_count);
	}
}

/* --- functions ---------------------------------------------------------------------------- */

/* All functions are byte code; functions that they call in the library are listed as primitives. */
/* Instructions are stored one after the other, each preceded by its length and its hash. */
static uint64_t relay_function_bytes(const struct mpk_relay_func *f)
{
	enum { FRONT = 16 };
	const struct mpk_relay_instr *last = f->instrs + f->instr_count - (f->instr_count != 0);

	return f->instr_count ? (uint64_t)(last->words + 8 * last->count - f->instrs->words) + FRONT
			      : 0;
}

static bool function_at(const struct mpk_payload *p, size_t index, struct mpk_payload_function *out)
{
	const struct mpk_relay *x = &p->u.relay;

	if (index >= x->func_count)
		return false;
	*out = (struct mpk_payload_function){ x->funcs[index].info.items[0], MPK_FUNCTION_BYTE_CODE,
					      relay_function_bytes(&x->funcs[index]) };
	return true;
}

static void put_listing(const struct mpk_payload *p, size_t index, struct mpk_strbuf *out)
{
	mpk_relay_dump(&p->u.relay, index == MPK_ALL_FUNCTIONS ? MPK_RELAY_ALL : index, out);
}

/* --- verdicts ----------------------------------------------------------------------------- */

static enum mpk_code relay_verify(const struct mpk_payload *p, struct mpk_error *err)
{
	return mpk_relay_check(&p->u.relay, err);
}

/* The virtual machine requires exactly the release that wrote the byte code. */
static void relay_find_needs(const struct mpk_payload *p, const struct mpk_release *release,
			     const struct mpk_payload_findings *findings)
{
	const struct mpk_span version = p->u.relay.version;
	char wanted[16], text[1024];

	if (!release || !release->minor)
		return;
	(void)snprintf(wanted, sizeof wanted, "0.%u.", release->minor);
	if (mpk_span_starts(version, wanted))
		return;
	(void)snprintf(text, sizeof text,
		       "byte code of TVM '%s', which that release alone runs, not %s",
		       MPK_QUOTE(version), release->name);
	findings->say(findings->arg, MPK_ERROR, text);
}

/* --- data flow ---------------------------------------------------------------------------- */

struct reader {
	const struct mpk_relay *x;
	const struct mpk_relay_func *f;
	struct mpk_graph_builder *b;
	struct mpk_graph_register *regs; /* f->register_file_size elements */
};

static enum mpk_relay_op op_of(const struct mpk_relay_instr *instr)
{
	return (enum mpk_relay_op)mpk_relay_word(instr, 0);
}

/* The effect of an instruction on its destination register; STEP: it computes a value of the
 * model. */
enum effect { STEP, NOTHING, ROOM, SAME };

/* Constants are NOTHING: they are weights, which are not drawn. */
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

/* Returns the function that an instruction calls; empty if none. */
static struct mpk_span callee(const struct reader *r, const struct mpk_relay_instr *instr)
{
	int64_t index = mpk_relay_word(instr, instr->count > 1 ? 1 : 0);
	const struct mpk_strs *names = op_of(instr) == MPK_RELAY_INVOKE_PACKED ? &r->x->primitives
				       : op_of(instr) == MPK_RELAY_INVOKE      ? &r->x->globals
									       : NULL;

	return names && (uint64_t)index < names->count ? names->items[index]
						       : (struct mpk_span){ 0 };
}

/* Adds a node for a computation. An instruction that calls nothing is
 * executed by the virtual machine itself. */
static size_t add_step(const struct reader *r, const struct mpk_relay_instr *instr)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf label = { 0 }, detail = { 0 };
	struct mpk_span name = callee(r, instr);

	mpk_relay_dump_instr(r->x, instr, &detail);
	if (op_of(instr) == MPK_RELAY_RET) {
		mpk_strbuf_puts(&label, "result");
		return mpk_graph_add_node(r->b, MPK_MODEL_OUTPUT, &label, NULL);
	}
	if (name.len)
		mpk_escape(&label, name);
	else
		mpk_strbuf_puts(&label, mpk_relay_shape(op_of(instr), r->x->layout)->name);
	return mpk_graph_add_node(r->b, name.len ? MPK_MODEL_OPERATOR : MPK_MODEL_BUILTIN, &label,
				  &detail);
}

/* Roles of words: 'r' is a register that is read, 'd' one that is written. A move, or access to a
 * field, keeps the node that computed its source. */
static void relay_read_instr(const struct reader *r, const struct mpk_relay_instr *instr)
{
	enum effect effect = effect_of(op_of(instr));
	size_t node = effect == STEP ? add_step(r, instr) : MPK_NO_NODE;
	int64_t destination = -1;
	size_t constant = 0;

	for (size_t i = 1; i < instr->count; i++) {
		char role = mpk_relay_word_role(r->x, instr, i);
		int64_t reg = mpk_relay_word(instr, i);

		if (role == 'c' && reg >= 0)
			constant = (size_t)reg + 1;
		if (role != 'r' && role != 'd')
			continue;
		/* memory was allocated only for the registers that the function declares */
		if (reg < 0 || (uint64_t)reg >= r->f->register_file_size)
			continue;
		if (role == 'd')
			destination = reg;
		else if (effect == STEP)
			mpk_graph_pass(r->b, &r->regs[reg], node);
		else if (effect == SAME && node == MPK_NO_NODE) {
			node = r->regs[reg].node;
			constant = r->regs[reg].constant;
		}
	}
	if (destination >= 0)
		r->regs[destination] = (struct mpk_graph_register){ .node = node,
								    .is_room = effect == ROOM,
								    .constant = constant };
}

/* TVM's virtual machine passes parameters in the first registers. */
static void put_values(const struct mpk_graph_code *g, struct mpk_graph_builder *b,
		       struct mpk_graph_register *regs)
{
	struct reader r = *(const struct reader *)g->code;

	r.b = b;
	r.regs = regs;
	for (size_t i = 0; i < r.f->params.count && i < r.f->register_file_size; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf label = { 0 };

		mpk_escape(&label, r.f->params.items[i]);
		regs[i].node = mpk_graph_add_node(b, MPK_MODEL_INPUT, &label, NULL);
	}
	for (size_t i = 0; i < r.f->instr_count; i++)
		relay_read_instr(&r, &r.f->instrs[i]);
}

/* --- functions that jump -------------------------------------------------------------------- */

static const struct mpk_relay_instr *instr_at(const struct mpk_graph_code *g, size_t at)
{
	return &((const struct reader *)g->code)->f->instrs[at];
}

/* Relay's If has an offset for each branch, so it never continues with
 * the next instruction. */
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
		/* checked to be within the function */
		to[count++] = (size_t)((int64_t)at + mpk_relay_word(instr, i));
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

/* Each register is a parameter or the destination of an instruction. A function that declares more
 * is refused before memory is allocated for them. */
static bool has_its_registers(const struct mpk_relay_func *f)
{
	return f->register_file_size <= (uint64_t)f->params.count + f->instr_count + 1;
}

static enum mpk_code relay_read_graph(const struct mpk_payload_content *c, size_t index,
				      struct mpk_arena *arena, struct mpk_model_graph *out,
				      struct mpk_error *err)
{
	const struct mpk_relay *x = &c->payload->u.relay;
	const struct reader r = { .x = x, .f = &x->funcs[index] };
	const struct mpk_graph_code g = { .code = &r,
					  .count = r.f->instr_count,
					  .jumps = find_jumps,
					  .print = print_instr,
					  .name = print_name,
					  .values = has_its_registers(r.f) ? put_values : NULL,
					  .registers = r.f->register_file_size };

	out->name = r.f->info.count ? r.f->info.items[0] : (struct mpk_span){ 0 };
	return mpk_graph_of_code(&g, arena, out, err);
}

/* Drawing relies on the checks of --verify: byte code that fails them has no graph. */
static size_t relay_count_graphs(const struct mpk_payload_content *c)
{
	const struct mpk_relay *x = &c->payload->u.relay;

	return mpk_relay_check(x, NULL) == MPK_OK ? x->func_count : 0;
}

const struct mpk_payload_view mpk_payload_view_relay = {
	.counts = relay_put_counts,
	.text = relay_put_lines,
	.json = relay_put_json,
	.function = function_at,
	.disasm = put_listing,
	.graph_count = relay_count_graphs,
	.graph = relay_read_graph,
	.check = "byte-code",
	.verify = relay_verify,
	.needs = relay_find_needs,
};
