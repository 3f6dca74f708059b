/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c - tensors: their memory, shapes, strides and sizes */
#include "value/tensor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/num.h"
#include "value/element.h"

/* --- the host memory of tensors ---------------------------------------------------------------- */

/* Small blocks are allocated on the heap. Large and shared blocks have their own pages, which the
 * kernel zeroes when they are first used and takes back at once when they are freed. If the caller
 * has set an allocator, it provides all blocks. A storage is counted for its owner. */

static const struct mpk_dldevice host = { MPK_DL_CPU, 0 };

/* Returns the bytes that are counted. */
static uint64_t room_of(uint64_t bytes)
{
	uint64_t room;

	return mpk_align_up(bytes ? bytes : 1, MPK_STORAGE_ALIGN, &room) ? room : UINT64_MAX;
}

static void release_heap(struct mpk_storage *s)
{
	free(s->data);
	mpk_memory_uncount(s->owner, room_of(s->bytes), s->purpose);
	free(s);
}

static void release_pages(struct mpk_storage *s)
{
	(void)munmap(s->data, (size_t)(s->bytes ? s->bytes : 1));
	mpk_memory_uncount(s->owner, room_of(s->bytes), s->purpose);
	free(s);
}

static void release_given(struct mpk_storage *s)
{
	struct mpk_memory *m = s->owner;

	m->from.release(m->from.user, host, s->data, room_of(s->bytes));
	mpk_memory_uncount(m, room_of(s->bytes), s->purpose);
	free(s);
}

/* Zeroes the block, since aligned_alloc does not: results must not reveal earlier contents of the
 * heap. */
static enum mpk_code take_heap(struct mpk_storage *s, struct mpk_error *err)
{
	uint64_t room = room_of(s->bytes);

	s->data = aligned_alloc(MPK_STORAGE_ALIGN, (size_t)room);
	MPK_TRY_ALLOC(s->data, err);
	memset(s->data, 0, (size_t)room);
	s->release = release_heap;
	return MPK_OK;
}

static enum mpk_code take_given(struct mpk_storage *s, struct mpk_memory *m, struct mpk_error *err)
{
	uint64_t room = room_of(s->bytes);

	MPK_TRY_ALLOC(room <= SIZE_MAX / 2, err);
	s->data = m->from.allocate(m->from.user, host, room, MPK_MEMORY_ALIGN);
	MPK_TRY_ALLOC(s->data, err);
	memset(s->data, 0, (size_t)room);
	s->release = release_given;
	return MPK_OK;
}

/* MAP_SHARED pages are visible both to the child that writes outputs and to the parent that reads
 * them. */
static enum mpk_code take_pages(struct mpk_storage *s, int sharing, struct mpk_error *err)
{
	void *data = mmap(NULL, (size_t)(s->bytes ? s->bytes : 1), PROT_READ | PROT_WRITE,
			  MAP_ANONYMOUS | sharing, -1, 0);

	if (data == MAP_FAILED)
		return mpk_fail_errno(err, MPK_E_NOMEM, errno, "a tensor of %llu bytes",
				      (unsigned long long)s->bytes);
	s->data = data;
	s->release = release_pages;
	return MPK_OK;
}

/* Small outputs are not shared: a page for each would cost more than sending their bytes to the
 * parent. */
enum mpk_code mpk_storage_create(uint64_t bytes, enum mpk_storage_memory memory,
				 struct mpk_storage **out, struct mpk_error *err)
{
	struct mpk_memory *counts = memory == MPK_STORAGE_SHARED ? NULL : mpk_memory_here();
	struct mpk_storage *s = calloc(1, sizeof *s);
	enum mpk_code code;

	MPK_TRY_ALLOC(s, err);
	atomic_init(&s->refs, 1);
	s->device = host;
	s->bytes = bytes;
	s->is_shared = memory == MPK_STORAGE_SHARED && bytes >= MPK_LARGE_BYTES;
	s->owner = counts;
	s->purpose = (uint8_t)mpk_purpose_here();
	code = mpk_memory_count(counts, room_of(bytes), s->purpose, err);
	if (code != MPK_OK) {
		free(s);
		return mpk_failed(code);
	}
	if (counts && counts->from.allocate)
		code = take_given(s, counts, err);
	else if (bytes >= MPK_LARGE_BYTES)
		code = take_pages(s, s->is_shared ? MAP_SHARED : MAP_PRIVATE, err);
	else
		code = take_heap(s, err);
	if (code != MPK_OK) {
		mpk_memory_uncount(counts, room_of(bytes), s->purpose);
		free(s);
		return mpk_failed(code);
	}
	*out = s;
	return MPK_OK;
}

