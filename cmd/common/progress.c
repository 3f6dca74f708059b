/* SPDX-License-Identifier: Apache-2.0 */
/* A line on standard error that shows how far long work is. It appears after half a second, so
 * that quick work shows nothing, and only on a terminal unless --progress=always is given. It
 * writes to stderr directly, because its control characters must not be escaped. */
#include "common/progress.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "common/diag.h"
#include "io/copy.h"

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

void mpk_progress_add(uint64_t bytes)
{
	if (line.what)
		show_copied(bytes);
}

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
