/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - compares a value with the expected one, and describes differences
 *
 * The rule for floats is that of NumPy's allclose: |got - want| <= atol + rtol * |want|, and NaN
 * equals NaN. The default tolerance depends on the type, because half precision is less exact than
 * single precision. Types without numbers are compared bit by bit. */
#include "value/value.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "value/element.h"
#include "value/parse.h"

/* The default follows from the number of fraction bits: 10 in float16, 7 in bfloat16, 23 in
 * float32. Integers, and floats of 8 bits or less, are compared exactly. */
static struct mpk_tolerance tolerance_default(struct mpk_dtype t)
{
	if (mpk_element_class(t) != MPK_ELEMENT_FLOAT || mpk_dtype_is_narrow(t))
		return (struct mpk_tolerance){ 0, 0 };
	if (t.code == MPK_DTYPE_BFLOAT)
		return (struct mpk_tolerance){ 1e-2, 1e-5 };
	return (struct mpk_tolerance){ t.bits == 16 ? 1e-3 : 1e-4, 1e-5 };
}

/* Replaces negative tolerances by the defaults of the type. */
static struct mpk_tolerance value_compare_resolve(struct mpk_tolerance asked, struct mpk_dtype t)
{
	struct mpk_tolerance by_type = tolerance_default(t);

	return (struct mpk_tolerance){
		.atol = asked.atol < 0 ? by_type.atol : asked.atol,
		.rtol = asked.rtol < 0 ? by_type.rtol : asked.rtol,
	};
}

/* Compares the member that holds the number: as doubles, integers beyond 2^53 could seem equal. */
static bool is_exact(struct mpk_element a, struct mpk_element b)
{
	if (a.class != b.class)
		return mpk_element_to_double(a) == mpk_element_to_double(b);
	switch (a.class) {
	case MPK_ELEMENT_NONE:
		return false;
	case MPK_ELEMENT_BOOL:
	case MPK_ELEMENT_INT:
		return a.i == b.i;
	case MPK_ELEMENT_UINT:
		return a.u == b.u;
	case MPK_ELEMENT_FLOAT:
		break;
	}
	return a.f == b.f || (isnan(a.f) && isnan(b.f));
}

/* Compares two numbers and updates the largest errors. */
static bool is_close(struct mpk_element got, struct mpk_element want, struct mpk_tolerance tol,
		     struct mpk_comparison *c)
{
	double g = mpk_element_to_double(got), w = mpk_element_to_double(want);
	double error = fabs(g - w), relative;

	if (is_exact(got, want))
		return true;
	if (!isfinite(g) || !isfinite(w))
		return false;
	relative = w != 0 ? error / fabs(w) : INFINITY;
	c->max_abs = fmax(c->max_abs, error);
	c->max_rel = fmax(c->max_rel, relative);
	/* integers beyond 2^53 may differ although their doubles are equal */
	return (tol.atol > 0 || tol.rtol > 0) && error <= tol.atol + tol.rtol * fabs(w);
}

static bool is_same_type(const struct mpk_dltensor *a, const struct mpk_dltensor *b)
{
	bool same_dtype = mpk_dtype_equal(a->dtype, b->dtype) ||
			  (mpk_dtype_is_bool(a->dtype) && mpk_dtype_is_bool(b->dtype));

	return same_dtype && a->ndim == b->ndim &&
	       (!a->ndim || memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof a->shape[0]) == 0);
}

/* Counts the elements that differ, and notes the first for the message. */
static void compare_elements(const struct mpk_tensor *got, const struct mpk_tensor *want,
			     struct mpk_tolerance tol, struct mpk_comparison *c)
{
	struct mpk_scalars g = mpk_scalars_of(&got->dl), w = mpk_scalars_of(&want->dl);
	bool bits_only = mpk_element_class(g.dtype) == MPK_ELEMENT_NONE;
	uint8_t of_g[MPK_SCALAR_MAX], of_w[MPK_SCALAR_MAX];

	for (uint64_t i = 0; i < c->total; i++) {
		const void *x = mpk_scalar_at(&g, i, of_g), *y = mpk_scalar_at(&w, i, of_w);
		bool same = bits_only ? memcmp(x, y, mpk_dtype_bytes(g.dtype)) == 0
				      : is_close(mpk_element_load(g.dtype, x),
						 mpk_element_load(w.dtype, y), tol, c);

		if (same)
			continue;
		if (!c->differing++)
			c->first = i;
	}
}

