/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of two builds either differ in a few elements or everywhere. Equal stretches are
 * skipped as bytes; elements are read as numbers only where bytes differ. */
#include "compare/compare.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/native.h"
#include "compare/differ.h"
#include "value/element.h"

enum { STRETCH = 4096 }; /* bytes compared at once; a multiple of every plain scalar size */

/* A comparison in progress. */
struct differ {
	struct mpk_dtype dtype; /* type of one scalar */
	size_t width;           /* bytes of a scalar; 0 if several scalars share a byte */
	struct mpk_scalars a, b;
	struct mpk_tensor_diff *out;
	long double sum; /* sum of all |a - b| */
	long double was; /* sum of |a| over the same scalars */
};

static void add_gap(struct differ *d, uint64_t i, double gap, double was)
{
	d->sum += (long double)gap;
	d->was += (long double)was;
	if (gap > d->out->max_abs) {
		d->out->max_abs = gap;
		d->out->max_at = i;
	}
}

/* The difference of two 64-bit integers may overflow int64_t, but their distance fits uint64_t. */
static double distance(struct mpk_element x, struct mpk_element y)
{
	if (x.class == MPK_ELEMENT_UINT)
		return x.u > y.u ? (double)(x.u - y.u) : (double)(y.u - x.u);
	return x.i > y.i ? (double)((uint64_t)x.i - (uint64_t)y.i)
			 : (double)((uint64_t)y.i - (uint64_t)x.i);
}

static double magnitude(struct mpk_element x)
{
	return x.class == MPK_ELEMENT_UINT ? (double)x.u : fabs((double)x.i);
}

/* 0.0 and -0.0 are equal, as are NaNs of any payload: such elements count as bits_only, not as
 * different. */
static bool same_value(struct mpk_element x, struct mpk_element y)
{
	if (x.class == MPK_ELEMENT_FLOAT)
		return x.f == y.f || (isnan(x.f) && isnan(y.f));
	return x.class == MPK_ELEMENT_UINT ? x.u == y.u : x.i == y.i;
}

/* Scalars of whole bytes are read in place. Packed scalars (int4, for example) are unpacked into
 * raw. */
static const void *scalar(const struct differ *d, const struct mpk_scalars *s, uint64_t i,
			  uint8_t raw[MPK_SCALAR_MAX])
{
	return d->width ? s->data + i * d->width : mpk_scalar_at(s, i, raw);
}

/* Loads a scalar from a file, whose bytes are little-endian. */
static struct mpk_element tensor_load(const struct differ *d, const void *at)
{
	size_t bytes = (d->dtype.bits + 7U) / 8;
	uint8_t native[MPK_SCALAR_MAX];

	memcpy(native, at, bytes);
	mpk_native_from_little(native, bytes, mpk_dtype_number_bytes(d->dtype));
	return mpk_element_load(d->dtype, native);
}

/* Compares bits before values: most elements have equal bits, and reading a number costs more. */
static void compare_scalar(struct differ *d, uint64_t i)
{
	uint8_t p[MPK_SCALAR_MAX], q[MPK_SCALAR_MAX];
	const void *at_a = scalar(d, &d->a, i, p), *at_b = scalar(d, &d->b, i, q);
	struct mpk_element x, y;

	if (memcmp(at_a, at_b, d->width ? d->width : (d->dtype.bits + 7U) / 8) == 0)
		return;
	x = tensor_load(d, at_a);
	y = tensor_load(d, at_b);
	if (d->out->has_values && same_value(x, y)) {
		d->out->bits_only++;
		return;
	}
	if (!d->out->differing++)
		d->out->first = i;
	if (!d->out->has_values)
		return;
	if (x.class != MPK_ELEMENT_FLOAT)
		add_gap(d, i, distance(x, y), magnitude(x));
	else if (isfinite(x.f) && isfinite(y.f))
		add_gap(d, i, fabs(x.f - y.f), fabs(x.f));
	else
		/* an infinite or NaN distance would make the mean useless */
		d->out->unordered++;
}

/* Stretches with equal bytes are skipped with memcmp, which is faster than any loop over elements.
 * Packed types have no byte boundaries between scalars, so they are one stretch. */
static void compare_all(struct differ *d, size_t len)
{
	uint64_t step = d->width ? STRETCH / d->width : d->out->count;

	for (uint64_t i = 0; i < d->out->count; i += step) {
		uint64_t n = d->out->count - i < step ? d->out->count - i : step;
		size_t at = d->width ? (size_t)i * d->width : 0;
		size_t bytes = d->width ? (size_t)n * d->width : len;

		if (memcmp(d->a.data + at, d->b.data + at, bytes) == 0)
			continue;
		for (uint64_t k = i; k < i + n; k++)
			compare_scalar(d, k);
	}
}

/* Computes the bytes of a scalar and the number of scalars. A type of less than 8 bits takes one
 * byte for each scalar or is packed, depending on the writer. */
