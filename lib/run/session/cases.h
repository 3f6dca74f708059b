/* SPDX-License-Identifier: Apache-2.0 */
/* cases.h - a file of calls and their expected results: minspect --cases
 *
 *   [defaults]                      device, params, atol, rtol, timeout
 *   [[case]]
 *   name = "adds"                   default: the function's name and the case's number
 *   run = "addone"
 *   args = [{ input = "4xf32=1,2,3,4" }, { out = "4xf32" }]
 *   keep = "cache"                  name of its result; later cases may use it as input "$cache"
 *   expect = ["4xf32=2,3,4,5"]      or raises = "expected float32"
 *   atol, rtol, timeout, device, params, grid, block, shared, repeat, warmup, skip = "why"
 *
 * File names in values are relative to the case file.
 */
#ifndef MPK_SESSION_CASES_H
#define MPK_SESSION_CASES_H

#include "base/arena.h"
#include "base/report.h"
#include "session/call.h"
#include "text/phrase.h"
#include "toml/toml.h"

struct mpk_case_table; /* session/internal/session.h */
struct mpk_case_place;

struct mpk_case {
	const struct mpk_case_table *said; /* the case in the file */
	const char *name;                  /* unique */
	struct mpk_pos pos;
	const char *skip;   /* why it is skipped; NULL if it is not */
	const char *raises; /* text that must be in its error; NULL if no error is expected */
	struct mpk_call call;
	struct mpk_value *args;            /* call.args points here */
	struct mpk_kernel_extents extents; /* call.kernel points here, if it is a kernel */
	struct mpk_expect *expects;
	size_t expect_count;
	struct mpk_tolerance tolerance;
	double timeout; /* seconds; 0 means no limit */
	bool is_timed;  /* repeat or warmup was given */
};

enum mpk_verdict { MPK_CASE_PASSED, MPK_CASE_FAILED, MPK_CASE_SKIPPED };

struct mpk_case_outcome {
	enum mpk_verdict verdict;
	/* error of a failed case; MPK_E_DIFFERENT if results or errors are not the expected ones,
	 * or if it must not be skipped; MPK_E_DEVICE if the device is missing */
	enum mpk_code code;
	struct mpk_strbuf why; /* one line, escaped; empty if the case passed */
	/* one for each expectation; NULL if there was no result to compare */
	struct mpk_comparison *comparisons;
	double seconds;           /* seconds of the whole case */
	size_t calls;             /* number of timed calls; 0 if the call did not return */
	struct mpk_timing timing; /* timing of those calls */
};

/* Zero-initialise, fill with mpk_cases_read, free with mpk_cases_fini. */
struct mpk_cases {
	struct mpk_arena arena;
	const struct mpk_case_place *said; /* settings in [defaults] */
	struct mpk_case *items;
	size_t count;
	bool no_skip;                   /* cases that would be skipped fail instead */
	struct mpk_param_file **params; /* files of parameters, each once */
	size_t param_count, param_cap;
	struct mpk_call *calls;            /* set by mpk_cases_call: the calls */
	struct mpk_batch_item *made;       /* and their outcomes */
	struct mpk_case_outcome *outcomes; /* set by mpk_cases_judge */
};

/* Settings of the command line: a case's own settings override them, and they override
 * [defaults]. */
struct mpk_case_defaults {
	struct mpk_dldevice device;     /* type 0 if not given */
	struct mpk_tolerance tolerance; /* negative if not given */
	double timeout;                 /* 0 if not given */
	struct mpk_param_file *params;  /* NULL if not given; must live as long as the cases */
};

struct mpk_cases_source {
	const char *path; /* path of the case file; file names in values are relative to it */
	struct mpk_span text;
	mpk_toml_parser *parser;
	struct mpk_case_defaults defaults;
	/* NULL means all cases; else the cases whose names match a filter, each of which must
	 * match */
	const struct mpk_name_filter *filter;
	bool no_skip;
	/* do not read arguments and files of parameters: nothing will be called */
	bool judges_only;
};

/* mpk_cases_read - read a case file; makes the arguments of cases that are not skipped, and reads
 * the files that they name
 * @report  receives each mistake with its line and column; if it has errors, the cases must not be
 *          run
 * Returns  MPK_OK, also with mistakes; MPK_E_USAGE: no case matches one of the filters;
 *          MPK_E_NOMEM. Call mpk_cases_fini in every case. */
enum mpk_code mpk_cases_read(const struct mpk_cases_source *source, struct mpk_cases *out,
			     struct mpk_report *report, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_cases_fini(struct mpk_cases *cases);

/* mpk_cases_calls - append a case file with only the calls of these cases, in the same order: no
 * names, no comments, no expected results
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_cases_calls(const struct mpk_cases *cases, struct mpk_strbuf *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cases_call - make the calls with mpk_batch_run, except those of skipped cases
 * @library isolated (sandbox): calls on devices fail with MPK_E_USAGE
 * Returns  MPK_OK whatever the calls did; as mpk_batch_run */
enum mpk_code mpk_cases_call(const struct mpk_library_options *library, struct mpk_cases *cases,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cases_judge - compare the outcomes of the calls with the expectations; sets cases->outcomes,
 * one for each case
 * @called  the same cases, or those that another process called from the same file
 * Returns  MPK_OK whatever they are; MPK_E_IO: the cases are not those that were called;
 *          MPK_E_NOMEM */
enum mpk_code mpk_cases_judge(struct mpk_cases *cases, const struct mpk_cases *called,
			      struct mpk_error *err) MPK_MUST_CHECK;

#endif
