#include "value/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/num.h"

static void release_heap(struct mpk_tensor *t)
{
	free(t->dl.data);
}

static void release_map(struct mpk_tensor *t)
{
	(void)munmap(t->dl.data, (size_t)t->owner_bytes);
}

static enum mpk_code count_bytes(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
				 uint64_t *out, struct mpk_error *err)
{
	uint64_t bytes = mpk_dtype_bytes(dtype);
	bool empty = false;

	if (ndim > MPK_TENSOR_NDIM_MAX)
		return mpk_fail(err, MPK_E_RANGE, "a tensor of %zu dimensions; at most %d", ndim,
				MPK_TENSOR_NDIM_MAX);
	for (size_t i = 0; i < ndim; i++)
		empty |= shape[i] == 0;
	for (size_t i = 0; i < ndim; i++) {
		if (shape[i] < 0)
			return mpk_fail(err, MPK_E_RANGE, "extent %lld of dimension %zu",
					(long long)shape[i], i);
		if (!empty &&
		    (!mpk_mul_u64(bytes, (uint64_t)shape[i], &bytes) || bytes > INT64_MAX))
			return mpk_fail(err, MPK_E_RANGE, "a tensor of more than 2^63 bytes");
	}
	*out = empty ? 0 : bytes;
	return MPK_OK;
}

static enum mpk_code allocate(struct mpk_tensor *t, bool shared, struct mpk_error *err)
{
	size_t room = t->bytes ? (size_t)t->bytes : 1;

	if (shared || t->bytes >= MPK_LARGE_BYTES) {
		int flags = MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE);
		void *data = mmap(NULL, room, PROT_READ | PROT_WRITE, flags, -1, 0);

		if (data == MAP_FAILED)
			return mpk_fail_errno(err, MPK_E_NOMEM, errno, "a tensor of %llu bytes",
					      (unsigned long long)t->bytes);
		t->dl.data = data;
		t->owner_bytes = room;
		t->release = release_map;
		return MPK_OK;
	}
	room = (room + MPK_TENSOR_ALIGN - 1) / MPK_TENSOR_ALIGN * MPK_TENSOR_ALIGN;
	t->dl.data = aligned_alloc(MPK_TENSOR_ALIGN, room);
	if (!t->dl.data)
		return mpk_fail_nomem(err);
	memset(t->dl.data, 0, room);
	t->release = release_heap;
	return MPK_OK;
}

static void fill_strides(struct mpk_tensor *t)
{
	int64_t stride = 1;

	for (int32_t i = t->dl.ndim - 1; i >= 0; i--) {
		t->dl.strides[i] = stride;
		/* in a tensor without elements an outer product may not fit; it is not
		 * used */
		if (__builtin_mul_overflow(stride, t->dl.shape[i], &stride))
			stride = 0;
	}
}

enum mpk_code mpk_tensor_create(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
				enum mpk_tensor_memory memory, struct mpk_tensor **out,
				struct mpk_error *err)
{
	uint64_t bytes;

	MPK_TRY(count_bytes(dtype, shape, ndim, &bytes, err));

	struct mpk_tensor *t = calloc(1, sizeof *t + 2 * ndim * sizeof t->extents[0]);
	if (!t)
		return mpk_fail_nomem(err);
	atomic_init(&t->refs, 1);
	t->bytes = bytes;
	t->dl = (struct mpk_dltensor){
		.device = { MPK_DL_CPU, 0 },
		.ndim = (int32_t)ndim,
		.dtype = dtype,
		.shape = t->extents,
		.strides = t->extents + ndim,
	};
	if (ndim)
		memcpy(t->extents, shape, ndim * sizeof shape[0]);
	fill_strides(t);
	if (memory != MPK_TENSOR_NO_DATA) {
		enum mpk_code rc = allocate(t, memory == MPK_TENSOR_SHARED, err);

		if (rc != MPK_OK) {
			free(t);
			return rc;
		}
	}
	*out = t;
	return MPK_OK;
}

void mpk_tensor_drop(struct mpk_tensor *t)
{
	if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (t->release)
		t->release(t);
	free(t);
}

uint64_t mpk_tensor_count(const struct mpk_tensor *t)
{
	size_t each = mpk_dtype_bytes(t->dl.dtype);

	return each ? t->bytes / each : 0;
}

bool mpk_dltensor_is_compact(const struct mpk_dltensor *t)
{
	int64_t expected = 1;

	if (!t->strides)
		return true;
	for (int32_t i = t->ndim - 1; i >= 0; i--) {
		if (t->shape[i] == 0)
			return true;
		if (t->shape[i] != 1 && t->strides[i] != expected)
			return false;
		expected *= t->shape[i];
	}
	return true;
}

/* The element of `from` at a row-major index, whatever the strides. */
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

void mpk_tensor_copy_from(struct mpk_tensor *to, const struct mpk_dltensor *from)
{
	const uint8_t *data = from->data;
	uint8_t *dest = to->dl.data;
	size_t each = mpk_dtype_bytes(from->dtype);

	if (!to->bytes)
		return;
	data += from->byte_offset;
	if (mpk_dltensor_is_compact(from)) {
		memcpy(dest, data, (size_t)to->bytes);
		return;
	}
	for (uint64_t i = 0, n = mpk_tensor_count(to); i < n; i++)
		memcpy(dest + i * each, data + element_offset(from, i) * (int64_t)each, each);
}