static void compare_tensors(const struct mpk_tensor *got, const struct mpk_tensor *want,
			    struct mpk_tolerance tol, struct mpk_comparison *c,
			    struct mpk_strbuf *why)
{
	c->total = mpk_scalars_of(&want->dl).count;
	if (is_same_type(&got->dl, &want->dl)) {
		compare_elements(got, want, value_compare_resolve(tol, got->dl.dtype), c);
		c->is_equal = c->differing == 0;
		if (!c->is_equal) {
			/* --- tensors ---------------------------------------------------------- --- */
			struct mpk_scalars g = mpk_scalars_of(&got->dl),
					   w = mpk_scalars_of(&want->dl);
			uint8_t raw[MPK_SCALAR_MAX];

			mpk_strbuf_puts(why, "element ");

			/* Prints the position of a scalar: "[1,2]". */
			uint64_t index = c->first;
			uint64_t position[MPK_TENSOR_NDIM_MAX + 1];

			for (int32_t d = g.ndim - 1; d >= 0; d--) {
				position[d] = index % (uint64_t)g.shape[d];
				index /= (uint64_t)g.shape[d];
			}
			mpk_strbuf_putc(why, '[');
			for (int32_t d = 0; d < g.ndim; d++)
				mpk_strbuf_printf(why, "%s%" PRIu64, d ? "," : "", position[d]);
			mpk_strbuf_putc(why, ']');

			mpk_strbuf_puts(why, " is ");
			mpk_element_print(why, g.dtype, mpk_scalar_at(&g, c->first, raw));
			mpk_strbuf_puts(why, ", expected ");
			mpk_element_print(why, w.dtype, mpk_scalar_at(&w, c->first, raw));
			mpk_strbuf_printf(why, "; %" PRIu64 " of %" PRIu64 " elements differ",
					  c->differing, c->total);
			if (mpk_element_class(g.dtype) != MPK_ELEMENT_NONE)
				mpk_strbuf_printf(why, ", largest error %g absolute, %g relative",
						  c->max_abs, c->max_rel);
		}
		return;
	}
	c->differing = c->total;
	mpk_strbuf_puts(why, "it is ");
	mpk_tensor_print_type(why, &got->dl);
	mpk_strbuf_puts(why, ", expected ");
	mpk_tensor_print_type(why, &want->dl);
}

/* --- plain values ------------------------------------------------------------------- */

static bool is_number(const struct mpk_value *v)
{
	return v->kind == MPK_VALUE_BOOL || v->kind == MPK_VALUE_INT || v->kind == MPK_VALUE_FLOAT;
}

static struct mpk_element element_of(const struct mpk_value *v)
{
	if (v->kind == MPK_VALUE_FLOAT)
		return (struct mpk_element){ .class = MPK_ELEMENT_FLOAT, .f = v->real };
	return (struct mpk_element){
		.class = MPK_ELEMENT_INT,
		.i = v->kind == MPK_VALUE_BOOL ? (int64_t)v->boolean : v->integer,
	};
}

static bool is_same_shape(const struct mpk_shape *a, const struct mpk_shape *b)
{
	return a->ndim == b->ndim &&
	       (!a->ndim || memcmp(a->extents, b->extents, a->ndim * sizeof a->extents[0]) == 0);
}

