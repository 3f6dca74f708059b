/* SPDX-License-Identifier: Apache-2.0 */
/* typing_merge.c - types out of two others: of two branches, of code and text, of a callee in a call */
#include "executor/relax/internal/typing.h"

/* --- types in common ----------------------------------------------------------------------- */

static bool is_same_extent(const struct mpk_type *a, const struct mpk_type *b, size_t i)
{
	struct mpk_span x = mpk_type_symbol(a, i), y = mpk_type_symbol(b, i);

	return x.len || y.len ? mpk_span_equal(x, y) : a->shape[i] == b->shape[i];
}

bool mpk_relax_same_type(const struct mpk_type *a, const struct mpk_type *b)
{
	bool same = a->kind == b->kind && mpk_dtype_equal(a->dtype, b->dtype) &&
		    a->ranked == b->ranked && a->ndim == b->ndim &&
		    a->field_count == b->field_count && a->device == b->device;

	for (size_t i = 0; same && i < a->ndim; i++)
		same = is_same_extent(a, b, i);
	for (size_t i = 0; same && i < a->field_count; i++)
		same = mpk_relax_same_type(&a->fields[i].type, &b->fields[i].type);
	return same;
}

struct mpk_type mpk_relax_join(struct mpk_relax_typing *r, const struct mpk_type *a,
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
		fields[i].type = mpk_relax_join(r, &a->fields[i].type, &b->fields[i].type);
	t.fields = fields;
	return t;
}

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
		if (!mpk_type_symbol(t, i).len && !is_same_extent(t, told, i))
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

static void bind_extents(struct binding *b, const struct mpk_type *param,
			 const struct mpk_type *argument)
{
	for (size_t i = 0; i < param->ndim; i++) {
		struct mpk_span name = mpk_type_symbol(param, i);

		if (!name.len || bound_at(b, name) < b->count || b->count == BOUND_MAX)
			continue;
		b->items[b->count].name = name;
		b->items[b->count].extent = argument->shape[i];
		b->items[b->count++].symbol = mpk_type_symbol(argument, i);
	}
}

static void bind(struct binding *b, const struct mpk_type *param, const struct mpk_type *argument,
		 unsigned depth)
{
	if (param->kind != argument->kind || depth == NEST_MAX)
		return;
	if (param->ranked && argument->ranked && param->ndim == argument->ndim)
		bind_extents(b, param, argument);
	for (size_t i = 0; i < param->field_count && i < argument->field_count; i++)
		bind(b, &param->fields[i].type, &argument->fields[i].type, depth + 1);
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

static struct mpk_type replace(struct mpk_relax_typing *r, const struct binding *b,
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
		fields[i].type = replace(r, b, t.fields[i].type, depth + 1);
	t.fields = fields;
	return t;
}

struct mpk_type mpk_relax_type_result(struct mpk_relax_typing *r,
				      const struct mpk_relax_instr *instr,
				      const struct mpk_relax_function_type *callee)
{
	struct binding b = { .count = 0 };

	for (size_t i = 0; i < callee->signature->input_count && i < instr->arg_count; i++) {
		struct mpk_type argument = mpk_relax_type_at(r, instr, i);

		bind(&b, &callee->signature->inputs[i].type, &argument, 0);
	}
	return replace(r, &b, callee->result, 0);
}
