/* SPDX-License-Identifier: Apache-2.0 */
/* relax.c - executables of the Relax VM: byte code, constants, the functions they call, graphs of its functions */
#include "payload/payload_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text/escape.h"
#include "text/phrase.h"

static const struct mpk_relax *executable_of(const struct mpk_payload *p)
{
	return &p->u.relax;
}

/* --- text and JSON ------------------------------------------------------------------------ */

/* Of constants, tensors alone have bytes that are worth a sum. */
static void relax_put_counts(const struct mpk_payload *p, struct mpk_strbuf *out)
{
	const struct mpk_relax *x = &p->u.relax;
	uint64_t bytes = 0;

	for (size_t i = 0; i < x->const_count; i++)
		if (x->consts[i].kind == MPK_RELAX_TENSOR)
			bytes += x->consts[i].u.tensor.data.len;
	mpk_put_also(out, mpk_relax_instr_count(x), "instruction");
	mpk_put_tensor_counts(x->const_count, bytes, "constant", out);
}

/* Functions that are called by name are counted only: their code is somewhere else. */
static void relax_put_lines(const struct mpk_payload_content *c, const char *indent,
			    struct mpk_strbuf *out)
{
	const struct mpk_relax *x = &c->payload->u.relax;
	size_t of_kind[3] = { 0 };

	for (size_t i = 0; i < x->func_count; i++)
		of_kind[x->funcs[i].kind]++; /* the reader refuses other kinds */
	mpk_strbuf_printf(out, "%sbytecode ", indent);
	mpk_escape(out, x->version);
	mpk_strbuf_puts(out, ": ");
	mpk_put_count(out, of_kind[MPK_RELAX_VM], "function");
	mpk_strbuf_printf(out, ", %zu compiled, %zu called by name, ", of_kind[MPK_RELAX_TIR],
			  of_kind[MPK_RELAX_PACKED]);
	mpk_put_count(out, mpk_relax_instr_count(x), "instruction");
	mpk_put_also(out, x->const_count, "constant");
	mpk_strbuf_putc(out, '\n');
	for (size_t i = 0; i < x->func_count; i++) {
		const struct mpk_relax_func *f = &x->funcs[i];

		if (f->kind == MPK_RELAX_PACKED)
			continue;
		mpk_strbuf_printf(out, "%s  ", indent);
		mpk_escape(out, f->name);
		mpk_strbuf_puts(out, ": ");
		mpk_put_count(out, f->params.count, "parameter");
		if (f->kind == MPK_RELAX_VM && f->end > f->start && f->start >= 0)
			mpk_strbuf_printf(out, ", instructions %" PRId64 " to %" PRId64, f->start,
					  f->end - 1);
		mpk_strbuf_printf(out, ", %" PRId64 " registers%s\n", f->register_file_size,
				  f->kind == MPK_RELAX_TIR ? ", compiled" : "");
	}
}

static void relax_put_json(const struct mpk_payload_content *c, struct mpk_json *j,
			   struct mpk_json_at *at)
{
	static const char *const kinds[] = {
		[MPK_RELAX_PACKED] = "packed",
		[MPK_RELAX_VM] = "bytecode",
		[MPK_RELAX_TIR] = "compiled",
	};
	const struct mpk_relax *x = &c->payload->u.relax;
	struct mpk_json_at *o = mpk_json_object(j, at, "executor"), *list, *f;

	mpk_json_span(j, o, "version", x->version);
	mpk_json_u64(j, o, "instructions", mpk_relax_instr_count(x));
	mpk_json_u64(j, o, "constants", x->const_count);
	list = mpk_json_array(j, o, "functions");
	for (size_t i = 0; i < x->func_count; i++) {
		f = mpk_json_object(j, list, NULL);
		mpk_json_span(j, f, "name", x->funcs[i].name);
		mpk_json_text(j, f, "kind", kinds[x->funcs[i].kind]);
		mpk_json_spans(j, f, "parameters", x->funcs[i].params.items,
			       x->funcs[i].params.count);
		if (x->funcs[i].kind == MPK_RELAX_PACKED)
			continue;
		mpk_json_i64(j, f, "registers", x->funcs[i].register_file_size);
		mpk_json_i64(j, f, "start", x->funcs[i].start);
		mpk_json_i64(j, f, "end", x->funcs[i].end);
	}
}

