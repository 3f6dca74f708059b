/* SPDX-License-Identifier: Apache-2.0 */
/* narrow.h - floating numbers of 4, 6 and 8 bits, as DLPack's type codes 7 to 17 name them
 *
 * The formats are those of the OCP specifications of 8-bit and microscaling formats, and the
 * variants that ml_dtypes has beside them. Narrowing rounds once, to nearest with ties to even, and
 * gives what ml_dtypes gives for a float: beyond the largest number infinity, or NaN where there
 * is none, or the largest number where there is neither.
 */
#ifndef MPK_VALUE_NARROW_H
#define MPK_VALUE_NARROW_H

#include <stdbool.h>
#include <stdint.h>

#include "dtype/dtype.h"

/* mpk_dtype_is_narrow - one of these types, of one lane */
bool mpk_dtype_is_narrow(struct mpk_dtype t);

/* mpk_narrow_to_f64 - the value of the lowest t.bits bits; higher ones are ignored
 * mpk_narrow_from_f64 - the nearest number of type t; a NaN keeps its sign where there are two
 * @t       a narrow type */
double mpk_narrow_to_f64(struct mpk_dtype t, uint8_t bits);
uint8_t mpk_narrow_from_f64(struct mpk_dtype t, double value);

/* mpk_narrow_fits - whether a number, infinity or NaN is one of type t after rounding: not above the
 * largest, and zero, a sign, infinity or NaN only where the type has it */
bool mpk_narrow_fits(struct mpk_dtype t, double value);

#endif
