/* SPDX-License-Identifier: Apache-2.0 */
/* contrib.c - shared code of these functions: arguments, errors, and sorting
 *
 * Compiled code passes arguments from the model, so each argument's kind is checked. Errors begin
 * with the name of a Python exception, like those of TVM's own functions. */
#include "executor/contrib/contrib.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "value/element.h"

/* --- arguments -------------------------------------------------------------------------------- */

enum mpk_code(mpk_contrib_raise)(const struct mpk_contrib_args *a, struct mpk_error *err,
				 const char *kind, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return mpk_fail(err, MPK_E_RAISED, "%s: %s: %s", kind, a->name, text);
}

enum mpk_code mpk_contrib_arity(const struct mpk_contrib_args *a, size_t least, size_t most,
				struct mpk_error *err)
{
	if (a->count >= least && a->count <= most)
		return MPK_OK;
	return mpk_contrib_raise(a, err, "TypeError", "got %zu arguments", a->count);
}

static enum mpk_code wrong_kind(const struct mpk_contrib_args *a, size_t i, const char *wanted,
				struct mpk_error *err)
{
	return mpk_contrib_raise(a, err, "TypeError", "argument %zu must be %s, not %s", i, wanted,
				 mpk_value_kind_name(a->values[i].kind));
}

enum mpk_code mpk_contrib_int(const struct mpk_contrib_args *a, size_t i, int64_t *out,
			      struct mpk_error *err)
{
	if (a->values[i].kind == MPK_VALUE_INT)
		*out = a->values[i].integer;
	else if (a->values[i].kind == MPK_VALUE_BOOL)
		*out = a->values[i].boolean;
	else
		return wrong_kind(a, i, "an int", err);
	return MPK_OK;
}

enum mpk_code mpk_contrib_float(const struct mpk_contrib_args *a, size_t i, double *out,
				struct mpk_error *err)
{
	int64_t number;

	if (a->values[i].kind == MPK_VALUE_FLOAT) {
		*out = a->values[i].real;
		return MPK_OK;
	}
	if (a->values[i].kind != MPK_VALUE_INT && a->values[i].kind != MPK_VALUE_BOOL)
		return wrong_kind(a, i, "a float", err);
	MPK_TRY(mpk_contrib_int(a, i, &number, err));
	*out = (double)number;
	return MPK_OK;
}

enum mpk_code mpk_contrib_tensor(const struct mpk_contrib_args *a, size_t i,
				 struct mpk_tensor **out, struct mpk_error *err)
{
	if (a->values[i].kind != MPK_VALUE_TENSOR)
		return wrong_kind(a, i, "a tensor", err);
	*out = a->values[i].tensor;
	if ((*out)->bytes && !(*out)->dl.data)
		return mpk_contrib_raise(a, err, "ValueError", "argument %zu has no memory", i);
	return MPK_OK;
}

/* --- elements in order: keys, merge sort, and a heap ------------------------------------------- */

/* TVM's sorting functions are stable, and NaN must have a fixed place, or results would differ
 * between runs. So every element becomes a 64-bit key in the order of the numbers, with the index
 * as a tie-breaker. Then one comparison of integers serves all types. */

uint64_t mpk_order_key(struct mpk_dtype t, const void *element, bool descending)
{
	static const uint64_t sign = UINT64_C(1) << 63;
	struct mpk_element e = mpk_element_load(t, element);
	double number = e.f == 0 ? 0 : e.f; /* makes -0 a 0 */
	uint64_t key = e.u;

	switch (e.class) {
	case MPK_ELEMENT_BOOL:
	case MPK_ELEMENT_INT:
		/* two's complement with the sign bit inverted: -1 comes before 0 */
		key = (uint64_t)e.i ^ sign;
		break;
	case MPK_ELEMENT_FLOAT:
		if (isnan(number))
			return UINT64_MAX;
		memcpy(&key, &number, sizeof key);
		/* IEEE 754 is sign and magnitude: inverts negative numbers, and sets the top bit of others */
		key = key & sign ? ~key : key | sign;
		break;
	case MPK_ELEMENT_UINT:
	case MPK_ELEMENT_NONE:
		break;
	}
	return descending ? ~key : key;
}

static bool is_before(const struct mpk_order_item *a, const struct mpk_order_item *b)
{
	return a->key < b->key || (a->key == b->key && a->index < b->index);
}

/* --- all ----------------------------------------------------------------------------------- */

/* Runs of this length are sorted by insertion, which is faster for short lists, and then merged. */
enum { RUN = 16 };

static void insert_all(struct mpk_order_item *items, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct mpk_order_item item = items[i];
		size_t at = i;

		for (; at > 0 && is_before(&item, &items[at - 1]); at--)
			items[at] = items[at - 1];
		items[at] = item;
	}
}

/* Merges two sorted lists, the second directly after the first, into out. */
static void merge(const struct mpk_order_item *a, size_t a_count, size_t b_count,
		  struct mpk_order_item *out)
{
	const struct mpk_order_item *b = a + a_count, *a_end = b, *b_end = b + b_count;

	while (a < a_end && b < b_end)
		*out++ = is_before(b, a) ? *b++ : *a++;
	while (a < a_end)
		*out++ = *a++;
	while (b < b_end)
		*out++ = *b++;
}

/* Merges runs from one array into the other and back. */
static void sort_all(struct mpk_order_item *items, struct mpk_order_item *scratch, size_t count)
{
	struct mpk_order_item *from = items, *to = scratch;

	for (size_t at = 0; at < count; at += RUN)
		insert_all(items + at, count - at < RUN ? count - at : RUN);
	for (size_t run = RUN; run < count; run *= 2) {
		for (size_t at = 0; at < count; at += 2 * run) {
			size_t left = count - at, a = left < run ? left : run;

			merge(from + at, a, left - a < run ? left - a : run, to + at);
		}
		struct mpk_order_item *swap = from;

		from = to;
		to = swap;
	}
	if (from != items && count)
		memcpy(items, from, count * sizeof *items);
}

/* --- the first few ------------------------------------------------------------------------- */

/* Moves the item at `at` down until all items below it sort before it: the root is the last in
 * order. */
static void sink(struct mpk_order_item *heap, size_t count, size_t at)
{
	struct mpk_order_item item = heap[at];

	for (size_t below = 2 * at + 1; below < count; below = 2 * at + 1) {
		if (below + 1 < count && is_before(&heap[below], &heap[below + 1]))
			below++;
		if (!is_before(&item, &heap[below]))
			break;
		heap[at] = heap[below];
		at = below;
	}
	heap[at] = item;
}

void mpk_order_sort(struct mpk_order_item *items, struct mpk_order_item *scratch, size_t count,
		    size_t some)
{
	if (some > count / 8) { /* a heap is not faster than sorting then */
		sort_all(items, scratch, count);
		return;
	}
	/* makes a heap of the first `some` items with the last in order at its root; each later item that
	 * sorts before the root replaces it */
	for (size_t at = some / 2; at-- > 0;)
		sink(items, some, at);
	for (size_t i = some; some && i < count; i++)
		if (is_before(&items[i], &items[0])) {
			items[0] = items[i];
			sink(items, some, 0);
		}
	sort_all(items, scratch, some);
}