/* --- functions ---------------------------------------------------------------------------- */

/* The words of its instructions, and where each begins. 0 also of functions that do not read. */
static uint64_t relax_function_bytes(const struct mpk_relax *x, const struct mpk_relax_func *f)
{
	uint64_t count = mpk_relax_instr_count(x), words = x->instr_data.len / 8, begin, end;

	if (f->kind != MPK_RELAX_VM || f->start < 0 || f->end <= f->start ||
	    (uint64_t)f->end > count)
		return 0;
	begin = mpk_load_u64(x->instr_offset.data + 8 * f->start);
	end = (uint64_t)f->end < count ? mpk_load_u64(x->instr_offset.data + 8 * f->end) : words;
	return begin <= end && end <= words
		       ? 8 * (end - begin + (uint64_t)f->end - (uint64_t)f->start)
		       : 0;
}

static bool function_at(const struct mpk_payload *p, size_t index, struct mpk_payload_function *out)
{
	static const enum mpk_payload_function_kind kinds[] = {
		[MPK_RELAX_PACKED] = MPK_FUNCTION_IMPORTED,
		[MPK_RELAX_VM] = MPK_FUNCTION_BYTE_CODE,
		[MPK_RELAX_TIR] = MPK_FUNCTION_COMPILED,
	}; /* the reader refuses other kinds */
	const struct mpk_relax *x = &p->u.relax;

	if (index >= x->func_count)
		return false;
	*out = (struct mpk_payload_function){ x->funcs[index].name, kinds[x->funcs[index].kind],
					      relax_function_bytes(x, &x->funcs[index]) };
	return true;
}

static void put_listing(const struct mpk_payload *p, size_t index, struct mpk_strbuf *out)
{
	mpk_relax_dump(&p->u.relax, index == MPK_ALL_FUNCTIONS ? MPK_RELAX_ALL : index, out);
}

/* The byte code need not have passed its check: an index out of range is no call. */
static enum mpk_code relax_add_call(const struct mpk_relax *x,
				    const struct mpk_payload_calls *calls, size_t from, int64_t to,
				    struct mpk_error *err)
{
	if (to < 0 || (uint64_t)to >= x->func_count)
		return MPK_OK;
	return calls->add(calls->arg, from, (size_t)to, err);
}

/* A function may also be an argument: then it is called by whoever got it. */
static enum mpk_code add_calls(const struct mpk_relax *x, size_t func, size_t *left,
			       const struct mpk_payload_calls *calls, struct mpk_error *err)
{
	const struct mpk_relax_func *f = &x->funcs[func];
	struct mpk_relax_instr instr;

	for (int64_t i = f->start; i < f->end && *left; i++, --*left) {
		if (mpk_relax_instr(x, (size_t)i, &instr, NULL) != MPK_OK)
			return MPK_OK;
		if (instr.op != MPK_RELAX_CALL)
			continue;
		MPK_TRY(relax_add_call(x, calls, func, instr.func, err));
		for (size_t k = 0; k < instr.arg_count; k++) {
			struct mpk_relax_arg arg = mpk_relax_arg(&instr, k);

			if (arg.kind == MPK_RELAX_ARG_FUNC)
				MPK_TRY(relax_add_call(x, calls, func, arg.value, err));
		}
	}
	return MPK_OK;
}

static enum mpk_code find_calls(const struct mpk_payload *p, const struct mpk_payload_calls *calls,
				struct mpk_error *err)
{
	const struct mpk_relax *x = &p->u.relax;
	size_t left = mpk_relax_instr_count(x); /* functions may claim the same ones */

	for (size_t i = 0; i < x->func_count; i++)
		if (x->funcs[i].kind == MPK_RELAX_VM && x->funcs[i].start >= 0)
			MPK_TRY(add_calls(x, i, &left, calls, err));
	return MPK_OK;
}

/* --- data flow ----------------------------------------------------------------------------
 *
 * Operators write into tensors that were allocated before and are passed after the arguments, so what they compute is
 * found as what nobody has written yet. */

struct reader {
	const struct mpk_relax *x;
	const struct mpk_relax_func *f;
	struct mpk_graph_builder *b;
	struct mpk_graph_register *regs; /* f->register_file_size of them */
};

static const char BUILTIN[] = "vm.builtin.";

