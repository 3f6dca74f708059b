/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h - where the verify functions of code formats put what they find */
#ifndef MPK_CODE_VERIFY_H
#define MPK_CODE_VERIFY_H

#include "base/report.h"
#include "code/info.h"

struct mpk_code_verify {
	struct mpk_report *report;
	const char *file;     /* as the user named it */
	const char *path;     /* of the module in the tree */
	const char *space;    /* what offsets count in; NULL: "blob" */
	struct mpk_span kind; /* of the module: decides what a runtime looks for */
	const char *check;    /* the name that findings carry */
};

/* mpk_code_say - report a finding
 * @off     where in the blob, or in v->space, bytes */
void mpk_code_say(const struct mpk_code_verify *v, enum mpk_severity severity, uint64_t off,
		  const char *fmt, ...) MPK_PRINTF(4, 5);

/* mpk_code_say_problem - report as an error why code does not read
 * @info    has a problem
 * @what    is in front: "image 0: ", or "" */
void mpk_code_say_problem(const struct mpk_code_verify *v, const struct mpk_code_info *info,
			  const char *what);

#endif
