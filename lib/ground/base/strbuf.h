/* SPDX-License-Identifier: Apache-2.0 */
/* strbuf.h - text that grows; a failed allocation is remembered, not reported each time */
#ifndef MPK_BASE_STRBUF_H
#define MPK_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/span.h"

/* Receives text that a buffer or document has finished and will not keep. */
typedef void mpk_take_text(const char *text, size_t len, void *arg);

/* Zero-initialise, append, check once, mpk_strbuf_fini.
 * After a failed allocation further appends do nothing and `failed` stays set. */
struct mpk_strbuf {
	char *data; /* NUL-terminated once anything was appended, else NULL */
	size_t len, cap;
	bool failed;
	bool passed;         /* some text was given to take already */
	mpk_take_text *take; /* receives finished text; NULL: data keeps all of it */
	void *arg;
};

/* mpk_strbuf_put, _puts, _putc, _put_span, _printf, _vprintf - append bytes, a string, a character, a
 * span, formatted text */
void mpk_strbuf_put(struct mpk_strbuf *buf, const char *data, size_t len);
void mpk_strbuf_puts(struct mpk_strbuf *buf, const char *text);
void mpk_strbuf_putc(struct mpk_strbuf *buf, char c);
void mpk_strbuf_put_span(struct mpk_strbuf *buf, struct mpk_span s);
void mpk_strbuf_printf(struct mpk_strbuf *buf, const char *fmt, ...) MPK_PRINTF(2, 3);
void mpk_strbuf_vprintf(struct mpk_strbuf *buf, const char *fmt, va_list ap) MPK_PRINTF(2, 0);

/* mpk_strbuf_fill - append a character n times */
void mpk_strbuf_fill(struct mpk_strbuf *buf, char c, size_t n);

/* mpk_strbuf_pass - give the text so far to take, if there is one and the text is a megabyte or
 * longer. Call it at ends of lines while writing text whose length depends on the input. */
void mpk_strbuf_pass(struct mpk_strbuf *buf);

/* mpk_strbuf_text - the text so far as a C string, "" when empty; valid until the next append */
const char *mpk_strbuf_text(const struct mpk_strbuf *buf);

/* mpk_strbuf_status - MPK_OK, or MPK_E_NOMEM when any append failed */
enum mpk_code mpk_strbuf_status(const struct mpk_strbuf *buf, struct mpk_error *err) MPK_MUST_CHECK;

void mpk_strbuf_fini(struct mpk_strbuf *buf);

#endif
