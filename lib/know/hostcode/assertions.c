/* SPDX-License-Identifier: Apache-2.0 */
/* assertions.c - signatures from assertions
 *
 * Each assertion describes one property of one argument; the properties of a function are combined.
 * A function whose assertions contradict each other has no known signature.
 *
 * No assertion checks the extent that introduces a symbolic name, because that extent defines the
 * name. It is found in the comparisons of the tensor's strides and size, else it is shown as "?". */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "hostcode/internal/hostcode.h"
#include "signature/signature.h"

#define BEGIN "Assert fail: "

enum { ARGUMENTS_MAX = 4096, RANK_MAX = 64 };

/* An assertion and its function. */
struct record {
	struct mpk_assertion a;
	struct mpk_span argument; /* the part of path after the function's name */
	size_t function, order;
};

struct records {
	struct mpk_unit *unit;
	struct record *items;
	size_t count, cap;
	bool failed;
};

/* --- collecting ------------------------------------------------------------------------- */

/* Sets the function: the longest function name that path begins with, followed by a dot or the end.
 * Each dot takes from the budget. */
static bool assertions_find_function(struct mpk_unit *u, struct record *r)
{
	struct mpk_span path = r->a.path;

	for (size_t n = path.len; n > 0; n--) {
		if (n < path.len && path.data[n] != '.')
			continue;
		if (!mpk_unit_spend(u, n))
			return false;
		if (!mpk_strmap_find(&u->by_name, mpk_span_of(path.data, n), &r->function))
			continue;
		r->argument = n < path.len ? mpk_span_of(path.data + n + 1, path.len - n - 1)
					   : (struct mpk_span){ 0 };
		return true;
	}
	return false;
}

static void assertions_add(struct records *list, struct mpk_span text)
{
	struct record r = { .order = list->count };

	if (list->failed || !mpk_unit_spend(list->unit, text.len) ||
	    !mpk_assertion_read(text, &r.a) || !assertions_find_function(list->unit, &r))
		return;
	if (!MPK_VEC_ROOM(list->items, list->count, list->cap))
		list->failed = true;
	else
		list->items[list->count++] = r;
}

static void assertions_collect(struct records *list, struct mpk_span s)
{
	const uint8_t *at = s.data, *end = s.data + s.len;

	while (at < end && (at = memmem(at, (size_t)(end - at), BEGIN, strlen(BEGIN)))) {
		const uint8_t *nul = memchr(at, 0, (size_t)(end - at));

		if (!nul)
			return;
		assertions_add(list, mpk_span_of(at, (size_t)(nul - at)));
		at = nul;
	}
}

MPK_ORDER_BY3(assertions_by_function, struct record, function, a.kind, order)

/* --- combining the assertions of a function ------------------------------------------------- */

struct argument {
	struct mpk_span variable, name;
	struct mpk_span shown; /* "pointer", "int", "float" */
	struct mpk_dtype dtype;
	bool is_tensor;
	bool ranked;
	size_t rank;
	struct mpk_span *extents; /* one for each dimension; an empty one is not known */
};

struct prototype {
	struct mpk_unit *unit;
	struct argument *args;
	size_t count;
	int64_t device; /* 0: not known */
	bool devices_differ;
	bool differs; /* two assertions contradict each other */
};

/* Keeps the first value; a different one is a contradiction. */
static void set_text(struct prototype *p, struct mpk_span *known, struct mpk_span text)
{
	if (known->len && text.len && !mpk_span_equal(*known, text))
		p->differs = true;
	else if (text.len)
		*known = text;
}

static struct argument *by_variable(struct prototype *p, struct mpk_span variable)
{
	for (size_t i = 0; i < p->count && variable.len; i++)
		if (mpk_span_equal(p->args[i].variable, variable))
			return &p->args[i];
	return NULL;
}

static struct argument *assertions_by_name(struct prototype *p, struct mpk_span name)
{
	for (size_t i = 0; i < p->count && name.len; i++)
		if (mpk_span_equal(p->args[i].name, name))
			return &p->args[i];
	return NULL;
}

/* Returns the only name in the text that is not a name of another extent of the tensor; empty:
 * there is none, or there are several. */
static struct mpk_span missing_name(const struct argument *arg, struct mpk_span product)
{
	struct mpk_span one = { 0 }, factor;

