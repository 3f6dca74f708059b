/* SPDX-License-Identifier: Apache-2.0 */
/* builtins.c - what each builtin says of types: checks of parameters, shapes, tensors, tuples
 *
 * Byte code has no types. What it says of its parameters are calls of builtins that check them, and what
 * it returns follows from the builtins that make it. Which builtin says what is in the table that the
 * executor has too, relax_builtins.def.
 */
#include "program/internal/program.h"
#include "program/model.h"

#include <stdlib.h>
#include <string.h>

/* --- checks -------------------------------------------------------------------------------- */

/* Whose check a call is, by the text that is its last argument. */
enum check {
	CHECK_PLAIN, /* texts were left out */
	CHECK_PARAM,
	CHECK_RETURN,
	CHECK_CAST, /* of a value somewhere in the function */
};

/* What the text says of a parameter or of the result is kept in r. */
static enum check read_check(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr)
{
	static const char cast[] = "ErrorContext(match_cast,";
	const struct mpk_relax_const *last = mpk_relax_const_at(r, instr, instr->arg_count - 1);
	const struct mpk_relax_text *text;
	size_t param;

	if (!last || last->kind != MPK_RELAX_STRING)
		return CHECK_PLAIN;
	if (last->u.string.len >= sizeof cast &&
	    memcmp(last->u.string.data, cast, sizeof cast - 1) == 0)
		return CHECK_CAST;

	/* Each text is read once, however many checks have it. */
	size_t constant = (size_t)(last - r->x->consts);
	struct mpk_relax_text *t = &r->texts[constant];

	if (!t->read) {
		t->understood = mpk_relax_annotation_read(r->x->consts[constant].u.string, r->arena,
							  &t->annotation);
		t->read = true;
	}
	text = t;

	if (!text->understood)
		return CHECK_PLAIN;
	param = text->annotation.param;
	if (text->annotation.is_return)
		r->returned = text->annotation.type;
	else if (param < r->told_count)
		r->told[param] = text->annotation.type;
	return text->annotation.is_return ? CHECK_RETURN : CHECK_PARAM;
}

/* What a check looks at: a parameter or a part of one, or a value that was made here. */
struct subject {
	struct mpk_type *type;       /* NULL: what is checked is not followed */
	const struct mpk_type *told; /* of an input, what its text says; or NULL */
};

static struct subject checked(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr)
{
	enum check check = read_check(r, instr);
	struct mpk_relax_content *c = mpk_relax_content_at(r, instr, 0);

	if (!c || r->branched)
		return (struct subject){
			0
		}; /* a check of one branch says nothing of the function */
	if (!c->input)
		return (struct subject){ &c->type, NULL };
	/* what is returned, or cast, says nothing of the input that it is */
	if (check == CHECK_RETURN || check == CHECK_CAST)
		return (struct subject){ 0 };
	return (struct subject){ c->input, c->told };
}

/* Texts know names, and what code does not look at. */
static void add_told(struct mpk_relax_typing *r, const struct subject *s)
{
	if (s->told && s->told->kind != MPK_TYPE_ANY)
		*s->type = mpk_relax_refine(r, s->type, s->told);
}

static void type_check_tensor_info(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
				   struct mpk_relax_content *out)
{
	struct subject s = checked(r, instr);
	const struct mpk_relax_const *dtype = mpk_relax_const_at(r, instr, 2);
	int64_t ndim = -1;

	(void)out;
	if (!s.type)
		return;
	s.type->kind = MPK_TYPE_TENSOR;
	if (dtype && dtype->kind == MPK_RELAX_DTYPE && dtype->u.dtype.code != MPK_DTYPE_HANDLE)
		s.type->dtype = dtype->u.dtype;
	if (mpk_relax_int_at(instr, 1, &ndim))
		mpk_relax_set_rank(r, ndim, s.type);
	add_told(r, &s);
}

static void type_check_shape_info(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
				  struct mpk_relax_content *out)
{
	struct subject s = checked(r, instr);
	int64_t ndim = -1;

