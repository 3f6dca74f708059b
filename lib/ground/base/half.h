/* SPDX-License-Identifier: Apache-2.0 */
/* half.h - 16-bit floating numbers: IEEE binary16 and bfloat16, as bits
 *
 * Widening is exact; a NaN keeps its sign and payload. Narrowing rounds once, to nearest with
 * ties to even, whatever the rounding mode; beyond the largest number it gives infinity. A NaN
 * keeps its sign and becomes the quiet NaN without payload (0x7e00, 0x7fc0), never infinity or
 * a number. bfloat16 is narrowed from double: going through float would round twice.
 *
 * The functions stand in this header because its text is also pasted into the C source of
 * standalone libraries (package/generate.c): it includes the C library's headers only.
 */
#ifndef MPK_BASE_HALF_H
#define MPK_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float mpk_f32_of_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

/* mpk_f16_to_f32, mpk_bf16_to_f32 - the exact value of 16 bits */
static inline float mpk_f16_to_f32(uint16_t bits)
{
	uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
	uint32_t exponent = (bits >> 10) & 0x1fu, fraction = bits & 0x3ffu;

	if (exponent == 0x1f)
		return mpk_f32_of_bits(sign | 0x7f800000u | fraction << 13);
	if (exponent == 0) {
		/* subnormal: fraction / 2^24, which a float holds exactly */
		float value = (float)fraction * 0x1p-24f;

		return sign ? -value : value;
	}
	return mpk_f32_of_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

static inline float mpk_bf16_to_f32(uint16_t bits)
{
	return mpk_f32_of_bits((uint32_t)bits << 16);
}

/* A 16-bit format: the bits of its exponent and, below it, of its fraction. */
struct mpk_half_format {
	unsigned exponent, fraction;
};

/* mpk_half_round - magnitude >> shift, rounded to nearest even
 * @shift   above 0; from 64 on the result is 0, as a double has 53 bits */
static inline uint64_t mpk_half_round(uint64_t magnitude, unsigned shift)
{
	if (shift > 63)
		return 0;

	uint64_t kept = magnitude >> shift;
	uint64_t rest = magnitude & ((UINT64_C(1) << shift) - 1);
	uint64_t tie = UINT64_C(1) << (shift - 1);

	return kept + (rest > tie || (rest == tie && (kept & 1)));
}

static inline uint16_t mpk_f64_to_half(double value, struct mpk_half_format to)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);

	uint16_t sign = (uint16_t)(bits >> 48 & 0x8000u);
	uint16_t infinity = (uint16_t)(((1u << to.exponent) - 1) << to.fraction);
	int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	int bias = (1 << (to.exponent - 1)) - 1;
	uint64_t fraction = bits & UINT64_C(0xfffffffffffff);

	if (exponent == 1024 && fraction)
		return (uint16_t)(sign | infinity | 1u << (to.fraction - 1));
	if (exponent > bias)
		return (uint16_t)(sign | infinity);
	if (exponent < -1022)
		/* zero, or a subnormal double, which is far below the smallest 16-bit number */
		return sign;

	uint64_t magnitude = fraction | UINT64_C(1) << 52;
	unsigned shift = 52 - to.fraction;

	if (exponent < 1 - bias) /* subnormal: the exponent stays, the fraction moves down */
		return (uint16_t)(sign | mpk_half_round(magnitude,
							shift + (unsigned)(1 - bias - exponent)));
	/* The hidden bit adds one to the exponent, as does a carry out of the fraction; a carry
	 * past the largest number makes infinity. */
	return (uint16_t)(sign | (((uint64_t)(exponent + bias - 1) << to.fraction) +
				  mpk_half_round(magnitude, shift)));
}

/* mpk_f64_to_f16, mpk_f64_to_bf16 - the nearest 16-bit number */
static inline uint16_t mpk_f64_to_f16(double value)
{
	return mpk_f64_to_half(value, (struct mpk_half_format){ .exponent = 5, .fraction = 10 });
}

static inline uint16_t mpk_f64_to_bf16(double value)
{
	return mpk_f64_to_half(value, (struct mpk_half_format){ .exponent = 8, .fraction = 7 });
}

#endif
