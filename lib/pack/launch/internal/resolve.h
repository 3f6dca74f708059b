/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.h - what the parts of mpk_launch_resolve share; for lib/pack/launch alone */
#ifndef MPK_LAUNCH_INTERNAL_RESOLVE_H
#define MPK_LAUNCH_INTERNAL_RESOLVE_H

#include "base/strmap.h"
#include "launch/launch.h"

struct mpk_kernel_index;

/* What is being resolved; findings go to the report with the check's name. */
struct mpk_resolve {
	const struct mpk_manifest *manifest;
	const struct mpk_manifest_launch *source;
	struct mpk_arena *arena;
	struct mpk_report *report;
	struct mpk_launch *launch;
	struct mpk_kernel_index *index;
	struct mpk_strmap params, temps, vars; /* of the function: names to indices */
	bool nomem;
	bool incomplete; /* a parameter did not parse: what names it is no further mistake */
};

/* mpk_resolve_finding - report an error, with the function's name in front */
void mpk_resolve_finding(struct mpk_resolve *r, struct mpk_error *err);

#define MPK_COMPLAIN(r, position, ...)                                                             \
	do {                                                                                       \
		struct mpk_error complaint_;                                                       \
		(void)mpk_fail_line(&complaint_, MPK_E_SYNTAX, (position).line, (position).column, \
				    __VA_ARGS__);                                                  \
		mpk_resolve_finding((r), &complaint_);                                             \
	} while (0)

#endif
