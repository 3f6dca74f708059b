/* SPDX-License-Identifier: Apache-2.0 */
/* typing_call.c - what each builtin says of types: checks of parameters, shapes, tensors, tuples */
#include "executor/relax/typing.h"

/* --- checks -------------------------------------------------------------------------------- */

/* What a check looks at: a parameter or a part of one, or a value that was made here. */
static struct mpk_type *checked(const struct mpk_relax_typing *r,
				const struct mpk_relax_instr *instr)
{
	struct mpk_relax_content *c = mpk_relax_content_at(r, instr, 0);

	if (!c || r->branched)
		return NULL; /* what one branch checks says nothing of the function */
	return c->input ? c->input : &c->type;
}

static void check_tensor_info(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			      struct mpk_relax_content *out)
{
	struct mpk_type *t = checked(r, instr);
	const struct mpk_relax_const *dtype = mpk_relax_const_at(r, instr, 2);
	int64_t ndim = -1;

	(void)out;
	if (!t)
		return;
	t->kind = MPK_TYPE_TENSOR;
	if (dtype && dtype->kind == MPK_RELAX_DTYPE && dtype->u.dtype.code != MPK_DTYPE_HANDLE)
		t->dtype = dtype->u.dtype;
	if (mpk_relax_int_at(instr, 1, &ndim))
		mpk_relax_set_rank(r, ndim, t);
}

static void check_shape_info(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			     struct mpk_relax_content *out)
{
	struct mpk_type *t = checked(r, instr);
	int64_t ndim = -1;

	(void)out;
	if (!t)
		return;
	t->kind = MPK_TYPE_SHAPE;
	if (mpk_relax_int_at(instr, 1, &ndim))
		mpk_relax_set_rank(r, ndim, t);
}

static void check_prim_value_info(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
				  struct mpk_relax_content *out)
{
	struct mpk_type *t = checked(r, instr);
	const struct mpk_relax_const *dtype = mpk_relax_const_at(r, instr, 1);

	(void)out;
	if (!t)
		return;
	t->kind = MPK_TYPE_SCALAR;
	if (dtype && dtype->kind == MPK_RELAX_DTYPE)
		t->dtype = dtype->u.dtype;
}

static void check_tuple_info(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			     struct mpk_relax_content *out)
{
	struct mpk_type *t = checked(r, instr);
	int64_t count = -1;

	(void)out;
	if (!t || !mpk_relax_int_at(instr, 1, &count) || count < 0 ||
	    count > MPK_RELAX_TYPING_FIELDS || t->kind == MPK_TYPE_TUPLE)
		return;
	t->kind = MPK_TYPE_TUPLE;
	t->fields = mpk_relax_make_parts(r, (size_t)count, sizeof *t->fields);
	t->field_count = t->fields ? (size_t)count : 0;
}

static void check_func_info(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			    struct mpk_relax_content *out)
{
	struct mpk_type *t = checked(r, instr);

	(void)out;
	if (t)
		t->kind = MPK_TYPE_FUNCTION;
}

static void match_shape(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			struct mpk_relax_content *out)
{
	struct mpk_type told = mpk_relax_annotation_of(r, instr), *t = checked(r, instr);
	struct mpk_relax_pairs p = { .instr = instr, .at = 3, .told = &told };
	int64_t count = -1;

	(void)out;
	if (!t || !mpk_relax_int_at(instr, 2, &count) || count < 0 ||
	    count > MPK_RELAX_TYPING_DIMENSIONS)
		return;
	/* an earlier match of the same value gave names that a later one only compares */
	if (t->ranked && t->ndim == (size_t)count && !told.ranked)
		return;
	p.count = (size_t)count;
	mpk_relax_set_extents(r, &p, false, t);
}

/* --- values -------------------------------------------------------------------------------- */

