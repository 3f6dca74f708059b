/* half.h - 16-bit floating numbers: IEEE binary16 and bfloat16, as bits
 *
 * Widening is exact. Narrowing rounds to nearest, ties to even, overflows to infinity and
 * keeps NaN a (quiet) NaN. Independent of the rounding mode and of compiler support
 * for half types.
 */
#ifndef MPK_BASE_HALF_H
#define MPK_BASE_HALF_H

#include <stdint.h>

/* mpk_f16_to_f32, mpk_bf16_to_f32 - the exact value of 16 bits */
float mpk_f16_to_f32(uint16_t bits);
float mpk_bf16_to_f32(uint16_t bits);

/* mpk_f64_to_f16, mpk_f64_to_bf16 - the nearest 16-bit number, rounded once */
uint16_t mpk_f64_to_f16(double value);
uint16_t mpk_f64_to_bf16(double value);

#endif
