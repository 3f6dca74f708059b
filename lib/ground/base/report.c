/* SPDX-License-Identifier: Apache-2.0 */
/* Findings in the order in which they were made, sorted by position in the end. Their
 * number is bounded, because a file may be wrong in a million places and nobody reads that;
 * what is beyond is counted. */
#include "base/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

const char *mpk_severity_name(enum mpk_severity severity)
{
	static const char *const names[] = {
		[MPK_NOTE] = "note", [MPK_WARNING] = "warning", [MPK_ERROR] = "error"
	};

	return names[severity];
}

/* A report that streams (take) keeps nothing and drops nothing. Otherwise findings beyond
 * the limit are counted only; errors and warnings are counted in both cases, as exit
 * statuses depend on them. */
void mpk_report_add_about(struct mpk_report *report, enum mpk_severity severity, const char *check,
			  const struct mpk_error *error, struct mpk_span about)
{
	char *copy = about.len ? strndup((const char *)about.data, about.len) : NULL;

	report->errors += severity == MPK_ERROR;
	report->warnings += severity == MPK_WARNING;
	if (!report->take && report->count >= MPK_REPORT_MAX) {
		report->dropped++;
		free(copy);
		return;
	}
	if (report->take && (copy || !about.len)) {
		report->take(&(struct mpk_finding){ .severity = severity,
						    .check = check,
						    .error = *error,
						    .about = copy },
			     report->arg);
		free(copy);
		return;
	}
	if ((about.len && !copy) || !mpk_vec_reserve(&report->findings, &report->cap,
						     report->count + 1, sizeof *report->findings)) {
		report->failed = true;
		free(copy);
		return;
	}
	report->findings[report->count++] = (struct mpk_finding){
		.severity = severity, .check = check, .error = *error, .about = copy
	};
}

void mpk_report_add(struct mpk_report *report, enum mpk_severity severity, const char *check,
		    const struct mpk_error *error)
{
	mpk_report_add_about(report, severity, check, error, (struct mpk_span){ 0 });
}

/* By file, then position; findings without a position come first in their file. Equal
 * positions keep the order in which they were found. */
static int order(const struct mpk_where *a, const struct mpk_where *b)
{
	int r = strcmp(a->file, b->file);

	if (r)
		return r;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if (a->column != b->column)
		return a->column < b->column ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return 0;
}

void mpk_report_sort(struct mpk_report *report)
{
	/* insertion sort: stable, and at most MPK_REPORT_MAX elements */
	for (size_t i = 1; i < report->count; i++) {
		struct mpk_finding f = report->findings[i];
		size_t j = i;

		while (j > 0 && order(&report->findings[j - 1].error.at, &f.error.at) > 0) {
			report->findings[j] = report->findings[j - 1];
			j--;
		}
		report->findings[j] = f;
	}
}

void mpk_report_fini(struct mpk_report *report)
{
	for (size_t i = 0; i < report->count; i++)
		free(report->findings[i].about);
	free(report->findings);
	memset(report, 0, sizeof *report);
}
