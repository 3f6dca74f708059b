/* SPDX-License-Identifier: Apache-2.0 */
/* element.c - finds the numbers in a tensor's bytes, parses them and prints them
 *
 * Printed text parses to exactly the same number, and has as few digits as that needs. */
#include "value/element.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/native.h"
#include "base/num.h"

/* --- as text --------------------------------------------------------------------------------- */

static enum mpk_element_parsed parse_bool(struct mpk_span text, struct mpk_element *e)
{
	bool yes = mpk_span_is(text, "true") || mpk_span_is(text, "1") || mpk_span_is(text, "True");

	e->i = yes;
	if (yes || mpk_span_is(text, "false") || mpk_span_is(text, "0") ||
	    mpk_span_is(text, "False"))
		return MPK_ELEMENT_OK;
	return MPK_ELEMENT_NO_NUMBER;
}

/* Tells why an integer did not parse: it is too large, or not a number. */
static enum mpk_element_parsed reason(struct mpk_span text)
{
	size_t i = text.len && (text.data[0] == '-' || text.data[0] == '+');

	if (i == text.len)
		return MPK_ELEMENT_NO_NUMBER;
	for (; i < text.len; i++)
		if (text.data[i] < '0' || text.data[i] > '9')
			return MPK_ELEMENT_NO_NUMBER;
	return MPK_ELEMENT_NO_FIT;
}

static enum mpk_element_parsed parse_int(unsigned bits, struct mpk_span text, struct mpk_element *e)
{
	if (!mpk_parse_i64(text, &e->i))
		return reason(text);
	if (bits < 64 && (e->i < -(INT64_C(1) << (bits - 1)) || e->i >= INT64_C(1) << (bits - 1)))
		return MPK_ELEMENT_NO_FIT;
	return MPK_ELEMENT_OK;
}

static enum mpk_element_parsed parse_uint(unsigned bits, struct mpk_span text,
					  struct mpk_element *e)
{
	if (!mpk_parse_u64(text, &e->u))
		return reason(text);
	if (bits < 64 && e->u >> bits)
		return MPK_ELEMENT_NO_FIT;
	return MPK_ELEMENT_OK;
}

static void store_float(struct mpk_dtype t, double value, void *p)
{
	mpk_element_store(t, (struct mpk_element){ .class = MPK_ELEMENT_FLOAT, .f = value }, p);
}

/* Parses a double and rounds it to the type. */
static enum mpk_element_parsed parse_float(struct mpk_dtype t, struct mpk_span text,
					   struct mpk_element *e)
{
	uint8_t raw[8];
	double value;

	if (!mpk_parse_f64(text, &value))
		return MPK_ELEMENT_NO_NUMBER;
	if (mpk_dtype_is_narrow(t) && !mpk_narrow_fits(t, value))
		return MPK_ELEMENT_NO_FIT;
	store_float(t, value, raw);
	e->f = mpk_element_load(t, raw).f;
	if (isinf(e->f) && (!isinf(value) || !memchr(text.data, 'n', text.len)))
		return MPK_ELEMENT_NO_FIT; /* the number is finite, but rounding made it infinite */
	return MPK_ELEMENT_OK;
}

static enum mpk_element_parsed parse_by_class(struct mpk_dtype t, struct mpk_span text,
					      struct mpk_element *out)
{
	struct mpk_element e = { .class = mpk_element_class(t) };
	enum mpk_element_parsed parsed = MPK_ELEMENT_NO_NUMBER;

	switch (e.class) {
	case MPK_ELEMENT_NONE:
		break;
	case MPK_ELEMENT_BOOL:
		parsed = parse_bool(text, &e);
		break;
	case MPK_ELEMENT_INT:
		parsed = parse_int(t.bits, text, &e);
		break;
	case MPK_ELEMENT_UINT:
		parsed = parse_uint(t.bits, text, &e);
		break;
	case MPK_ELEMENT_FLOAT:
		parsed = parse_float(t, text, &e);
		break;
	}
	if (parsed == MPK_ELEMENT_OK)
		*out = e;
	return parsed;
}

enum { DIGITS_MAX = 17, SINGLE_DIGITS_MAX = 9, PLAIN_DIGITS_MAX = 9 };

/* Whether a text parses to the same bits. */
static bool survives(struct mpk_dtype t, const char *text, const void *p)
{
	double value = strtod(text, NULL);
	uint8_t raw[8];

	if (mpk_dtype_is_narrow(t) && !mpk_narrow_fits(t, value))
		return false;
	store_float(t, value, raw);
	return memcmp(raw, p, mpk_dtype_bytes(t)) == 0;
}

