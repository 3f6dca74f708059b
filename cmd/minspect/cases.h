/* cases.h - the parts of --cases */
#ifndef MPK_CMD_MINSPECT_CASES_H
#define MPK_CMD_MINSPECT_CASES_H

#include "minspect/run.h"
#include "session/cases.h"

/* What is reported, in whatever form. */
struct cases_run {
	const struct minspect_options *o;
	const struct mpk_cases *cases;
	const struct mpk_case_outcome *outcomes; /* of each case */
	size_t passed, failed, skipped;
};

/* cases_print - one line a case and a summary; with --tap and --json in those forms
 * Returns  an exit status: that of the writing alone */
int cases_print(const struct cases_run *run);

/* cases_print_errors - with --json a document of why no case was run */
int cases_print_errors(const struct minspect_options *o, const struct mpk_report *report);

/* cases_write_junit - the file of --junit, when that was given; an exit status */
int cases_write_junit(const struct cases_run *run);

#endif
