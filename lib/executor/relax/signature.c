/* SPDX-License-Identifier: Apache-2.0 */
/* signature.c - byte code read for its types
 *
 * One pass over a function's instructions, with a type for each register: the checks at the
 * beginning say what the parameters are; shapes, allocations and tuples behind them say what is
 * returned. Behind the first branch a register has the type that everything written to it has in
 * common. Symbolic extents are slots of the shape heap; their names stand in the texts of the
 * checks, and where those were left out they get names here.
 */
#include "executor/relax/signature.h"

#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "executor/relax/annotation.h"
#include "executor/relax/typing.h"

/* --- types in common ----------------------------------------------------------------------- */

static bool is_same_extent(const struct mpk_type *a, const struct mpk_type *b, size_t i)
{
	struct mpk_span x = mpk_type_symbol(a, i), y = mpk_type_symbol(b, i);

	return x.len || y.len ? mpk_span_equal(x, y) : a->shape[i] == b->shape[i];
}

/* What values of both types have in common. */
static struct mpk_type join(struct mpk_relax_typing *r, const struct mpk_type *a,
			    const struct mpk_type *b)
{
	struct mpk_type t = *a;
	struct mpk_param *fields;

	if (a->kind != b->kind || a->field_count != b->field_count)
		return (struct mpk_type){ 0 };
	if (!mpk_dtype_equal(a->dtype, b->dtype))
		t.dtype = (struct mpk_dtype){ 0 };
	if (!a->ranked || !b->ranked || a->ndim != b->ndim) {
		t.ranked = false;
		t.ndim = 0;
	}
	for (size_t i = 0; i < t.ndim; i++)
		if (!is_same_extent(a, b, i)) {
			t.ranked = false;
			mpk_relax_set_rank(r, (int64_t)t.ndim, &t);
			break;
		}
	if (!t.field_count)
		return t;
	fields = mpk_relax_make_parts(r, t.field_count, sizeof *fields);
	if (!fields)
		return (struct mpk_type){ 0 };
	for (size_t i = 0; i < t.field_count; i++)
		fields[i].type = join(r, &a->fields[i].type, &b->fields[i].type);
	t.fields = fields;
	return t;
}

/* A type with what the text of a check adds to it: names of extents, and what was not known. */
static struct mpk_type refine(struct mpk_relax_typing *r, const struct mpk_type *t,
			      const struct mpk_type *told)
{
	struct mpk_type better = *t;
	struct mpk_param *fields;

	if (t->kind == MPK_TYPE_ANY)
		return *told;
	if (t->kind != told->kind || t->field_count != told->field_count ||
	    (t->ranked && (!told->ranked || t->ndim != told->ndim)))
		return better;
	for (size_t i = 0; i < t->ndim; i++)
		if (!mpk_type_symbol(t, i).len && !is_same_extent(t, told, i))
			return better; /* they are at odds: code is right */
	if (told->ranked) {
		better.ranked = true;
		better.ndim = told->ndim;
		better.shape = told->shape;
		better.symbols = told->symbols;
	}
	if (!t->field_count)
		return better;
	fields = mpk_relax_make_parts(r, t->field_count, sizeof *fields);
	if (!fields)
		return better;
	for (size_t i = 0; i < t->field_count; i++)
		fields[i].type = refine(r, &t->fields[i].type, &told->fields[i].type);
	better.fields = fields;
	return better;
}

/* --- a function ---------------------------------------------------------------------------- */

static void read_call(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr)
{
	static const char prefix[] = "vm.builtin.";
	struct mpk_relax_content made = { 0 }, *to = mpk_relax_register_at(r, instr->reg);
	bool killed = false;
	struct mpk_span name;

	if (instr->func < 0 || (uint64_t)instr->func >= r->x->func_count)
		return;
	name = r->x->funcs[instr->func].name;
	if (name.len > sizeof prefix && memcmp(name.data, prefix, sizeof prefix - 1) == 0) {
		name = mpk_span_of(name.data + sizeof prefix - 1, name.len - sizeof prefix + 1);
		mpk_relax_type_call(r, instr, name, &made);
		killed = mpk_span_is(name, "null_value");
	}
	if (!to || (killed && r->branched))
		return;
	if (r->branched && to->written)
		made = (struct mpk_relax_content){ .type = join(r, &to->type, &made.type) };
	made.written = true;
	*to = made;
}

/* The type of what is returned. */
static struct mpk_type read_code(struct mpk_relax_typing *r)
{
	struct mpk_type result = { 0 };
	struct mpk_relax_instr instr;
	bool returns = false;

	for (int64_t at = r->f->start; at >= 0 && at < r->f->end && !r->failed; at++) {
		const struct mpk_relax_content *c;
		struct mpk_type t;

		if (mpk_relax_instr(r->x, (size_t)at, &instr, NULL) != MPK_OK ||
		    instr.arg_count + 1 > r->words)
			return (struct mpk_type){ 0 };
		r->words -= instr.arg_count + 1;
		if (instr.op == MPK_RELAX_CALL)
			read_call(r, &instr);
		else
			r->branched = true;
		c = instr.op == MPK_RELAX_RET ? mpk_relax_register_at(r, instr.reg) : NULL;
		if (!c)
			continue;
		t = c->input ? *c->input : c->type;
		result = returns ? join(r, &result, &t) : t;
		returns = true;
	}
	return r->returned.kind == MPK_TYPE_ANY ? result : refine(r, &result, &r->returned);
}

