/* SPDX-License-Identifier: Apache-2.0 */
/* strbuf.c - growing text, and numbers read from text. A failed allocation is remembered;
 * mpk_strbuf_status reports it once, so that writers need no check for each word. */
#include "base/strbuf.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/vec.h"

enum { PIECE_BYTES = 1 << 20 };

/* Makes room for more bytes and a NUL. The text is always terminated, so it can be read at any
 * time. */
static bool reserve(struct mpk_strbuf *buf, size_t more)
{
	size_t need;

	if (buf->failed || __builtin_add_overflow(buf->len, more, &need) ||
	    __builtin_add_overflow(need, (size_t)1, &need) ||
	    !mpk_vec_reserve(&buf->data, &buf->cap, need, 1))
		buf->failed = true;
	return !buf->failed;
}

void mpk_strbuf_put(struct mpk_strbuf *buf, const char *data, size_t len)
{
	if (!reserve(buf, len))
		return;
	if (len)
		memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void mpk_strbuf_puts(struct mpk_strbuf *buf, const char *text)
{
	mpk_strbuf_put(buf, text, strlen(text));
}

void mpk_strbuf_putc(struct mpk_strbuf *buf, char c)
{
	mpk_strbuf_put(buf, &c, 1);
}

void mpk_strbuf_fill(struct mpk_strbuf *buf, char c, size_t n)
{
	while (n--)
		mpk_strbuf_putc(buf, c);
}

void mpk_strbuf_put_span(struct mpk_strbuf *buf, struct mpk_span s)
{
	mpk_strbuf_put(buf, (const char *)s.data, s.len);
}

/* Formats a second time if the first attempt did not fit. */
void mpk_strbuf_vprintf(struct mpk_strbuf *buf, const char *fmt, va_list ap)
{
	va_list again;
	size_t room;
	int n;

	if (!reserve(buf, 0))
		return;
	room = buf->cap - buf->len;
	va_copy(again, ap);
	n = vsnprintf(buf->data + buf->len, room, fmt, ap);
	if (n >= 0 && (size_t)n >= room && reserve(buf, (size_t)n))
		n = vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, again);
	va_end(again);
	if (n < 0)
		buf->failed = true;
	if (buf->failed)
		buf->data[buf->len] = '\0';
	else
		buf->len += (size_t)n;
}

void mpk_strbuf_printf(struct mpk_strbuf *buf, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	mpk_strbuf_vprintf(buf, fmt, ap);
	va_end(ap);
}

/* Passes on pieces of 1 MiB, so that a listing of gigabytes needs little memory. */
void mpk_strbuf_pass(struct mpk_strbuf *buf)
{
	if (!buf->take || buf->failed || buf->len < PIECE_BYTES)
		return;
	buf->take(buf->data, buf->len, buf->arg);
	buf->passed = true;
	buf->len = 0;
	buf->data[0] = '\0';
}

const char *mpk_strbuf_text(const struct mpk_strbuf *buf)
{
	return buf->data ? buf->data : "";
}

enum mpk_code mpk_strbuf_status(const struct mpk_strbuf *buf, struct mpk_error *err)
{
	return buf->failed ? mpk_fail_nomem(err) : MPK_OK;
}

void mpk_strbuf_fini(struct mpk_strbuf *buf)
{
	free(buf->data);
	memset(buf, 0, sizeof *buf);
}

/* --- numbers as people write them (num.h): all of the text or nothing. strtol and its like skip
 * blanks, stop at what they do not know and depend on the locale --- */

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

/* Decimal or 0x hexadecimal. A leading zero does not mean octal: users do not expect that of a
 * size. */
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

/* Reads the magnitude first and then applies the sign's limit, because INT64_MIN has a larger
 * magnitude than INT64_MAX. */
bool mpk_parse_i64(struct mpk_span text, int64_t *out)
{
	bool negative = text.len && text.data[0] == '-';
	bool sign = negative || (text.len && text.data[0] == '+');
	uint64_t magnitude;

	if (sign)
		text = mpk_span_from(text, 1);
	if (!mpk_parse_u64(text, &magnitude))
		return false;
	if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
		return false;
	*out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
	return true;
}

/* strtod needs a NUL at the end, which a view of a file lacks. 127 characters hold every number
 * that %.17g prints; longer ones are refused. */
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
