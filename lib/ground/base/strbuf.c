/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows. A failed allocation is remembered and reported once, by
 * mpk_strbuf_status, so that writers of text need no check for each word. */
#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { PIECE_BYTES = 1 << 20 };

/* Room for so many bytes and a NUL: the text is terminated at all times, so that it can be
 * handed out as it is. */
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

void mpk_strbuf_put_span(struct mpk_strbuf *buf, struct mpk_span s)
{
	mpk_strbuf_put(buf, (const char *)s.data, s.len);
}

/* Formatted twice: the first run only gives the length. */
void mpk_strbuf_printf(struct mpk_strbuf *buf, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0) {
		buf->failed = true;
		return;
	}
	if (!reserve(buf, (size_t)n))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buf->len += (size_t)n;
}

/* What has become a piece of 1 MiB goes to whoever takes it, so that a listing of gigabytes
 * needs no memory of that size. */
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