	(void)out;
	if (!s.type)
		return;
	s.type->kind = MPK_TYPE_SHAPE;
	if (mpk_relax_int_at(instr, 1, &ndim))
		mpk_relax_set_rank(r, ndim, s.type);
	add_told(r, &s);
}

static void type_check_prim_value_info(struct mpk_relax_typing *r,
				       const struct mpk_relax_instr *instr,
				       struct mpk_relax_content *out)
{
	struct subject s = checked(r, instr);
	const struct mpk_relax_const *dtype = mpk_relax_const_at(r, instr, 1);

	(void)out;
	if (!s.type)
		return;
	s.type->kind = MPK_TYPE_SCALAR;
	if (dtype && dtype->kind == MPK_RELAX_DTYPE)
		s.type->dtype = dtype->u.dtype;
	add_told(r, &s);
}

static void type_check_tuple_info(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
				  struct mpk_relax_content *out)
{
	struct subject s = checked(r, instr);
	int64_t count = -1;

	(void)out;
	if (!s.type || !mpk_relax_int_at(instr, 1, &count) || count < 0 ||
	    count > MPK_RELAX_TYPING_FIELDS || s.type->kind == MPK_TYPE_TUPLE)
		return;
	s.type->kind = MPK_TYPE_TUPLE;
	s.type->fields = mpk_relax_make_parts(r, (size_t)count, sizeof *s.type->fields);
	s.type->field_count = s.type->fields ? (size_t)count : 0;
	add_told(r, &s);
}

static void type_check_func_info(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
				 struct mpk_relax_content *out)
{
	struct subject s = checked(r, instr);

	(void)out;
	if (s.type)
		s.type->kind = MPK_TYPE_FUNCTION;
}

static void type_match_shape(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			     struct mpk_relax_content *out)
{
	const struct mpk_relax_content *c = mpk_relax_content_at(r, instr, 0);
	struct subject s = checked(r, instr);
	struct mpk_relax_pairs p = { .instr = instr, .at = 3, .told = s.told };
	int64_t count = -1;

	(void)out;
	if (!s.type || !mpk_relax_int_at(instr, 2, &count) || count < 0 ||
	    count > MPK_RELAX_TYPING_DIMENSIONS)
		return;
	p.count = (size_t)count;
	p.from = c->input ? MPK_RELAX_EXTENTS_INPUT : MPK_RELAX_EXTENTS_VALUE;
	mpk_relax_set_extents(r, &p, s.type);
	add_told(r, &s);
	if (c->input)
		mpk_relax_keep_slots(r, &p, s.type);
}

/* --- values -------------------------------------------------------------------------------- */

static void type_tuple_getitem(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			       struct mpk_relax_content *out)
{
	const struct mpk_relax_content *c = mpk_relax_content_at(r, instr, 0);
	const struct mpk_type tuple = mpk_relax_type_at(r, instr, 0);
	int64_t index = -1;

	if (tuple.kind != MPK_TYPE_TUPLE || !mpk_relax_int_at(instr, 1, &index) || index < 0 ||
	    (uint64_t)index >= tuple.field_count)
		return;
	out->type = tuple.fields[index].type;
	if (!c || !c->input)
		return;
	/* a part of a parameter: checks of it are checks of the parameter */
	out->input = (struct mpk_type *)(uintptr_t)&tuple.fields[index].type;
	if (c->told && (uint64_t)index < c->told->field_count)
		out->told = &c->told->fields[index].type;
}

static void type_make_shape(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			    struct mpk_relax_content *out)
{
	struct mpk_relax_pairs p = { .instr = instr, .at = 2, .from = MPK_RELAX_EXTENTS_MADE };
	int64_t count = -1;

	if (!mpk_relax_int_at(instr, 1, &count) || count < 0 || count > MPK_RELAX_TYPING_DIMENSIONS)
		return;
	p.count = (size_t)count;
	out->type.kind = MPK_TYPE_SHAPE;
	mpk_relax_set_extents(r, &p, &out->type);
}

