/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that writes to standard output and standard error
 * (scripts/check-layers enforces this). Printable UTF-8 is written unchanged, and everything else
 * is escaped: names in a file may contain control sequences of a terminal, and a caller may have
 * forgotten to escape them. The progress line is written to stderr unescaped, because it needs
 * control characters. */
#include "common/print.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/account.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "common/diag.h"
#include "io/copy.h"
#include "text/escape.h"
#include "text/table.h"

/* The settings are defined here because this file is below all others that use them. */
struct mpk_common mpk_common = { .program = "mpk" };

/* The colour sequences of our own texts, which are not escaped if colours are on. A name in a file
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

/* Returns the length of the colour sequence at the beginning of s; 0 if there is none. */
static size_t color_at(struct mpk_span s)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(colors); i++) {
		size_t len = strlen(colors[i]);

		if (len <= s.len && memcmp(s.data, colors[i], len) == 0)
			return len;
	}
	return 0;
}

/* --- the progress line: appears after half a second, so that quick work shows nothing, and only on
 * a terminal unless --progress=always is given ---
 *
 * A timer draws the line, as some work counts nothing for seconds. So the drawing functions must be
 * safe in a signal handler: no stdio, no memory allocation. */

/* Delay before the line appears, the period of updates, and its maximum length. */
enum { PATIENCE_MS = 500, PERIOD_MS = 100, LINE_BYTES = 160 };

/* One piece of work, measured in bytes. */
struct work {
	const char *what; /* NULL if there is no work */
	uint64_t total, done;
	uint64_t began; /* ms */
};

static struct {
	struct work all;  /* the whole work over many files or steps */
	struct work step; /* the current step, or the only one */
	size_t file, files;
	uint64_t current; /* bytes read of the current file */
	uint64_t drawn;   /* ms */
	bool shown;
	volatile sig_atomic_t busy; /* the line must not be drawn now */
} line;

static uint64_t now(void)
{
	return (uint64_t)mpk_clock() / 1000000;
}

/* A line being composed. */
struct drawing {
	char text[LINE_BYTES];
	size_t len;
};

static void draw_text(struct drawing *d, const char *text)
{
	while (*text && d->len < sizeof d->text)
		d->text[d->len++] = *text++;
}

static void draw_number(struct drawing *d, uint64_t n, size_t width)
{
	char digits[24];
	size_t at = sizeof digits - 1;

	digits[at] = '\0';
	do
		digits[--at] = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	while (sizeof digits - 1 - at < width)
		digits[--at] = ' ';
	draw_text(d, digits + at);
}

static void wipe(void)
{
	static const char text[] = "\r\033[K";

	if (line.shown)
		(void)!write(STDERR_FILENO, text, sizeof text - 1);
	line.shown = false;
}

/* Draws "verifying  45%  12 of 16 files  120 MiB/s  3 s left". Before any byte is counted, it shows
 * seconds, so that users see that the program works. */
static void draw(uint64_t ms)
{
	const struct work *w = line.all.what && line.all.total ? &line.all : &line.step;
	uint64_t took, done, part, rate, left;
	struct drawing d = { .len = 0 };

	if (!w->what || !w->done)
		w = line.all.what ? &line.all : w;
	took = ms > w->began ? ms - w->began : 1;
	done = w->done;
	/* a file read several times counts only once */
	if (w == &line.all)
		done += line.step.done < line.current ? line.step.done : line.current;
	/* more bytes may be read than announced; the line stops at 100 % */
	part = done < w->total ? done : w->total;
	rate = done / took; /* bytes per ms */
	left = rate ? (w->total - part) / rate / 1000 : 0;
	draw_text(&d, "\r");
	draw_text(&d, w->what);
	if (done) {
		draw_text(&d, " ");
		draw_number(&d, w->total ? part / (w->total / 100 + 1) : 100, 3);
		draw_text(&d, "%  ");
	}
	if (line.files > 1) {
		draw_text(&d, done ? "" : " ");
		draw_number(&d, line.file, 0);
		draw_text(&d, " of ");
		draw_number(&d, line.files, 0);
		draw_text(&d, " files ");
		draw_text(&d, done ? " " : "");
	}
	if (done) {
		draw_number(&d, rate * 1000 >> 20, 0);
		draw_text(&d, " MiB/s  ");
	}
	/* the estimate is useless when little has been done */
	if (done && (w != &line.all || (part > w->total / 50 && took > 1000))) {
		draw_number(&d, left, 0);
		draw_text(&d, " s left ");
	} else {
		draw_text(&d, done ? "" : " ");
		draw_number(&d, took / 1000, 0);
		draw_text(&d, " s ");
	}
	draw_text(&d, "\033[K");
	(void)!write(STDERR_FILENO, d.text, d.len);
	line.shown = true;
	line.drawn = ms;
}

static int print_text(enum mpk_stream stream, const char *text, size_t len)
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
		s = mpk_span_from(s, n);
	}
	/* Each text is flushed, so that a disk error is reported at once, and
	 * output and errors keep their order. */
	return fflush(f) == 0 ? 0 : errno;
}

/* Whether output counts for --max-output: output into a file, by -o or by the shell, does. */
static bool is_charged(enum mpk_stream stream)
{
	static int is_file = -1;
	struct stat st;

	if (stream != MPK_STDOUT)
		return false;
	if (is_file < 0)
		is_file = fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode);
	return is_file;
}

void mpk_print_error(int failed, struct mpk_error *err)
{
	/* after one text exceeded the limit, no further text may be written */
	if (failed != EFBIG || mpk_account_write(UINT64_MAX, err) == MPK_OK)
		(void)mpk_fail_errno(err, MPK_E_IO, failed, "cannot write to standard output");
}

