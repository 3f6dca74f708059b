/* SPDX-License-Identifier: Apache-2.0 */
/* results.h - prints results of calls: values, times, comparisons; profiles of models, and
 * differences from a dump; results of a case file */
#ifndef MPK_RESULTS_RESULTS_H
#define MPK_RESULTS_RESULTS_H

#include "answer/answer.h"
#include "observe/observe.h"
#include "session/call.h"
#include "session/cases.h"
#include "value/value.h"

/* The results of a call to print. */
struct mpk_shown_results {
	const struct mpk_call_result *result;
	bool is_whole; /* print every element of every tensor */
};

/* Printers of struct mpk_shown_results: one line for each value, in the syntax of arguments; for a
 * tensor that does not fit on a line its type, its statistics and its corner elements. "results" in
 * JSON has the same with types; "complete" tells whether all elements of a tensor are listed
 * (minspect-run.schema.json) */
extern const struct mpk_answer mpk_answer_results;

/* mpk_comparison_json - append the comparison of result i with the expected value
 * @c       NULL: the result was to be ignored */
void mpk_comparison_json(const struct mpk_comparison *c, size_t i, struct mpk_json *j,
			 struct mpk_json_at *list);

/* mpk_seconds_text - append a time with its unit: "1.5 ms"
 * mpk_timing_text - append the figures of timed calls: "3 calls, min 1 us, ..."
 * mpk_timing_json - put the same figures as member "seconds" */
void mpk_seconds_text(double seconds, struct mpk_strbuf *out);
void mpk_timing_text(const struct mpk_timing *t, size_t calls, struct mpk_strbuf *out);
void mpk_timing_json(const struct mpk_timing *t, size_t calls, struct mpk_json *j,
		     struct mpk_json_at *at);

/* --- models --------------------------------------------------------------------------- */

/* Printers of struct mpk_profile: a table of operators by time, with device, calls, total, mean,
 * min, max and share of all operators; a line of sums for each device if there are several; a line
 * for the whole run. "profile" in JSON (minspect-run.schema.json). */
extern const struct mpk_answer mpk_answer_profile;

/* mpk_profile_events - append the calls of operators in Chrome's trace event format, which Perfetto
 * opens: complete events in microseconds, a thread for each device
 * @process name of the model or file that ran */
void mpk_profile_events(const struct mpk_profile *p, const char *process, struct mpk_strbuf *out);

/* Printers of struct mpk_comparisons. Text: one sentence about the first operator that differs;
 * empty if all are equal. .line: operators that only the run or only the dump has; empty if both
 * have the same. JSON: "comparison", with each operator's result */
extern const struct mpk_answer mpk_answer_comparisons;

/* --- case files ------------------------------------------------------------------------ */

/* The data of a report; all of it is borrowed. */
struct mpk_cases_report {
	const char *file;       /* the called file */
	const char *cases_file; /* the file of the cases */
	const struct mpk_cases *cases;
	const struct mpk_case_outcome *outcomes; /* one for each case */
	size_t passed, failed, skipped;
};

/* mpk_cases_report_of - make a report and count the outcomes */
struct mpk_cases_report mpk_cases_report_of(const char *file, const char *cases_file,
					    const struct mpk_cases *cases,
					    const struct mpk_case_outcome *outcomes);

/* Printers of struct mpk_cases_report: one line for each case, in verbose text with its time, and a
 * summary; TAP version 13; a JUnit document, in which an unexpected result is a failure, and any
 * other problem an error; JSON with the cases and the number that passed
 * (minspect-cases.schema.json) */
extern const struct mpk_answer mpk_answer_cases;

#endif