static bool begin(struct mpk_relax_typing *r, struct mpk_param *inputs, size_t count)
{
	size_t words = r->x->instr_data.len / 8 + count; /* that could name a register */

	r->register_count = r->f->register_file_size > 0 ? (size_t)r->f->register_file_size : 0;
	if (r->register_count < count)
		r->register_count = count;
	if (r->register_count > words)
		r->register_count = words;
	if (r->register_count > MPK_RELAX_TYPING_REGISTERS)
		r->register_count = MPK_RELAX_TYPING_REGISTERS;
	r->registers = calloc(r->register_count + 1, sizeof *r->registers);
	if (!r->registers)
		return false;
	for (size_t i = 0; i < count && i < r->register_count; i++)
		r->registers[i].input = &inputs[i].type;
	return true;
}

/* A tuple is several results. */
static void set_outputs(struct mpk_type t, struct mpk_arena *arena, struct mpk_signature *s)
{
	struct mpk_param *one;

	if (t.kind == MPK_TYPE_ANY)
		return;
	if (t.kind == MPK_TYPE_TUPLE) {
		s->outputs = t.fields;
		s->output_count = t.field_count;
		s->outputs_known = true;
		return;
	}
	one = mpk_arena_alloc(arena, sizeof *one);
	if (!one)
		return;
	*one = (struct mpk_param){ .type = t };
	s->outputs = one;
	s->output_count = 1;
	s->outputs_known = true;
}

static enum mpk_code read_function(struct mpk_relax_typing *r, struct mpk_param *inputs,
				   size_t count, struct mpk_signature *out, struct mpk_error *err)
{
	MPK_TRY_ALLOC(begin(r, inputs, count), err);
	set_outputs(read_code(r), r->arena, out);
	free(r->registers);
	return r->failed ? mpk_fail_nomem(err) : MPK_OK;
}

/* --- compiled functions -------------------------------------------------------------------- */

/* What the texts among the constants say of the functions that have no byte code. */
static void read_texts(const struct mpk_relax *x, struct mpk_arena *arena,
		       struct mpk_signature *list, size_t count)
{
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };
	size_t at;

	for (size_t i = 0; i < count; i++)
		if (mpk_strmap_put(&names, list[i].name, i, &at) < 0)
			return; /* the signatures are not complete then, but right */
	for (size_t i = 0; i < x->const_count; i++) {
		struct mpk_relax_annotation a;
		struct mpk_signature *s;

		if (x->consts[i].kind != MPK_RELAX_STRING ||
		    !mpk_relax_annotation_read(x->consts[i].u.string, arena, &a))
			continue;
		if (!mpk_strmap_find(&names, a.function, &at))
			continue;
		s = &list[at];
		if (a.is_return)
			set_outputs(a.type, arena, s);
		else if (a.param < s->input_count)
			((struct mpk_param *)(uintptr_t)s->inputs)[a.param].type = a.type;
	}
}

/* --- all of them --------------------------------------------------------------------------- */

/* With their names; the last of them may have none. NULL: memory is out. */
static struct mpk_param *make_inputs(struct mpk_relax_typing *r, const struct mpk_relax_func *f,
				     size_t *count)
{
	struct mpk_param *inputs = NULL;

	*count = f->params.count;
	if (f->num_args > 0 && (uint64_t)f->num_args > *count) {
		inputs = mpk_relax_make_parts(r, (size_t)f->num_args, sizeof *inputs);
		*count = inputs ? (size_t)f->num_args : *count;
	}
	if (!inputs)
		inputs = mpk_arena_array(r->arena, *count + 1, sizeof *inputs);
	for (size_t i = 0; inputs && i < f->params.count; i++)
		inputs[i].name = f->params.items[i];
	return inputs;
}

static enum mpk_code read_all(struct mpk_relax_typing *r, struct mpk_signature *out, size_t *count,
			      struct mpk_error *err)
{
	bool compiled = false;

	*count = 0;
	for (size_t i = 0; i < r->x->func_count; i++) {
		const struct mpk_relax_func *f = &r->x->funcs[i];
		struct mpk_signature *s = &out[*count];
		struct mpk_param *inputs;
		size_t input_count;

		if (f->kind == MPK_RELAX_PACKED)
			continue;
		inputs = make_inputs(r, f, &input_count);
		MPK_TRY_ALLOC(inputs, err);
		*s = (struct mpk_signature){ .name = f->name,
					     .inputs = inputs,
					     .input_count = input_count };
		++*count;
		compiled |= f->kind == MPK_RELAX_TIR;
		if (f->kind == MPK_RELAX_TIR)
			continue;
		*r = (struct mpk_relax_typing){
			.x = r->x, .f = f, .arena = r->arena, .words = r->words, .parts = r->parts
		};
		MPK_TRY(read_function(r, inputs, input_count, s, err));
	}
	if (compiled)
		read_texts(r->x, r->arena, out, *count);
	return MPK_OK;
}

enum mpk_code mpk_relax_signatures(const struct mpk_relax *x, struct mpk_arena *arena,
				   struct mpk_signature *out, size_t *count, struct mpk_error *err)
{
	struct mpk_relax_typing *r = calloc(1, sizeof *r);
	enum mpk_code code;

	MPK_TRY_ALLOC(r, err);
	r->x = x;
	r->arena = arena;
	r->words = x->instr_data.len + 1024;
	r->parts = x->instr_data.len / 8 + 64; /* a part of a type has a word of code */
	code = read_all(r, out, count, err);
	free(r);
	return code;
}