static void tuple_getitem(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			  struct mpk_relax_content *out)
{
	const struct mpk_relax_content *c = mpk_relax_content_at(r, instr, 0);
	const struct mpk_type tuple = mpk_relax_type_at(r, instr, 0);
	int64_t index = -1;

	if (tuple.kind != MPK_TYPE_TUPLE || !mpk_relax_int_at(instr, 1, &index) || index < 0 ||
	    (uint64_t)index >= tuple.field_count)
		return;
	out->type = tuple.fields[index].type;
	if (c && c->input) /* a part of a parameter: checks of it tell of the parameter */
		out->input = (struct mpk_type *)(uintptr_t)&tuple.fields[index].type;
}

static void make_shape(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
		       struct mpk_relax_content *out)
{
	struct mpk_relax_pairs p = { .instr = instr, .at = 2 };
	int64_t count = -1;

	if (!mpk_relax_int_at(instr, 1, &count) || count < 0 || count > MPK_RELAX_TYPING_DIMENSIONS)
		return;
	p.count = (size_t)count;
	out->type.kind = MPK_TYPE_SHAPE;
	mpk_relax_set_extents(r, &p, true, &out->type);
}

static void make_prim_value(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			    struct mpk_relax_content *out)
{
	(void)r;
	(void)instr;
	out->type.kind = MPK_TYPE_SCALAR;
	out->type.dtype = (struct mpk_dtype){ MPK_DTYPE_INT, 64, 1 };
}

static void shaped(struct mpk_type shape, struct mpk_dtype dtype, struct mpk_relax_content *out)
{
	if (shape.kind != MPK_TYPE_SHAPE || !dtype.bits)
		return;
	out->type = shape;
	out->type.kind = MPK_TYPE_TENSOR;
	out->type.dtype = dtype;
}

static void alloc_tensor(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			 struct mpk_relax_content *out)
{
	const struct mpk_relax_const *dtype = mpk_relax_const_at(r, instr, 3);

	if (dtype && dtype->kind == MPK_RELAX_DTYPE)
		shaped(mpk_relax_type_at(r, instr, 2), dtype->u.dtype, out);
}

static void reshape(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
		    struct mpk_relax_content *out)
{
	shaped(mpk_relax_type_at(r, instr, 1), mpk_relax_type_at(r, instr, 0).dtype, out);
}

static void same_type(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
		      struct mpk_relax_content *out)
{
	out->type = mpk_relax_type_at(r, instr, 0);
}

static void make_tuple(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
		       struct mpk_relax_content *out)
{
	size_t count = instr->arg_count;
	struct mpk_param *fields;

	if (count > MPK_RELAX_TYPING_FIELDS)
		return;
	fields = mpk_relax_make_parts(r, count, sizeof *fields);
	if (!fields)
		return;
	for (size_t i = 0; i < count; i++)
		fields[i].type = mpk_relax_type_at(r, instr, i);
	out->type =
		(struct mpk_type){ .kind = MPK_TYPE_TUPLE, .fields = fields, .field_count = count };
}

/* --- by name ------------------------------------------------------------------------------- */

static const struct {
	const char *name; /* behind "vm.builtin." */
	void (*read)(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
		     struct mpk_relax_content *out);
} rows[] = {
	{ "alloc_tensor", alloc_tensor },
	{ "check_func_info", check_func_info },
	{ "check_prim_value_info", check_prim_value_info },
	{ "check_shape_info", check_shape_info },
	{ "check_tensor_info", check_tensor_info },
	{ "check_tuple_info", check_tuple_info },
	{ "copy", same_type },
	{ "ensure_zero_offset", same_type },
	{ "make_prim_value", make_prim_value },
	{ "make_shape", make_shape },
	{ "make_tuple", make_tuple },
	{ "match_shape", match_shape },
	{ "reshape", reshape },
	{ "to_device", same_type },
	{ "tuple_getitem", tuple_getitem },
};

void mpk_relax_type_call(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			 struct mpk_span name, struct mpk_relax_content *out)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		if (mpk_span_is(name, rows[i].name))
			rows[i].read(r, instr, out);
}
