/* SPDX-License-Identifier: Apache-2.0 */
/* select.c - builtins whose results' sizes depend on data: nonzero, unique
 *
 * TVM implements them in its Python package with NumPy, so its other runtimes cannot load models
 * that use them. Results equal NumPy's with two exceptions: NaN equals NaN in rows too, and the
 * inverse indexes have one dimension, as in the model's type. */
#include <stdlib.h>
#include <string.h>

#include "base/native.h"
#include "executor/contrib/contrib.h"
#include "executor/relax/internal/relax.h"
#include "runtime/devices.h"
#include "runtime/runtime.h"
#include "value/element.h"

static const struct mpk_dtype i64 = { MPK_DTYPE_INT, 64, 1 };

static void drop_taken(struct mpk_tensor *const *t)
{
	mpk_tensor_drop(*t);
}

/* Returns a tensor as contiguous numbers in host memory; from a device they are copied. As in TVM,
 * the result is then in host memory too.
 * @out     one reference */
static enum mpk_code take_tensor(const char *name, const struct mpk_value *args,
				 struct mpk_tensor **out, struct mpk_error *err)
{
	struct mpk_runtime *runtime = mpk_context_get().runtime;
	struct mpk_tensor *t;
	char type[MPK_DTYPE_TEXT];

	MPK_TRY(mpk_relax_tensor(name, args, 0, &t, err));
	if (!mpk_element_is_plain(t->dl.dtype))
		return mpk_relax_raise(err, "TypeError", "%s: a tensor of type %s", name,
				       mpk_dtype_print(t->dl.dtype, type));
	if (!mpk_dltensor_is_compact(&t->dl) || (t->bytes && !t->dl.data))
		return mpk_relax_raise(err, "TypeError", "%s takes a contiguous tensor", name);
	if (!mpk_dldevice_is_host(t->dl.device) && runtime)
		return mpk_devices_copy_to_host(mpk_runtime_devices(runtime), &t->dl, out, err);
	*out = mpk_tensor_hold(t);
	return MPK_OK;
}

/* --- nonzero ------------------------------------------------------------------------------- */

static bool is_zero(struct mpk_dtype t, const uint8_t *p)
{
	struct mpk_element e = mpk_element_load(t, p);

	switch (e.class) {
	case MPK_ELEMENT_FLOAT:
		return e.f == 0;
	case MPK_ELEMENT_UINT:
		return e.u == 0;
	case MPK_ELEMENT_BOOL:
	case MPK_ELEMENT_INT:
	case MPK_ELEMENT_NONE:
		break;
	}
	return e.i == 0;
}

/* Stores the coordinates of element `at`, one in each row of out. */
static void put_position(const struct mpk_dltensor *dl, uint64_t at, int64_t *out, int64_t columns)
{
	for (int32_t d = dl->ndim; d-- > 0;) {
		out[d * columns] = (int64_t)(at % (uint64_t)dl->shape[d]);
		at /= (uint64_t)dl->shape[d];
	}
	if (dl->ndim == 0)
		out[0] = 0;
}

static enum mpk_code nonzero(const struct mpk_value *args, size_t count, struct mpk_value *result,
			     struct mpk_error *err)
{
	static const char name[] = "relax.run.nonzero";
	MPK_CLEANUP(drop_taken) struct mpk_tensor *x = NULL;
	struct mpk_tensor *positions;
	const uint8_t *data;
	int64_t shape[2] = { 1, 0 }, column = 0;
	size_t width;

	MPK_TRY(mpk_relax_arity(name, count, 1, 1, err));
	MPK_TRY(take_tensor(name, args, &x, err));
	data = mpk_dltensor_data(&x->dl);
	width = mpk_dtype_bytes(x->dl.dtype);
	if (x->dl.ndim)
		shape[0] = x->dl.ndim;
	/* counts first, because the count is the number of columns of the result */
	for (uint64_t i = 0; i < mpk_tensor_count(x); i++)
		shape[1] += !is_zero(x->dl.dtype, data + i * width);
	MPK_TRY(mpk_tensor_create(i64, shape, 2, MPK_STORAGE_PRIVATE, &positions, err));
	for (uint64_t i = 0; i < mpk_tensor_count(x); i++)
		if (!is_zero(x->dl.dtype, data + i * width))
			put_position(&x->dl, i, (int64_t *)positions->dl.data + column++, shape[1]);
	*result = mpk_value_of_tensor(positions);
	return MPK_OK;
}

/* --- unique -------------------------------------------------------------------------------- */

/* A tensor as slices along an axis; without an axis each element is a slice. */
struct slices {
	const struct mpk_tensor *x;
	size_t count, outer, inner; /* number of slices; each has outer * inner elements */
	int32_t axis;               /* -1: no axis */
};

/* A set of equal slices. */
struct group {
	size_t first; /* index of the first one in x */
	size_t count;
};

