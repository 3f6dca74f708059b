/* SPDX-License-Identifier: Apache-2.0 */
#include "common/print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/diag.h"
#include "text/escape.h"

/* It is here because this file is the lowest: what prints and what reports errors both look at it. */
struct mpk_common mpk_common = { .program = "mpk" };

/* Every colour that our texts have: a file that names one of them colours its own name. */
static const char *const colors[] = { "\033[0m",  "\033[1m",  "\033[1;31m", "\033[1;33m",
				      "\033[31m", "\033[32m", "\033[33m",   "\033[36m" };

static FILE *file_of(enum mpk_stream stream)
{
	return stream == MPK_STDOUT ? stdout : stderr;
}

bool mpk_color_on(enum mpk_stream stream)
{
	const char *term = getenv("TERM"), *none = getenv("NO_COLOR");

	if (mpk_common.color != MPK_AUTO)
		return mpk_common.color == MPK_ALWAYS;
	if ((none && *none) || (term && strcmp(term, "dumb") == 0))
		return false;
	return isatty(fileno(file_of(stream)));
}

/* The length of the colour that s begins with; 0: none. */
static size_t color_at(struct mpk_span s)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(colors); i++) {
		size_t len = strlen(colors[i]);

		if (len <= s.len && memcmp(s.data, colors[i], len) == 0)
			return len;
	}
	return 0;
}

int mpk_print_text(enum mpk_stream stream, const char *text, size_t len)
{
	struct mpk_span s = mpk_span_of(text, len);
	bool is_colored = mpk_color_on(stream);
	FILE *f = file_of(stream);

	while (s.len) {
		size_t n = mpk_escape_plain(s);
		char escaped[MPK_ESCAPED_MAX];

		if (!n && is_colored)
			n = color_at(s);
		if (n && fwrite(s.data, 1, n, f) != n)
			return errno;
		if (!n) {
			n = mpk_escape_first(s, escaped);
			if (fputs(escaped, f) == EOF)
				return errno;
		}
		s = mpk_span_of(s.data + n, s.len - n);
	}
	return fflush(f) == 0 ? 0 : errno;
}

/* Most texts fit, and when memory is out that must still be said: what is longer is cut then. */
int mpk_vprint(enum mpk_stream stream, const char *fmt, va_list ap)
{
	char here[4096], *text = here;
	va_list again;

	va_copy(again, ap);
	int n = vsnprintf(here, sizeof here, fmt, ap);
	size_t len = n < 0 ? 0 : (size_t)n;
	if (len >= sizeof here) {
		text = malloc(len + 1);
		if (text)
			(void)vsnprintf(text, len + 1, fmt, again);
		else
			len = sizeof here - 1;
	}
	va_end(again);
	int failed = mpk_print_text(stream, text ? text : here, len);

	if (text != here)
		free(text);
	return failed;
}

int mpk_print(enum mpk_stream stream, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int failed = mpk_vprint(stream, fmt, ap);
	va_end(ap);
	return failed;
}

void mpk_print_by_lines(void)
{
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
}
