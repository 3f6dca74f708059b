/* SPDX-License-Identifier: Apache-2.0 */
/* dltensor.h - the layouts of DLPack that compiled code shares with its caller
 *
 * Compiled code reads these structures at fixed offsets: nothing here may change.
 */
#ifndef MPK_VALUE_DLTENSOR_H
#define MPK_VALUE_DLTENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "dtype/dtype.h"

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

#endif
