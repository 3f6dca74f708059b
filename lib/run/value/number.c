/* SPDX-License-Identifier: Apache-2.0 */
/* number.c - converts single numbers of tensors: their class, loading and storing
 *
 * The numbers of a type have one of four classes (element.h), or none: then elements are only bits.
 * Code that fills, prints or compares tensors needs no other distinction.
 *
 * Floats of 4, 6 and 8 bits are described by a table with a row for each format, and one conversion
 * serves all. A row has the numbers of exponent and fraction bits, the bias, and the meaning of the
 * highest bit patterns. Codes and the order of rows are those of DLDataTypeCode in DLPack 1.1;
 * values are those of ml_dtypes, which TVM and JAX use. */
#include "value/element.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/half.h"
#include "base/native.h"

/* --- floats of less than 16 bits ----------------------------------------------------------------- */

/* Meaning of the highest bit patterns. */
enum special {
	IEEE,   /* the largest exponent is infinity and NaNs */
	FN,     /* no infinity; the pattern of all ones is NaN */
	FNUZ,   /* no infinity and no negative zero, whose pattern is the only NaN */
	FINITE, /* only finite numbers */
	SCALE,  /* powers of two without sign, fraction or zero; all ones is NaN */
};

struct format {
	uint8_t code, bits;
	uint8_t exponent, fraction; /* number of bits */
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

/* Returns the row for a type's code; NULL for other types. */
static const struct format *narrow_format_of(struct mpk_dtype t)
{
	size_t row = (size_t)t.code - FIRST; /* a lower code wraps to a large number */

	if (row >= MPK_ARRAY_COUNT(formats) || t.bits != formats[row].bits || t.lanes != 1)
		return NULL;
	return &formats[row];
}

bool mpk_dtype_is_narrow(struct mpk_dtype t)
{
	return narrow_format_of(t) != NULL;
}

/* Returns the sign bit; a scale has none. */
static unsigned sign_of(const struct format *f)
{
	return f->special == SCALE ? 0 : 1u << (f->bits - 1);
}

/* Returns the lowest pattern, without the sign, that is not a number. */
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
	/* subnormal numbers have the exponent of the smallest normal number, and no hidden bit */
	if (exponent)
		fraction |= 1u << f->fraction;
	else
		exponent = 1;
	return ldexp(fraction, exponent - f->bias - f->fraction);
}

/* A double can represent all exponents, 2^-127 to 2^127 (float8_e8m0fnu). */
static double narrow_to_f64(struct mpk_dtype t, uint8_t bits)
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

/* Rounds a finite value > 0 to the nearest pattern, as if the format had no largest number; a value
 * far above gives the pattern after all others. */
static unsigned round_magnitude(const struct format *f, double value)
{
	unsigned behind = 1u << (f->exponent + f->fraction);
	int exponent;

	if (f->special == SCALE) {
		double fraction = frexp(value, &exponent) * 2;

		/* ml_dtypes rounds up every value that is subnormal as a float */
		if (value < 0x1p-126)
			return value > 0x1p-127;
		/* rounds up from the middle between two powers; there is no zero */

		exponent += f->bias - 1 + (fraction >= 1.5);
		return exponent < 0 ? 0 : exponent < (int)behind ? (unsigned)exponent : behind;
	}
	(void)frexp(value, &exponent);
	exponent += f->bias - 1; /* biased exponent */
	if (exponent >= 1 << f->exponent)
		return behind;
	if (exponent < 1)
		exponent = 1;
	/* in units of the last bit; does not use nearbyint, because the caller sets its rounding mode */
	double units = ldexp(value, f->fraction + f->bias - exponent);
	double whole = floor(units), rest = units - whole;
	unsigned magnitude = (unsigned)whole;

	magnitude += rest > 0.5 || (rest == 0.5 && (magnitude & 1));
	/* the hidden bit adds one to the exponent, and so does a carry from the fraction */
	return ((unsigned)(exponent - 1) << f->fraction) + magnitude;
}

static uint8_t nan_of(const struct format *f, unsigned sign)
{
	switch (f->special) {
	case IEEE: /* a quiet NaN */
		return (uint8_t)(sign | end_of_numbers(f) | 1u << (f->fraction - 1));
	case FN:
	case SCALE:
		return (uint8_t)(sign | end_of_numbers(f));
	case FNUZ:
		return (uint8_t)sign_of(f);
	case FINITE: /* as in ml_dtypes: a zero with the opposite sign */
		break;
	}
	return (uint8_t)(sign ^ sign_of(f));
}

/* Infinity is rounded like a number above the largest, as in ml_dtypes. */
static uint8_t narrow_from_f64(struct mpk_dtype t, double value)
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

/* Tests after rounding: 448.1 fits float8_e4m3fn, whose largest number is 448. */
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

/* --- numbers of every type ----------------------------------------------------------------------- */

