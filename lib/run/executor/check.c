/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - checks the inputs of a call against a model's signature, before anything runs
 *
 * Values with names are matched first, the rest by position. Then each value is compared with the
 * type of its input. A symbolic extent gets its value at the first occurrence of its name. So if
 * two inputs of n rows have 3 and 4 rows, the call is refused here and not by a kernel in the
 * middle of the model. */
#include "executor/machine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "signature/signature.h"
#include "text/escape.h"

enum { NEST_MAX = 16 }; /* most levels of nested tuples */

/* --- what is said --------------------------------------------------------------------------- */

static void executor_check_put_value(const struct mpk_value *v, unsigned depth,
				     struct mpk_strbuf *out)
{
	struct mpk_type t;

	if (v->kind == MPK_VALUE_ARRAY && depth < NEST_MAX) {
		mpk_strbuf_putc(out, '(');
		for (size_t i = 0; i < v->array->count; i++) {
			mpk_strbuf_puts(out, i ? ", " : "");
			executor_check_put_value(&v->array->items[i], depth + 1, out);
		}
		mpk_strbuf_putc(out, ')');
		return;
	}
	if (v->kind == MPK_VALUE_TENSOR)
		t = mpk_type_tensor(v->tensor->dl.dtype, v->tensor->dl.shape,
				    (size_t)v->tensor->dl.ndim, NULL);
	else if (v->kind == MPK_VALUE_SHAPE)
		t = (struct mpk_type){ .kind = MPK_TYPE_SHAPE,
				       .ranked = true,
				       .ndim = v->shape->ndim,
				       .shape = v->shape->extents };
	else {
		mpk_strbuf_puts(out, mpk_value_kind_name(v->kind));
		return;
	}
	mpk_type_text(&t, out);
}

/* Refuses the call with the sentence in *said. */
static enum mpk_code executor_check_refuse(const struct mpk_signature *m, struct mpk_strbuf *said,
					   struct mpk_error *err)
{
	enum mpk_code code;

	mpk_strbuf_puts(said, m->input_count ? "" : "; it takes no inputs");
	code = mpk_strbuf_status(said, err);
	if (code == MPK_OK)
		code = mpk_fail(err, MPK_E_USAGE, "%s", mpk_strbuf_text(said));
	mpk_strbuf_fini(said);
	return mpk_failed(code);
}

/* --- by name -------------------------------------------------------------------------------- */

/* Returns input or parameter number i: inputs are numbered first, then parameters. */
static const struct mpk_param *executor_check_place(const struct mpk_signature *m, size_t i)
{
	return i < m->input_count ? &m->inputs[i] : &m->params[i - m->input_count];
}

static size_t place_count(const struct mpk_signature *m)
{
	return m->input_count + m->param_count;
}

static enum mpk_code unknown_name(const struct mpk_signature *m, struct mpk_span name,
				  struct mpk_error *err)
{
	size_t count = place_count(m), near = count;
	struct mpk_span *names = calloc(count + 1, sizeof *names);
	struct mpk_strbuf said = { 0 };

	for (size_t i = 0; names && i < count; i++)
		names[i] = executor_check_place(m, i)->name;
	if (names)
		near = mpk_closest(name, names, count);
	free(names);
	mpk_strbuf_puts(&said, "no input '");
	mpk_escape(&said, name);
	mpk_strbuf_putc(&said, '\'');
	if (near < count) {
		mpk_strbuf_puts(&said, " (did you mean '");
		mpk_escape(&said, executor_check_place(m, near)->name);
		mpk_strbuf_puts(&said, "'?)");
	}
	return executor_check_refuse(m, &said, err);
}

/* --- by position ---------------------------------------------------------------------------- */

