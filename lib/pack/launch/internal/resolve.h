/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.h - declarations shared by the parts of mpk_launch_resolve */
#ifndef MPK_LAUNCH_INTERNAL_RESOLVE_H
#define MPK_LAUNCH_INTERNAL_RESOLVE_H

#include "base/strmap.h"
#include "launch/launch.h"

struct mpk_kernel_index;

/* State of resolving a manifest; findings go to the report under the check's name. */
struct mpk_resolve {
	const struct mpk_manifest *manifest;
	const struct mpk_manifest_launch *source;
	struct mpk_arena *arena;
	struct mpk_report *report;
	struct mpk_launch *launch;
	struct mpk_kernel_index *index;
	struct mpk_strmap params, temps, vars; /* names of the current function, to indexes */
	bool nomem;
	bool incomplete; /* a parameter did not parse, so an unknown name is not reported */
};

/* mpk_resolve_finding - report an error, beginning with the function's name */
void mpk_resolve_finding(struct mpk_resolve *r, struct mpk_error *err);

/* mpk_resolve_array - allocate count elements, at least one, in the arena
 * Returns  NULL if there is no memory; r->nomem is then set */
void *mpk_resolve_array(struct mpk_resolve *r, size_t count, size_t size);

/* mpk_resolve_params - parse the parameters and temporaries of the function, and bind the variables of their shapes */
void mpk_resolve_params(struct mpk_resolve *r);

/* mpk_resolve_args - check the arguments of a step against the parameters of its kernel or C
 * function, and resolve the extents and tags of a kernel; mistakes are reported
 * @kernel  NULL: it is unknown, and only names are checked */
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
