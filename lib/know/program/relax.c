/* SPDX-License-Identifier: Apache-2.0 */
/* relax.c - byte code read for its types
 *
 * One pass over a function's instructions, with a type for each register: the checks at the
 * beginning say what the parameters are; shapes, allocations and tuples after them say what is
 * returned. After the first branch a register has the type that everything written to it has in
 * common. Symbolic extents are slots of the shape heap; their names are in the texts of the
 * checks, and where those were left out they get names here.
 *
 * A call gives what its callee returns, and functions may call one another in circles. So they are
 * read again until no result changes; a call of a function that is not known yet counts for nothing
 * until then. Each second pass goes backwards, so that chains of calls take two or three.
 */
#include "program/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "program/internal/program.h"

enum { PASSES = 8 };

/* --- a call -------------------------------------------------------------------------------- */

enum { BOUND_MAX = 32, NEST_MAX = 16 };

/* What the symbolic extents of a callee are in one call of it. */
struct binding {
	struct {
		struct mpk_span name; /* of the callee */
		int64_t extent;
		struct mpk_span symbol; /* of the caller; empty: extent */
	} items[BOUND_MAX];
	size_t count;
};

static size_t bound_at(const struct binding *b, struct mpk_span name)
{
	size_t i = 0;

	while (i < b->count && !mpk_span_equal(b->items[i].name, name))
		i++;
	return i;
}

static void bind_type(struct binding *b, const struct mpk_type *param,
		      const struct mpk_type *argument, unsigned depth)
{
	if (param->kind != argument->kind || depth == NEST_MAX)
		return;
	if (param->ranked && argument->ranked && param->ndim == argument->ndim) {
		for (size_t i = 0; i < param->ndim; i++) {
			struct mpk_span name = mpk_type_symbol(param, i);

			if (!name.len || bound_at(b, name) < b->count || b->count == BOUND_MAX)
				continue;
			b->items[b->count].name = name;
			b->items[b->count].extent = argument->shape[i];
			b->items[b->count++].symbol = mpk_type_symbol(argument, i);
		}
	}
	for (size_t i = 0; i < param->field_count && i < argument->field_count; i++)
		bind_type(b, &param->fields[i].type, &argument->fields[i].type, depth + 1);
}

/* An extent that is no bound name, "n * 2", could be any. */
static bool replace_extents(struct mpk_relax_typing *r, const struct binding *b, struct mpk_type *t)
{
	int64_t *shape = mpk_relax_make_parts(r, t->ndim, sizeof *shape);
	struct mpk_span *symbols = mpk_relax_make_parts(r, t->ndim, sizeof *symbols);

	if (!shape || !symbols)
		return false;
	for (size_t i = 0; i < t->ndim; i++) {
		struct mpk_span name = mpk_type_symbol(t, i);
		size_t at = bound_at(b, name);

		shape[i] = t->shape[i];
		if (!name.len)
			continue;
		symbols[i] = mpk_span_str("?");
		if (at == b->count || mpk_span_is(name, "?"))
			continue;
		shape[i] = b->items[at].extent;
		symbols[i] = b->items[at].symbol;
	}
	t->shape = shape;
	t->symbols = symbols;
	return true;
}

static struct mpk_type replace_type(struct mpk_relax_typing *r, const struct binding *b,
				    struct mpk_type t, unsigned depth)
{
	struct mpk_param *fields;

	if (depth == NEST_MAX || (t.ndim && !replace_extents(r, b, &t)))
		return (struct mpk_type){ 0 };
	if (!t.field_count)
		return t;
	fields = mpk_relax_make_parts(r, t.field_count, sizeof *fields);
	if (!fields)
		return (struct mpk_type){ 0 };
	for (size_t i = 0; i < t.field_count; i++)
		fields[i].type = replace_type(r, b, t.fields[i].type, depth + 1);
	t.fields = fields;
	return t;
}

/* --- types in common ----------------------------------------------------------------------- */

/* Whether two types say the same. */
static bool say_the_same(const struct mpk_type *a, const struct mpk_type *b)
{
	bool same = a->kind == b->kind && mpk_dtype_equal(a->dtype, b->dtype) &&
		    a->ranked == b->ranked && a->ndim == b->ndim &&
		    a->field_count == b->field_count && a->device == b->device;

	for (size_t i = 0; same && i < a->ndim; i++)
		same = mpk_relax_same_extent(a, b, i);
	for (size_t i = 0; same && i < a->field_count; i++)
		same = say_the_same(&a->fields[i].type, &b->fields[i].type);
	return same;
}

