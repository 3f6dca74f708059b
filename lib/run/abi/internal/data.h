/* SPDX-License-Identifier: Apache-2.0 */
/* data.h - values that hold no functions, as arguments and results; private to lib/run/abi */
#ifndef MPK_ABI_INTERNAL_DATA_H
#define MPK_ABI_INTERNAL_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/convention.h"

/* --- numbers, types, devices, addresses: what fits into an argument itself ---------------------- */

/* The number that each family of conventions has for a kind, and the bits, which are the same. */
struct mpk_plain {
	int32_t ffi;
	int legacy;
	union mpk_tvm_value bits;
};

/* mpk_plain_of - such a value; false when it is of a kind that needs memory or an object */
bool mpk_plain_of(const struct mpk_value *v, struct mpk_plain *out);

/* mpk_plain_cell - as a cell of tvm-ffi */
static inline struct mpk_ffi_any mpk_plain_cell(const struct mpk_plain *p)
{
	return (struct mpk_ffi_any){ .type_index = p->ffi, .v_int64 = p->bits.v_int64 };
}

/* --- tensors as DLTensors, of objects or bare ------------------------------------------------- */

/* mpk_dltensor_decode - a view of the memory, or a copy of a result's
 * @storage  what keeps the memory; NULL: nobody does
 * Memory of a device cannot be copied here: a result there is a view, too.
 * Returns  MPK_OK, one reference in *out; as mpk_tensor_wrap; MPK_E_RAISED for a NULL dl, for dimensions without a shape and for host
 *          memory without an address; MPK_E_NOMEM */
enum mpk_code mpk_dltensor_decode(const struct mpk_dltensor *dl, struct mpk_storage *storage,
				  enum mpk_lifetime lifetime, struct mpk_value *out,
				  struct mpk_error *err) MPK_MUST_CHECK;

#endif
