/* SPDX-License-Identifier: Apache-2.0 */
/* results.h - what calls gave: values, times, comparisons; where the time of a model went, and where it differs from
 * a dump; what became of the calls of a case file */
#ifndef MPK_RESULTS_RESULTS_H
#define MPK_RESULTS_RESULTS_H

#include "answer/answer.h"
#include "observe/observe.h"
#include "session/call.h"
#include "session/cases.h"
#include "value/value.h"

/* What is shown of a call. */
struct mpk_shown_results {
	const struct mpk_call_result *result;
	bool is_whole; /* every element of every tensor */
};

/* of struct mpk_shown_results: one line a value, which can be given as an argument; of a tensor that no line of a
 * screen holds its type, its figures and a block of its corners. "results" in JSON, the same with types, where
 * "complete" says whether all elements of a tensor are there (minspect-run.schema.json) */
extern const struct mpk_answer mpk_answer_results;

/* mpk_comparison_json - append how result i compares with what was expected
 * @c       NULL: the result was to be ignored */
void mpk_comparison_json(const struct mpk_comparison *c, size_t i, struct mpk_json *j,
			 struct mpk_json_at *list);

/* mpk_seconds_text - append a time with its unit: "1.5 ms"
 * mpk_timing_text, mpk_timing_json - the figures of timed calls: "3 calls, min 1 us, ..."; a
 * member "seconds" */
void mpk_seconds_text(double seconds, struct mpk_strbuf *out);
void mpk_timing_text(const struct mpk_timing *t, size_t calls, struct mpk_strbuf *out);
void mpk_timing_json(const struct mpk_timing *t, size_t calls, struct mpk_json *j,
		     struct mpk_json_at *at);

/* --- models --------------------------------------------------------------------------- */

/* of struct mpk_profile: a table, operators by time, with device, calls, total, mean, min, max and share of all
 * operators; a line of sums by device where there are several; a line of the whole. "profile" in JSON
 * (minspect-run.schema.json). */
extern const struct mpk_answer mpk_answer_profile;

/* mpk_profile_events - append the calls of operators in Chrome's trace event format, which Perfetto
 * opens: complete events in microseconds, a thread for each device
 * @process what ran */
void mpk_profile_events(const struct mpk_profile *p, const char *process, struct mpk_strbuf *out);

/* of struct mpk_comparisons: one sentence about the first operator that differs, nothing when all are equal; as a
 * line one about what only the run or only the dump has, nothing when they have the same; "comparison" in
 * JSON, how each compares */
extern const struct mpk_answer mpk_answer_comparisons;

/* --- case files ------------------------------------------------------------------------ */

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

/* of struct mpk_cases_report: one line a case, in verbose text with its time, and a summary; TAP version 13; a JUnit
 * document, in which a result that is not as expected is a failure, everything else that went wrong an
 * error; JSON with the cases and how many passed (minspect-cases.schema.json) */
extern const struct mpk_answer mpk_answer_cases;

#endif
