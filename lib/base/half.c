#include "base/half.h"

#include <string.h>

static float f32_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return bits;
}

float mpk_bf16_to_f32(uint16_t bits)
{
	return f32_of((uint32_t)bits << 16);
}

float mpk_f16_to_f32(uint16_t bits)
{
	uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
	uint32_t exponent = (bits >> 10) & 0x1fu, fraction = bits & 0x3ffu;

	if (exponent == 0x1f)
		return f32_of(sign | 0x7f800000u | fraction << 13);
	if (exponent == 0) {
		/* subnormal: fraction / 2^24, which a float holds exactly */
		float value = (float)fraction * 0x1p-24f;

		return sign ? -value : value;
	}
	return f32_of(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

/* A small binary format: 1 sign bit, `exponent` and `fraction` bits below it. */
struct narrow {
	unsigned exponent, fraction;
};

/* magnitude >> shift, rounded to nearest even; 0 < shift */
static uint64_t round_shift(uint64_t magnitude, unsigned shift)
{
	if (shift > 63)
		return 0;

	uint64_t kept = magnitude >> shift;
	uint64_t rest = magnitude & ((UINT64_C(1) << shift) - 1);
	uint64_t half = UINT64_C(1) << (shift - 1);

	return kept + (rest > half || (rest == half && (kept & 1)));
}

static uint16_t narrow_f64(double value, struct narrow to)
{
	uint64_t bits = bits_of(value);
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
		return sign; /* zero or a double's subnormal: far below ours */

	uint64_t magnitude = fraction | UINT64_C(1) << 52;
	unsigned shift = 52 - to.fraction;

	if (exponent < 1 - bias)
		return (uint16_t)(sign |
				  round_shift(magnitude, shift + (unsigned)(1 - bias - exponent)));
	/* the hidden bit adds one to the exponent, as does a carry out of the fraction;
	 * a carry past the largest number makes infinity */
	return (uint16_t)(sign | (((uint64_t)(exponent + bias - 1) << to.fraction) +
				  round_shift(magnitude, shift)));
}

uint16_t mpk_f64_to_f16(double value)
{
	return narrow_f64(value, (struct narrow){ .exponent = 5, .fraction = 10 });
}

uint16_t mpk_f64_to_bf16(double value)
{
	return narrow_f64(value, (struct narrow){ .exponent = 8, .fraction = 7 });
}
