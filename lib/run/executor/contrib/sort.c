/* SPDX-License-Identifier: Apache-2.0 */
/* sort.c - sorts lists along an axis of a tensor: tvm.contrib.sort.*
 *
 * Elements of a list are `after` elements apart. Each list is read into items, sorted by key, and
 * written as values or indexes to outputs, whose axis may be shorter. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "executor/contrib/contrib.h"
#include "value/element.h"

/* The lists along an axis: element k of list (i, j) has the index (i * length + k) * after + j. */
struct lists {
	size_t before, length, after;
};

/* State of a call, which sorts one list after the other. */
struct sorting {
	struct mpk_contrib_args args;
	struct mpk_tensor *in;
	struct lists lists;
	bool descending;
	struct mpk_order_item *items, *scratch; /* lists.length elements each */
};

static void sorting_fini(struct sorting *s)
{
	free(s->items);
	free(s->scratch);
}

static size_t product(const int64_t *extents, int64_t count)
{
	size_t n = 1;

	for (int64_t i = 0; i < count; i++)
		n *= (size_t)extents[i];
	return n;
}

static enum mpk_code take_axis(struct sorting *s, size_t i, struct mpk_error *err)
{
	const struct mpk_dltensor *dl = &s->in->dl;
	int64_t axis;

	MPK_TRY(mpk_contrib_int(&s->args, i, &axis, err));
	if (axis < -dl->ndim || axis >= dl->ndim)
		return mpk_contrib_raise(&s->args, err, "ValueError",
					 "axis %" PRId64 " of a tensor of %d dimensions", axis,
					 dl->ndim);
	if (axis < 0)
		axis += dl->ndim;
	if (!s->in->bytes)
		return MPK_OK; /* there are no lists; their length may be any number */
	s->lists = (struct lists){ product(dl->shape, axis), (size_t)dl->shape[axis],
				   product(dl->shape + axis + 1, dl->ndim - axis - 1) };
	return MPK_OK;
}

/* Gets an argument that must be a compact numeric tensor in host memory. */
static enum mpk_code numbers_arg(const struct mpk_contrib_args *a, size_t i,
				 struct mpk_tensor **out, struct mpk_error *err)
{
	char type[MPK_DTYPE_TEXT];
	struct mpk_tensor *t;

	MPK_TRY(mpk_contrib_tensor(a, i, &t, err));
	if (!mpk_dldevice_is_host(t->dl.device))
		return mpk_contrib_raise(a, err, "TypeError", "argument %zu must be in host memory",
					 i);
	if (!mpk_dltensor_is_compact(&t->dl))
		return mpk_contrib_raise(a, err, "TypeError", "argument %zu must be compact", i);
	if (!mpk_element_is_plain(t->dl.dtype))
		return mpk_contrib_raise(a, err, "TypeError",
					 "argument %zu must be numbers, not %s", i,
					 mpk_dtype_print(t->dl.dtype, type));
	*out = t;
	return MPK_OK;
}

/* Reads the first argument, the input; then the axis; and the direction, which is the last of the
 * `following` arguments after the axis. */
static enum mpk_code sort_begin(struct sorting *s, const char *name, const struct mpk_args *args,
				size_t axis, size_t following, struct mpk_error *err)
{
	struct mpk_tensor *in;
	int64_t ascend;

	s->args = (struct mpk_contrib_args){ name, args->values, args->count };
	MPK_TRY(mpk_contrib_arity(&s->args, axis + 1 + following, axis + 1 + following, err));
	MPK_TRY(numbers_arg(&s->args, 0, &in, err));
	s->in = in;
	MPK_TRY(take_axis(s, axis, err));
	MPK_TRY(mpk_contrib_int(&s->args, args->count - 1, &ascend, err));
	s->descending = !ascend;
	s->items = calloc(s->lists.length + 1, sizeof *s->items);
	s->scratch = calloc(s->lists.length + 1, sizeof *s->scratch);
	MPK_TRY_ALLOC(s->items && s->scratch, err);
	return MPK_OK;
}

/* Gets an output, which has the input's shape except for the extent of the axis. */
static enum mpk_code take_output(const struct sorting *s, size_t i, struct mpk_tensor **out,
				 struct mpk_error *err)
{
	MPK_TRY(numbers_arg(&s->args, i, out, err));
	if (mpk_tensor_count(*out) == mpk_tensor_count(s->in))
		return MPK_OK;
	return mpk_contrib_raise(&s->args, err, "ValueError",
				 "argument %zu has %" PRIu64 " elements, the input %" PRIu64, i,
				 mpk_tensor_count(*out), mpk_tensor_count(s->in));
}

/* Returns element k of list (i, j). */
static const uint8_t *element(const struct sorting *s, size_t i, size_t k, size_t j)
{
	size_t at = (i * s->lists.length + k) * s->lists.after + j;

	return (const uint8_t *)mpk_dltensor_data(&s->in->dl) +
	       at * mpk_dtype_bytes(s->in->dl.dtype);
}

