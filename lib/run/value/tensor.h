/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.h - tensors: views of a storage with type and shape
 *
 * A tensor may begin anywhere in its storage and may have strides; several tensors may share a
 * storage. Functions that print, compare or save elements need a compact tensor in host memory;
 * mpk_tensor_compact makes one if necessary. */
#ifndef MPK_VALUE_TENSOR_H
#define MPK_VALUE_TENSOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "dtype/dtype.h"
#include "value/memory.h"

/* --- the layouts of DLPack that compiled code shares with its caller: it reads these structures at fixed offsets,
 * nothing here may change --- */

/* Has exactly the layout of DLTensor. */
struct mpk_dltensor {
	void *data;
	struct mpk_dldevice device;
	int32_t ndim;
	struct mpk_dtype dtype;
	int64_t *shape;       /* ndim extents, outermost first */
	int64_t *strides;     /* strides in elements; NULL: compact, row-major */
	uint64_t byte_offset; /* offset in bytes from data to the first element */
};

/* mpk_dltensor_is_compact - whether elements are row-major without gaps; strides of dimensions with
 * extent 1 are ignored */
bool mpk_dltensor_is_compact(const struct mpk_dltensor *t);

/* mpk_dltensor_data - the first element of a tensor in host memory */
static inline void *mpk_dltensor_data(const struct mpk_dltensor *t)
{
	return t->data ? (char *)t->data + t->byte_offset : NULL;
}

/* --- reference-counted memory that tensors are views of --------------------------------------- */

/* A tensor holds a reference to its storage, so the Relax VM may drop a storage while its tensors
 * are in use. Reference counts are atomic. */

/* Alignment in bytes that TVM's kernels assume for host memory. */
enum { MPK_STORAGE_ALIGN = 64 };

struct mpk_storage {
	atomic_uint refs;
	struct mpk_dldevice device;
	void *data;      /* host: an address; else the device's handle of the memory */
	uint64_t bytes;  /* size in bytes, from data on */
	bool is_shared;  /* shared with children that are forked later */
	uint8_t purpose; /* enum mpk_purpose, for counted memory */
	/* Frees data and the structure itself; called when the last reference is gone. */
	void (*release)(struct mpk_storage *storage);
	void *owner; /* for use by release */
};

enum mpk_storage_memory {
	MPK_STORAGE_PRIVATE, /* zeroed memory of this process only */
	MPK_STORAGE_SHARED,  /* Zeroed. If it has MPK_LARGE_BYTES or more, children forked later
			     * write to the same pages (is_shared). Smaller memory is private,
			     * because copying it between processes is faster than mapping it. */
};

/* mpk_storage_create - allocate zeroed host memory, aligned to MPK_STORAGE_ALIGN
 * Unless it is shared, it is charged to the thread's current memory (memory.h).
 * @bytes   may be 0; then data must not be read
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM; MPK_E_BUDGET */
enum mpk_code mpk_storage_create(uint64_t bytes, enum mpk_storage_memory memory,
				 struct mpk_storage **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_storage_wrap - make a storage of memory with another owner
 * @owner    keeps the memory alive; @release is called with it when the last reference is gone.
 *          Both may be NULL if the memory outlives every reference
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM: release is not called */
enum mpk_code mpk_storage_wrap(void *data, uint64_t bytes, struct mpk_dldevice device, void *owner,
			       void (*release)(void *owner), struct mpk_storage **out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_storage_hold, mpk_storage_drop - add or drop a reference; storage may be NULL */
struct mpk_storage *mpk_storage_hold(struct mpk_storage *storage);
void mpk_storage_drop(struct mpk_storage *storage);

enum { MPK_TENSOR_NDIM_MAX = 32 };

/* dl.shape and dl.strides point into the same allocation. As in TVM, each stride of a compact
 * tensor is the product of the later extents (0 if one of these is 0). */
struct mpk_tensor {
	struct mpk_dltensor dl;
	uint64_t bytes;    /* number of elements times the size of one */
	const char *scope; /* static string: required memory scope on a device, such as
			    * "global.texture"; NULL: any */
	atomic_uint refs;
	struct mpk_storage *storage; /* one reference; NULL: the memory is borrowed during a call */
	int64_t extents[];           /* shape, followed by strides */
};

/* mpk_tensor_create - make a compact tensor in new zeroed host memory
 * @shape   ndim extents >= 0, ndim <= MPK_TENSOR_NDIM_MAX
 * Returns  MPK_OK, one reference in *out; MPK_E_RANGE (a negative extent, too many dimensions, a
 *          size beyond 2^63); MPK_E_NOMEM */
enum mpk_code mpk_tensor_create(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
				enum mpk_storage_memory memory, struct mpk_tensor **out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tensor_view - make a compact tensor in a storage, to which it holds a reference
 * @offset  in bytes from the storage's beginning
 * Returns  MPK_OK, one reference in *out; MPK_E_RANGE as above, and if the tensor does not fit into
 *          the storage; MPK_E_NOMEM */
enum mpk_code mpk_tensor_view(struct mpk_storage *storage, uint64_t offset, struct mpk_dtype dtype,
			      const int64_t *shape, size_t ndim, struct mpk_tensor **out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tensor_wrap - make a tensor from a DLTensor: it has the same memory, shape, strides and
 * offset; nothing is copied
 * @storage keeps the memory alive; one more reference is taken. NULL: the memory is borrowed, and
 *          the tensor must not outlive the current call
 * Returns  MPK_OK, one reference in *out; MPK_E_RANGE (as above); MPK_E_NOMEM */
enum mpk_code mpk_tensor_wrap(const struct mpk_dltensor *dl, struct mpk_storage *storage,
			      struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tensor_hold, mpk_tensor_drop - add or drop a reference; t may be NULL */
struct mpk_tensor *mpk_tensor_hold(struct mpk_tensor *t);
void mpk_tensor_drop(struct mpk_tensor *t);

/* mpk_tensor_copy_from - fill a compact host tensor from a host DLTensor of the same dtype and
 * shape, with any strides and offset */
void mpk_tensor_copy_from(struct mpk_tensor *to, const struct mpk_dltensor *from);

/* mpk_tensor_copy_to - copy a compact host tensor into a host DLTensor of the same dtype and shape,
 * with any strides and offset */
void mpk_tensor_copy_to(const struct mpk_tensor *from, const struct mpk_dltensor *to);

/* mpk_tensor_compact - the tensor itself if it is compact, else a compact copy
 * @t       in host memory
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM */
enum mpk_code mpk_tensor_compact(struct mpk_tensor *t, struct mpk_tensor **out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tensor_bytes_of - size in bytes of a tensor with this type and shape
 * Returns  MPK_OK; MPK_E_RANGE as mpk_tensor_create */
enum mpk_code mpk_tensor_bytes_of(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
				  uint64_t *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tensor_count - number of elements */
uint64_t mpk_tensor_count(const struct mpk_tensor *t);

/* mpk_tensor_span - the elements of a compact tensor in host memory */
static inline struct mpk_span mpk_tensor_span(const struct mpk_tensor *t)
{
	return mpk_span_of(mpk_dltensor_data(&t->dl), (size_t)t->bytes);
}

#endif