static void type_make_prim_value(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
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

/* The shape is the third operand, the type the fourth. */
static void type_alloc_tensor(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			      struct mpk_relax_content *out)
{
	const struct mpk_relax_const *dtype = mpk_relax_const_at(r, instr, 3);

	if (dtype && dtype->kind == MPK_RELAX_DTYPE)
		shaped(mpk_relax_type_at(r, instr, 2), dtype->u.dtype, out);
}

static void type_reshape(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			 struct mpk_relax_content *out)
{
	shaped(mpk_relax_type_at(r, instr, 1), mpk_relax_type_at(r, instr, 0).dtype, out);
}

static void type_shape_of(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			  struct mpk_relax_content *out)
{
	struct mpk_type t = mpk_relax_type_at(r, instr, 0);

	out->type.kind = MPK_TYPE_SHAPE;
	if (t.kind != MPK_TYPE_TENSOR)
		return;
	t.kind = MPK_TYPE_SHAPE;
	t.dtype = (struct mpk_dtype){ 0 };
	out->type = t;
}

static void type_same_type(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			   struct mpk_relax_content *out)
{
	out->type = mpk_relax_type_at(r, instr, 0);
}

/* The same type, on the device whose DLPack number is the second operand. */
static void type_to_device(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			   struct mpk_relax_content *out)
{
	int64_t type = 0;

	out->type = mpk_relax_type_at(r, instr, 0);
	(void)mpk_relax_int_at(instr, 1, &type);
	out->type.device = type > 0 && type < INT32_MAX ? (int32_t)type : 0;
}

static void type_make_tuple(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
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

/* --- values that depend on data ------------------------------------------------------------- */

static const struct mpk_dtype i64 = { MPK_DTYPE_INT, 64, 1 };

/* A tensor of which type and rank are known; a negative rank is none. */
static void set_tensor(struct mpk_relax_typing *r, struct mpk_dtype dtype, int64_t ndim,
		       struct mpk_type *t)
{
	*t = (struct mpk_type){ .kind = MPK_TYPE_TENSOR, .dtype = dtype };
	mpk_relax_set_rank(r, ndim, t);
}

static void type_tensor_to_shape(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
				 struct mpk_relax_content *out)
{
	(void)r;
	(void)instr;
	out->type.kind = MPK_TYPE_SHAPE;
}

static void type_shape_to_tensor(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
				 struct mpk_relax_content *out)
{
	struct mpk_type shape = mpk_relax_type_at(r, instr, 0);
	int64_t *length = mpk_relax_make_parts(r, 1, sizeof *length);

	set_tensor(r, i64, 1, &out->type);
	if (!length || shape.kind != MPK_TYPE_SHAPE || !shape.ranked)
		return;
	length[0] = (int64_t)shape.ndim;
	out->type.shape = length;
	out->type.symbols = NULL;
}

static void type_nonzero(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			 struct mpk_relax_content *out)
{
	(void)instr;
	set_tensor(r, i64, 2, &out->type);
}

/* type_unique(x, sorted, index, inverse, counts[, axis]): one tensor, or a tuple with what was asked for */
static void type_unique(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			struct mpk_relax_content *out)
{
	struct mpk_type x = mpk_relax_type_at(r, instr, 0), values;
	int64_t flags[3] = { 0 }, axis;
	struct mpk_param *fields;
	size_t count = 1;

	if (x.kind != MPK_TYPE_TENSOR)
		return;
	set_tensor(r, x.dtype,
		   !mpk_relax_int_at(instr, 5, &axis) ? 1
		   : x.ranked                         ? (int64_t)x.ndim
						      : -1,
		   &values);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(flags); i++)
		if (!mpk_relax_int_at(instr, 2 + i, &flags[i]))
			return;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(flags); i++)
		count += flags[i] != 0;
	fields = count > 1 ? mpk_relax_make_parts(r, count, sizeof *fields) : NULL;
	if (count == 1)
		out->type = values;
	if (!fields)
		return;
	fields[0].type = values;
	for (size_t i = 1; i < count; i++)
		set_tensor(r, i64, 1, &fields[i].type);
	out->type =
		(struct mpk_type){ .kind = MPK_TYPE_TUPLE, .fields = fields, .field_count = count };
}

/* --- by name ------------------------------------------------------------------------------- */

typedef void typing_fn(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
		       struct mpk_relax_content *out);

