/* SPDX-License-Identifier: Apache-2.0 */
/* view.c - tensors of tvm-ffi that are a part of a storage, in one block of memory */
#include <stdlib.h>

#include "abi/ffi_object.h"

/* Extents and strides follow. */
struct view_cell {
	struct mpk_dltensor dl;
	struct mpk_storage *storage; /* held */
	struct mpk_ffi_attached attached;
	size_t room; /* dimensions */
	int64_t extents[];
};

enum { VIEW_NDIM = 4 }; /* room that each has at least */

static void delete_view(void *self, int flags)
{
	struct view_cell *cell = mpk_ffi_cell(MPK_CONV_FFI, self);

	if (flags & MPK_FFI_DELETE_STRONG) {
		if (cell->attached.release)
			cell->attached.release(cell->attached.data);
		mpk_storage_drop(cell->storage);
	}
	if (flags & MPK_FFI_DELETE_WEAK)
		free(self);
}

static bool fits(const struct mpk_storage *storage, const struct mpk_dltensor *t)
{
	uint64_t bytes;

	return mpk_tensor_bytes_of(t->dtype, t->shape, (size_t)t->ndim, &bytes, NULL) == MPK_OK &&
	       t->byte_offset <= storage->bytes && bytes <= storage->bytes - t->byte_offset;
}

/* Row-major strides, as mpk_tensor_view has them; a product that does not fit is not used. */
static void fill_view(struct view_cell *cell, const struct mpk_dltensor *like)
{
	int64_t stride = 1;

	cell->dl.dtype = like->dtype;
	cell->dl.ndim = like->ndim;
	cell->dl.byte_offset = like->byte_offset;
	cell->dl.strides = cell->extents + cell->room;
	for (int32_t i = like->ndim - 1; i >= 0; i--) {
		cell->dl.shape[i] = like->shape[i];
		cell->dl.strides[i] = stride;
		if (__builtin_mul_overflow(stride, like->shape[i], &stride))
			stride = 0;
	}
}

void *mpk_ffi_make_view(struct mpk_storage *storage, const struct mpk_dltensor *like)
{
	size_t room = like->ndim > VIEW_NDIM ? (size_t)like->ndim : VIEW_NDIM;
	struct view_cell *cell;
	void *object;

	if (!fits(storage, like))
		return NULL;
	object = mpk_ffi_make(MPK_CONV_FFI, MPK_FFI_TENSOR,
			      sizeof *cell + 2 * room * sizeof cell->extents[0]);
	if (!object)
		return NULL;
	cell = mpk_ffi_cell(MPK_CONV_FFI, object);
	cell->dl.device = storage->device;
	cell->dl.data = storage->data;
	cell->dl.shape = cell->extents;
	cell->room = room;
	cell->storage = mpk_storage_hold(storage);
	fill_view(cell, like);
	mpk_ffi_set_deleter(MPK_CONV_FFI, object, delete_view, NULL);
	return object;
}

bool mpk_ffi_is_view(const void *object, const struct mpk_dltensor *like)
{
	const struct view_cell *cell =
		(const void *)((const char *)object + sizeof(struct mpk_ffi_object));
	bool same = cell->dl.ndim == like->ndim && cell->dl.byte_offset == like->byte_offset &&
		    cell->dl.dtype.code == like->dtype.code &&
		    cell->dl.dtype.bits == like->dtype.bits &&
		    cell->dl.dtype.lanes == like->dtype.lanes;

	for (int32_t i = 0; same && i < like->ndim; i++)
		same = cell->extents[i] == like->shape[i];
	return same;
}

bool mpk_ffi_change_view(void *object, const struct mpk_dltensor *like)
{
	struct view_cell *cell = mpk_ffi_cell(MPK_CONV_FFI, object);

	if ((size_t)like->ndim > cell->room || !fits(cell->storage, like))
		return false;
	fill_view(cell, like);
	return true;
}

struct mpk_ffi_attached *mpk_ffi_view_attached(void *object)
{
	struct view_cell *cell = mpk_ffi_cell(MPK_CONV_FFI, object);

	return &cell->attached;
}

struct mpk_storage *mpk_ffi_view_storage(const void *object)
{
	const struct view_cell *cell =
		(const void *)((const char *)object + sizeof(struct mpk_ffi_object));

	return mpk_ffi_has_deleter(MPK_CONV_FFI, object, delete_view, NULL) ? cell->storage : NULL;
}
