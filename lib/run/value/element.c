/* SPDX-License-Identifier: Apache-2.0 */
#include "value/element.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/native.h"
#include "base/num.h"
#include "value/narrow.h"

static bool is_byte_size(unsigned bits)
{
	return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

/* Narrower integers: theirs are the lowest bits of a byte. */
static bool is_sub_byte(unsigned bits)
{
	return bits > 0 && bits < 8;
}

bool mpk_element_is_plain(struct mpk_dtype t)
{
	return mpk_element_class(t) != MPK_ELEMENT_NONE && !mpk_dtype_is_narrow(t) &&
	       (t.bits >= 8 || mpk_dtype_is_bool(t));
}

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

static int64_t load_int(unsigned bits, const void *p)
{
	uint64_t raw = mpk_native_load(p, (bits + 7) / 8);

	if (bits == 64)
		return (int64_t)raw;

	uint64_t sign = UINT64_C(1) << (bits - 1);
	raw &= (sign << 1) - 1;
	return (int64_t)((raw ^ sign) - sign);
}

static double load_float(struct mpk_dtype t, const void *p)
{
	uint16_t half;
	float single;
	double real;

	if (mpk_dtype_is_narrow(t))
		return mpk_narrow_to_f64(t, *(const uint8_t *)p);
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

static void store_float(struct mpk_dtype t, double value, void *p)
{
	float single = (float)value;
	uint16_t half;

	if (mpk_dtype_is_narrow(t)) {
		*(uint8_t *)p = mpk_narrow_from_f64(t, value);
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

static enum mpk_element_parsed parse_bool(struct mpk_span text, struct mpk_element *e)
{
	bool yes = mpk_span_is(text, "true") || mpk_span_is(text, "1") || mpk_span_is(text, "True");

	e->i = yes;
	if (yes || mpk_span_is(text, "false") || mpk_span_is(text, "0") ||
	    mpk_span_is(text, "False"))
		return MPK_ELEMENT_OK;
	return MPK_ELEMENT_NO_NUMBER;
}

/* Why an integer did not parse: a number too large, or none. */
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
	e->f = load_float(t, raw);
	if (isinf(e->f) && (!isinf(value) || !memchr(text.data, 'n', text.len)))
		return MPK_ELEMENT_NO_FIT; /* a finite number that became infinite */
	return MPK_ELEMENT_OK;
}

enum mpk_element_parsed mpk_element_parse(struct mpk_dtype t, struct mpk_span text,
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

enum { DIGITS_MAX = 17, PLAIN_DIGITS_MAX = 9 };

static bool survives(struct mpk_dtype t, const char *text, const void *p)
{
	double value = strtod(text, NULL);
	uint8_t raw[8];

	if (mpk_dtype_is_narrow(t) && !mpk_narrow_fits(t, value))
		return false;
	store_float(t, value, raw);
	return memcmp(raw, p, mpk_dtype_bytes(t)) == 0;
}

static void print_float(struct mpk_strbuf *buf, struct mpk_dtype t, const void *p)
{
	double value = load_float(t, p);
	char text[40];
	int digits = 1;

	if (isnan(value) || isinf(value)) {
		mpk_strbuf_puts(buf, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
		return;
	}
	for (; digits <= DIGITS_MAX; digits++) {
		(void)snprintf(text, sizeof text, "%.*g", digits, value);
		if (survives(t, text, p))
			break;
	}
	/* 100, not 1e+02: as many digits as the integer part has are never wrong */
	double magnitude = fabs(value);
	if (magnitude >= 1 && magnitude < 1e9) {
		int whole = 1 + (int)floor(log10(magnitude));

		if (whole > digits && whole <= PLAIN_DIGITS_MAX)
			(void)snprintf(text, sizeof text, "%.*g", whole, value);
	}
	mpk_strbuf_puts(buf, text);
}

/* Where the i-th byte of an element stands, from its lowest bits on: lane after lane, each in this
 * machine's order. */
static size_t place_of(struct mpk_dtype t, size_t i)
{
	if (!MPK_BIG_ENDIAN)
		return i;

	size_t lane = mpk_dtype_number_bytes(t);

	return i / lane * lane + (lane - 1 - i % lane);
}

static void print_bits(struct mpk_strbuf *buf, struct mpk_dtype t, const void *p)
{
	const uint8_t *bytes = p;

	mpk_strbuf_puts(buf, "0x");
	for (size_t i = mpk_dtype_bytes(t); i-- > 0;)
		mpk_strbuf_printf(buf, "%02x", bytes[place_of(t, i)]);
}

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

enum mpk_element_parsed mpk_element_parse_bits(struct mpk_dtype t, struct mpk_span text, void *out)
{
	size_t bytes = mpk_dtype_bytes(t);
	unsigned top = t.lanes == 1 && t.bits % 8 ? t.bits % 8 : 8;
	uint8_t *to = out;

	if (text.len < 3 || text.data[0] != '0' || (text.data[1] | 0x20) != 'x')
		return MPK_ELEMENT_NO_NUMBER;
	memset(to, 0, bytes);
	for (size_t i = 0; i < text.len - 2; i++) {
		int digit = hex_digit(text.data[text.len - 1 - i]);

		if (digit < 0)
			return MPK_ELEMENT_NO_NUMBER;
		if (digit && i / 2 >= bytes)
			return MPK_ELEMENT_NO_FIT;
		if (digit)
			to[place_of(t, i / 2)] |= (uint8_t)(digit << i % 2 * 4);
	}
	return to[place_of(t, bytes - 1)] >> top ? MPK_ELEMENT_NO_FIT : MPK_ELEMENT_OK;
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

double mpk_element_to_double(struct mpk_element e)
{
	switch (e.class) {
	case MPK_ELEMENT_NONE:
		return 0;
	case MPK_ELEMENT_BOOL:
	case MPK_ELEMENT_INT:
		return (double)e.i;
	case MPK_ELEMENT_UINT:
		return (double)e.u;
	case MPK_ELEMENT_FLOAT:
		break;
	}
	return e.f;
}