/* In the order of names, as relax_builtins.def has them. */
static const struct typing_row {
	const char *name;
	typing_fn *read; /* NULL: it says nothing of types */
} rows[] = {
#define TYPE(function) function
#define NO_TYPE(reason) NULL
#define MPK_RELAX_BUILTIN(name, effect, family, call, typing) { name, typing },
#define MPK_RELAX_STATE(...) /* as type_state says */
#include "program/relax_builtins.def"
#undef MPK_RELAX_BUILTIN
};

/* Builtins of states, by how their names begin: what their first argument is. */
static const struct {
	const char *prefix, *title; /* NULL: nothing is known */
} states[] = {
	{ "vm.builtin.attention_kv_cache_array_", NULL },
	{ "vm.builtin.attention_kv_cache_", "KV cache" },
	{ "vm.builtin.paged_attention_kv_cache_create", "KV cache" },
	{ "vm.builtin.kv_state_", "KV cache or recurrent state" },
	{ "vm.builtin.rnn_state_", "recurrent state" },
};

/* What the first argument of a builtin is; NULL: no state, or nothing is known. */
static const char *state_title(struct mpk_span builtin)
{
	size_t i = 0;

	while (i < MPK_ARRAY_COUNT(states) && !mpk_span_starts(builtin, states[i].prefix))
		i++;
	return i < MPK_ARRAY_COUNT(states) ? states[i].title : NULL;
}

/* Builtins by how their names begin: what the runtime has for them, or they are given. */
static const struct {
	const char *prefix;
	enum mpk_signature_use use;
} uses[] = {
	{ "vm.builtin.multinomial_from_uniform", MPK_USES_RANDOM },
	{ "vm.builtin.ndarray_cache.", MPK_USES_WEIGHTS },
	{ "vm.builtin.param_array_from_cache", MPK_USES_WEIGHTS },
	{ "vm.builtin.param_module_from_cache", MPK_USES_WEIGHTS },
	{ "vm.builtin.sample_top_p_", MPK_USES_RANDOM },
	{ "vm.builtin.tensor_cache.", MPK_USES_WEIGHTS },
};

static bool ends_in(struct mpk_span name, const char *end)
{
	size_t len = strlen(end);

	return name.len >= len && memcmp(name.data + name.len - len, end, len) == 0;
}

/* What makes a state returns one, and what changes it returns the same. */
static void type_state(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
		       struct mpk_span name, struct mpk_relax_content *out)
{
	struct mpk_relax_content *c = mpk_relax_content_at(r, instr, 0);
	struct mpk_type state = { .kind = MPK_TYPE_NAMED }, *first;
	const char *title = state_title(name);

	for (size_t i = 0; i < MPK_ARRAY_COUNT(uses); i++)
		r->uses |= mpk_span_starts(name, uses[i].prefix) ? uses[i].use : 0;
	if (!title || r->branched)
		return;
	state.title = mpk_span_str(title);
	if (ends_in(name, "_create")) {
		out->type = state;
		return;
	}
	first = !c ? NULL : c->input ? c->input : &c->type;
	if (first && first->kind == MPK_TYPE_ANY)
		*first = state;
	if (ends_in(name, "_append") || ends_in(name, "_update") || ends_in(name, "_mla_kv") ||
	    ends_in(name, "_override") || ends_in(name, "_with_sinks") || ends_in(name, "_set"))
		out->type = state;
}

static int builtins_by_name(const void *name, const void *row)
{
	return mpk_span_compare(*(const struct mpk_span *)name,
				mpk_span_str(((const struct typing_row *)row)->name));
}

void mpk_relax_type_call(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			 struct mpk_span name, struct mpk_relax_content *out)
{
	const struct typing_row *row =
		bsearch(&name, rows, MPK_ARRAY_COUNT(rows), sizeof rows[0], builtins_by_name);

	if (row && row->read)
		row->read(r, instr, out);
	else if (!row)
		type_state(r, instr, name, out);
	for (size_t i = 0; i < instr->arg_count; i++) {
		const struct mpk_relax_content *c = mpk_relax_content_at(r, instr, i);

		out->pending |= c && c->pending;
	}
}