/* Memory that belongs to others, with the function that releases it. */
struct wrapped {
	struct mpk_storage storage;
	void (*release)(void *owner);
};

static void release_wrapped(struct mpk_storage *s)
{
	struct wrapped *w = (struct wrapped *)s;

	if (w->release)
		w->release(s->owner);
	free(w);
}

enum mpk_code mpk_storage_wrap(void *data, uint64_t bytes, struct mpk_dldevice device, void *owner,
			       void (*release)(void *owner), struct mpk_storage **out,
			       struct mpk_error *err)
{
	struct wrapped *w = calloc(1, sizeof *w);

	MPK_TRY_ALLOC(w, err);
	atomic_init(&w->storage.refs, 1);
	w->storage.device = device;
	w->storage.data = data;
	w->storage.bytes = bytes;
	w->storage.owner = owner;
	w->storage.release = release_wrapped;
	w->release = release;
	*out = &w->storage;
	return MPK_OK;
}

struct mpk_storage *mpk_storage_hold(struct mpk_storage *s)
{
	if (s)
		(void)atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void mpk_storage_drop(struct mpk_storage *s)
{
	if (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1)
		s->release(s);
}

/* A fast path for types of whole bytes, which most are; others use mpk_dtype_size. */
static bool size_of(struct mpk_dtype dtype, uint64_t count, uint64_t *out)
{
	if (dtype.lanes == 1 && dtype.bits % 8 == 0)
		return mpk_mul_u64(count, dtype.bits / 8u, out);
	return mpk_dtype_size(dtype, count, out);
}

/* A tensor with an extent of 0 is empty, even if the product of its other extents overflows. */
enum mpk_code mpk_tensor_bytes_of(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
				  uint64_t *out, struct mpk_error *err)
{
	uint64_t count = 1, bytes = 0;
	bool empty = dtype.bits == 0 || dtype.lanes == 0, wraps = false;

	if (ndim > MPK_TENSOR_NDIM_MAX)
		return mpk_fail(err, MPK_E_RANGE, "a tensor of %zu dimensions; at most %d", ndim,
				MPK_TENSOR_NDIM_MAX);
	for (size_t i = 0; i < ndim; i++) {
		if (shape[i] < 0)
			return mpk_fail(err, MPK_E_RANGE, "extent %lld of dimension %zu",
					(long long)shape[i], i);
		empty |= shape[i] == 0;
		wraps |= __builtin_mul_overflow(count, (uint64_t)shape[i], &count);
	}
	if (!empty && (wraps || !size_of(dtype, count, &bytes) || bytes > INT64_MAX))
		return mpk_fail(err, MPK_E_RANGE, "a tensor of more than 2^63 bytes");
	*out = empty ? 0 : bytes;
	return MPK_OK;
}

/* Returns the stride of the dimension before the one with this stride. If a tensor has no elements
 *         or its type has no bytes, the product may overflow, and is not used. */
static int64_t outer_stride(int64_t stride, int64_t extent)
{
	return __builtin_mul_overflow(stride, extent, &stride) ? 0 : stride;
}

/* Makes a compact tensor without memory. */
static enum mpk_code tensor_make(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
				 struct mpk_tensor **out, struct mpk_error *err)
{
	struct mpk_tensor *t;
	uint64_t bytes;

	MPK_TRY(mpk_tensor_bytes_of(dtype, shape, ndim, &bytes, err));
	t = malloc(sizeof *t + 2 * ndim * sizeof t->extents[0]);
	MPK_TRY_ALLOC(t, err);
	atomic_init(&t->refs, 1);
	t->bytes = bytes;
	t->scope = NULL;
	t->storage = NULL;
	t->dl = (struct mpk_dltensor){
		.device = { MPK_DL_CPU, 0 },
		.ndim = (int32_t)ndim,
		.dtype = dtype,
		.shape = t->extents,
		.strides = t->extents + ndim,
	};
	if (ndim)
		memcpy(t->extents, shape, ndim * sizeof shape[0]);

