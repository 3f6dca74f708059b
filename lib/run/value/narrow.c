/* SPDX-License-Identifier: Apache-2.0 */
/* narrow.c - floats of 4, 6 and 8 bits: a row a format, one conversion for all
 *
 * A format is its number of exponent and fraction bits, its bias, and what the patterns at the top
 * of its range mean. The codes, and the order of the rows, are those of DLDataTypeCode in DLPack
 * 1.1; the values are those of ml_dtypes, which TVM and JAX use.
 */
#include "value/element.h"

#include <math.h>

#include "base/compiler.h"

/* What the bit patterns at the top of the range mean. */
enum special {
	IEEE,   /* the largest exponent: infinity and NaNs */
	FN,     /* no infinity; all ones: NaN */
	FNUZ,   /* no infinity, no negative zero: its pattern is the one NaN */
	FINITE, /* numbers only */
	SCALE,  /* powers of two: no sign, no fraction, no zero; all ones: NaN */
};

struct format {
	uint8_t code, bits;
	uint8_t exponent, fraction; /* bits of */
	uint8_t bias;
	enum special special;
};

enum { FIRST = 7 }; /* DLPack's code of the first row */

static const struct format formats[] = {
	{ 7, 8, 3, 4, 3, IEEE },     /* float8_e3m4 */
	{ 8, 8, 4, 3, 7, IEEE },     /* float8_e4m3 */
	{ 9, 8, 4, 3, 11, FNUZ },    /* float8_e4m3b11fnuz */
	{ 10, 8, 4, 3, 7, FN },      /* float8_e4m3fn */
	{ 11, 8, 4, 3, 8, FNUZ },    /* float8_e4m3fnuz */
	{ 12, 8, 5, 2, 15, IEEE },   /* float8_e5m2 */
	{ 13, 8, 5, 2, 16, FNUZ },   /* float8_e5m2fnuz */
	{ 14, 8, 8, 0, 127, SCALE }, /* float8_e8m0fnu */
	{ 15, 6, 2, 3, 1, FINITE },  /* float6_e2m3fn */
	{ 16, 6, 3, 2, 3, FINITE },  /* float6_e3m2fn */
	{ 17, 4, 2, 1, 1, FINITE },  /* float4_e2m1fn */
};

/* The row by its code; NULL for all other types. */
static const struct format *narrow_format_of(struct mpk_dtype t)
{
	size_t row = (size_t)t.code - FIRST; /* a lower code wraps */

	if (row >= MPK_ARRAY_COUNT(formats) || t.bits != formats[row].bits || t.lanes != 1)
		return NULL;
	return &formats[row];
}

bool mpk_dtype_is_narrow(struct mpk_dtype t)
{
	return narrow_format_of(t) != NULL;
}

/* The bit that is set for negative numbers; a scale has none. */
static unsigned sign_of(const struct format *f)
{
	return f->special == SCALE ? 0 : 1u << (f->bits - 1);
}

/* The magnitude's bits of the smallest pattern that is no number. */
static unsigned end_of_numbers(const struct format *f)
{
	unsigned magnitudes = 1u << (f->exponent + f->fraction);

	switch (f->special) {
	case IEEE:
		return magnitudes - (1u << f->fraction);
	case FN:
	case SCALE:
		return magnitudes - 1;
	case FNUZ:
	case FINITE:
		break;
	}
	return magnitudes;
}

static bool is_nan(const struct format *f, unsigned sign, unsigned magnitude)
{
	if (f->special == FNUZ)
		return sign && !magnitude;
	return magnitude >= end_of_numbers(f) &&
	       (f->special != IEEE || magnitude > end_of_numbers(f));
}

static double narrow_number(const struct format *f, unsigned magnitude)
{
	int exponent = (int)(magnitude >> f->fraction);
	unsigned fraction = magnitude & ((1u << f->fraction) - 1);

	if (f->special == SCALE)
		return ldexp(1, exponent - f->bias);
	/* subnormal numbers have the exponent of the smallest normal ones and no hidden bit */
	if (exponent)
		fraction |= 1u << f->fraction;
	else
		exponent = 1;
	return ldexp(fraction, exponent - f->bias - f->fraction);
}

