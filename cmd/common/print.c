/* SPDX-License-Identifier: Apache-2.0 */
/* With progress.c the only file that writes to standard output and standard error
 * (scripts/check-layers holds the programs to that). Text is copied byte by byte as long as it
 * is printable UTF-8, and everything else is escaped: names in a file may contain what a
 * terminal takes for a command, and a caller may have forgotten to escape them. */
#include "common/print.h"

#include <errno.h>
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
		size_t n = mpk_escape_plain(s);
		char escaped[MPK_ESCAPED_MAX];

		/* The text before the next byte that has to be looked at was printable; here is
		 * either a colour or a byte to escape. */
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
	/* Each text is flushed, so that an error of the disk is noticed where it happens, and so
	 * that output and errors keep their order. */
	return fflush(f) == 0 ? 0 : errno;
}

/* Most texts fit into the array. A longer one needs memory; where there is none, the text is cut
 * instead of lost, because the message may be that memory is out. */
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