static enum mpk_code bind_positional(const struct mpk_signature *m, const struct mpk_args *args,
				     const struct mpk_value **bound, struct mpk_error *err)
{
	size_t at = 0;

	for (size_t i = 0; i < args->count; i++) {
		if (args->names && args->names[i].len)
			continue;
		/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Branch): set by mpk_signature_bind() */
		while (at < m->input_count && bound[at])
			at++;
		if (at == m->input_count) {
			/* Gives only the number of missing values: without names, one cannot tell which value is too many. */
			size_t came = args->count;
			struct mpk_strbuf said = { 0 };

			mpk_strbuf_printf(&said, "%zu value%s for %zu input%s", came,
					  came == 1 ? "" : "s", m->input_count,
					  m->input_count == 1 ? "" : "s");
			return executor_check_refuse(m, &said, err);
		}
		bound[at] = &args->values[i];
	}
	for (at = 0; at < m->input_count; at++)
		/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Branch): the same */
		if (!bound[at]) {
			/* Names the first input without a value, with its type, so that the user knows what to pass. */
			struct mpk_strbuf said = { 0 };

			mpk_strbuf_puts(&said, "input '");
			mpk_escape(&said, m->inputs[at].name);
			mpk_strbuf_puts(&said, "' is missing: ");
			mpk_type_text(&m->inputs[at].type, &said);
			return executor_check_refuse(m, &said, err);
		}
	return MPK_OK;
}

/* --- types and shapes ----------------------------------------------------------------------- */

enum { SIZES_MAX = 16 };

/* The sizes of symbolic extents in this call, set at the first occurrence of each name. */
struct sizes {
	struct mpk_extent_value *items;
	size_t count;
	struct mpk_strbuf *said; /* receives ", n being 5" for extents that do not match */
};

/* Only the first few symbols are checked here; others, and expressions of unknown names, are left
 * to the model's own checks. */
static bool extent_fits(struct sizes *sizes, struct mpk_span symbol, int64_t came)
{
	const struct mpk_extent_values known = { sizes->items, sizes->count, 0 };
	bool is_name = mpk_extent_is_name(symbol);
	int64_t size;

	if (symbol.len == 1 && (symbol.data[0] == '?' || symbol.data[0] == '_'))
		return true;
	if ((is_name && !sizes->count) || !mpk_extent_compute(symbol, &known, &size)) {
		if (is_name && sizes->count < SIZES_MAX)
			sizes->items[sizes->count++] = (struct mpk_extent_value){ symbol, came };
		return true;
	}
	if (size == came)
		return true;
	mpk_strbuf_puts(sizes->said, ", ");
	mpk_escape(sizes->said, symbol);
	mpk_strbuf_printf(sizes->said, " being %" PRId64, size);
	return false;
}

static bool extents_fit(struct sizes *sizes, const struct mpk_type *want, const int64_t *came,
			size_t ndim)
{
	bool fit = true;

	if (!want->ranked)
		return true;
	if (want->ndim != ndim)
		return false;
	for (size_t d = 0; d < ndim; d++) {
		struct mpk_span symbol = mpk_type_symbol(want, d);

		fit &= symbol.len ? extent_fits(sizes, symbol, came[d]) : want->shape[d] == came[d];
	}
	return fit;
}

static bool tensor_fits(struct sizes *sizes, const struct mpk_type *want,
			const struct mpk_dltensor *came)
{
	/* bits is 0 if the type is open; bool is uint1 up to TVM 0.22, and bool of 8 bits later */
	bool same = !want->dtype.bits || mpk_dtype_equal(want->dtype, came->dtype) ||
		    (mpk_dtype_is_bool(want->dtype) && mpk_dtype_is_bool(came->dtype));

	return same && extents_fit(sizes, want, came->shape, (size_t)came->ndim);
}

/* Whether a value is accepted as a number: as in Python, an integer is accepted for a float, but
 * not the reverse. */
static bool scalar_fits(const struct mpk_type *want, enum mpk_value_kind came)
{
	if (came == MPK_VALUE_INT || came == MPK_VALUE_BOOL || want->dtype.code == MPK_DTYPE_HANDLE)
		return true;
	return came == MPK_VALUE_FLOAT &&
	       (!want->dtype.bits || want->dtype.code == MPK_DTYPE_FLOAT);
}

