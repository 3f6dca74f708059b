/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h - values that fit into an argument: numbers, types, devices, addresses; for lib/run/abi */
#ifndef MPK_ABI_INTERNAL_PLAIN_H
#define MPK_ABI_INTERNAL_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/internal/layout.h"
#include "value/value.h"

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

#endif
