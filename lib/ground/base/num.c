/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people write them, all of the text or nothing. strtol and its like skip
 * blanks, stop at what they do not know and depend on the locale. */
#include "base/num.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int digit_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* Decimal or 0x hexadecimal. A leading zero is not octal: nobody who writes a size means
 * that. */
bool mpk_parse_u64(struct mpk_span text, uint64_t *out)
{
	uint64_t value = 0;
	unsigned base = 10;
	size_t i = 0;

	if (text.len > 2 && text.data[0] == '0' && (text.data[1] | 0x20) == 'x') {
		base = 16;
		i = 2;
	}
	if (i == text.len)
		return false;
	for (; i < text.len; i++) {
		int digit = digit_value(text.data[i]);

		if (digit >= (int)base || !mpk_mul_u64(value, base, &value) ||
		    !mpk_add_u64(value, (uint64_t)digit, &value))
			return false;
	}
	*out = value;
	return true;
}

/* The magnitude first: INT64_MIN has one that INT64_MAX lacks, so the sign decides the
 * limit. */
bool mpk_parse_i64(struct mpk_span text, int64_t *out)
{
	bool negative = text.len && text.data[0] == '-';
	bool sign = negative || (text.len && text.data[0] == '+');
	uint64_t magnitude;

	if (sign)
		text = mpk_span_of(text.data + 1, text.len - 1);
	if (!mpk_parse_u64(text, &magnitude))
		return false;
	if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
		return false;
	*out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
	return true;
}

/* strtod needs a NUL at the end, which a view of a file does not have. 127 characters are
 * enough for every number that is printed by %.17g; longer ones are refused. */
bool mpk_parse_f64(struct mpk_span text, double *out)
{
	char buf[128];
	char *end;

	if (text.len == 0 || text.len >= sizeof buf || isspace(text.data[0]))
		return false;
	memcpy(buf, text.data, text.len);
	buf[text.len] = '\0';

	double value = strtod(buf, &end);
	if (end != buf + text.len)
		return false;
	*out = value;
	return true;
}
