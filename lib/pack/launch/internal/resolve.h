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

/* mpk_resolve_array - count elements of the arena, at least one
 * Returns  NULL, and sets r->nomem, without memory */
void *mpk_resolve_array(struct mpk_resolve *r, size_t count, size_t size);

/* mpk_resolve_params - parse the parameters and temporaries of the function, and bind the variables of their shapes */
void mpk_resolve_params(struct mpk_resolve *r);

/* mpk_resolve_args - compare the arguments of a step with what its kernel or C function takes, and resolve the
 * extents and tags of a kernel; mistakes are reported
 * @kernel  NULL: it is not known, and only names are checked */
void mpk_resolve_args(struct mpk_resolve *r, const struct mpk_manifest_step *m,
		      const struct mpk_manifest_function *kernel, struct mpk_launch_step *step);

#define MPK_COMPLAIN(r, position, ...)                                                             \
	do {                                                                                       \
		struct mpk_error complaint_;                                                       \
		(void)mpk_fail_line(&complaint_, MPK_E_SYNTAX, (position).line, (position).column, \
				    __VA_ARGS__);                                                  \
		mpk_resolve_finding((r), &complaint_);                                             \
	} while (0)

#endif
