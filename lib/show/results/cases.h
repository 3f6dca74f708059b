/* SPDX-License-Identifier: Apache-2.0 */
/* cases.h - what became of the calls of a case file: lines, TAP, JSON, JUnit XML */
#ifndef MPK_RESULTS_CASES_H
#define MPK_RESULTS_CASES_H

#include "session/cases.h"
#include "text/json.h"

/* What is reported; everything is borrowed. */
struct mpk_cases_report {
	const char *file;       /* what was called */
	const char *cases_file; /* of the calls */
	const struct mpk_cases *cases;
	const struct mpk_case_outcome *outcomes; /* of each case */
	size_t passed, failed, skipped;
};

/* mpk_cases_report_of - with the outcomes counted */
struct mpk_cases_report mpk_cases_report_of(const char *file, const char *cases_file,
					    const struct mpk_cases *cases,
					    const struct mpk_case_outcome *outcomes);

/* mpk_cases_text - append one line a case and a summary
 * @times   whether with the time of each
 * mpk_cases_tap - append TAP version 13
 * mpk_cases_junit - append a JUnit document in the form that Jenkins and its kin read: a result
 * that is not as expected is a failure, everything else that went wrong an error */
void mpk_cases_text(const struct mpk_cases_report *report, bool times, struct mpk_strbuf *out);
void mpk_cases_tap(const struct mpk_cases_report *report, struct mpk_strbuf *out);
void mpk_cases_junit(const struct mpk_cases_report *report, struct mpk_strbuf *out);

/* mpk_cases_json - put the cases and how many passed (minspect-cases.schema.json) */
void mpk_cases_json(const struct mpk_cases_report *report, struct mpk_json *j,
		    struct mpk_json_at *at);

#endif
