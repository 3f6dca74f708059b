/* SPDX-License-Identifier: Apache-2.0 */
/* cases.h - a file of calls and of what they are to give: minspect --cases
 *
 *   [defaults]                      device, params, atol, rtol, timeout
 *   [[case]]
 *   name = "adds"                   else the function's name and the case's number
 *   run = "addone"
 *   args = [{ input = "4xf32=1,2,3,4" }, { out = "4xf32" }]
 *   keep = "cache"                  what it returns; an input of later cases is then "$cache"
 *   expect = ["4xf32=2,3,4,5"]      or raises = "expected float32"
 *   atol, rtol, timeout, device, params, grid, block, shared, repeat, warmup, skip = "why"
 *
 * Files that values name are relative to the case file.
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
	const struct mpk_case_table *said; /* in the file */
	const char *name;                  /* no two cases have the same */
	struct mpk_pos pos;
	const char *skip;   /* why it is not run; NULL: it is */
	const char *raises; /* part of the error it must raise or be refused with; NULL: none */
	struct mpk_call call;
	struct mpk_value *args;            /* what call.args points to */
	struct mpk_kernel_extents extents; /* what call.kernel points to, or unused */
	struct mpk_expect *expects;
	size_t expect_count;
	struct mpk_tolerance tolerance;
	double timeout; /* seconds; 0: none */
	bool is_timed;  /* repeat or warmup was given */
};

enum mpk_verdict { MPK_CASE_PASSED, MPK_CASE_FAILED, MPK_CASE_SKIPPED };

struct mpk_case_outcome {
	enum mpk_verdict verdict;
	enum mpk_code code;                 /* of what failed; MPK_E_DIFFERENT when results or
					* errors are not as expected, or it must not be
					* skipped; MPK_E_DEVICE: the device is missing */
	struct mpk_strbuf why;              /* one line, escaped; empty when it passed */
	struct mpk_comparison *comparisons; /* one for each expectation; NULL: there
					* was no result to compare */
	double seconds;                     /* all of it */
	size_t calls;                       /* that were timed; 0: it did not return */
	struct mpk_timing timing;           /* of them */
};

/* Zero-initialise; fill with mpk_cases_read; mpk_cases_fini. */
struct mpk_cases {
	struct mpk_arena arena;
	const struct mpk_case_place *said; /* in [defaults] */
	struct mpk_case *items;
	size_t count;
	bool no_skip;                   /* what would be skipped fails */
	struct mpk_param_file **params; /* that the file names, each once */
	size_t param_count, param_cap;
	struct mpk_call *calls;            /* of mpk_cases_call, */
	struct mpk_batch_item *made;       /* and what came of them */
	struct mpk_case_outcome *outcomes; /* of mpk_cases_judge */
};

/* What a case says about itself comes before these, these before [defaults]. */
struct mpk_case_defaults {
	struct mpk_dldevice device;     /* type 0: not said */
	struct mpk_tolerance tolerance; /* negative: not said */
	double timeout;                 /* 0: not said */
	struct mpk_param_file *params;  /* NULL: not said; borrowed for the time of the cases */
};

struct mpk_cases_source {
	const char *path; /* of the case file; its values are relative to it */
	struct mpk_span text;
	mpk_toml_parser *parser;
	struct mpk_case_defaults defaults;
	/* NULL: all cases; else those whose names one of it chooses, and each must choose one */
	const struct mpk_name_filter *filter;
	bool no_skip;
	bool judges_only; /* arguments and files of parameters are not read: nothing will be called */
};

/* mpk_cases_read - everything that the file says; the arguments of cases that are not
 * skipped are made, files they name are read
 * @report  receives each mistake with its line and column; with errors in it the cases
 *          must not be run
 * Returns  MPK_OK, also with mistakes; MPK_E_USAGE: no case fits one of the filter; MPK_E_NOMEM.
 *          mpk_cases_fini in every case. */
enum mpk_code mpk_cases_read(const struct mpk_cases_source *source, struct mpk_cases *out,
			     struct mpk_report *report, struct mpk_error *err) MPK_MUST_CHECK;
void mpk_cases_fini(struct mpk_cases *cases);

/* mpk_cases_calls - append a case file in the same order with the calls of these cases and nothing else: no
 * names, no comments, and not what they are to give
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_cases_calls(const struct mpk_cases *cases, struct mpk_strbuf *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cases_call - make the calls as mpk_batch_run does; those of cases that are skipped are left out
 * @library isolated (sandbox): calls on devices fail with MPK_E_USAGE
 * Returns  MPK_OK whatever the calls did; as mpk_batch_run */
enum mpk_code mpk_cases_call(const struct mpk_library_options *library, struct mpk_cases *cases,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cases_judge - what came of the calls, held against what the cases expect: cases->outcomes, one a case
 * @called  the same, or the ones that were called of the same file
 * Returns  MPK_OK whatever they are; MPK_E_IO: other cases than were called; MPK_E_NOMEM */
enum mpk_code mpk_cases_judge(struct mpk_cases *cases, const struct mpk_cases *called,
			      struct mpk_error *err) MPK_MUST_CHECK;

#endif
