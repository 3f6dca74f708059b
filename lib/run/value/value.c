/* SPDX-License-Identifier: Apache-2.0 */
#include "value/value.h"

#include <stdlib.h>
#include <string.h>

#include "value/function.h"
#include "value/module.h"

const char *mpk_value_kind_name(enum mpk_value_kind kind)
{
	static const char *const names[MPK_VALUE_KIND_COUNT] = {
		[MPK_VALUE_NONE] = "none",       [MPK_VALUE_BOOL] = "bool",
		[MPK_VALUE_INT] = "int",         [MPK_VALUE_FLOAT] = "float",
		[MPK_VALUE_STR] = "str",         [MPK_VALUE_BYTES] = "bytes",
		[MPK_VALUE_SHAPE] = "shape",     [MPK_VALUE_DTYPE] = "dtype",
		[MPK_VALUE_DEVICE] = "device",   [MPK_VALUE_TENSOR] = "tensor",
		[MPK_VALUE_STORAGE] = "storage", [MPK_VALUE_ARRAY] = "array",
		[MPK_VALUE_OPAQUE] = "pointer",  [MPK_VALUE_FUNCTION] = "function",
		[MPK_VALUE_MODULE] = "module",   [MPK_VALUE_OBJECT] = "object",
	};

	return (size_t)kind < MPK_ARRAY_COUNT(names) ? names[kind] : "unknown";
}

enum mpk_code mpk_value_of_text(enum mpk_value_kind kind, struct mpk_span s, struct mpk_value *out,
				struct mpk_error *err)
{
	struct mpk_text *text = malloc(sizeof *text + s.len + 1);

	MPK_TRY_ALLOC(text, err);
	atomic_init(&text->refs, 1);
	text->len = s.len;
	if (s.len)
		memcpy(text->data, s.data, s.len);
	text->data[s.len] = '\0';
	*out = (struct mpk_value){ .kind = kind, .text = text };
	return MPK_OK;
}

enum mpk_code mpk_value_of_shape(const int64_t *extents, size_t ndim, struct mpk_value *out,
				 struct mpk_error *err)
{
	struct mpk_shape *shape = malloc(sizeof *shape + ndim * sizeof extents[0]);

	MPK_TRY_ALLOC(shape, err);
	atomic_init(&shape->refs, 1);
	shape->ndim = ndim;
	if (ndim)
		memcpy(shape->extents, extents, ndim * sizeof extents[0]);
	*out = (struct mpk_value){ .kind = MPK_VALUE_SHAPE, .shape = shape };
	return MPK_OK;
}

enum mpk_code mpk_value_of_array(size_t count, struct mpk_value *out, struct mpk_error *err)
{
	struct mpk_array *array = calloc(1, sizeof *array + count * sizeof array->items[0]);

	MPK_TRY_ALLOC(array, err);
	atomic_init(&array->refs, 1);
	array->count = count;
	*out = (struct mpk_value){ .kind = MPK_VALUE_ARRAY, .array = array };
	return MPK_OK;
}

static void hold(atomic_uint *refs)
{
	(void)atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

/* true when that was the last reference */
static bool drop(atomic_uint *refs)
{
	return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

struct mpk_value mpk_value_hold(struct mpk_value v)
{
	switch (v.kind) {
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
		hold(&v.text->refs);
		break;
	case MPK_VALUE_SHAPE:
		hold(&v.shape->refs);
		break;
	case MPK_VALUE_TENSOR:
		(void)mpk_tensor_hold(v.tensor);
		break;
	case MPK_VALUE_STORAGE:
		(void)mpk_storage_hold(v.storage);
		break;
	case MPK_VALUE_MODULE:
		(void)mpk_module_hold(v.module);
		break;
	case MPK_VALUE_ARRAY:
		hold(&v.array->refs);
		break;
	case MPK_VALUE_FUNCTION:
		(void)mpk_function_hold(v.function);
		break;
	case MPK_VALUE_OBJECT:
		hold(&v.object->refs);
		break;
	case MPK_VALUE_NONE:
	case MPK_VALUE_BOOL:
	case MPK_VALUE_INT:
	case MPK_VALUE_FLOAT:
	case MPK_VALUE_DTYPE:
	case MPK_VALUE_DEVICE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
	return v;
}

/* Arrays nest as deep as a program makes them (a list is a pair of a head and a list). One that dies
 * while another of this thread is being freed waits for its turn, so that nothing recurses. */
static _Thread_local struct {
	struct mpk_array *arrays;
	bool is_freeing;
} pending;

static void array_drop(struct mpk_array *array)
{
	if (!drop(&array->refs))
		return;
	array->next_doomed = pending.arrays;
	pending.arrays = array;
	if (pending.is_freeing)
		return;
	pending.is_freeing = true;
	while (pending.arrays) {
		array = pending.arrays;
		pending.arrays = array->next_doomed;
		for (size_t i = 0; i < array->count; i++)
			mpk_value_drop(&array->items[i]);
		free(array);
	}
	pending.is_freeing = false;
}

void mpk_value_drop(struct mpk_value *v)
{
	struct mpk_value old = *v;

	*v = (struct mpk_value){ 0 };
	switch (old.kind) {
	case MPK_VALUE_STR:
	case MPK_VALUE_BYTES:
		if (drop(&old.text->refs))
			free(old.text);
		break;
	case MPK_VALUE_SHAPE:
		if (drop(&old.shape->refs))
			free(old.shape);
		break;
	case MPK_VALUE_TENSOR:
		mpk_tensor_drop(old.tensor);
		break;
	case MPK_VALUE_STORAGE:
		mpk_storage_drop(old.storage);
		break;
	case MPK_VALUE_MODULE:
		mpk_module_drop(old.module);
		break;
	case MPK_VALUE_ARRAY:
		array_drop(old.array);
		break;
	case MPK_VALUE_FUNCTION:
		mpk_function_drop(old.function);
		break;
	case MPK_VALUE_OBJECT:
		if (drop(&old.object->refs))
			old.object->release(old.object);
		break;
	case MPK_VALUE_NONE:
	case MPK_VALUE_BOOL:
	case MPK_VALUE_INT:
	case MPK_VALUE_FLOAT:
	case MPK_VALUE_DTYPE:
	case MPK_VALUE_DEVICE:
	case MPK_VALUE_OPAQUE:
	case MPK_VALUE_KIND_COUNT:
		break;
	}
}
