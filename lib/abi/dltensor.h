/* SPDX-License-Identifier: Apache-2.0 */
/* dltensor.h - tensors that cross the boundary as bare DLTensor pointers, kept by nobody */
#ifndef MPK_ABI_DLTENSOR_H
#define MPK_ABI_DLTENSOR_H

#include "base/error.h"
#include "value/value.h"

/* How long what an argument or result points to is there. */
enum mpk_lifetime {
	MPK_LIFETIME_CALL,  /* arguments: until the call returns; tensors are not copied */
	MPK_LIFETIME_OWNED, /* results: what nobody keeps is copied while it is there */
};

/* mpk_dltensor_decode - a view of the memory, or a copy of a result's
 * Memory of a device cannot be copied here: a result there is a view, too.
 * Returns  MPK_OK, one reference in *out; MPK_E_RANGE: too many dimensions; MPK_E_NOMEM */
enum mpk_code mpk_dltensor_decode(const struct mpk_dltensor *dl, enum mpk_lifetime lifetime,
				  struct mpk_value *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
