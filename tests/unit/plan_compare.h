/* SPDX-License-Identifier: Apache-2.0 */
/* plan_compare.h - whether two calls gave the same, for tests of plans with random programs */
#ifndef MPK_TESTS_UNIT_PLAN_COMPARE_H
#define MPK_TESTS_UNIT_PLAN_COMPARE_H

#include <stddef.h>

#include "harness.h"
#include "value/value.h"

enum { TENSORS_MAX = 64 };

HARNESS_FN bool same_tensors(const struct mpk_tensor *a, const struct mpk_tensor *b)
{
	size_t extents = (size_t)a->dl.ndim * sizeof(int64_t);

	return a->dl.ndim == b->dl.ndim && a->bytes == b->bytes &&
	       mpk_dtype_equal(a->dl.dtype, b->dl.dtype) &&
	       (!extents || memcmp(a->dl.shape, b->dl.shape, extents) == 0) &&
	       (!a->bytes || memcmp(mpk_dltensor_data(&a->dl), mpk_dltensor_data(&b->dl),
				    (size_t)a->bytes) == 0);
}

HARNESS_FN bool same_values(const struct mpk_value *a, const struct mpk_value *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == MPK_VALUE_TENSOR)
		return same_tensors(a->tensor, b->tensor);
	if (a->kind == MPK_VALUE_SHAPE)
		return a->shape->ndim == b->shape->ndim &&
		       (!a->shape->ndim || memcmp(a->shape->extents, b->shape->extents,
						  a->shape->ndim * sizeof(int64_t)) == 0);
	if (a->kind == MPK_VALUE_ARRAY) {
		bool same = a->array->count == b->array->count;

		for (size_t i = 0; same && i < a->array->count; i++)
			same = same_values(&a->array->items[i], &b->array->items[i]);
		return same;
	}
	return a->kind == MPK_VALUE_NONE || (a->kind == MPK_VALUE_INT && a->integer == b->integer);
}

struct tensors {
	const struct mpk_tensor *items[TENSORS_MAX];
	size_t count;
};

HARNESS_FN void collect(const struct mpk_value *v, struct tensors *out)
{
	if (v->kind == MPK_VALUE_TENSOR && v->tensor->bytes && out->count < TENSORS_MAX)
		out->items[out->count++] = v->tensor;
	for (size_t i = 0; v->kind == MPK_VALUE_ARRAY && i < v->array->count; i++)
		collect(&v->array->items[i], out);
}

/* How far b lies behind a where they share bytes; else something that is no distance. */
HARNESS_FN ptrdiff_t distance(const struct mpk_tensor *a, const struct mpk_tensor *b)
{
	const uint8_t *x = mpk_dltensor_data(&a->dl), *y = mpk_dltensor_data(&b->dl);

	return y < x + a->bytes && x < y + b->bytes ? y - x : PTRDIFF_MAX;
}

HARNESS_FN bool same_places(const struct tensors *x, const struct tensors *y)
{
	for (size_t i = 0; i < x->count; i++)
		for (size_t k = 0; k < i; k++)
			if (distance(x->items[i], x->items[k]) !=
			    distance(y->items[i], y->items[k]))
				return false;
	return x->count == y->count;
}

HARNESS_FN uint64_t number_of(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

#endif