static bool tensor_measure(struct differ *d, const struct mpk_tensor_record *t)
{
	uint64_t elements = 1, packed;

	/* the reader has checked the product for overflow */
	for (size_t i = 0; i < t->ndim; i++)
		elements *= (uint64_t)t->shape[i];
	d->dtype = t->dtype;
	if (t->dtype.lanes > 1 && t->dtype.lanes < 0x8000) {
		d->dtype.lanes = 1;
		elements *= t->dtype.lanes;
	}
	d->out->count = elements;
	d->a.dtype = d->b.dtype = d->dtype;
	if (!elements || t->data.len / elements * elements == t->data.len) {
		d->width = elements ? (size_t)(t->data.len / elements) : 1;
		return d->width >= (d->dtype.bits + 7U) / 8 && d->width <= MPK_SCALAR_MAX;
	}
	return mpk_dtype_is_packed(d->dtype) && mpk_dtype_size(d->dtype, elements, &packed) &&
	       packed <= t->data.len;
}

/* Elements are compared by position only if the shapes are equal: for different shapes it is
 * unknown which element became which. */
static bool same_type(const struct mpk_tensor_record *a, const struct mpk_tensor_record *b)
{
	return mpk_dtype_equal(a->dtype, b->dtype) && a->ndim == b->ndim &&
	       a->data.len == b->data.len &&
	       (!a->ndim || memcmp(a->shape, b->shape, a->ndim * sizeof *a->shape) == 0);
}

struct mpk_tensor_diff mpk_tensor_compare(const struct mpk_tensor_record *a,
					  const struct mpk_tensor_record *b)
{
	struct mpk_tensor_diff out = { 0 };
	struct differ d = { .out = &out };

	if (!same_type(a, b) || !tensor_measure(&d, a))
		return (struct mpk_tensor_diff){ 0 };
	/* scalars are only read */
	d.a.data = (uint8_t *)(uintptr_t)a->data.data;
	d.b.data = (uint8_t *)(uintptr_t)b->data.data;
	out.is_comparable = true;
	out.has_values = mpk_element_class(d.dtype) != MPK_ELEMENT_NONE;
	if (a->data.len)
		compare_all(&d, a->data.len);
	if (out.count > out.unordered)
		out.mean_abs = (double)(d.sum / (long double)(out.count - out.unordered));
	out.relative = mpk_tensor_relative(d.sum, d.was);
	return out;
}

double mpk_tensor_relative(long double gaps, long double were)
{
	return gaps == 0 ? 0 : were == 0 ? HUGE_VAL : (double)(gaps / were);
}

/* Relative to the changed elements, so that the change of a few is not lost among the unchanged
 * ones. */
void mpk_tensor_put_relative(double relative, struct mpk_strbuf *out)
{
	if (isinf(relative))
		mpk_strbuf_puts(out, "from 0");
	else
		mpk_strbuf_printf(out, "by %.*g %% of their magnitude", relative < 1 ? 2 : 6,
				  relative < 1 ? 100 * relative : round(100 * relative));
}

void mpk_tensor_diff_text(const struct mpk_tensor_diff *d, const struct mpk_tensor_record *a,
			  const struct mpk_tensor_record *b, struct mpk_strbuf *out)
{
	if (!d->is_comparable) {
		mpk_differ_put_type(a->dtype, a->shape, a->ndim, out);
		mpk_strbuf_puts(out, " -> ");
		mpk_differ_put_type(b->dtype, b->shape, b->ndim, out);
		return;
	}
	mpk_strbuf_printf(out, "%" PRIu64 " of %" PRIu64 " element%s differ%s", d->differing,
			  d->count, d->count == 1 ? "" : "s", d->differing == 1 ? "s" : "");
	if (d->has_values && d->differing > d->unordered)
		mpk_strbuf_printf(out, ", by at most %.6g (element %" PRIu64 "), %.6g on average",
				  d->max_abs, d->max_at, d->mean_abs);
	else if (d->differing)
		mpk_strbuf_printf(out, ", from element %" PRIu64 " on", d->first);
	if (d->unordered)
		mpk_strbuf_printf(out, ", %" PRIu64 " of them from or to NaN or infinity",
				  d->unordered);
	if (d->bits_only)
		mpk_strbuf_printf(out, ", %" PRIu64 " more only in their bits", d->bits_only);
}

void mpk_differ_tensors(struct mpk_differ *d, struct mpk_span name,
			const struct mpk_tensor_record *a, const struct mpk_tensor_record *b)
{
	struct mpk_tensor_diff found = mpk_tensor_compare(a, b);
	struct mpk_strbuf text = { 0 };

	if (found.is_comparable && !found.differing && !found.bits_only)
		return;
	mpk_tensor_diff_text(&found, a, b, &text);
	mpk_differ_add_tensor(d, name, &found, &text);
}

void mpk_differ_add_tensor(struct mpk_differ *d, struct mpk_span name,
			   const struct mpk_tensor_diff *found, struct mpk_strbuf *text)
{
	struct mpk_difference *item;

	if (found->is_comparable && found->differing > found->unordered && found->has_values) {
		mpk_strbuf_puts(text, "; ");
		mpk_tensor_put_relative(found->relative, text);
	}
	item = mpk_differ_add(d, MPK_DIFF_CHANGED, "tensor", name, mpk_differ_take(d, text));
	if (!item || !found->is_comparable)
		return;
	item->elements = mpk_arena_keep(d->arena, found, 1, sizeof *found);
	d->diff->failed |= !item->elements;
}