/* What values of both types have in common. */
static struct mpk_type join_types(struct mpk_relax_typing *r, const struct mpk_type *a,
				  const struct mpk_type *b)
{
	struct mpk_type t = *a;
	struct mpk_param *fields;

	if (a->kind != b->kind || a->field_count != b->field_count)
		return (struct mpk_type){ 0 };
	if (!mpk_dtype_equal(a->dtype, b->dtype))
		t.dtype = (struct mpk_dtype){ 0 };
	if (a->device != b->device)
		t.device = 0;
	if (!a->ranked || !b->ranked || a->ndim != b->ndim) {
		t.ranked = false;
		t.ndim = 0;
	}
	for (size_t i = 0; i < t.ndim; i++)
		if (!mpk_relax_same_extent(a, b, i)) {
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
		fields[i].type = join_types(r, &a->fields[i].type, &b->fields[i].type);
	t.fields = fields;
	return t;
}

static void relax_read_call(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr)
{
	struct mpk_relax_content made = { 0 }, *to = mpk_relax_register_at(r, instr->reg);
	bool killed = false;
	struct mpk_span name;

	if (instr->func < 0 || (uint64_t)instr->func >= r->x->func_count)
		return;
	name = r->x->funcs[instr->func].name;
	if (r->x->funcs[instr->func].kind == MPK_RELAX_VM) {
		/* --- a function ----------------------------------------------------------- */
		const struct mpk_relax_function_type *callee = &r->functions[instr->func];

		r->calls = true;
		r->uses |= callee->signature ? callee->signature->uses : 0;
		if (callee->signature && callee->returns) {
			/* What a callee that returns gives in this call, in symbols of the caller. */
			struct binding b = { .count = 0 };

			for (size_t i = 0;
			     i < callee->signature->input_count && i < instr->arg_count; i++) {
				struct mpk_type argument = mpk_relax_type_at(r, instr, i);

				bind_type(&b, &callee->signature->inputs[i].type, &argument, 0);
			}
			made.type = replace_type(r, &b, callee->result, 0);
		} else
			made.pending = callee->signature != NULL;
	} else {
		mpk_relax_type_call(r, instr, name, &made);
		killed = mpk_span_is(name, "vm.builtin.null_value");
	}
	/* a register that is emptied, or a result that is not known yet, takes nothing from what
	 * the other branch wrote */
	if (!to || (killed && r->branched) || (r->branched && to->written && made.pending))
		return;
	if (r->branched && to->written && !to->pending)
		made = (struct mpk_relax_content){ .type = join_types(r, &to->type, &made.type) };
	made.written = true;
	*to = made;
}

/* Another return: what all of them have in common. */
static void read_return(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			struct mpk_relax_function_type *out)
{
	const struct mpk_relax_content *c = mpk_relax_register_at(r, instr->reg);
	struct mpk_type t = { 0 };

	if (c && c->pending)
		return;
	if (c)
		t = c->input ? *c->input : c->type;
	out->result = out->returns ? join_types(r, &out->result, &t) : t;
	out->returns = true;
}

/* Receives the type of what is returned. */
static void relax_read_code(struct mpk_relax_typing *r, struct mpk_relax_function_type *out)
{
	struct mpk_relax_instr instr;

	for (int64_t at = r->f->start; at >= 0 && at < r->f->end && !r->failed; at++) {
		if (mpk_relax_instr(r->x, (size_t)at, &instr, NULL) != MPK_OK ||
		    instr.arg_count + 1 > r->words) {
			out->result = (struct mpk_type){ 0 };
			out->returns = true;
			return;
		}
		r->words -= instr.arg_count + 1;
		if (instr.op == MPK_RELAX_CALL)
			relax_read_call(r, &instr);
		else
			r->branched = true;
		if (instr.op == MPK_RELAX_RET)
			read_return(r, &instr, out);
	}
	if (r->returned.kind != MPK_TYPE_ANY && out->returns)
		out->result = mpk_relax_refine(r, &out->result, &r->returned);
}

/* Registers of one reading of a function; the first hold its parameters. */
static bool relax_begin(struct mpk_relax_typing *r, struct mpk_param *inputs, size_t count)
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
	r->told = calloc(count + 1, sizeof *r->told);
	if (!r->told)
		return false;
	for (size_t i = 0; i < count && i < r->register_count; i++)
		r->registers[i] =
			(struct mpk_relax_content){ .input = &inputs[i].type, .told = &r->told[i] };
	r->told_count = count;
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

/* Once more, with what is known of its callees by now. */
static enum mpk_code relax_read_function(struct mpk_relax_typing *r, size_t i, bool *changed,
					 struct mpk_error *err)
{
	struct mpk_relax_function_type *f = &r->functions[i], now = { .signature = f->signature };
	struct mpk_param *inputs = (struct mpk_param *)(uintptr_t)f->signature->inputs;

	for (size_t k = 0; k < f->signature->input_count; k++)
		inputs[k].type = (struct mpk_type){ 0 };
	*r = (struct mpk_relax_typing){ .x = r->x,
					.f = &r->x->funcs[i],
					.functions = r->functions,
					.texts = r->texts,
					.arena = r->arena,
					.words = r->words,
					.parts = r->parts };
	if (relax_begin(r, inputs, f->signature->input_count))
		relax_read_code(r, &now);
	else
		r->failed = true;
	free(r->registers);
	free(r->told);
	free(r->slots);
	now.calls = r->calls;
	*changed |= now.returns != f->returns || !say_the_same(&now.result, &f->result) ||
		    r->uses != f->signature->uses;
	f->signature->uses = r->uses;
	*f = now;
	return r->failed ? mpk_fail_nomem(err) : MPK_OK;
}

static enum mpk_code relax_read_functions(struct mpk_relax_typing *r, struct mpk_error *err)
{
	bool changed = true;

	for (unsigned pass = 0; changed && pass < PASSES; pass++) {
		/* Functions that call nothing are final after the first pass. */
		changed = false;
		for (size_t i = 0; i < r->x->func_count; i++) {
			size_t at = pass % 2 ? r->x->func_count - 1 - i : i;
			const struct mpk_relax_function_type *f = &r->functions[at];

			if (f->signature && (pass == 0 || f->calls))
				MPK_TRY(relax_read_function(r, at, &changed, err));
		}
	}
	for (size_t i = 0; i < r->x->func_count; i++) {
		const struct mpk_relax_function_type *f = &r->functions[i];

		/* what was still changing was assumed, not found */
		if (f->signature && f->returns && !(changed && f->calls))
			set_outputs(f->result, r->arena, f->signature);
	}
	return MPK_OK;
}

/* --- compiled functions -------------------------------------------------------------------- */

/* What the texts among the constants say of the functions that have no byte code. */
static void relax_read_texts(const struct mpk_relax *x, struct mpk_arena *arena,
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
		/* each text was printed by itself, and code that would tell is not at hand */
		s->names_are_local = true;
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

static enum mpk_code relax_read_all(struct mpk_relax_typing *r, struct mpk_signature *out,
				    size_t *count, struct mpk_error *err)
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
		if (f->kind == MPK_RELAX_TIR)
			compiled = true;
		else
			r->functions[i].signature = s;
	}
	MPK_TRY(relax_read_functions(r, err));
	if (compiled)
		relax_read_texts(r->x, r->arena, out, *count);
	return MPK_OK;
}

enum mpk_code mpk_relax_signatures(const struct mpk_relax *x, struct mpk_arena *arena,
				   struct mpk_signature *out, size_t *count, struct mpk_error *err)
{
	struct mpk_relax_function_type *functions = calloc(x->func_count + 1, sizeof *functions);
	struct mpk_relax_text *texts = calloc(x->const_count + 1, sizeof *texts);
	struct mpk_relax_typing r = {
		.x = x,
		.functions = functions,
		.texts = texts,
		.arena = arena,
		.words = x->instr_data.len + 1024,
		.parts = x->instr_data.len / 4 + 64, /* a part of a type has a word of code */
	};
	enum mpk_code code =
		functions && texts ? relax_read_all(&r, out, count, err) : mpk_fail_nomem(err);

	free(texts);
	free(functions);
	return code;
}