/* Erases the progress line before printing; the next tick draws it again. */
int mpk_print_text(enum mpk_stream stream, const char *text, size_t len)
{
	if (is_charged(stream) && mpk_account_write(len, NULL) != MPK_OK)
		return EFBIG;
	line.busy = true;
	wipe();
	int failed = print_text(stream, text, len);

	line.busy = false;
	return failed;
}

/* Most texts fit into the array. A longer one needs memory; if there is none, the text is cut
 * rather than lost, because the message may be that memory is out. */
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

static void changed(void)
{
	uint64_t t = now(), began = line.all.what ? line.all.began : line.step.began;

	if (mpk_common.progress == MPK_AUTO && t - began < PATIENCE_MS)
		return;
	if (line.shown && t - line.drawn < PERIOD_MS)
		return;
	draw(t);
}

static void on_timer(int number)
{
	int kept = errno;

	(void)number;
	if (!line.busy && (line.all.what || line.step.what))
		changed();
	errno = kept;
}

static void set_timer(bool is_on)
{
	const struct timeval period = { 0, is_on ? PERIOD_MS * 1000 : 0 };
	const struct itimerval timer = { period, period };
	struct sigaction action = { .sa_handler = on_timer, .sa_flags = SA_RESTART };

	if (is_on)
		(void)sigaction(SIGALRM, &action, NULL);
	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

/* Keeps the timer from drawing while the state of the line changes. */
static void count(uint64_t bytes)
{
	line.busy = true;
	line.step.done += bytes;
	changed();
	line.busy = false;
}

static void show_copied(uint64_t bytes)
{
	count(bytes);
}

static void show_read(void *data, struct mpk_span bytes)
{
	(void)data;
	if (line.all.what || line.step.what)
		count(bytes.len);
}

const struct mpk_tap mpk_progress_tap = { show_read, NULL };

static bool is_wanted(void)
{
	bool wanted = mpk_common.progress == MPK_ALWAYS ||
		      (mpk_common.progress == MPK_AUTO && isatty(STDERR_FILENO));

	return wanted && !mpk_common.quiet;
}

static bool begin_step(const char *what, uint64_t total)
{
	if (!line.all.what && !is_wanted())
		return false;
	line.busy = true;
	line.step = (struct work){ what, total, 0, now() };
	line.busy = false;
	if (!line.all.what)
		set_timer(true);
	return true;
}

void mpk_progress_begin(const char *what, uint64_t total)
{
	if (begin_step(what, total))
		/* The kernel copies from file to file; io/copy.h reports each piece of
		 * the copy. */
		mpk_copy_watch(show_copied);
}

void mpk_progress_show(const char *what, uint64_t done, uint64_t total)
{
	if (!line.step.what && !begin_step(what, total))
		return;
	line.busy = true;
	line.step.done = done;
	line.step.total = total;
	changed();
	line.busy = false;
}

void mpk_progress_end(void)
{
	line.busy = true;
	line.step = (struct work){ 0 };
	if (!line.all.what) {
		mpk_copy_watch(NULL);
		set_timer(false);
		wipe();
	}
	line.busy = false;
}

void mpk_progress_all_begin(const char *what, uint64_t total, size_t files)
{
	if (!is_wanted())
		return;
	line.busy = true;
	line.all = (struct work){ what, total, 0, now() };
	line.step = (struct work){ 0 };
	line.file = 0;
	line.files = files;
	line.current = 0;
	line.busy = false;
	mpk_copy_watch(show_copied);
	set_timer(true);
}

void mpk_progress_all_next(uint64_t bytes)
{
	line.busy = true;
	line.all.done += line.current;
	line.current = bytes;
	line.step = (struct work){ 0 };
	line.file++;
	if (line.all.what)
		changed();
	line.busy = false;
}

void mpk_progress_all_open(uint64_t bytes, size_t files)
{
	line.busy = true;
	line.all.total += bytes - (line.current < line.all.total ? line.current : line.all.total);
	line.current = 0;
	line.files += files - 1;
	line.file--;
	line.busy = false;
}

void mpk_progress_all_end(void)
{
	mpk_copy_watch(NULL);
	line.busy = true;
	line.all = line.step = (struct work){ 0 };
	line.files = 0;
	set_timer(false);
	wipe();
	line.busy = false;
}

/* --- the last line of what wrote a file ---------------------------------------------------------- */

static uint64_t began; /* ms */

void mpk_closing_begin(void)
{
	began = now();
}

void mpk_closing_line(const char *path, uint64_t before, const char *fmt, ...)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf text = { 0 };
	char details[256];
	struct stat st;
	va_list ap;

	if (mpk_common.quiet || !isatty(STDERR_FILENO))
		return;
	if (stat(path, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(details, sizeof details, fmt, ap);
	va_end(ap);
	mpk_escape(&text, mpk_span_str(path));
	mpk_strbuf_puts(&text, ": ");
	if (before)
		mpk_strbuf_printf(&text, "%s -> ", MPK_SIZE(before));
	/* for a folder, fmt describes what was written */
	if (S_ISDIR(st.st_mode))
		mpk_strbuf_puts(&text, details + strspn(details, "; "));
	else
		mpk_strbuf_printf(&text, "%s%s", MPK_SIZE((uint64_t)st.st_size), details);
	mpk_strbuf_printf(&text, "; %.1f s\n", (double)(now() - began) / 1000);
	(void)mpk_print_text(MPK_STDERR, mpk_strbuf_text(&text), text.len);
}

void mpk_closing_hint(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (mpk_common.quiet || !isatty(STDERR_FILENO))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	(void)mpk_print_text(MPK_STDERR, text, strlen(text));
}
