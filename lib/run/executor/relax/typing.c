/* SPDX-License-Identifier: Apache-2.0 */
/* typing.c - operands of byte code with their types, and symbolic extents with their names */
#include "executor/relax/internal/typing.h"

#include <string.h>

#include "executor/relax/internal/annotation.h"

enum {
	MATCH_IMMEDIATE = 0, /* codes of match_shape and make_shape */
	MATCH_STORE = 1,
	MATCH_LOAD = 3,
	MAKE_LOAD = 1,
};

/* An array for parts of a type; NULL when there is no room for it. */
void *mpk_relax_make_parts(struct mpk_relax_typing *r, size_t count, size_t size)
{
	void *parts;

	if (count >= r->parts)
		return NULL;
	r->parts -= count + 1;
	parts = mpk_arena_array(r->arena, count + 1, size);
	r->failed |= !parts;
	return parts;
}

/* --- operands ------------------------------------------------------------------------------ */

bool mpk_relax_int_at(const struct mpk_relax_instr *instr, size_t i, int64_t *out)
{
	struct mpk_relax_arg arg;

	if (i >= instr->arg_count)
		return false;
	arg = mpk_relax_arg(instr, i);
	*out = arg.value;
	return arg.kind == MPK_RELAX_ARG_INT;
}

const struct mpk_relax_const *mpk_relax_const_at(const struct mpk_relax_typing *r,
						 const struct mpk_relax_instr *instr, size_t i)
{
	struct mpk_relax_arg arg;

	if (i >= instr->arg_count)
		return NULL;
	arg = mpk_relax_arg(instr, i);
	if (arg.kind != MPK_RELAX_ARG_CONST || arg.value < 0 ||
	    (uint64_t)arg.value >= r->x->const_count)
		return NULL;
	return &r->x->consts[arg.value];
}

struct mpk_relax_content *mpk_relax_register_at(const struct mpk_relax_typing *r, int64_t number)
{
	if (number < 0 || (uint64_t)number >= r->register_count)
		return NULL;
	return &r->registers[number];
}

struct mpk_relax_content *mpk_relax_content_at(const struct mpk_relax_typing *r,
					       const struct mpk_relax_instr *instr, size_t i)
{
	struct mpk_relax_arg arg;

	if (i >= instr->arg_count)
		return NULL;
	arg = mpk_relax_arg(instr, i);
	return arg.kind == MPK_RELAX_ARG_REG ? mpk_relax_register_at(r, arg.value) : NULL;
}

/* What is known of an operand, be it a register or a constant. */
struct mpk_type mpk_relax_type_at(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
				  size_t i)
{
	const struct mpk_relax_content *c = mpk_relax_content_at(r, instr, i);
	const struct mpk_relax_const *constant = mpk_relax_const_at(r, instr, i);
	struct mpk_type t = { 0 };
	int64_t *shape;

	if (c)
		return c->input ? *c->input : c->type;
	if (!constant)
		return t;
	if (constant->kind == MPK_RELAX_TENSOR)
		return mpk_type_tensor(constant->u.tensor.dtype, constant->u.tensor.shape,
				       constant->u.tensor.ndim, NULL);
	if (constant->kind != MPK_RELAX_SHAPE ||
	    constant->u.shape.len / 8 > MPK_RELAX_TYPING_DIMENSIONS)
		return t;
	shape = mpk_relax_make_parts(r, constant->u.shape.len / 8, sizeof *shape);
	if (!shape)
		return t;
	t = (struct mpk_type){ .kind = MPK_TYPE_SHAPE, .ranked = true, .shape = shape };
	for (; t.ndim < constant->u.shape.len / 8; t.ndim++)
		shape[t.ndim] = (int64_t)mpk_load_u64(constant->u.shape.data + 8 * t.ndim);
	return t;
}

/* Each text is read once, however many checks have it. */
static const struct mpk_relax_text *text_at(struct mpk_relax_typing *r, size_t constant)
{
	struct mpk_relax_text *t = &r->texts[constant];

	if (!t->read) {
		t->understood = mpk_relax_annotation_read(r->x->consts[constant].u.string, r->arena,
							  &t->annotation);
		t->read = true;
	}
	return t;
}

enum mpk_relax_check mpk_relax_read_check(struct mpk_relax_typing *r,
					  const struct mpk_relax_instr *instr)
{
	static const char cast[] = "ErrorContext(match_cast,";
	const struct mpk_relax_const *last = mpk_relax_const_at(r, instr, instr->arg_count - 1);
	const struct mpk_relax_text *text;
	size_t param;

	if (!last || last->kind != MPK_RELAX_STRING)
		return MPK_RELAX_CHECK_PLAIN;
	if (last->u.string.len >= sizeof cast &&
	    memcmp(last->u.string.data, cast, sizeof cast - 1) == 0)
		return MPK_RELAX_CHECK_CAST;
	text = text_at(r, (size_t)(last - r->x->consts));
	if (!text->understood)
		return MPK_RELAX_CHECK_PLAIN;
	param = text->annotation.param;
	if (text->annotation.is_return)
		r->returned = text->annotation.type;
	else if (param < r->told_count)
		r->told[param] = text->annotation.type;
	return text->annotation.is_return ? MPK_RELAX_CHECK_RETURN : MPK_RELAX_CHECK_PARAM;
}