struct distinct {
	struct group *groups;
	size_t *group_of; /* group of each slice */
	size_t count;
};

static void distinct_fini(struct distinct *d)
{
	free(d->groups);
	free(d->group_of);
}

static const uint8_t *element(const struct slices *s, size_t slice, size_t i)
{
	size_t at = (i / s->inner * s->count + slice) * s->inner + i % s->inner;

	return (const uint8_t *)mpk_dltensor_data(&s->x->dl) + at * mpk_dtype_bytes(s->x->dl.dtype);
}

static uint64_t key(const struct slices *s, size_t slice, size_t i)
{
	return mpk_order_key(s->x->dl.dtype, element(s, slice, i), false);
}

static bool select_is_same(const struct slices *s, size_t a, size_t b)
{
	size_t i = 0;

	while (i < s->outer * s->inner && key(s, a, i) == key(s, b, i))
		i++;
	return i == s->outer * s->inner;
}

static enum mpk_code find_distinct(const struct slices *s, bool sorted, struct distinct *out,
				   struct mpk_error *err)
{
	struct mpk_order_item *items = calloc(s->count + 1, sizeof *items);
	struct mpk_order_item *scratch = calloc(s->count + 1, sizeof *scratch);
	struct group *groups = calloc(s->count + 1, sizeof *groups);
	size_t *order = calloc(s->count + 1, sizeof *order);
	bool room;

	out->groups = calloc(s->count + 1, sizeof *out->groups);
	out->group_of = calloc(s->count + 1, sizeof *out->group_of);
	room = items && scratch && groups && order && out->groups && out->group_of;
	if (room) {
		/* Sorts slices by each element, the last one first; the sort is stable. Afterwards items[i].index
		 * is a slice. */
		for (size_t i = 0; i < s->count; i++)
			order[i] = i;
		for (size_t e = s->outer * s->inner; e-- > 0;) {
			for (size_t i = 0; i < s->count; i++)
				items[i] = (struct mpk_order_item){ key(s, order[i], e), i };
			mpk_order_sort(items, scratch, s->count, s->count);
			for (size_t i = 0; i < s->count; i++)
				scratch[i].index = order[items[i].index];
			for (size_t i = 0; i < s->count; i++)
				order[i] = scratch[i].index;
		}

		/* After sorting equal slices are neighbours. */
		for (size_t i = 0; i < s->count; i++) {
			if (i == 0 || !select_is_same(s, order[i - 1], order[i]))
				out->groups[out->count++].first = order[i];
			out->groups[out->count - 1].count++;
			out->group_of[order[i]] = out->count - 1;
		}
	}
	if (room && !sorted) {
		/* Orders groups by their first slices. */
		for (size_t i = 0; i < out->count; i++)
			items[i] = (struct mpk_order_item){ out->groups[i].first, i };
		mpk_order_sort(items, scratch, out->count, out->count);
		for (size_t i = 0; i < out->count; i++) {
			groups[i] = out->groups[items[i].index];
			scratch[items[i].index].key = i;
		}
		for (size_t i = 0; i < out->count; i++)
			out->groups[i] = groups[i];
		for (size_t i = 0; i < s->count; i++)
			out->group_of[i] = scratch[out->group_of[i]].key;
	}
	free(items);
	free(scratch);
	free(groups);
	free(order);
	return room ? MPK_OK : mpk_fail_nomem(err);
}

static enum mpk_code make_values(const struct slices *s, const struct distinct *d,
				 struct mpk_value *out, struct mpk_error *err)
{
	const struct mpk_dltensor *dl = &s->x->dl;
	size_t width = mpk_dtype_bytes(dl->dtype), ndim = s->axis < 0 ? 1 : (size_t)dl->ndim;
	struct slices made = { .count = d->count, .outer = s->outer, .inner = s->inner };
	int64_t shape[MPK_TENSOR_NDIM_MAX];
	struct mpk_tensor *t;

	for (size_t i = 0; i < ndim; i++)
		shape[i] = s->axis < 0 || i == (size_t)s->axis ? (int64_t)d->count : dl->shape[i];
	MPK_TRY(mpk_tensor_create(dl->dtype, shape, ndim, MPK_STORAGE_PRIVATE, &t, err));
	made.x = t;
	for (size_t g = 0; g < d->count; g++)
		for (size_t i = 0; i < s->outer * s->inner; i++)
			memcpy((uint8_t *)(uintptr_t)element(&made, g, i),
			       element(s, d->groups[g].first, i), width);
	*out = mpk_value_of_tensor(t);
	return MPK_OK;
}

enum { INDEX, INVERSE, COUNTS, LISTS };

