/* SPDX-License-Identifier: Apache-2.0 */
/* scalars.h - the numbers of a tensor one by one, whatever its type
 *
 * Two things make numbers of a tensor's bytes more than an array. Types of less than a byte are packed, the
 * first element in the lowest bits, as DLPack has it; an element may lie across two bytes. Types of
 * several lanes are vectors, whose lanes count as one more dimension, the innermost.
 */
#ifndef MPK_VALUE_SCALARS_H
#define MPK_VALUE_SCALARS_H

#include "value/element.h"
#include "value/tensor.h"

/* Bytes of the widest scalar: 255 bits. */
enum { MPK_SCALAR_MAX = 32 };

/* A compact tensor in host memory as scalars. */
struct mpk_scalars {
	struct mpk_dtype dtype; /* of one lane, where it has lanes */
	int32_t ndim;
	int64_t shape[MPK_TENSOR_NDIM_MAX + 1];
	uint64_t count;
	uint8_t *data; /* NULL: no memory, or on a device */
};

/* mpk_scalars_of - the scalars of a tensor; data is the tensor's */
struct mpk_scalars mpk_scalars_of(const struct mpk_dltensor *dl);

/* mpk_scalar_at - the bytes of scalar index < count, as the functions of element.h take them
 * @raw     holds them where they are packed
 * Returns  raw, or a place in data */
const void *mpk_scalar_at(const struct mpk_scalars *s, uint64_t index, uint8_t raw[MPK_SCALAR_MAX]);

/* mpk_scalar_put - write the bytes of scalar index < count; its neighbours stay as they are */
void mpk_scalar_put(const struct mpk_scalars *s, uint64_t index, const void *bytes);

/* mpk_dtype_is_packed - whether several elements, or lanes, may share a byte */
bool mpk_dtype_is_packed(struct mpk_dtype t);

/* mpk_dtype_size - bytes of count elements, as DLPack and TVM have them
 * Returns  false when there are more than 2^64 */
bool mpk_dtype_size(struct mpk_dtype t, uint64_t count, uint64_t *bytes);

#endif