/* Compares values of the same kind; a function or a pointer equals no value that a user can write. */
static enum mpk_code compare_plain(const struct mpk_value *got, const struct mpk_value *want,
				   bool *same, struct mpk_error *err)
{
	*same = false;
	if (got->kind != want->kind)
		return MPK_OK;
	switch (got->kind) {
	case MPK_VALUE_NONE:
		*same = true;
		return MPK_OK;
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
		*same = mpk_span_equal(mpk_value_text_span(got), mpk_value_text_span(want));
		return MPK_OK;
	case MPK_VALUE_SHAPE:
		*same = is_same_shape(got->shape, want->shape);
		return MPK_OK;
	case MPK_VALUE_DTYPE:
		*same = mpk_dtype_equal(got->dtype, want->dtype);
		return MPK_OK;
	case MPK_VALUE_DEVICE:
		*same = mpk_dldevice_equal(got->device, want->device);
		return MPK_OK;
	case MPK_VALUE_ARRAY:
		return MPK_OK; /* the lengths differ */
	case MPK_VALUE_BOOL:
	case MPK_VALUE_INT:
	case MPK_VALUE_FLOAT:
	case MPK_VALUE_TENSOR:
	case MPK_VALUE_STORAGE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_FUNCTION:
	case MPK_VALUE_MODULE:
	case MPK_VALUE_OBJECT:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	return mpk_fail(err, MPK_E_UNSUPPORTED, "a %s cannot be compared",
			mpk_value_kind_name(got->kind));
}

/* --- arrays ------------------------------------------------------------------------- */

enum { NEST_MAX = 16 };

static enum mpk_code compare_value(const struct mpk_value *got, const struct mpk_value *want,
				   struct mpk_tolerance tolerance, unsigned depth,
				   struct mpk_comparison *out, struct mpk_strbuf *why,
				   struct mpk_error *err);

/* Compares item by item. The caller gets the sums over all items, and the message for the first
 * that differs. */
static enum mpk_code compare_arrays(const struct mpk_array *got, const struct mpk_array *want,
				    struct mpk_tolerance tolerance, unsigned depth,
				    struct mpk_comparison *c, struct mpk_strbuf *why,
				    struct mpk_error *err)
{
	c->total = 0;
	c->is_equal = true;
	for (size_t i = 0; i < want->count; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf reason = { 0 };
		struct mpk_comparison item = { 0 };

		MPK_TRY(compare_value(&got->items[i], &want->items[i], tolerance, depth + 1, &item,
				      &reason, err));
		if (c->is_equal && !item.is_equal)
			mpk_strbuf_printf(why, "item %zu: %s", i, mpk_strbuf_text(&reason));
		why->failed |= reason.failed;
		c->is_equal &= item.is_equal;
		c->total += item.total;
		c->differing += item.differing;
		c->max_abs = fmax(c->max_abs, item.max_abs);
		c->max_rel = fmax(c->max_rel, item.max_rel);
	}
	return MPK_OK;
}

static bool are_arrays(const struct mpk_value *got, const struct mpk_value *want, unsigned depth)
{
	return got->kind == MPK_VALUE_ARRAY && want->kind == MPK_VALUE_ARRAY &&
	       got->array->count == want->array->count && depth < NEST_MAX;
}

static enum mpk_code compare_value(const struct mpk_value *got, const struct mpk_value *want,
				   struct mpk_tolerance tolerance, unsigned depth,
				   struct mpk_comparison *out, struct mpk_strbuf *why,
				   struct mpk_error *err)
{
	struct mpk_comparison c = { .total = 1 };
	bool tensors = got->kind == MPK_VALUE_TENSOR && want->kind == MPK_VALUE_TENSOR;

	if (tensors)
		compare_tensors(got->tensor, want->tensor, tolerance, &c, why);
	else if (are_arrays(got, want, depth))
		MPK_TRY(compare_arrays(got->array, want->array, tolerance, depth, &c, why, err));
	if (tensors || are_arrays(got, want, depth)) {
		*out = c;
		return mpk_strbuf_status(why, err);
	}
	if (is_number(got) && is_number(want)) {
		struct mpk_dtype f64 = { MPK_DTYPE_FLOAT, 64, 1 }, whole = { MPK_DTYPE_INT, 64, 1 };
		bool is_float = got->kind == MPK_VALUE_FLOAT || want->kind == MPK_VALUE_FLOAT;
		struct mpk_dtype t = is_float ? f64 : whole;

		if (is_float && want->kind == MPK_VALUE_FLOAT && want->type.bits)
			t = want->type;
		c.is_equal = is_close(element_of(got), element_of(want),
				      value_compare_resolve(tolerance, t), &c);
	} else
		MPK_TRY(compare_plain(got, want, &c.is_equal, err));
	if (!c.is_equal) {
		c.differing = 1;
		mpk_strbuf_puts(why, "it is ");
		mpk_value_print(why, got, 16);
		mpk_strbuf_puts(why, ", expected ");
		mpk_value_print(why, want, 16);
	}
	*out = c;
	return mpk_strbuf_status(why, err);
}

enum mpk_code mpk_value_compare(const struct mpk_value *got, const struct mpk_value *want,
				struct mpk_tolerance tolerance, struct mpk_comparison *out,
				struct mpk_strbuf *why, struct mpk_error *err)
{
	return compare_value(got, want, tolerance, 0, out, why, err);
}