static void take_list(const struct sorting *s, size_t i, size_t j, size_t count)
{
	for (size_t k = 0; k < count; k++)
		s->items[k] = (struct mpk_order_item){
			mpk_order_key(s->in->dl.dtype, element(s, i, k, j), s->descending), k
		};
}

static void *sort_place(const struct mpk_tensor *out, size_t at)
{
	return (uint8_t *)mpk_dltensor_data(&out->dl) + at * mpk_dtype_bytes(out->dl.dtype);
}

/* Stores an index in an output of any numeric type: models use int32, int64 and float32. */
static void store_index(const struct mpk_tensor *out, size_t at, uint64_t index)
{
	struct mpk_element e = { .class = mpk_element_class(out->dl.dtype),
				 .i = (int64_t)index,
				 .u = index,
				 .f = (double)index };

	mpk_element_store(out->dl.dtype, e, sort_place(out, at));
}

/* Stores item k of the sorted list (i, j) as element `at` of the outputs; an output may be NULL. */
static void store_item(const struct sorting *s, const struct mpk_tensor *values,
		       const struct mpk_tensor *indices, const size_t list[2], size_t k, size_t at)
{
	uint64_t index = s->items[k].index;

	if (values)
		memcpy(sort_place(values, at), element(s, list[0], index, list[1]),
		       mpk_dtype_bytes(s->in->dl.dtype));
	if (indices)
		store_index(indices, at, index);
}

/* The first `some` of each list, in order; `extent` is that of the outputs along the axis. */
static void sort_lists(const struct sorting *s, const struct mpk_tensor *values,
		       const struct mpk_tensor *indices, size_t some, size_t extent)
{
	for (size_t i = 0; i < s->lists.before; i++)
		for (size_t j = 0; j < s->lists.after; j++) {
			take_list(s, i, j, s->lists.length);
			mpk_order_sort(s->items, s->scratch, s->lists.length, some);
			for (size_t k = 0; k < some; k++)
				store_item(s, values, indices, (size_t[]){ i, j }, k,
					   (i * extent + k) * s->lists.after + j);
		}
}

/* --- the functions ------------------------------------------------------------------------- */

static enum mpk_code argsort(struct mpk_runtime *runtime, const struct mpk_args *args,
			     struct mpk_value *result, struct mpk_error *err)
{
	MPK_CLEANUP(sorting_fini) struct sorting s = { 0 };
	struct mpk_tensor *out;

	(void)runtime;
	(void)result;
	MPK_TRY(sort_begin(&s, "tvm.contrib.sort.argsort", args, 2, 1, err));
	MPK_TRY(take_output(&s, 1, &out, err));
	sort_lists(&s, NULL, out, s.lists.length, s.lists.length);
	return MPK_OK;
}

/* Values are copied byte by byte, so that the types must have the same class and width. */
static enum mpk_code same_type(const struct sorting *s, const struct mpk_tensor *out,
			       struct mpk_error *err)
{
	char in_type[MPK_DTYPE_TEXT], out_type[MPK_DTYPE_TEXT];

	if (mpk_dtype_bytes(out->dl.dtype) == mpk_dtype_bytes(s->in->dl.dtype) &&
	    mpk_element_class(out->dl.dtype) == mpk_element_class(s->in->dl.dtype))
		return MPK_OK;
	return mpk_contrib_raise(&s->args, err, "TypeError", "values of %s out of %s",
				 mpk_dtype_print(out->dl.dtype, out_type),
				 mpk_dtype_print(s->in->dl.dtype, in_type));
}

static enum mpk_code sort(struct mpk_runtime *runtime, const struct mpk_args *args,
			  struct mpk_value *result, struct mpk_error *err)
{
	MPK_CLEANUP(sorting_fini) struct sorting s = { 0 };
	struct mpk_tensor *out;

	(void)runtime;
	(void)result;
	MPK_TRY(sort_begin(&s, "tvm.contrib.sort.sort", args, 2, 1, err));
	MPK_TRY(take_output(&s, 1, &out, err));
	MPK_TRY(same_type(&s, out, err));
	sort_lists(&s, out, NULL, s.lists.length, s.lists.length);
	return MPK_OK;
}

/* Which outputs there are, by the word that says so. */
static enum mpk_code take_outputs(const struct sorting *s, struct mpk_tensor *out[2],
				  struct mpk_error *err)
{
	const struct mpk_value *word = &s->args.values[s->args.count - 2];
	struct mpk_span text = { 0 };
	size_t at = 1;

	if (word->kind == MPK_VALUE_STR)
		text = mpk_value_text_span(word);
	bool both = mpk_span_is(text, "both"), values = mpk_span_is(text, "values"),
	     indices = mpk_span_is(text, "indices");

