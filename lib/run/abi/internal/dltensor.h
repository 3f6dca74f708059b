/* SPDX-License-Identifier: Apache-2.0 */
/* dltensor.h - tensors that cross the boundary as bare DLTensor pointers, kept by nobody */
#ifndef MPK_ABI_INTERNAL_DLTENSOR_H
#define MPK_ABI_INTERNAL_DLTENSOR_H

#include "base/error.h"
#include "value/value.h"

/* How long what an argument or result points to is there. */
enum mpk_lifetime {
	MPK_LIFETIME_CALL,  /* arguments: until the call returns; tensors are not copied */
	MPK_LIFETIME_OWNED, /* results: what nobody keeps is copied while it is there */
};

/* mpk_dltensor_wrap - what mpk_tensor_wrap makes of a tensor that called code describes
 * Returns  as mpk_tensor_wrap; MPK_E_RAISED for a NULL dl, for dimensions without a shape and for host memory
 *          without an address */
enum mpk_code mpk_dltensor_wrap(const struct mpk_dltensor *dl, struct mpk_storage *storage,
				struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_dltensor_decode - a view of the memory, or a copy of a result's
 * Memory of a device cannot be copied here: a result there is a view, too.
 * Returns  MPK_OK, one reference in *out; what mpk_dltensor_wrap says; MPK_E_NOMEM */
enum mpk_code mpk_dltensor_decode(const struct mpk_dltensor *dl, enum mpk_lifetime lifetime,
				  struct mpk_value *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
