/* SPDX-License-Identifier: Apache-2.0 */
/* Prints everything that the programs write to standard error, and maps each error code to an exit
 * status. Messages are printed line by line through print.c. File names and words of the command
 * line are escaped here, because both may come from untrusted sources. */
#include "common/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/print.h"
#include "text/escape.h"

int mpk_exit_status(enum mpk_code code)
{
	switch (code) {
	case MPK_OK:
		return MPK_EXIT_OK;
	case MPK_E_DIFFERENT:
		return MPK_EXIT_DIFFERENT;
	case MPK_E_USAGE:
		return MPK_EXIT_USAGE;
	case MPK_E_IO:
		return MPK_EXIT_FILE;
	case MPK_E_SYNTAX:
	case MPK_E_CORRUPT:
	case MPK_E_RANGE:
	case MPK_E_UNSUPPORTED:
	case MPK_E_CONFLICT:
	case MPK_E_TOOL:
	case MPK_E_NOMEM: /* the input caused the demand for memory */
	case MPK_E_BUDGET:
		return MPK_EXIT_MALFORMED;
	case MPK_E_NO_BLOB:
		return MPK_EXIT_NO_BLOB;
	case MPK_E_NOTFOUND:
	case MPK_E_LOAD:
		return MPK_EXIT_LOAD;
	case MPK_E_DEVICE:
		return MPK_EXIT_DEVICE;
	case MPK_E_RAISED:
		return MPK_EXIT_RAISED;
	case MPK_E_TIMEOUT:
		return MPK_EXIT_TIMEOUT;
	/* These codes are passed only between our own processes, so one that arrives here is a
	 * defect. */
	case MPK_E_INTERNAL:
	case MPK_CODE_COUNT:
		break;
	}
	return MPK_EXIT_INTERNAL;
}

/* A message may have several lines, for instance those of a compiler. All but the first are
 * indented, so that none of them looks like a message of this program. */
static void print_lines(const char *text)
{
	for (const char *end; (end = strchr(text, '\n')); text = end + 1)
		(void)mpk_print(MPK_STDERR, "%.*s%s", (int)(end - text), text,
				end[1] == ' ' ? "\n" : "\n  ");
	(void)mpk_print(MPK_STDERR, "%s", text);
}

static void print_finding(const char *severity, const char *check, const struct mpk_error *e)
{
	char raw[768], position[1024]; /* file names come from outside, like any other text */
	/* Red for errors, yellow for everything else. */
	const char *color = strcmp(severity, "error") == 0 ? "\033[1;31m" : "\033[1;33m";
	bool colored = mpk_color_on(MPK_STDERR);

	mpk_where_print(&e->at, raw, sizeof raw);
	mpk_escape_to(mpk_span_str(raw), position, sizeof position);
	(void)mpk_print(MPK_STDERR, "%s: %s%s%s%s%s: ", mpk_common.program, position,
			position[0] ? ": " : "", colored ? color : "", severity,
			colored ? "\033[0m" : "");
	print_lines(e->text);
	(void)mpk_print(MPK_STDERR, check ? " [%s]\n" : "\n", check);
}

/* The last error that was printed. An action may find the same error in two passes over a file; it
 * is printed once. */
static bool was_said_last(const struct mpk_error *err)
{
	static char last[sizeof err->text + sizeof err->at + 64];
	char where[sizeof err->at + 64], now[sizeof last];
	bool is_same;

	(void)snprintf(now, sizeof now, "%s %s", mpk_where_print(&err->at, where, sizeof where),
		       err->text);
	is_same = strcmp(now, last) == 0;
	memcpy(last, now, sizeof last);
	return is_same;
}

int mpk_diag_error(const struct mpk_error *err)
{
	if (was_said_last(err))
		return mpk_exit_status(err->code);
	print_finding("error", NULL, err);
	if (err->code == MPK_E_NOMEM && mpk_common.memory_hint)
		mpk_common.memory_hint();
	return mpk_exit_status(err->code);
}

void mpk_diag_report(struct mpk_report *report)
{
	static const char *const severities[] = { "note", "warning", "error" };

	/* Findings were added in the order of the checks; users read a file from its beginning. */
	mpk_report_sort(report);
	for (size_t i = 0; i < report->count; i++) {
		const struct mpk_finding *f = &report->findings[i];

		if (f->severity != MPK_ERROR && mpk_common.quiet)
			continue;
		print_finding(severities[f->severity], f->check, &f->error);
	}
	if (report->dropped)
		(void)mpk_print(MPK_STDERR, "%s: and %zu more\n", mpk_common.program,
				report->dropped);
}

static void vline(const char *severity, const char *fmt, va_list ap) MPK_PRINTF(2, 0);

/* Arguments of the command line come from outside, like any other text. */
static void vline(const char *severity, const char *fmt, va_list ap)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf said = { 0 };
	char *raw = NULL;

	/* If memory is out, the line may have no text, but the program and the severity are still
	 * printed. */
	if (vasprintf(&raw, fmt, ap) >= 0)
		mpk_escape_controls(&said, mpk_span_str(raw));
	(void)mpk_print(MPK_STDERR, "%s: %s", mpk_common.program, severity);
	/* Printing escapes too. This copy only distinguishes line ends in arguments from ours. */
	print_lines(said.failed && raw ? raw : mpk_strbuf_text(&said));
	(void)mpk_print(MPK_STDERR, "\n");
	free(raw);
}

void mpk_diag_warn(const char *fmt, ...)
{
	va_list ap;

	if (mpk_common.quiet)
		return;
	va_start(ap, fmt);
	vline("warning: ", fmt, ap);
	va_end(ap);
}

void mpk_diag_note(const char *fmt, ...)
{
	va_list ap;

	if (mpk_common.quiet || !mpk_common.verbose)
		return;
	va_start(ap, fmt);
	vline("note: ", fmt, ap);
	va_end(ap);
}

int mpk_diag_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vline("error: ", fmt, ap);
	va_end(ap);
	(void)mpk_print(MPK_STDERR, "Try '%s --help'.\n", mpk_common.program);
	return MPK_EXIT_USAGE;
}
