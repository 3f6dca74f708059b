/* SPDX-License-Identifier: Apache-2.0 */
/* recording.c - what a recorder gathers: storages by their address, tensors each once
 *
 * A tensor object is made anew for each step that makes a view, so that two objects may be one tensor
 * of the plan. They are compared by type, shape and place; each tensor of a tape costs time when its
 * address is patched, so that it pays to have it once.
 */
#include "executor/plan/internal/plans.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* A tensor is mostly passed on to one of the next kernels. */
enum { LOOK_BACK = 64 };

void mpk_recording_free(struct mpk_recording *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->tensor_count; i++)
		mpk_tensor_drop(r->tensors[i].tensor);
	for (size_t i = 0; i < r->step_count; i++) {
		mpk_function_drop(r->steps[i].function);
		for (size_t k = 0; k < r->steps[i].count; k++)
			mpk_value_drop(&r->steps[i].values[k]);
		free(r->steps[i].values);
	}
	mpk_value_drop(&r->result);
	mpk_plan_key_fini(&r->key);
	free(r->tensors);
	free(r->storages);
	free(r->steps);
	free(r);
}

/* --- where storages came from --------------------------------------------------------------- */

/* Open addressing: the entry of a storage, or the free one where it belongs. Storages are
 * aligned, so that the low bits of their addresses say nothing. */
static struct mpk_origin_entry *entry_of(struct mpk_origin_entry *table, size_t cap,
					 const struct mpk_storage *s)
{
	size_t at = ((uintptr_t)s >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20 & (cap - 1);

	while (table[at].storage && table[at].storage != s)
		at = (at + 1) & (cap - 1);
	return &table[at];
}

static bool grow_origins(struct mpk_origins *o)
{
	size_t cap = o->cap ? 2 * o->cap : 64;
	struct mpk_origin_entry *table = calloc(cap, sizeof *table);

	if (!table)
		return false;
	for (size_t i = 0; i < o->cap; i++)
		if (o->items[i].storage)
			*entry_of(table, cap, o->items[i].storage) = o->items[i];
	free(o->items);
	o->items = table;
	o->cap = cap;
	return true;
}

bool mpk_origin_put(struct mpk_origins *o, const struct mpk_origin_entry *known)
{
	struct mpk_origin_entry *e;

	if (2 * o->count >= o->cap && !grow_origins(o))
		return false;
	e = entry_of(o->items, o->cap, known->storage);
	o->count += !e->storage;
	*e = *known;
	return true;
}

struct mpk_origin_entry mpk_origin_get(const struct mpk_origins *o,
				       const struct mpk_storage *storage)
{
	if (!storage || !o->cap)
		return (struct mpk_origin_entry){ 0 };
	return *entry_of(o->items, o->cap, storage);
}

/* --- tensors ------------------------------------------------------------------------------- */

static bool same_extents(const int64_t *a, const int64_t *b, int32_t ndim)
{
	if (!a || !b)
		return a == b;
	return ndim == 0 || memcmp(a, b, (size_t)ndim * sizeof *a) == 0;
}

/* Whether a tensor of the call is one that the recording has. */
static bool recording_is_same(const struct mpk_recorded_tensor *have, const struct mpk_tensor *t,
			      enum mpk_plan_source source, uint32_t index)
{
	const struct mpk_dltensor *a = &have->tensor->dl, *b = &t->dl;

	if (have->source != source || have->index != index || a->ndim != b->ndim ||
	    !mpk_dtype_equal(a->dtype, b->dtype) || a->byte_offset != b->byte_offset)
		return false;
	/* constants have no index that tells one storage from another */
	if (source == MPK_PLAN_CONSTANT && have->tensor->storage != t->storage)
		return false;
	return same_extents(a->shape, b->shape, a->ndim) &&
	       same_extents(a->strides, b->strides, a->ndim);
}

/* The content of a tensor in the host's memory, as it is now: the call may give the tensor away. */
static bool snapshot(const struct mpk_tensor *t, struct mpk_tensor **out)
{
	if (mpk_tensor_create(t->dl.dtype, t->dl.shape, (size_t)t->dl.ndim, MPK_STORAGE_PRIVATE,
			      out, NULL) != MPK_OK)
		return false;
	mpk_tensor_copy_from(*out, &t->dl);
	return true;
}

bool mpk_recording_tensor(struct mpk_recording *r, const struct mpk_tensor *t,
			  enum mpk_plan_source source, uint32_t index, bool known, uint32_t *out)
{
	struct mpk_recorded_tensor made = { .source = source, .index = index };
	size_t oldest = r->tensor_count > LOOK_BACK ? r->tensor_count - LOOK_BACK : 0;

	for (size_t i = r->tensor_count; !known && i > oldest; i--)
		if (recording_is_same(&r->tensors[i - 1], t, source, index)) {
			*out = (uint32_t)(i - 1);
			return true;
		}
	if (!mpk_vec_reserve(&r->tensors, &r->tensor_cap, r->tensor_count + 1, sizeof *r->tensors))
		return false;
	/* inputs and what lies in slots get their address when they run */
	if (known ? !snapshot(t, &made.tensor)
		  : mpk_tensor_wrap(&t->dl, source == MPK_PLAN_CONSTANT ? t->storage : NULL,
				    &made.tensor, NULL) != MPK_OK)
		return false;
	*out = (uint32_t)r->tensor_count;
	r->tensors[r->tensor_count++] = made;
	return true;
}
