/* SPDX-License-Identifier: Apache-2.0 */
/* relax_graph.c - makes graphs of functions of the Relax VM */
#include <inttypes.h>
#include <string.h>

#include "payload/internal/relax.h"
#include "text/escape.h"
#include "text/phrase.h"

/* --- data flow ----------------------------------------------------------------------------
 *
 * Operators write into tensors that were allocated before and are passed after the arguments. So
 * the first call that gets an unwritten tensor is the call that computes it. */

struct reader {
	const struct mpk_relax *x;
	const struct mpk_relax_func *f;
	struct mpk_graph_builder *b;
	struct mpk_graph_register *regs; /* f->register_file_size elements */
};

static const char BUILTIN[] = "vm.builtin.";

/* Calls that compute nothing of the model: memory allocation, and checks of arguments and
 * shapes. */
static bool is_bookkeeping(struct mpk_span name)
{
	static const char *const prefixes[] = {
		"vm.builtin.alloc_",     "vm.builtin.null_value", "vm.builtin.kill_object",
		"vm.builtin.check_",     "vm.builtin.match_",     "vm.builtin.make_shape",
		"vm.builtin.make_prim_",
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(prefixes); i++)
		if (mpk_span_starts(name, prefixes[i]))
			return true;
	return false;
}

/* Returns NULL for the special registers of TVM's virtual machine: "no result" and the machine
 * itself. */
static struct mpk_graph_register *reg_of(const struct reader *r, int64_t reg)
{
	return reg >= 0 && reg < r->f->register_file_size ? &r->regs[reg] : NULL;
}

static void relax_set(const struct reader *r, int64_t reg, struct mpk_graph_register value)
{
	if (reg_of(r, reg))
		*reg_of(r, reg) = value;
}

/* Returns the type of an allocated tensor if its shape is a constant; at most as long as a line. */
static const char *type_of_room(const struct reader *r, const struct mpk_relax_instr *instr)
{
	enum { DIMS = 8 };
	const struct mpk_relax_const *shape = NULL, *dtype = NULL;
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	int64_t dims[DIMS];
	struct mpk_type type;

	for (size_t i = 0; i < instr->arg_count; i++) {
		struct mpk_relax_arg arg = mpk_relax_arg(instr, i);
		const struct mpk_relax_const *c;

		/* alloc_tensor(storage, offset, shape, dtype): the constant kinds tell the
		 * arguments apart */
		if (arg.kind != MPK_RELAX_ARG_CONST)
			continue;
		c = &r->x->consts[arg.value];
		shape = c->kind == MPK_RELAX_SHAPE ? c : shape;
		dtype = c->kind == MPK_RELAX_DTYPE ? c : dtype;
	}
	if (!shape || !dtype || shape->u.shape.len / 8 > DIMS)
		return NULL;
	for (size_t i = 0; i < shape->u.shape.len / 8; i++)
		dims[i] = (int64_t)mpk_load_u64(shape->u.shape.data + 8 * i);
	type = mpk_type_tensor(dtype->u.dtype, dims, shape->u.shape.len / 8, NULL);
	mpk_type_text(&type, &text);
	return mpk_arena_copy(r->b->arena, mpk_strbuf_text(&text), text.len);
}

/* Writes "reshape" for "vm.builtin.reshape". */
static void relax_put_name(struct mpk_span name, struct mpk_strbuf *out)
{
	size_t prefix = mpk_span_starts(name, BUILTIN) ? strlen(BUILTIN) : 0;

	mpk_escape(out, mpk_span_from(name, prefix));
}

/* Writes constants that are not tensors (tensors are parts of their own). A long constant is
 * omitted, since many instructions may use it. */
static void put_short_constants(const struct reader *r, const struct mpk_relax_instr *instr,
				struct mpk_strbuf *out)
{
	enum { SHORT = 64, ALL_OF_THEM = 128 };
	size_t most = out->len + ALL_OF_THEM;

	for (size_t i = 0; i < instr->arg_count && out->len < most; i++) {
		struct mpk_relax_arg arg = mpk_relax_arg(instr, i);
		const struct mpk_relax_const *c =
			arg.kind == MPK_RELAX_ARG_CONST ? &r->x->consts[arg.value] : NULL;

		if (!c || c->kind == MPK_RELAX_TENSOR ||
		    (c->kind == MPK_RELAX_SHAPE && c->u.shape.len > SHORT) ||
		    (c->kind == MPK_RELAX_STRING && c->u.string.len > SHORT))
			continue;
		mpk_strbuf_printf(out, "\nc[%" PRId64 "]: ", arg.value);
		mpk_relax_put_constant(c, out);
	}
}

static size_t relax_add_step(const struct reader *r, const struct mpk_relax_instr *instr,
			     struct mpk_span name)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf label = { 0 }, detail = { 0 };
	enum mpk_model_node_kind kind =
		mpk_span_starts(name, BUILTIN) ? MPK_MODEL_BUILTIN : MPK_MODEL_OPERATOR;

	relax_put_name(name, &label);
	mpk_relax_dump_instr(r->x, instr, &detail);
	put_short_constants(r, instr, &detail);
	return mpk_graph_add_node(r->b, kind, &label, &detail);
}

/* Allocated memory counts as unwritten until an operator gets it. Other bookkeeping calls leave
 * their register without a node. */
