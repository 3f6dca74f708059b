/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that writes to standard output and standard error
 * (scripts/check-layers holds the programs to that). Text is copied byte by byte as long as it
 * is printable UTF-8, and everything else is escaped: names in a file may contain what a
 * terminal takes for a command, and a caller may have forgotten to escape them. The line that shows
 * how far long work is goes to stderr as it is, because its control characters must not be escaped. */
#include "common/print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "common/diag.h"
#include "io/copy.h"
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

/* --- how far long work is: shown after half a second, so that quick work shows nothing, and only on a terminal unless
 * --progress=always is given --- */

/* How long work must take before a line appears, and how often the line changes. */
enum { PATIENCE_MS = 500, PERIOD_MS = 100 };

static struct {
	const char *what;
	uint64_t total, done;  /* bytes */
	uint64_t began, drawn; /* ms */
	bool shown;
} line;

static uint64_t now(void)
{
	return (uint64_t)mpk_clock() / 1000000;
}

static void draw(uint64_t ms)
{
	/* Nothing is measured yet: the seconds show that the program works. */
	if (!line.done) {
		(void)fprintf(stderr, "\r%s %" PRIu64 " s \033[K", line.what, ms / 1000);
		(void)fflush(stderr);
		line.shown = true;
		return;
	}
	/* More bytes may pass than were announced; the line stops at 100 %. */
	uint64_t part = line.done < line.total ? line.done : line.total;
	double rate = (double)line.done / (double)(ms ? ms : 1); /* bytes a ms */
	double left = rate > 0 ? (double)(line.total - part) / rate / 1000 : 0;
	double percent = line.total ? 100 * (double)part / (double)line.total : 100;

	(void)fprintf(stderr, "\r%s %3.0f%%  %.0f MiB/s  %.0f s left \033[K", line.what, percent,
		      rate * 1000 / (1 << 20), left);
	(void)fflush(stderr);
	line.shown = true;
}

static void changed(void)
{
	uint64_t t = now();

	if (mpk_common.progress == MPK_AUTO && t - line.began < PATIENCE_MS)
		return;
	if (line.shown && t - line.drawn < PERIOD_MS)
		return;
	draw(t - line.began);
	line.drawn = t;
}

static void show_copied(uint64_t bytes)
{
	line.done += bytes;
	changed();
}

static void show_read(void *data, struct mpk_span bytes)
{
	(void)data;
	if (line.what)
		show_copied(bytes.len);
}

const struct mpk_tap mpk_progress_tap = { show_read, NULL };

static bool progress_begin(const char *what, uint64_t total)
{
	bool wanted = mpk_common.progress == MPK_ALWAYS ||
		      (mpk_common.progress == MPK_AUTO && isatty(STDERR_FILENO));

	if (!wanted || mpk_common.quiet)
		return false;
	memset(&line, 0, sizeof line);
	line.what = what;
	line.total = total;
	line.began = now();
	return true;
}

void mpk_progress_begin(const char *what, uint64_t total)
{
	if (progress_begin(what, total))
		/* Copies from file to file happen in the kernel; io/copy.h reports each piece of
		 * them. */
		mpk_copy_watch(show_copied);
}

void mpk_progress_show(const char *what, uint64_t done, uint64_t total)
{
	if (!line.what && !progress_begin(what, total))
		return;
	line.done = done;
	line.total = total;
	changed();
}

void mpk_progress_end(void)
{
	mpk_copy_watch(NULL);
	if (line.shown)
		(void)fputs("\r\033[K", stderr);
	memset(&line, 0, sizeof line);
}