/* Makes one of the optional result lists. */
static enum mpk_code make_list(const struct slices *s, const struct distinct *d, int list,
			       struct mpk_value *out, struct mpk_error *err)
{
	int64_t length = (int64_t)(list == INVERSE ? s->count : d->count), *numbers;
	struct mpk_tensor *t;

	MPK_TRY(mpk_tensor_create(i64, &length, 1, MPK_STORAGE_PRIVATE, &t, err));
	numbers = t->dl.data;
	for (int64_t i = 0; i < length; i++)
		numbers[i] = (int64_t)(list == INVERSE ? d->group_of[i]
				       : list == INDEX ? d->groups[i].first
						       : d->groups[i].count);
	*out = mpk_value_of_tensor(t);
	return MPK_OK;
}

static enum mpk_code select_make_result(const struct slices *s, const struct distinct *d,
					const bool wanted[LISTS], struct mpk_value *result,
					struct mpk_error *err)
{
	size_t count = (size_t)wanted[INDEX] + wanted[INVERSE] + wanted[COUNTS], at = 1;
	MPK_CLEANUP(mpk_value_drop) struct mpk_value all = { 0 };

	if (!count)
		return make_values(s, d, result, err);
	MPK_TRY(mpk_value_of_array(1 + count, &all, err));
	MPK_TRY(make_values(s, d, &all.array->items[0], err));
	for (int i = 0; i < LISTS; i++)
		if (wanted[i])
			MPK_TRY(make_list(s, d, i, &all.array->items[at++], err));
	*result = all;
	all = (struct mpk_value){ 0 };
	return MPK_OK;
}

static enum mpk_code slices_along(const char *name, const struct mpk_tensor *x, int64_t axis,
				  struct slices *out, struct mpk_error *err)
{
	int32_t ndim = x->dl.ndim;

	if (axis < -ndim || axis >= ndim)
		return mpk_relax_raise(err, "ValueError", "%s: axis %lld of %d dimensions", name,
				       (long long)axis, ndim);
	*out = (struct slices){ .x = x, .outer = 1, .inner = 1 };
	out->axis = (int32_t)(axis < 0 ? axis + ndim : axis);
	out->count = (size_t)x->dl.shape[out->axis];
	for (int32_t i = 0; i < ndim; i++)
		if (i < out->axis)
			out->outer *= (size_t)x->dl.shape[i];
		else if (i > out->axis)
			out->inner *= (size_t)x->dl.shape[i];
	if (!out->count) /* nothing to sort */
		out->outer = out->inner = 1;
	return MPK_OK;
}

static enum mpk_code unique(const struct mpk_value *args, size_t count, struct mpk_value *result,
			    struct mpk_error *err)
{
	static const char name[] = "relax.run.unique";
	MPK_CLEANUP(distinct_fini) struct distinct d = { 0 };
	int64_t flags[1 + LISTS], axis;
	bool wanted[LISTS];
	MPK_CLEANUP(drop_taken) struct mpk_tensor *x = NULL;
	struct slices s;

	MPK_TRY(mpk_relax_arity(name, count, 5, 6, err));
	MPK_TRY(take_tensor(name, args, &x, err));
	for (size_t i = 0; i < MPK_ARRAY_COUNT(flags); i++)
		MPK_TRY(mpk_relax_int(name, args, 1 + i, &flags[i], err));
	for (size_t i = 0; i < LISTS; i++)
		wanted[i] = flags[1 + i] != 0;
	/* without an axis the elements themselves are compared */
	if (count == 6 && args[5].kind != MPK_VALUE_NONE) {
		MPK_TRY(mpk_relax_int(name, args, 5, &axis, err));
		MPK_TRY(slices_along(name, x, axis, &s, err));
	} else {
		s = (struct slices){ x, (size_t)mpk_tensor_count(x), 1, 1, -1 };
	}
	MPK_TRY(find_distinct(&s, flags[0] != 0, &d, err));
	return select_make_result(&s, &d, wanted, result, err);
}

/* --- builtins that read tensors' content: conditions, shapes from data, assertions -------------
 *
 * Their results may differ between calls with the same shapes, so a function that uses one gets no
 * plan. Content on a device is copied to the host. */

/* Reads the first `bytes` bytes of a compact tensor on any device. */
static enum mpk_code read_bytes(const struct mpk_tensor *t, void *out, size_t bytes,
				struct mpk_error *err)
{
	struct mpk_runtime *runtime = mpk_context_get().runtime;
	struct mpk_device *device;

	if (!bytes) /* an empty tensor may have no address */
		return MPK_OK;
	if (mpk_dldevice_is_host(t->dl.device)) {
		memcpy(out, mpk_dltensor_data(&t->dl), bytes);
		return MPK_OK;
	}
	if (!runtime)
		return mpk_fail(err, MPK_E_INTERNAL, "a tensor is read outside of any call");
	MPK_TRY(mpk_devices_get(mpk_runtime_devices(runtime), t->dl.device, &device, err));
	return mpk_device_read(device, t->dl.data, t->dl.byte_offset, out, bytes, err);
}