	if ((!both && !values && !indices) || s->args.count != (both ? 7u : 6u))
		return mpk_contrib_raise(&s->args, err, "ValueError",
					 "%zu arguments do not go with what is to be returned",
					 s->args.count);
	if (both || values) {
		MPK_TRY(numbers_arg(&s->args, at++, &out[0], err));
		MPK_TRY(same_type(s, out[0], err));
	}
	if (both || indices)
		MPK_TRY(numbers_arg(&s->args, at, &out[1], err));
	return MPK_OK;
}

/* The extent of an output along the axis; all its other extents are those of the input. */
static enum mpk_code extent_of(const struct sorting *s, const struct mpk_tensor *out, size_t least,
			       size_t *extent, struct mpk_error *err)
{
	size_t lists = s->lists.before * s->lists.after;
	uint64_t count = mpk_tensor_count(out);

	if (!lists || (count % lists == 0 && count / lists >= least)) {
		*extent = lists ? (size_t)(count / lists) : 0;
		return MPK_OK;
	}
	return mpk_contrib_raise(&s->args, err, "ValueError",
				 "an output of %" PRIu64 " elements for %zu lists of %zu", count,
				 lists, least);
}

static enum mpk_code topk(struct mpk_runtime *runtime, const struct mpk_args *args,
			  struct mpk_value *result, struct mpk_error *err)
{
	MPK_CLEANUP(sorting_fini) struct sorting s = { 0 };
	static const char name[] = "tvm.contrib.sort.topk";
	struct mpk_tensor *out[2] = { NULL, NULL };
	size_t some, extent = 0, other = 0;
	int64_t k;

	(void)runtime;
	(void)result;
	s.args = (struct mpk_contrib_args){ name, args->values, args->count };
	MPK_TRY(mpk_contrib_arity(&s.args, 6, 7, err));
	MPK_TRY(sort_begin(&s, name, args, args->count - 3, 2, err));
	MPK_TRY(mpk_contrib_int(&s.args, args->count - 4, &k, err));
	MPK_TRY(take_outputs(&s, out, err));
	/* k below 1 means all, as in TVM (src/runtime/contrib/sort/sort.cc) */
	some = k < 1 || (uint64_t)k > s.lists.length ? s.lists.length : (size_t)k;
	for (int i = 0; i < 2; i++)
		if (out[i])
			MPK_TRY(extent_of(&s, out[i], some, i ? &other : &extent, err));
	/* values and indices are written in one go where their axes are of one length */
	if (out[0])
		sort_lists(&s, out[0], out[1] && other == extent ? out[1] : NULL, some, extent);
	if (out[1] && (!out[0] || other != extent))
		sort_lists(&s, NULL, out[1], some, other);
	return MPK_OK;
}

/* Only the first lengths[list] elements are sorted; each of the others keeps its place. */
static enum mpk_code argsort_nms(struct mpk_runtime *runtime, const struct mpk_args *args,
				 struct mpk_value *result, struct mpk_error *err)
{
	MPK_CLEANUP(sorting_fini) struct sorting s = { 0 };
	struct mpk_tensor *lengths, *out;

	(void)runtime;
	(void)result;
	MPK_TRY(sort_begin(&s, "tvm.contrib.sort.argsort_nms", args, 3, 1, err));
	MPK_TRY(numbers_arg(&s.args, 1, &lengths, err));
	MPK_TRY(take_output(&s, 2, &out, err));
	if (mpk_tensor_count(lengths) != s.lists.before * s.lists.after ||
	    mpk_element_class(lengths->dl.dtype) != MPK_ELEMENT_INT)
		return mpk_contrib_raise(&s.args, err, "ValueError",
					 "%" PRIu64 " lengths for %zu lists",
					 mpk_tensor_count(lengths), s.lists.before * s.lists.after);
	for (size_t i = 0; i < s.lists.before; i++)
		for (size_t j = 0; j < s.lists.after; j++) {
			int64_t length =
				mpk_element_load(lengths->dl.dtype,
						 sort_place(lengths, i * s.lists.after + j))
					.i;
			size_t count = length < 0 ? 0 : (size_t)length;

			count = count < s.lists.length ? count : s.lists.length;
			take_list(&s, i, j, count);
			mpk_order_sort(s.items, s.scratch, count, count);
			for (size_t k = 0; k < s.lists.length; k++)
				store_index(out, (i * s.lists.length + k) * s.lists.after + j,
					    k < count ? s.items[k].index : k);
		}
	return MPK_OK;
}

static const struct mpk_global rows[] = {
	{ "tvm.contrib.sort.argsort", argsort },
	{ "tvm.contrib.sort.argsort_nms", argsort_nms },
	{ "tvm.contrib.sort.sort", sort },
	{ "tvm.contrib.sort.topk", topk },
};
const struct mpk_contrib_globals mpk_contrib_sort = { rows, MPK_ARRAY_COUNT(rows) };