/* --- extents ------------------------------------------------------------------------------- */

static struct mpk_span slot_name(struct mpk_relax_typing *r, int64_t slot)
{
	static const char *const common[] = { "n", "m", "k", "l" };
	const char *made;

	if (slot < 0 || slot >= MPK_RELAX_TYPING_SLOTS)
		return mpk_span_str("?");
	if (r->slots[slot].len)
		return r->slots[slot];
	made = r->named < MPK_ARRAY_COUNT(common) ? common[r->named]
						  : mpk_arena_printf(r->arena, "n%zu", r->named);
	r->failed |= !made;
	r->named++;
	r->slots[slot] = mpk_span_str(made ? made : "?");
	return r->slots[slot];
}

static struct mpk_span told_symbol(const struct mpk_relax_pairs *p, size_t i)
{
	if (!p->told || !p->told->ranked || p->told->ndim != p->count)
		return (struct mpk_span){ 0 };
	return mpk_type_symbol(p->told, i);
}

/* What a slot of the heap is called; empty when no input names it. */
static struct mpk_span slot_at(const struct mpk_relax_typing *r, int64_t slot)
{
	return slot >= 0 && slot < MPK_RELAX_TYPING_SLOTS ? r->slots[slot] : (struct mpk_span){ 0 };
}

static void input_extent(struct mpk_relax_typing *r, const struct mpk_relax_pairs *p, size_t i,
			 int64_t *extent, struct mpk_span *symbol)
{
	struct mpk_span told = told_symbol(p, i);
	int64_t code = -1, operand = 0;

	*symbol = told.len ? told : mpk_span_str("?");
	if (!mpk_relax_int_at(p->instr, p->at + 2 * i, &code) ||
	    !mpk_relax_int_at(p->instr, p->at + 2 * i + 1, &operand))
		return;
	if (code == MATCH_IMMEDIATE) {
		*extent = operand;
		*symbol = (struct mpk_span){ 0 };
	} else if (code == MATCH_STORE || code == MATCH_LOAD) {
		if (told.len && operand >= 0 && operand < MPK_RELAX_TYPING_SLOTS)
			r->slots[operand] = told;
		*symbol = slot_name(r, operand);
	}
}

/* Of a value that is no input: slots with no name are of data, or computed from those that have. */
static void value_extent(const struct mpk_relax_typing *r, const struct mpk_relax_pairs *p,
			 size_t i, int64_t *extent, struct mpk_span *symbol)
{
	bool made = p->from == MPK_RELAX_EXTENTS_MADE;
	int64_t code = -1, operand = 0;

	*symbol = mpk_span_str("?");
	if (!mpk_relax_int_at(p->instr, p->at + 2 * i, &code) ||
	    !mpk_relax_int_at(p->instr, p->at + 2 * i + 1, &operand))
		return;
	if (code == MATCH_IMMEDIATE) {
		*extent = operand;
		*symbol = (struct mpk_span){ 0 };
	} else if ((made ? code == MAKE_LOAD : code == MATCH_LOAD) && slot_at(r, operand).len) {
		*symbol = slot_at(r, operand);
	}
}

void mpk_relax_set_extents(struct mpk_relax_typing *r, const struct mpk_relax_pairs *p,
			   struct mpk_type *t)
{
	int64_t *shape = mpk_relax_make_parts(r, p->count, sizeof *shape);
	struct mpk_span *symbols = mpk_relax_make_parts(r, p->count, sizeof *symbols);

	if (!shape || !symbols)
		return;
	for (size_t i = 0; i < p->count; i++)
		if (p->from == MPK_RELAX_EXTENTS_INPUT)
			input_extent(r, p, i, &shape[i], &symbols[i]);
		else
			value_extent(r, p, i, &shape[i], &symbols[i]);
	t->ranked = true;
	t->ndim = p->count;
	t->shape = shape;
	t->symbols = symbols;
}

/* A rank without extents. */
void mpk_relax_set_rank(struct mpk_relax_typing *r, int64_t ndim, struct mpk_type *t)
{
	struct mpk_relax_instr none = { .op = MPK_RELAX_CALL };
	struct mpk_relax_pairs p = { .instr = &none,
				     .count = (size_t)ndim,
				     .from = MPK_RELAX_EXTENTS_MADE };

	if (ndim >= 0 && ndim <= MPK_RELAX_TYPING_DIMENSIONS && !t->ranked)
		mpk_relax_set_extents(r, &p, t);
}
