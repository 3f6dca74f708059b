/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.h - typed, shaped views of a storage
 *
 * A tensor may begin anywhere in its storage and have strides; several may lie in one
 * storage. What prints, compares or saves elements wants a compact tensor in host memory:
 * mpk_tensor_compact makes one where it has to.
 */
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

/* Exactly DLTensor. */
struct mpk_dltensor {
	void *data;
	struct mpk_dldevice device;
	int32_t ndim;
	struct mpk_dtype dtype;
	int64_t *shape;       /* ndim extents, outermost first */
	int64_t *strides;     /* in elements; compact row-major when NULL */
	uint64_t byte_offset; /* of the first element from data */
};

/* mpk_dltensor_is_compact - row-major without gaps; strides of extents 1 do not count */
bool mpk_dltensor_is_compact(const struct mpk_dltensor *t);

/* mpk_dltensor_data - the first element of a tensor in host memory */
static inline void *mpk_dltensor_data(const struct mpk_dltensor *t)
{
	return t->data ? (char *)t->data + t->byte_offset : NULL;
}

/* --- reference-counted memory that tensors are views of --------------------------------------- */

/* A tensor holds its storage; whoever drops a storage while tensors of it live (the Relax
 * VM does so all the time) takes nothing away from them. Counts are atomic. */

/* What kernels of TVM take for granted of host memory, in bytes. */
enum { MPK_STORAGE_ALIGN = 64 };

struct mpk_storage {
	atomic_uint refs;
	struct mpk_dldevice device;
	void *data;      /* host: an address; else what the device calls its memory */
	uint64_t bytes;  /* usable from data on */
	bool is_shared;  /* with children forked later */
	uint8_t purpose; /* enum mpk_purpose, of what is counted */
	/* Gives data back and frees the structure itself; called once, when the last reference
	 * is gone. */
	void (*release)(struct mpk_storage *storage);
	void *owner; /* for release */
};

enum mpk_storage_memory {
	MPK_STORAGE_PRIVATE, /* zeroed memory of this process */
	MPK_STORAGE_SHARED, /* zeroed; from MPK_LARGE_BYTES on a child forked later writes to the same
			      * pages (is_shared). Less is copied from process to process sooner
			      * than it is mapped. */
};

/* mpk_storage_create - zeroed host memory, aligned to MPK_STORAGE_ALIGN
 * It is taken for whom the thread says (memory.h), unless it is shared.
 * @bytes   0 is allowed: data is then an address nobody reads
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM; MPK_E_BUDGET */
enum mpk_code mpk_storage_create(uint64_t bytes, enum mpk_storage_memory memory,
				 struct mpk_storage **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_storage_wrap - memory that belongs to somebody else
 * @owner    what keeps the memory; @release gets it back when the last reference is gone;
 *           both NULL: the memory outlives every reference
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM, release not called */
enum mpk_code mpk_storage_wrap(void *data, uint64_t bytes, struct mpk_dldevice device, void *owner,
			       void (*release)(void *owner), struct mpk_storage **out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_storage_hold, mpk_storage_drop - count references; NULL is fine */
struct mpk_storage *mpk_storage_hold(struct mpk_storage *storage);
void mpk_storage_drop(struct mpk_storage *storage);

enum { MPK_TENSOR_NDIM_MAX = 32 };

/* dl.shape and dl.strides point into the same allocation; strides of a compact tensor are the
 * products of the extents after them, as TVM's own tensors have them (0 where a later
 * extent is 0). */
struct mpk_tensor {
	struct mpk_dltensor dl;
	uint64_t bytes;    /* of the elements: their number times the size of one */
	const char *scope; /* static: the memory that it is to have on a device, "global.texture";
			    * NULL: any */
	atomic_uint refs;
	struct mpk_storage *storage; /* held; NULL: memory borrowed for the time of a call */
	int64_t extents[];           /* shape, then strides */
};

/* mpk_tensor_create - a compact tensor in host memory of its own, all zero
 * @shape   ndim extents >= 0, ndim <= MPK_TENSOR_NDIM_MAX
 * Returns  MPK_OK, one reference in *out; MPK_E_RANGE (an extent below 0, too many
 *          dimensions, a size beyond 2^63); MPK_E_NOMEM */
enum mpk_code mpk_tensor_create(struct mpk_dtype dtype, const int64_t *shape, size_t ndim,
				enum mpk_storage_memory memory, struct mpk_tensor **out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tensor_view - a compact tensor in a storage, which it holds
 * @offset  bytes from the storage's beginning
 * Returns  MPK_OK, one reference in *out; MPK_E_RANGE as above, and when the elements end
 *          after the end of the storage; MPK_E_NOMEM */
enum mpk_code mpk_tensor_view(struct mpk_storage *storage, uint64_t offset, struct mpk_dtype dtype,
			      const int64_t *shape, size_t ndim, struct mpk_tensor **out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tensor_wrap - a tensor that somebody described with a DLTensor: the same memory, shape,
 * strides and offset; nothing is copied
 * @storage what keeps the memory, one more reference to it is taken; NULL: the memory is borrowed
 *          and the tensor must not outlive the call that brought it
 * Returns  MPK_OK, one reference in *out; MPK_E_RANGE (as above); MPK_E_NOMEM */
enum mpk_code mpk_tensor_wrap(const struct mpk_dltensor *dl, struct mpk_storage *storage,
			      struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tensor_hold, mpk_tensor_drop - count references; NULL is fine */
struct mpk_tensor *mpk_tensor_hold(struct mpk_tensor *t);
void mpk_tensor_drop(struct mpk_tensor *t);

/* mpk_tensor_copy_from - fill a compact host tensor from any host DLTensor of the same dtype and
 * shape, whatever its strides and offset */
void mpk_tensor_copy_from(struct mpk_tensor *to, const struct mpk_dltensor *from);

/* mpk_tensor_copy_to - the same the other way: from a compact host tensor into any host DLTensor of its dtype
 * and shape */
void mpk_tensor_copy_to(const struct mpk_tensor *from, const struct mpk_dltensor *to);

/* mpk_tensor_compact - the tensor itself when it is compact, else a copy that is
 * @t       in host memory
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM */
enum mpk_code mpk_tensor_compact(struct mpk_tensor *t, struct mpk_tensor **out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tensor_bytes_of - bytes of a tensor with this type and shape
 * Returns  MPK_OK; MPK_E_RANGE as mpk_tensor_create says */
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