	/* Strides are row-major and counted in elements, as in DLPack. */
	int64_t stride = 1;

	for (int32_t i = t->dl.ndim - 1; i >= 0; i--) {
		t->dl.strides[i] = stride;
		stride = outer_stride(stride, t->dl.shape[i]);
	}

	*out = t;
	return MPK_OK;
}

/* Takes ownership of the reference to the storage. */
static void attach(struct mpk_tensor *t, struct mpk_storage *storage, uint64_t offset)
{
	t->storage = storage;
	t->dl.device = storage->device;
	t->dl.data = storage->data;
	t->dl.byte_offset = offset;
}

/* Allocates the tensor and its memory separately, because views may outlive the tensor. */
enum mpk_code mpk_tensor_create(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
				enum mpk_storage_memory memory, struct mpk_tensor **out,
				struct mpk_error *err)
{
	struct mpk_storage *storage;
	struct mpk_tensor *t;

	MPK_TRY(tensor_make(dtype, shape, ndim, &t, err));
	enum mpk_code code = mpk_storage_create(t->bytes, memory, &storage, err);

	if (code != MPK_OK) {
		mpk_tensor_drop(t);
		return mpk_failed(code);
	}
	attach(t, storage, 0);
	*out = t;
	return MPK_OK;
}

/* Checks the range once, since the holder of a view may read and write all of it. */
enum mpk_code mpk_tensor_view(struct mpk_storage *storage, uint64_t offset, struct mpk_dtype dtype,
			      const int64_t *shape, size_t ndim, struct mpk_tensor **out,
			      struct mpk_error *err)
{
	struct mpk_tensor *t;

	MPK_TRY(tensor_make(dtype, shape, ndim, &t, err));
	if (offset > storage->bytes || t->bytes > storage->bytes - offset) {
		uint64_t bytes = t->bytes;

		mpk_tensor_drop(t);
		return mpk_fail(err, MPK_E_RANGE,
				"a tensor of %llu bytes at byte %llu of a storage of %llu",
				(unsigned long long)bytes, (unsigned long long)offset,
				(unsigned long long)storage->bytes);
	}
	attach(t, mpk_storage_hold(storage), offset);
	*out = t;
	return MPK_OK;
}

/* The memory is not checked, because only its maker knows its size. Strides are copied, because the
 * maker may free them. */
enum mpk_code mpk_tensor_wrap(const struct mpk_dltensor *dl, struct mpk_storage *storage,
			      struct mpk_tensor **out, struct mpk_error *err)
{
	struct mpk_tensor *t;

