/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - many findings in one run: manifest checks, minspect --verify */
#ifndef MPK_BASE_REPORT_H
#define MPK_BASE_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/span.h"

enum mpk_severity { MPK_NOTE, MPK_WARNING, MPK_ERROR };

/* mpk_severity_name - "note", "warning", "error"; static storage */
const char *mpk_severity_name(enum mpk_severity severity);

struct mpk_finding {
	enum mpk_severity severity;
	const char *check;      /* stable name of the check, "blob-size"; static storage */
	struct mpk_error error; /* code, position and sentence */
	/* the part of the text at the position that the finding is about, such as a kernel's name;
	 * owned by the report; NULL: all of the text */
	char *about;
};

enum { MPK_REPORT_MAX = 50 };

/* Zero-initialise, use, mpk_report_fini. Findings beyond MPK_REPORT_MAX are counted but not kept,
 * because nobody reads all of them. */
struct mpk_report {
	/* Called with each finding, which is then not kept. NULL: findings are kept. */
	void (*take)(const struct mpk_finding *finding, void *arg);
	void *arg;
	struct mpk_finding *findings;
	size_t count, cap;
	size_t dropped;
	size_t errors, warnings; /* include findings that were not kept */
	bool failed;             /* out of memory: the report is incomplete */
};

/* mpk_report_add, mpk_report_add_about - append a finding; @error and @about are copied
 * @check   static storage
 * @about   empty: all of the text at the position */
void mpk_report_add(struct mpk_report *report, enum mpk_severity severity, const char *check,
		    const struct mpk_error *error);
void mpk_report_add_about(struct mpk_report *report, enum mpk_severity severity, const char *check,
			  const struct mpk_error *error, struct mpk_span about);

/* mpk_report_sort - by file, line, column, then offset; equal positions keep their order */
void mpk_report_sort(struct mpk_report *report);

void mpk_report_fini(struct mpk_report *report);

#endif