/* A double has room for the exponents of all of them, 2^-127 to 2^127 (float8_e8m0fnu). */
double mpk_narrow_to_f64(struct mpk_dtype t, uint8_t bits)
{
	const struct format *f = narrow_format_of(t);
	unsigned all = bits & ((1u << f->bits) - 1), sign = all & sign_of(f),
		 magnitude = all ^ sign;
	double value;

	if (is_nan(f, sign, magnitude))
		return sign ? -(double)NAN : (double)NAN;
	value = magnitude >= end_of_numbers(f) ? INFINITY : narrow_number(f, magnitude);
	return sign ? -value : value;
}

/* --- rounding -------------------------------------------------------------------- */

/* The magnitude's bits of the nearest number to a finite value > 0, as if there were no largest one;
 * a value far beyond gives the pattern after all others. */
static unsigned round_magnitude(const struct format *f, double value)
{
	unsigned behind = 1u << (f->exponent + f->fraction);
	int exponent;

	if (f->special == SCALE) {
		double fraction = frexp(value, &exponent) * 2;

		/* ml_dtypes takes the next power for all that is subnormal as a float */
		if (value < 0x1p-126)
			return value > 0x1p-127;
		/* halfway up, and no zero below */

		exponent += f->bias - 1 + (fraction >= 1.5);
		return exponent < 0 ? 0 : exponent < (int)behind ? (unsigned)exponent : behind;
	}
	(void)frexp(value, &exponent);
	exponent += f->bias - 1; /* as it is stored */
	if (exponent >= 1 << f->exponent)
		return behind;
	if (exponent < 1)
		exponent = 1;
	/* in units of the last bit, of which nearbyint's rounding mode is not ours to know */
	double units = ldexp(value, f->fraction + f->bias - exponent);
	double whole = floor(units), rest = units - whole;
	unsigned magnitude = (unsigned)whole;

	magnitude += rest > 0.5 || (rest == 0.5 && (magnitude & 1));
	/* the hidden bit adds one to the exponent, as does a carry out of the fraction */
	return ((unsigned)(exponent - 1) << f->fraction) + magnitude;
}

static uint8_t nan_of(const struct format *f, unsigned sign)
{
	switch (f->special) {
	case IEEE: /* quiet */
		return (uint8_t)(sign | end_of_numbers(f) | 1u << (f->fraction - 1));
	case FN:
	case SCALE:
		return (uint8_t)(sign | end_of_numbers(f));
	case FNUZ:
		return (uint8_t)sign_of(f);
	case FINITE: /* as ml_dtypes has it: a zero, of the other sign */
		break;
	}
	return (uint8_t)(sign ^ sign_of(f));
}

/* Infinity is rounded like a number beyond the largest, as ml_dtypes does it. */
uint8_t mpk_narrow_from_f64(struct mpk_dtype t, double value)
{
	const struct format *f = narrow_format_of(t);
	unsigned sign = signbit(value) ? sign_of(f) : 0, end = end_of_numbers(f), magnitude = 0;

	if (isnan(value) || (f->special == SCALE && !(value > 0)))
		return nan_of(f, sign);
	if (isinf(value))
		magnitude = 1u << (f->exponent + f->fraction);
	else if (value != 0)
		magnitude = round_magnitude(f, fabs(value));
	if (f->special == FNUZ && magnitude == 0)
		return 0;
	if (magnitude < end)
		return (uint8_t)(sign | magnitude);
	if (f->special == IEEE)
		return (uint8_t)(sign | end);
	return f->special == FINITE ? (uint8_t)(sign | (end - 1)) : nan_of(f, sign);
}

/* After rounding: 448.1 fits float8_e4m3fn, whose largest number is 448. */
bool mpk_narrow_fits(struct mpk_dtype t, double value)
{
	const struct format *f = narrow_format_of(t);

	if (isnan(value))
		return f->special != FINITE;
	if (isinf(value))
		return f->special == IEEE;
	if (f->special == SCALE && !(value > 0))
		return false;
	return value == 0 || round_magnitude(f, fabs(value)) < end_of_numbers(f);
}