	if (dl->ndim < 0)
		return mpk_fail(err, MPK_E_RANGE, "a tensor of %d dimensions", dl->ndim);
	MPK_TRY(tensor_make(dl->dtype, dl->shape, (size_t)dl->ndim, &t, err));
	t->storage = mpk_storage_hold(storage);
	t->dl.device = dl->device;
	t->dl.data = dl->data;
	t->dl.byte_offset = dl->byte_offset;
	if (dl->strides && dl->ndim)
		memcpy(t->dl.strides, dl->strides, (size_t)dl->ndim * sizeof dl->strides[0]);
	*out = t;
	return MPK_OK;
}

struct mpk_tensor *mpk_tensor_hold(struct mpk_tensor *t)
{
	if (t)
		(void)atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
	return t;
}

void mpk_tensor_drop(struct mpk_tensor *t)
{
	if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
		return;
	mpk_storage_drop(t->storage);
	free(t);
}

/* Types without bytes have no elements to read. */
uint64_t mpk_tensor_count(const struct mpk_tensor *t)
{
	uint64_t count = mpk_dtype_bytes(t->dl.dtype) != 0;

	for (int32_t i = 0; i < t->dl.ndim; i++)
		count *= (uint64_t)t->dl.shape[i];
	return count;
}

/* The stride of an extent of 1 does not matter. NULL strides mean compact (DLPack). */
bool mpk_dltensor_is_compact(const struct mpk_dltensor *t)
{
	int64_t expected = 1;

	if (!t->strides)
		return true;
	for (int32_t i = 0; i < t->ndim; i++)
		if (t->shape[i] == 0)
			return true;
	for (int32_t i = t->ndim - 1; i >= 0; i--) {
		if (t->shape[i] != 1 && t->strides[i] != expected)
			return false;
		expected = outer_stride(expected, t->shape[i]);
	}
	return true;
}

/* Returns the offset of the element with a row-major index, for any strides. */
static int64_t element_offset(const struct mpk_dltensor *from, uint64_t index)
{
	int64_t offset = 0;

	for (int32_t d = from->ndim - 1; d >= 0; d--) {
		uint64_t extent = (uint64_t)from->shape[d];

		offset += (int64_t)(index % extent) * from->strides[d];
		index /= extent;
	}
	return offset;
}

/* Returns the offset of the scalar with a row-major index, lane by lane, with or without
 *         strides. */
static uint64_t scalar_offset(const struct mpk_dltensor *t, uint64_t index, uint64_t lanes)
{
	if (mpk_dltensor_is_compact(t))
		return index;
	return (uint64_t)element_offset(t, index / lanes) * lanes + index % lanes;
}

/* The same for elements that share bytes: copies lane by lane. */
static void copy_packed(const struct mpk_dltensor *to, const struct mpk_dltensor *from)
{
	struct mpk_scalars out = mpk_scalars_of(to), in = mpk_scalars_of(from);
	uint64_t lanes = out.dtype.lanes == to->dtype.lanes ? 1 : to->dtype.lanes;
	uint8_t raw[MPK_SCALAR_MAX];

	for (uint64_t i = 0; i < out.count; i++)
		mpk_scalar_put(&out, scalar_offset(to, i, lanes),
			       mpk_scalar_at(&in, scalar_offset(from, i, lanes), raw));
}

/* This function and the one below copy in one of three ways: at once if both tensors are compact,
 * bit by bit if elements share bytes, else element by element. */
void mpk_tensor_copy_from(struct mpk_tensor *to, const struct mpk_dltensor *from)
{
	const uint8_t *data = mpk_dltensor_data(from);
	uint8_t *dest = mpk_dltensor_data(&to->dl);
	size_t each = mpk_dtype_bytes(from->dtype);

	if (!to->bytes)
		return;
	if (mpk_dltensor_is_compact(from)) {
		memcpy(dest, data, (size_t)to->bytes);
		return;
	}
	if (mpk_dtype_is_packed(from->dtype)) {
		copy_packed(&to->dl, from);
		return;
	}
	for (uint64_t i = 0, n = mpk_tensor_count(to); i < n; i++)
		memcpy(dest + i * each, data + element_offset(from, i) * (int64_t)each, each);
}

void mpk_tensor_copy_to(const struct mpk_tensor *from, const struct mpk_dltensor *to)
{
	const uint8_t *data = mpk_dltensor_data(&from->dl);
	uint8_t *dest = mpk_dltensor_data(to);
	size_t each = mpk_dtype_bytes(to->dtype);

	if (!from->bytes)
		return;
	if (mpk_dltensor_is_compact(to)) {
		memcpy(dest, data, (size_t)from->bytes);
		return;
	}
	if (mpk_dtype_is_packed(to->dtype)) {
		copy_packed(to, &from->dl);
		return;
	}
	for (uint64_t i = 0, n = mpk_tensor_count(from); i < n; i++)
		memcpy(dest + element_offset(to, i) * (int64_t)each, data + i * each, each);
}

/* A tensor without a storage is only borrowed for a call, so it is copied even if it is compact. */
enum mpk_code mpk_tensor_compact(struct mpk_tensor *t, struct mpk_tensor **out,
				 struct mpk_error *err)
{
	if (mpk_dltensor_is_compact(&t->dl) && t->storage) {
		*out = mpk_tensor_hold(t);
		return MPK_OK;
	}
	MPK_TRY(mpk_tensor_create(t->dl.dtype, t->dl.shape, (size_t)t->dl.ndim, MPK_STORAGE_PRIVATE,
				  out, err));
	mpk_tensor_copy_from(*out, &t->dl);
	return MPK_OK;
}
