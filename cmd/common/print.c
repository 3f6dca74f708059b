/* SPDX-License-Identifier: Apache-2.0 */
/* With progress.c the only file that writes to standard output and standard error
 * (scripts/check-layers holds the programs to that). Text is copied byte by byte as long as it
 * is printable UTF-8, and everything else is escaped: names in a file may contain what a
 * terminal takes for a command, and a caller may have forgotten to escape them. */
#include "common/print.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/diag.h"
#include "text/escape.h"

/* The settings are defined here because this file is below all others that use them. */
struct mpk_common mpk_common = { .program = "mpk" };

/* The colours that our own texts use. They pass unescaped where colours are on. A name in a file
 * that contains one of them changes only its own colour. */
static const char *const colors[] = { "\033[0m",  "\033[1m",  "\033[1;31m", "\033[1;33m",
				      "\033[31m", "\033[32m", "\033[33m",   "\033[36m" };

static FILE *common_print_file_of(enum mpk_stream stream)
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
	return isatty(fileno(common_print_file_of(stream)));
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
	FILE *f = common_print_file_of(stream);

	while (s.len) {
		char escaped[MPK_ESCAPED_MAX];
		size_t n = mpk_escape_next(s, escaped);
		size_t colors_len = escaped[0] && is_colored ? color_at(s) : 0;

		if (colors_len) {
			n = colors_len;
			escaped[0] = '\0';
		}
		if (escaped[0] ? fputs(escaped, f) == EOF : fwrite(s.data, 1, n, f) != n)
			return errno;
		s = mpk_span_of(s.data + n, s.len - n);
	}
	/* Each text is flushed, so that an error of the disk is noticed where it happens, and so
	 * that output and errors keep their order. */
	return fflush(f) == 0 ? 0 : errno;
}

/* Most texts fit into the array. A longer one needs memory; where there is none, the text is cut
 * instead of lost, because the message may be that memory is out. */
int mpk_print(enum mpk_stream stream, const char *fmt, ...)
{
	char here[4096], *text = here;
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(here, sizeof here, fmt, ap);
	va_end(ap);
	size_t len = n < 0 ? 0 : (size_t)n;
	if (len >= sizeof here) {
		text = malloc(len + 1);
		va_start(ap, fmt);
		if (text)
			(void)vsnprintf(text, len + 1, fmt, ap);
		else
			len = sizeof here - 1;
		va_end(ap);
	}
	int failed = mpk_print_text(stream, text ? text : here, len);

	if (text != here)
		free(text);
	return failed;
}

void mpk_print_by_lines(void)
{
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
}