static void relax_read_call(const struct reader *r, const struct mpk_relax_instr *instr)
{
	struct mpk_span name = r->x->funcs[instr->func].name;
	size_t node;

	if (is_bookkeeping(name)) {
		bool is_room = mpk_span_is(name, "vm.builtin.alloc_tensor");

		relax_set(r, instr->reg,
			  (struct mpk_graph_register){
				  .node = MPK_NO_NODE,
				  .is_room = is_room,
				  .type = is_room ? type_of_room(r, instr) : NULL,
			  });
		return;
	}
	node = relax_add_step(r, instr, name);
	for (size_t i = 0; i < instr->arg_count; i++) {
		struct mpk_relax_arg arg = mpk_relax_arg(instr, i);
		struct mpk_graph_register *reg =
			arg.kind == MPK_RELAX_ARG_REG ? reg_of(r, arg.value) : NULL;
		struct mpk_graph_register constant = { .node = MPK_NO_NODE,
						       .constant = (size_t)arg.value + 1 };

		if (arg.kind == MPK_RELAX_ARG_CONST &&
		    r->x->consts[arg.value].kind == MPK_RELAX_TENSOR)
			reg = &constant;
		if (reg)
			mpk_graph_pass(r->b, reg, node);
	}
	/* set after the arguments were read, one of which may be in this register */
	relax_set(r, instr->reg, (struct mpk_graph_register){ .node = node });
}

static void relax_add_result(const struct reader *r, const struct mpk_relax_instr *instr)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf label = { 0 };
	const struct mpk_graph_register *reg = reg_of(r, instr->reg);

	mpk_strbuf_puts(&label, "result");
	mpk_graph_add_edge(r->b, reg ? reg->node : MPK_NO_NODE,
			   mpk_graph_add_node(r->b, MPK_MODEL_OUTPUT, &label, NULL), "");
}

/* TVM's virtual machine passes arguments in the first registers. In code without jumps, an
 * instruction is a call or a return. */
static void put_values(const struct mpk_graph_code *g, struct mpk_graph_builder *b,
		       struct mpk_graph_register *regs)
{
	struct reader r = *(const struct reader *)g->code;
	struct mpk_relax_instr instr;

	r.b = b;
	r.regs = regs;
	for (int64_t i = 0; i < r.f->num_args && i < r.f->register_file_size; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf label = { 0 };

		if ((uint64_t)i < r.f->params.count)
			mpk_escape(&label, r.f->params.items[i]);
		else
			mpk_strbuf_printf(&label, "%%%d", (int)i);
		regs[i].node = mpk_graph_add_node(b, MPK_MODEL_INPUT, &label, NULL);
	}
	for (int64_t at = r.f->start; at < r.f->end; at++)
		if (mpk_relax_instr(r.x, (size_t)at, &instr, NULL) == MPK_OK)
			(instr.op == MPK_RELAX_CALL ? relax_read_call : relax_add_result)(&r,
											  &instr);
}

/* --- functions that jump -------------------------------------------------------------------- */

static bool instr_at(const struct mpk_graph_code *g, size_t at, struct mpk_relax_instr *out)
{
	const struct reader *r = g->code;

	return mpk_relax_instr(r->x, (size_t)r->f->start + at, out, NULL) == MPK_OK;
}

/* An If continues if the condition holds, else it jumps. Offsets count instructions from the jump
 * itself. */
static void find_jumps(const struct mpk_graph_code *g, size_t at, size_t to[2],
		       const char *labels[2], bool *falls)
{
	struct mpk_relax_instr instr;

	if (!instr_at(g, at, &instr) || instr.op == MPK_RELAX_CALL)
		return;
	*falls = instr.op == MPK_RELAX_IF;
	if (instr.op == MPK_RELAX_RET)
		return;
	to[0] = (size_t)((int64_t)at + instr.offset); /* checked to be within the function */
	labels[0] = instr.op == MPK_RELAX_IF ? "else" : "";
}

static void print_instr(const struct mpk_graph_code *g, size_t at, struct mpk_strbuf *out)
{
	struct mpk_relax_instr instr;

	if (instr_at(g, at, &instr))
		mpk_relax_dump_instr(((const struct reader *)g->code)->x, &instr, out);
}

static void print_name(const struct mpk_graph_code *g, size_t at, struct mpk_strbuf *out)
{
	const struct reader *r = g->code;
	struct mpk_relax_instr instr;

	if (instr_at(g, at, &instr) && instr.op == MPK_RELAX_CALL &&
	    !is_bookkeeping(r->x->funcs[instr.func].name))
		relax_put_name(r->x->funcs[instr.func].name, out);
}

/* Each register of compiled code is an argument or a result, so a function that declares more
 * registers is refused. */
static bool has_its_registers(const struct mpk_relax_func *f)
{
	return (uint64_t)f->num_args <= f->params.count &&
	       f->register_file_size <= f->num_args + (f->end - f->start);
}

enum mpk_code mpk_relax_read_graph(const struct mpk_payload_content *c, size_t index,
				   struct mpk_arena *arena, struct mpk_model_graph *out,
				   struct mpk_error *err)
{
	const struct mpk_relax *x = &c->payload->u.relax;
	const struct reader r = { .x = x, .f = &x->funcs[index] };

	out->name = r.f->name;
	if (r.f->kind != MPK_RELAX_VM) /* only byte code functions have instructions */
		return MPK_OK;
	const struct mpk_graph_code g = { .code = &r,
					  .count = (size_t)(r.f->end - r.f->start),
					  .jumps = find_jumps,
					  .print = print_instr,
					  .name = print_name,
					  .values = has_its_registers(r.f) ? put_values : NULL,
					  .registers = (uint64_t)r.f->register_file_size };

	return mpk_graph_of_code(&g, arena, out, err);
}