/* Binary search for the number of digits: a text with more digits is not further from the value.
 * This does not hold next to a power of two, whose neighbours are at different distances, nor for
 * narrow types, where the text must match exactly. */
static int least_digits(struct mpk_dtype t, double value, const void *p)
{
	bool is_single = t.bits == 32;
	int exponent, low = 1, high = is_single ? SINGLE_DIGITS_MAX : DIGITS_MAX;
	bool may_halve = (is_single || t.bits == 64) && fabs(frexp(value, &exponent)) != 0.5;
	char text[320]; /* large enough for any precision, to avoid warnings of compilers */

	while (high - low > 1) {
		int digits = may_halve ? low + (high - low) / 2 : low + 1;

		(void)snprintf(text, sizeof text, "%.*g", digits, value);
		if (!survives(t, text, p)) {
			low = digits;
			continue;
		}
		high = digits;
		if (!may_halve)
			break;
	}
	return high;
}

/* Uses the fewest digits that give the same bits; 17 are enough for every double. */
static void print_float(struct mpk_strbuf *buf, struct mpk_dtype t, const void *p)
{
	double value = mpk_element_load(t, p).f;
	char text[40];
	int digits = 1;

	if (isnan(value) || isinf(value)) {
		mpk_strbuf_puts(buf, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
		return;
	}
	(void)snprintf(text, sizeof text, "%.*g", digits, value);
	if (!survives(t, text, p)) {
		digits = least_digits(t, value, p);
		(void)snprintf(text, sizeof text, "%.*g", digits, value);
	}
	/* prints 100 instead of 1e+02: at least as many digits as the integer part has */
	double magnitude = fabs(value);
	if (magnitude >= 1 && magnitude < 1e9) {
		int whole = 1 + (int)floor(log10(magnitude));

		if (whole > digits && whole <= PLAIN_DIGITS_MAX)
			(void)snprintf(text, sizeof text, "%.*g", whole, value);
	}
	mpk_strbuf_puts(buf, text);
}

/* Returns the offset of an element's i-th byte, counted from its lowest bits: lane after lane, each
 * in the machine's byte order. */
static size_t element_place_of(struct mpk_dtype t, size_t i)
{
	if (!MPK_BIG_ENDIAN)
		return i;

	size_t lane = mpk_dtype_number_bytes(t);

	return i / lane * lane + (lane - 1 - i % lane);
}

/* Prints the bits as one number, from the highest byte. */
static void print_bits(struct mpk_strbuf *buf, struct mpk_dtype t, const void *p)
{
	const uint8_t *bytes = p;

	mpk_strbuf_puts(buf, "0x");
	for (size_t i = mpk_dtype_bytes(t); i-- > 0;)
		mpk_strbuf_printf(buf, "%02x", bytes[element_place_of(t, i)]);
}

static int element_hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

enum mpk_element_parsed mpk_element_parse(struct mpk_dtype t, struct mpk_span text, void *out)
{
	enum mpk_element_parsed parsed;
	struct mpk_element e;

	if (mpk_element_class(t) == MPK_ELEMENT_NONE) {
		/* Reads digits from the last one, so that there may be too few or too many leading zeros. Bits in
		 * the last byte beyond the type mean that the number does not fit. */
		size_t bytes = mpk_dtype_bytes(t);
		unsigned top = t.lanes == 1 && t.bits % 8 ? t.bits % 8 : 8;
		uint8_t *to = out;

		if (text.len < 3 || text.data[0] != '0' || (text.data[1] | 0x20) != 'x')
			return MPK_ELEMENT_NO_NUMBER;
		memset(to, 0, bytes);
		for (size_t i = 0; i < text.len - 2; i++) {
			int digit = element_hex_digit(text.data[text.len - 1 - i]);

			if (digit < 0)
				return MPK_ELEMENT_NO_NUMBER;
			if (digit && i / 2 >= bytes)
				return MPK_ELEMENT_NO_FIT;
			if (digit)
				to[element_place_of(t, i / 2)] |= (uint8_t)(digit << i % 2 * 4);
		}
		return to[element_place_of(t, bytes - 1)] >> top ? MPK_ELEMENT_NO_FIT
								 : MPK_ELEMENT_OK;
	}
	parsed = parse_by_class(t, text, &e);
	if (parsed == MPK_ELEMENT_OK)
		mpk_element_store(t, e, out);
	return parsed;
}

void mpk_element_print(struct mpk_strbuf *buf, struct mpk_dtype t, const void *p)
{
	struct mpk_element e = mpk_element_load(t, p);

	switch (e.class) {
	case MPK_ELEMENT_NONE:
		print_bits(buf, t, p);
		break;
	case MPK_ELEMENT_BOOL:
		mpk_strbuf_puts(buf, e.i ? "true" : "false");
		break;
	case MPK_ELEMENT_INT:
		mpk_strbuf_printf(buf, "%" PRId64, e.i);
		break;
	case MPK_ELEMENT_UINT:
		mpk_strbuf_printf(buf, "%" PRIu64, e.u);
		break;
	case MPK_ELEMENT_FLOAT:
		print_float(buf, t, p);
		break;
	}
}

/* --- all numbers of a tensor ----------------------------------------------------------------- */

/* In tensors of TVM up to 0.22 uint1 is a bool of one byte; its vectors are not split into lanes. */
static bool has_lanes(struct mpk_dtype t)
{
	return t.lanes > 1 && t.lanes < 0x8000 && !(t.code == MPK_DTYPE_UINT && t.bits == 1);
}

/* As in DLPack since 1.0, where bool takes a whole byte. */
bool mpk_dtype_is_packed(struct mpk_dtype t)
{
	return t.bits % 8 && !mpk_dtype_is_bool(t) && (t.lanes == 1 || has_lanes(t));
}

/* Counts groups of eight elements, whose size in bytes equals the bits of one element, so that the
 * number of bits cannot overflow. */
bool mpk_dtype_size(struct mpk_dtype t, uint64_t count, uint64_t *bytes)
{
	uint64_t bits = (uint64_t)t.bits * (has_lanes(t) ? t.lanes : 1);

	if (!mpk_dtype_is_packed(t))
		return mpk_mul_u64(count, mpk_dtype_bytes(t), bytes);
	/* a group of eight elements ends at a byte boundary */
	if (!mpk_mul_u64(count / 8, bits, bytes))
		return false;
	*bytes += (count % 8 * bits + 7) / 8;
	return true;
}

/* Lanes become the innermost dimension. */
struct mpk_scalars mpk_scalars_of(const struct mpk_dltensor *dl)
{
	struct mpk_scalars s = { .dtype = dl->dtype, .ndim = dl->ndim };

	if (mpk_dldevice_is_host(dl->device))
		s.data = mpk_dltensor_data(dl);
	if (dl->ndim)
		memcpy(s.shape, dl->shape, (size_t)dl->ndim * sizeof s.shape[0]);
	if (has_lanes(dl->dtype)) {
		s.dtype.lanes = 1;
		s.shape[s.ndim++] = dl->dtype.lanes;
	}
	s.count = mpk_dtype_bytes(dl->dtype) !=
		  0; /* elements without bytes have no content to read */
	for (int32_t i = 0; i < s.ndim; i++)
		s.count *= (uint64_t)s.shape[i];
	return s;
}

/* Copies bits from any bit position to the beginning of a byte. */
static void get_bits(const uint8_t *from, uint64_t at, unsigned bits, uint8_t *to)
{
	memset(to, 0, MPK_SCALAR_MAX);
	for (unsigned i = 0; i < bits; i++, at++)
		to[i / 8] |= (uint8_t)((from[at / 8] >> at % 8 & 1) << i % 8);
}

static void put_bits(uint8_t *to, uint64_t at, unsigned bits, const uint8_t *from)
{
	for (unsigned i = 0; i < bits; i++, at++) {
		uint8_t mask = (uint8_t)(1u << at % 8);

		to[at / 8] = (uint8_t)(from[i / 8] >> i % 8 & 1 ? to[at / 8] | mask
								: to[at / 8] & ~mask);
	}
}

/* Elements of whole bytes are not copied. */
const void *mpk_scalar_at(const struct mpk_scalars *s, uint64_t index, uint8_t raw[MPK_SCALAR_MAX])
{
	if (!mpk_dtype_is_packed(s->dtype))
		return s->data + index * mpk_dtype_bytes(s->dtype);
	get_bits(s->data, index * s->dtype.bits, s->dtype.bits, raw);
	return raw;
}

size_t mpk_scalars_edges(const struct mpk_scalars *s, uint64_t index)
{
	size_t n = 0;
	uint64_t run = 1;

	for (int32_t d = s->ndim - 1; d >= 0; d--) {
		run *= (uint64_t)s->shape[d];
		n += index % run == 0;
	}
	return n;
}

void mpk_scalar_put(const struct mpk_scalars *s, uint64_t index, const void *bytes)
{
	size_t each = mpk_dtype_bytes(s->dtype);

	if (mpk_dtype_is_packed(s->dtype))
		put_bits(s->data, index * s->dtype.bits, s->dtype.bits, bytes);
	else
		memcpy(s->data + index * each, bytes, each);
}