/* Calls that compute nothing of the model: memory, and checks of arguments and shapes. */
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

/* NULL for the special registers of TVM's virtual machine: "no result" and the machine itself. */
static struct mpk_graph_register *reg_of(const struct reader *r, int64_t reg)
{
	return reg >= 0 && reg < r->f->register_file_size ? &r->regs[reg] : NULL;
}

static void relax_set(const struct reader *r, int64_t reg, struct mpk_graph_register value)
{
	if (reg_of(r, reg))
		*reg_of(r, reg) = value;
}

/* The type of a tensor that is allocated, where its shape is a constant: at most as long as a line. */
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

		/* alloc_tensor(storage, offset, shape, dtype): the kind of a constant says which */
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

/* "reshape" of "vm.builtin.reshape" */
static void relax_put_name(struct mpk_span name, struct mpk_strbuf *out)
{
	size_t prefix = mpk_span_starts(name, BUILTIN) ? strlen(BUILTIN) : 0;

	mpk_escape(out, mpk_span_of(name.data + prefix, name.len - prefix));
}

static size_t relax_add_step(const struct reader *r, const struct mpk_relax_instr *instr,
			     struct mpk_span name)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf label = { 0 }, detail = { 0 };
	enum mpk_model_node_kind kind =
		mpk_span_starts(name, BUILTIN) ? MPK_MODEL_BUILTIN : MPK_MODEL_OPERATOR;

	relax_put_name(name, &label);
	mpk_relax_dump_instr(r->x, instr, &detail);
	return mpk_graph_add_node(r->b, kind, &label, &detail);
}