/* Reads an integer of 1 to 8 bytes. */
static int64_t integer_at(const uint8_t *p, struct mpk_dtype t)
{
	size_t bytes = mpk_dtype_bytes(t);
	uint64_t bits = mpk_native_load(p, bytes); /* in the machine's byte order */

	/* extends the sign to 64 bits */
	if (t.code == MPK_DTYPE_INT && bytes < 8 && bits >> (8 * bytes - 1))
		bits |= ~UINT64_C(0) << (8 * bytes);
	return (int64_t)bits;
}

/* Whether a condition or an extent may have the type; bool is uint1 or 8 bits. */
static bool data_is_integer(struct mpk_dtype t)
{
	return t.lanes == 1 &&
	       (t.code == MPK_DTYPE_INT || t.code == MPK_DTYPE_UINT || t.code == MPK_DTYPE_BOOL) &&
	       (t.bits == 1 || t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64);
}

static enum mpk_code read_if_cond(const struct mpk_value *args, size_t count,
				  struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.read_if_cond";
	uint8_t raw[8] = { 0 };
	struct mpk_tensor *t;
	char type[MPK_DTYPE_TEXT];

	MPK_TRY(mpk_relax_arity(name, count, 1, 1, err));
	if (args[0].kind == MPK_VALUE_INT || args[0].kind == MPK_VALUE_BOOL) {
		int64_t value;

		MPK_TRY(mpk_relax_int(name, args, 0, &value, err));
		*result = mpk_value_of_bool(value != 0);
		return MPK_OK;
	}
	MPK_TRY(mpk_relax_tensor(name, args, 0, &t, err));
	if (!data_is_integer(t->dl.dtype) || !t->bytes)
		return mpk_relax_raise(err, "TypeError", "%s: a condition of type %s%s", name,
				       mpk_dtype_print(t->dl.dtype, type),
				       t->bytes ? "" : " without elements");
	MPK_TRY(read_bytes(t, raw, mpk_dtype_bytes(t->dl.dtype), err));
	*result = mpk_value_of_bool(integer_at(raw, t->dl.dtype) != 0);
	return MPK_OK;
}

static enum mpk_code tensor_to_shape(const struct mpk_value *args, size_t count,
				     struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "vm.builtin.tensor_to_shape";
	MPK_CLEANUP(mpk_value_drop) struct mpk_value v = { 0 };
	struct mpk_tensor *t;
	char type[MPK_DTYPE_TEXT];

	MPK_TRY(mpk_relax_arity(name, count, 1, 1, err));
	MPK_TRY(mpk_relax_tensor(name, args, 0, &t, err));
	const struct mpk_dltensor *dl = &t->dl;

	if (dl->ndim != 1 || dl->dtype.code != MPK_DTYPE_INT || dl->dtype.lanes != 1 ||
	    (dl->dtype.bits != 16 && dl->dtype.bits != 32 && dl->dtype.bits != 64) ||
	    !mpk_dltensor_is_compact(dl))
		return mpk_relax_raise(err, "TypeError", "%s: a shape of type %s and %d dimensions",
				       name, mpk_dtype_print(dl->dtype, type), dl->ndim);
	MPK_TRY(mpk_value_of_shape(NULL, (size_t)dl->shape[0], &v, err));
	MPK_TRY(read_bytes(t, v.shape->extents, (size_t)t->bytes, err));
	/* last one first: the numbers are not wider than the extents that replace them in the same memory */
	for (size_t i = v.shape->ndim; i-- > 0;)
		v.shape->extents[i] = integer_at(
			(const uint8_t *)v.shape->extents + i * (dl->dtype.bits / 8u), dl->dtype);
	*result = v;
	v.kind = MPK_VALUE_NONE;
	return MPK_OK;
}

static enum mpk_code shape_to_tensor(const struct mpk_value *args, size_t count,
				     struct mpk_value *result, struct mpk_error *err)
{
	static const char name[] = "relax.run.shape_to_tensor";
	struct mpk_tensor *t;
	int64_t length;

	MPK_TRY(mpk_relax_arity(name, count, 1, 1, err));
	if (args[0].kind != MPK_VALUE_SHAPE)
		return mpk_relax_raise(err, "TypeError", "%s: argument 0 must be a shape", name);
	length = (int64_t)args[0].shape->ndim;
	MPK_TRY(mpk_tensor_create(i64, &length, 1, MPK_STORAGE_PRIVATE, &t, err));
	if (length)
		memcpy(t->dl.data, args[0].shape->extents, (size_t)t->bytes);
	*result = mpk_value_of_tensor(t);
	return MPK_OK;
}

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_select(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_select_builtins = { rows, MPK_ARRAY_COUNT(rows) };
