/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.h - a tensor as TVM stores it in payloads and parameter files, and lists of named tensors
 * (FORMAT.md) */
#ifndef MPK_FORMATS_TENSOR_TENSOR_H
#define MPK_FORMATS_TENSOR_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "dtype/dtype.h"
#include "wire.h"

/* Bytes of a record without shape and data. */
enum { MPK_TENSOR_MIN = 8 + 8 + 4 + 4 + 4 + 4 + 8 };

/* One tensor. The bytes are C-contiguous, elements little-endian; an element of less than 8 bits
 * takes a byte or is packed, depending on the writer (FORMAT.md 2). */
struct mpk_tensor_record {
	uint64_t reserved; /* 0 */
	int32_t device_id; /* 0; the device type is always 1, the CPU */
	struct mpk_dtype dtype;
	const int64_t *shape; /* each >= 0 */
	size_t ndim;          /* 0: a scalar */
	struct mpk_span data;
	uint64_t data_off;              /* set by reading: offset of data in the cursor's space */
	const struct mpk_rope *content; /* for writing: the data; NULL: use data */
};

/* mpk_tensor_read - read one tensor
 * @out     data is a view of the cursor's bytes, shape is in arena
 * Returns  MPK_OK; MPK_E_CORRUPT: the magic number, a device other than the CPU, a negative extent,
 *          a shape whose size overflows, or a byte count that does not follow from shape and type
 *          (by any rule of the releases); MPK_E_NOMEM */
enum mpk_code mpk_tensor_read(struct mpk_cursor *c, struct mpk_arena *arena,
			      struct mpk_tensor_record *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tensor_write - append a tensor to r, as TVM writes it; data is borrowed until r is written */
void mpk_tensor_write(struct mpk_rope *r, const struct mpk_tensor_record *t);

/* The number at the beginning of a parameter file. */
#define MPK_PARAMS_MAGIC UINT64_C(0xF7E58D4F05049CB7)

struct mpk_params {
	uint64_t reserved;     /* reserved field of a file: 0 */
	struct mpk_strs names; /* as many as tensors, in the same order */
	const struct mpk_tensor_record *tensors;
	uint64_t tensors_off; /* set by reading a file: offset of the first tensor in it */
	const struct mpk_rope *content; /* for writing: the tensors as stored; NULL: use tensors */
};

/* mpk_params_read - read a whole .params file: magic number, names, tensors
 * @space   the space in which offsets count, "file"
 * Returns  MPK_OK; MPK_E_CORRUPT, also for bytes after the last tensor; MPK_E_NOMEM */
enum mpk_code mpk_params_read(struct mpk_span file, struct mpk_arena *arena, struct mpk_params *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_params_write - append a whole .params file to r */
void mpk_params_write(struct mpk_rope *r, const struct mpk_params *p);

/* mpk_tensors_read - read the tensors for names that were read before
 * @count   number of tensors in the payload; refused unless it is the number of names
 * @out     as many as names, in arena; data are views of the bytes
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in the cursor's space; MPK_E_NOMEM */
enum mpk_code mpk_tensors_read(struct mpk_cursor *c, struct mpk_strs names, uint64_t count,
			       struct mpk_arena *arena, const struct mpk_tensor_record **out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tensors_write - append the tensors of p, one after the other; borrowed until r is written */
void mpk_tensors_write(struct mpk_rope *r, const struct mpk_params *p);

/* mpk_params_find - the index of a name; names.count: none */
size_t mpk_params_find(const struct mpk_params *p, struct mpk_span name);

#endif