/* Allocated memory is room until an operator gets it. Other bookkeeping leaves its register without a node. */
static void relax_read_call(const struct reader *r, const struct mpk_relax_instr *instr)
{
	struct mpk_span name = r->x->funcs[instr->func].name;
	size_t node;

	if (is_bookkeeping(name)) {
		bool is_room = mpk_span_is(name, "vm.builtin.alloc_tensor");

		relax_set(r, instr->reg,
			  (struct mpk_graph_register){ MPK_NO_NODE, is_room,
						       is_room ? type_of_room(r, instr) : NULL });
		return;
	}
	node = relax_add_step(r, instr, name);
	for (size_t i = 0; i < instr->arg_count; i++) {
		struct mpk_relax_arg arg = mpk_relax_arg(instr, i);
		struct mpk_graph_register *reg =
			arg.kind == MPK_RELAX_ARG_REG ? reg_of(r, arg.value) : NULL;

		if (reg)
			mpk_graph_pass(r->b, reg, node);
	}
	/* after the arguments, one of which may be in this register */
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

/* TVM's virtual machine passes arguments in the first registers. Without jumps, what is no call is a return. */
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

/* An If goes on where the condition holds, and jumps to "else". Offsets count instructions from the jump itself. */
static void find_jumps(const struct mpk_graph_code *g, size_t at, size_t to[2],
		       const char *labels[2], bool *falls)
{
	struct mpk_relax_instr instr;

	if (!instr_at(g, at, &instr) || instr.op == MPK_RELAX_CALL)
		return;
	*falls = instr.op == MPK_RELAX_IF;
	if (instr.op == MPK_RELAX_RET)
		return;
	to[0] = (size_t)((int64_t)at + instr.offset); /* checked: within the function */
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

/* Each register that a compiler makes is an argument or a result. No memory is taken for more of them. */
static bool has_its_registers(const struct mpk_relax_func *f)
{
	return (uint64_t)f->num_args <= f->params.count &&
	       f->register_file_size <= f->num_args + (f->end - f->start);
}

static enum mpk_code relax_read_graph(const struct mpk_payload_content *c, size_t index,
				      struct mpk_arena *arena, struct mpk_model_graph *out,
				      struct mpk_error *err)
{
	const struct mpk_relax *x = &c->payload->u.relax;
	const struct reader r = { .x = x, .f = &x->funcs[index] };

	out->name = r.f->name;
	if (r.f->kind != MPK_RELAX_VM) /* others need not begin before they end */
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

/* --- verdicts ----------------------------------------------------------------------------- */

static enum mpk_code relax_verify(const struct mpk_payload *p, struct mpk_error *err)
{
	return mpk_relax_check(&p->u.relax, err);
}

/* Drawing relies on the checks of --verify: byte code that fails them has no graph. */
static size_t relax_count_graphs(const struct mpk_payload_content *c)
{
	return relax_verify(c->payload, NULL) == MPK_OK ? c->payload->u.relax.func_count : 0;
}

#define RELAX_VERSION "0.14" /* the only one that ever was */

/* TVM 0.23 began to write a table of memory scopes, under another magic number. */
enum { RELAX_SCOPES_SINCE = 23 };

static void relax_find_needs(const struct mpk_payload *p, const struct mpk_release *release,
			     const struct mpk_payload_findings *findings)
{
	const struct mpk_relax *x = &p->u.relax;
	char text[1024];

	if (!mpk_span_is(x->version, RELAX_VERSION)) {
		(void)snprintf(text, sizeof text,
			       "byte code of version '%s'; TVM reads " RELAX_VERSION
			       " alone: compile it again",
			       MPK_QUOTE(x->version));
		findings->say(findings->arg, MPK_ERROR, text);
	}
	if (release && release->minor && release->minor < RELAX_SCOPES_SINCE && x->has_scopes) {
		(void)snprintf(text, sizeof text,
			       "byte code as TVM 0.23 and later writes it, with memory scopes; %s "
			       "does not read it",
			       release->name);
		findings->say(findings->arg, MPK_ERROR, text);
	}
}

/* --- difference --------------------------------------------------------------------------- */

/* One constant, one line, so that constant pools are compared as texts. */
static void put_constant(const struct mpk_relax_const *c, struct mpk_strbuf *out)
{
	const struct mpk_tensor_record *t = &c->u.tensor;
	char type[MPK_DTYPE_TEXT];

	switch (c->kind) {
	case MPK_RELAX_TENSOR:
		mpk_strbuf_puts(out, "tensor ");
		mpk_differ_put_type(t->dtype, t->shape, t->ndim, out);
		break;
	case MPK_RELAX_DTYPE:
		mpk_strbuf_printf(out, "type %s", mpk_dtype_print_short(c->u.dtype, type));
		break;
	case MPK_RELAX_SHAPE:
		mpk_strbuf_puts(out, "shape");
		/* extents are 64-bit words, as TVM's serializer writes them */
		for (size_t i = 0; i + 8 <= c->u.shape.len; i += 8)
			mpk_strbuf_printf(out, " %" PRId64,
					  (int64_t)mpk_load_u64(c->u.shape.data + i));
		break;
	case MPK_RELAX_STRING:
		mpk_strbuf_puts(out, "text ");
		mpk_escape(out, c->u.string);
		break;
	case MPK_RELAX_INT:
		mpk_strbuf_printf(out, "int %" PRId64, c->u.i);
		break;
	case MPK_RELAX_FLOAT:
		/* 17 digits differ for any two doubles that do */
		mpk_strbuf_printf(out, "float %.17g", c->u.f);
		break;
	case MPK_RELAX_CONST_KINDS:
		return;
	}
	mpk_strbuf_putc(out, '\n');
}

static struct mpk_strbuf list_constants(const struct mpk_relax *x)
{
	struct mpk_strbuf out = { 0 };

	for (size_t i = 0; i < x->const_count && !out.failed; i++)
		put_constant(&x->consts[i], &out);
	return out;
}

/* The constant pools as lists of lines: shapes, types, texts and numbers, and of tensors their types. Their
 * elements are compared as those of all tensors. */
static void relax_diff(struct mpk_differ *d, const struct mpk_payload_content *a,
		       const struct mpk_payload_content *b)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf x = list_constants(&a->payload->u.relax);
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf y = list_constants(&b->payload->u.relax);

	d->diff->failed |= x.failed || y.failed;
	mpk_differ_lines(d, "constants", (struct mpk_span){ 0 }, "constant",
			 mpk_span_of(x.data, x.len), mpk_span_of(y.data, y.len));
}

const struct mpk_payload_view mpk_payload_view_relax = {
	.relax = executable_of,
	.counts = relax_put_counts,
	.text = relax_put_lines,
	.json = relax_put_json,
	.function = function_at,
	.disasm = put_listing,
	.calls = find_calls,
	.graph_count = relax_count_graphs,
	.graph = relax_read_graph,
	.diff = relax_diff,
	.check = "byte-code",
	.verify = relax_verify,
	.needs = relax_find_needs,
};