static bool is_byte_size(unsigned bits)
{
	return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

/* Integers narrower than a byte are in the lowest bits of a byte. */
static bool is_sub_byte(unsigned bits)
{
	return bits > 0 && bits < 8;
}

/* Plain NumPy has these types; others need ml_dtypes or are packed. */
bool mpk_element_is_plain(struct mpk_dtype t)
{
	return mpk_element_class(t) != MPK_ELEMENT_NONE && !mpk_dtype_is_narrow(t) &&
	       (t.bits >= 8 || mpk_dtype_is_bool(t));
}

/* Vectors have no class; their lanes are handled one by one. */
enum mpk_element_class mpk_element_class(struct mpk_dtype t)
{
	if (t.lanes != 1)
		return MPK_ELEMENT_NONE;
	if (mpk_dtype_is_bool(t))
		return MPK_ELEMENT_BOOL;
	if (mpk_dtype_is_narrow(t))
		return MPK_ELEMENT_FLOAT;
	if (!is_byte_size(t.bits) && !is_sub_byte(t.bits))
		return MPK_ELEMENT_NONE;
	if (t.code == MPK_DTYPE_INT)
		return MPK_ELEMENT_INT;
	if (t.code == MPK_DTYPE_UINT)
		return MPK_ELEMENT_UINT;
	if ((t.code == MPK_DTYPE_FLOAT && t.bits >= 16) ||
	    (t.code == MPK_DTYPE_BFLOAT && t.bits == 16))
		return MPK_ELEMENT_FLOAT;
	return MPK_ELEMENT_NONE;
}

/* Loads an integer with sign extension from its highest bit. */
static int64_t load_int(unsigned bits, const void *p)
{
	uint64_t raw = mpk_native_load(p, (bits + 7) / 8);

	if (bits == 64)
		return (int64_t)raw;

	uint64_t sign = UINT64_C(1) << (bits - 1);
	raw &= (sign << 1) - 1;
	return (int64_t)((raw ^ sign) - sign);
}

/* A double represents every number of the smaller types exactly. */
static double load_float(struct mpk_dtype t, const void *p)
{
	uint16_t half;
	float single;
	double real;

	if (mpk_dtype_is_narrow(t))
		return narrow_to_f64(t, *(const uint8_t *)p);
	if (t.bits == 64) {
		memcpy(&real, p, sizeof real);
		return real;
	}
	if (t.bits == 32) {
		memcpy(&single, p, sizeof single);
		return (double)single;
	}
	memcpy(&half, p, sizeof half);
	return (double)(t.code == MPK_DTYPE_BFLOAT ? mpk_bf16_to_f32(half) : mpk_f16_to_f32(half));
}

struct mpk_element mpk_element_load(struct mpk_dtype t, const void *p)
{
	struct mpk_element e = { .class = mpk_element_class(t) };

	switch (e.class) {
	case MPK_ELEMENT_NONE:
		break;
	case MPK_ELEMENT_BOOL:
		e.i = *(const uint8_t *)p != 0;
		break;
	case MPK_ELEMENT_INT:
		e.i = load_int(t.bits, p);
		break;
	case MPK_ELEMENT_UINT:
		e.u = mpk_native_load(p, mpk_dtype_bytes(t));
		e.u &= ~UINT64_C(0) >> (64 - t.bits);
		break;
	case MPK_ELEMENT_FLOAT:
		e.f = load_float(t, p);
		break;
	}
	return e;
}

/* Rounds once, directly from the double; going through a float would round twice. */
static void store_float(struct mpk_dtype t, double value, void *p)
{
	float single = (float)value;
	uint16_t half;

	if (mpk_dtype_is_narrow(t)) {
		*(uint8_t *)p = narrow_from_f64(t, value);
	} else if (t.bits == 64) {
		memcpy(p, &value, sizeof value);
	} else if (t.bits == 32) {
		memcpy(p, &single, sizeof single);
	} else {
		half = t.code == MPK_DTYPE_BFLOAT ? mpk_f64_to_bf16(value) : mpk_f64_to_f16(value);
		memcpy(p, &half, sizeof half);
	}
}

void mpk_element_store(struct mpk_dtype t, struct mpk_element e, void *p)
{
	uint64_t low = t.bits < 8 ? UINT64_C(0xff) >> (8 - t.bits) : ~UINT64_C(0);

	switch (e.class) {
	case MPK_ELEMENT_NONE:
		break;
	case MPK_ELEMENT_BOOL:
		*(uint8_t *)p = e.i != 0;
		break;
	case MPK_ELEMENT_INT:
		mpk_native_store(p, (uint64_t)e.i & low, mpk_dtype_bytes(t));
		break;
	case MPK_ELEMENT_UINT:
		mpk_native_store(p, e.u & low, mpk_dtype_bytes(t));
		break;
	case MPK_ELEMENT_FLOAT:
		store_float(t, e.f, p);
		break;
	}
}