	for (size_t at = 0; at < product.len; at += factor.len + 3) {
		const uint8_t *rest = product.data + at;
		const uint8_t *star = memmem(rest, product.len - at, " * ", 3);
		bool known = false;

		factor = mpk_span_of(rest, star ? (size_t)(star - rest) : product.len - at);
		for (size_t i = 0; i < arg->rank; i++)
			known |= mpk_span_equal(arg->extents[i], factor);
		if (known || !mpk_extent_is_name(factor))
			continue;
		if (one.len)
			return (struct mpk_span){ 0 };
		one = factor;
	}
	return one;
}

static void infer_extent(struct argument *arg, const struct mpk_assertion *a)
{
	struct mpk_span *last = arg->rank ? &arg->extents[arg->rank - 1] : NULL, found;
	size_t open = 0, where = 0;

	/* the stride before the last extent is that extent */
	if (a->kind == MPK_ASSERT_STRIDES && arg->rank >= 2 && !last->len &&
	    mpk_assertion_stride(a->condition, arg->rank - 2, &found))
		*last = found;
	if (a->kind != MPK_ASSERT_DATA)
		return;
	for (size_t i = 0; i < arg->rank; i++) {
		open += !arg->extents[i].len;
		where = arg->extents[i].len ? where : i;
	}
	if (open == 1)
		arg->extents[where] = missing_name(arg, a->value);
}

/* Adds the property that an assertion states to the argument that it names. */
static enum mpk_code assertions_apply(struct prototype *p, const struct record *r,
				      struct mpk_error *err)
{
	struct argument *arg = assertions_by_name(p, r->argument);

	if (!arg)
		return MPK_OK;
	switch (r->a.kind) {
	case MPK_ASSERT_RANK:
		arg->is_tensor = true;

		int64_t rank = r->a.number;

		if (rank > RANK_MAX || (arg->ranked && arg->rank != (size_t)rank)) {
			p->differs = true;
			return MPK_OK;
		}
		if (arg->ranked)
			return MPK_OK;
		arg->ranked = true;
		arg->rank = (size_t)rank;
		arg->extents = mpk_arena_array(p->unit->arena, arg->rank, sizeof *arg->extents);
		return arg->extents ? MPK_OK : mpk_fail_nomem(err);

	case MPK_ASSERT_DTYPE:
		arg->is_tensor = true;

		struct mpk_span text = r->a.value;
		struct mpk_dtype t;

		if (!mpk_dtype_parse(text, &t) ||
		    (arg->dtype.bits && !mpk_dtype_equal(arg->dtype, t)))
			p->differs = true;
		else
			arg->dtype = t;

		break;
	case MPK_ASSERT_SHAPE:
		if (arg->ranked && (size_t)r->a.number < arg->rank)
			set_text(p, &arg->extents[r->a.number], r->a.value);
		else
			p->differs |= arg->ranked;
		break;
	case MPK_ASSERT_DEVICE:
		p->devices_differ |= p->device && p->device != r->a.number;
		p->device = r->a.number;
		break;
	case MPK_ASSERT_STRIDES:
	case MPK_ASSERT_DATA:
		infer_extent(arg, &r->a);
		break;
	case MPK_ASSERT_COUNT:
	case MPK_ASSERT_CLASS:
	case MPK_ASSERT_POINTER:
		break;
	}
	return MPK_OK;
}

/* Reads the number of arguments and their names. */
static enum mpk_code name_arguments(struct prototype *p, const struct record *r, size_t count,
				    struct mpk_error *err)
{
	if (!count || r[0].a.kind != MPK_ASSERT_COUNT || r[0].a.number > ARGUMENTS_MAX) {
		p->differs = true;
		return MPK_OK;
	}
	p->count = (size_t)r[0].a.number;
	MPK_TRY_ARRAY(p->args, p->unit->arena, p->count, err);
	for (size_t i = 0; i < count; i++) {
		const struct mpk_assertion *a = &r[i].a;

		if (a->kind == MPK_ASSERT_COUNT) {
			p->differs |= (size_t)a->number != p->count;
		} else if (a->kind == MPK_ASSERT_CLASS && (size_t)a->number < p->count) {
			set_text(p, &p->args[a->number].variable, a->variable);
			set_text(p, &p->args[a->number].shown, a->value);
		} else if (a->kind == MPK_ASSERT_CLASS) {
			p->differs = true;
		} else if (a->kind == MPK_ASSERT_POINTER || a->kind == MPK_ASSERT_RANK) {
			struct argument *arg = by_variable(p, a->variable);

			if (arg)
				set_text(p, &arg->name, r[i].argument);
		}
	}
	return MPK_OK;
}

