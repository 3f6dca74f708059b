/* SPDX-License-Identifier: Apache-2.0 */
/* diag.h - messages of both programs on standard error, and their exit statuses */
#ifndef MPK_CMD_COMMON_DIAG_H
#define MPK_CMD_COMMON_DIAG_H

#include <stdbool.h>

#include "base/error.h"
#include "base/report.h"

/* Exit statuses (minspect(1), mpack(1), EXIT STATUS). */
enum mpk_exit {
	MPK_EXIT_OK = 0,
	MPK_EXIT_DIFFERENT = 1,
	MPK_EXIT_USAGE = 2,
	MPK_EXIT_FILE = 3,
	MPK_EXIT_MALFORMED = 4,
	MPK_EXIT_NO_BLOB = 5,
	MPK_EXIT_LOAD = 6,
	MPK_EXIT_DEVICE = 7,
	MPK_EXIT_RAISED = 8,
	MPK_EXIT_TIMEOUT = 9,
	MPK_EXIT_INTERNAL = 70,
};

enum mpk_when { MPK_AUTO, MPK_ALWAYS, MPK_NEVER };

/* The settings common to all commands of both programs. */
struct mpk_common {
	const char *program; /* "mpack" */
	unsigned verbose;    /* number of -v options */
	bool quiet;          /* -q: errors only */
	bool no_sandbox;
	enum mpk_when color, progress;
	const char *max_output;    /* --max-output; NULL if not given */
	void (*memory_hint)(void); /* prints advice when memory is out; NULL if there is none */
};

extern struct mpk_common mpk_common;

/* mpk_exit_status - the exit status for an error code */
int mpk_exit_status(enum mpk_code code);

/* mpk_diag_error - print "program: position: text" and return mpk_exit_status(err->code) */
int mpk_diag_error(const struct mpk_error *err);

/* mpk_diag_report - print every finding, sorted: errors, warnings and notes */
void mpk_diag_report(struct mpk_report *report);

/* mpk_diag_warn, mpk_diag_note - print one line; notes need -v, and -q silences both */
void mpk_diag_warn(const char *fmt, ...) MPK_PRINTF(1, 2);
void mpk_diag_note(const char *fmt, ...) MPK_PRINTF(1, 2);

/* mpk_diag_usage - print "program: text" and how to get help; returns MPK_EXIT_USAGE */
int mpk_diag_usage(const char *fmt, ...) MPK_PRINTF(1, 2);
#endif
