/* SPDX-License-Identifier: Apache-2.0 */
/* typing.c - types of registers: of operands, of symbolic extents, and out of two other types
 *
 * Symbolic extents are slots of the shape heap in byte code. Their names are in the texts that the
 * compiler wrote into its checks; where those were left out, the first input that has an extent gives it
 * a name here. Types meet where branches do, where code and text speak of the same value, and where a
 * callee returns something in symbols of its own.
 */
#include "program/internal/program.h"

#include <string.h>

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

/* --- what texts add ------------------------------------------------------------------------ */

struct mpk_type mpk_relax_refine(struct mpk_relax_typing *r, const struct mpk_type *t,
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
		if (!mpk_type_symbol(t, i).len && !mpk_relax_same_extent(t, told, i))
			return better; /* they are at odds: code is right */
	if (!t->device)
		better.device = told->device;
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
		fields[i].type = mpk_relax_refine(r, &t->fields[i].type, &told->fields[i].type);
	better.fields = fields;
	return better;
}