/* --- the signature ---------------------------------------------------------------------- */

static enum mpk_code tensor_type(struct prototype *p, const struct argument *arg,
				 struct mpk_type *out, struct mpk_error *err)
{
	static const struct mpk_extent_values none;
	int64_t *shape = mpk_arena_array(p->unit->arena, arg->rank, sizeof *shape);
	struct mpk_span *symbols = mpk_arena_array(p->unit->arena, arg->rank, sizeof *symbols);
	bool symbolic = false;

	MPK_TRY_ALLOC(shape && symbols, err);
	for (size_t i = 0; i < arg->rank; i++) {
		if (mpk_extent_compute(arg->extents[i], &none, &shape[i]) && shape[i] >= 0)
			continue;
		symbolic = true;
		if (!arg->extents[i].len)
			symbols[i] = mpk_span_str("?");
		else
			MPK_TRY(mpk_extent_shorten(arg->extents[i], p->unit->arena, &symbols[i],
						   err));
	}
	*out = mpk_type_tensor(arg->dtype, shape, arg->rank, symbolic ? symbols : NULL);
	out->ranked = arg->ranked;
	return MPK_OK;
}

static enum mpk_code param_of(struct prototype *p, const struct argument *arg,
			      struct mpk_param *out, struct mpk_error *err)
{
	bool is_int = mpk_span_is(arg->shown, "int"), is_float = mpk_span_is(arg->shown, "float");

	out->name = arg->name.len ? arg->name : arg->variable;
	if (arg->is_tensor)
		return tensor_type(p, arg, &out->type, err);
	if (is_int || is_float) {
		out->type.kind = MPK_TYPE_SCALAR;
		out->type.dtype.code = is_int ? MPK_DTYPE_INT : MPK_DTYPE_FLOAT;
		out->type.dtype.lanes = 1; /* no text gives the width */
	}
	return MPK_OK;
}

static enum mpk_code assertions_settle(struct mpk_unit *u, const struct record *r, size_t count,
				       struct mpk_error *err)
{
	struct mpk_unit_function *f = &u->functions[r[0].function];
	struct prototype p = { .unit = u };
	struct mpk_param *params;

	MPK_TRY(name_arguments(&p, r, count, err));
	for (size_t i = 0; i < count && !p.differs; i++)
		MPK_TRY(assertions_apply(&p, &r[i], err));
	if (p.differs || f->found)
		return MPK_OK;
	params = mpk_arena_array(u->arena, p.count, sizeof *params);
	f->found = mpk_arena_alloc(u->arena, sizeof *f->found);
	MPK_TRY_ALLOC(params && f->found, err);
	for (size_t i = 0; i < p.count; i++)
		MPK_TRY(param_of(&p, &p.args[i], &params[i], err));
	*f->found = (struct mpk_signature){
		.fills_inputs = true,
		.device = p.devices_differ || p.device > INT32_MAX ? 0 : (int32_t)p.device,
		.inputs = params,
		.input_count = p.count,
	};
	return MPK_OK;
}

static enum mpk_code unit_assertions(struct mpk_unit *u, struct mpk_error *err)
{
	struct records list = { .unit = u };
	enum mpk_code code = MPK_OK;
	size_t n;

	for (size_t i = 0; i < u->constant_count; i++)
		assertions_collect(&list, u->constants[i].bytes);
	if (list.failed)
		code = mpk_fail_nomem(err);
	if (list.count)
		qsort(list.items, list.count, sizeof *list.items, assertions_by_function);
	for (size_t i = 0; i < list.count && code == MPK_OK; i += n) {
		for (n = 1;
		     i + n < list.count && list.items[i + n].function == list.items[i].function;)
			n++;
		code = assertions_settle(u, &list.items[i], n, err);
	}
	free(list.items);
	return code;
}

const struct mpk_unit_reader mpk_unit_assertions = { unit_assertions, true };