static bool executor_check_fits(struct sizes *sizes, const struct mpk_type *want,
				const struct mpk_value *came, unsigned depth)
{
	switch (want->kind) {
	case MPK_TYPE_ANY:
		return true;
	case MPK_TYPE_TENSOR:
		return came->kind == MPK_VALUE_TENSOR &&
		       tensor_fits(sizes, want, &came->tensor->dl);
	case MPK_TYPE_SHAPE:
		return came->kind == MPK_VALUE_SHAPE &&
		       extents_fit(sizes, want, came->shape->extents, came->shape->ndim);
	case MPK_TYPE_SCALAR:
		return scalar_fits(want, came->kind);
	case MPK_TYPE_FUNCTION:
		return came->kind == MPK_VALUE_FUNCTION;
	case MPK_TYPE_STRING:
		return came->kind == MPK_VALUE_STR;
	case MPK_TYPE_NAMED: /* the function itself must interpret the type's name */
		return true;
	case MPK_TYPE_TUPLE:
		break;
	}
	if (came->kind != MPK_VALUE_ARRAY || came->array->count != want->field_count ||
	    depth == NEST_MAX)
		return false;
	for (size_t i = 0; i < want->field_count; i++)
		if (!executor_check_fits(sizes, &want->fields[i].type, &came->array->items[i],
					 depth + 1))
			return false;
	return true;
}

enum mpk_code mpk_signature_bind(const struct mpk_signature *m, const struct mpk_args *args,
				 const struct mpk_value **bound, struct mpk_error *err)
{
	/* collects the values of the symbols in the input that does not fit, for the message */
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf symbols = { 0 };
	struct mpk_extent_value items[SIZES_MAX];
	struct sizes sizes = { .items = items, .said = &symbols };
	size_t count = place_count(m);

	if (count)
		memset(bound, 0, count * sizeof bound[0]);

	for (size_t i = 0; args->names && i < args->count; i++) {
		struct mpk_span name = args->names[i];
		size_t at = 0;

		if (!name.len)
			continue;
		while (at < place_count(m) &&
		       !mpk_span_equal(executor_check_place(m, at)->name, name))
			at++;
		if (at == place_count(m))
			return unknown_name(m, name, err);
		if (bound[at])
			return mpk_fail(err, MPK_E_USAGE, "input '%s' is given twice",
					MPK_QUOTE(name));
		bound[at] = &args->values[i];
	}

	MPK_TRY(bind_positional(m, args, bound, err));
	for (size_t i = 0; i < count; i++) {
		if (m->names_are_local)
			sizes.count = 0;
		if (bound[i] &&
		    !executor_check_fits(&sizes, &executor_check_place(m, i)->type, bound[i], 0)) {
			struct mpk_strbuf said = { 0 };

			mpk_strbuf_puts(&said, i < m->input_count ? "input '" : "parameter '");
			mpk_escape(&said, executor_check_place(m, i)->name);
			mpk_strbuf_puts(&said, "' takes ");
			mpk_type_text(&executor_check_place(m, i)->type, &said);
			mpk_strbuf_puts(&said, mpk_strbuf_text(&symbols));
			mpk_strbuf_puts(&said, ", not ");
			executor_check_put_value(bound[i], 0, &said);
			return executor_check_refuse(m, &said, err);
		}
	}
	return MPK_OK;
}

enum mpk_code mpk_signature_order(const struct mpk_signature *s, const struct mpk_args *args,
				  struct mpk_value **out, struct mpk_error *err)
{
	size_t count = place_count(s);
	const struct mpk_value **bound = calloc(count + 1, sizeof(const struct mpk_value *));
	struct mpk_value *values = calloc(count + 1, sizeof *values);
	enum mpk_code code =
		bound && values ? mpk_signature_bind(s, args, bound, err) : mpk_fail_nomem(err);

	for (size_t i = 0; code == MPK_OK && i < count; i++)
		if (bound[i])
			values[i] = *bound[i];
	free(bound);
	if (code == MPK_OK)
		*out = values;
	else
		free(values);
	return code;
}
