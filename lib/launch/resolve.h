/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.h - what the parts of mpk_launch_resolve share; for lib/launch alone */
#ifndef MPK_LAUNCH_RESOLVE_H
#define MPK_LAUNCH_RESOLVE_H

#include "launch/launch.h"

/* What is being resolved; findings go to the report with the check's name. */
struct mpk_resolve {
	const struct mpk_manifest *manifest;
	const struct mpk_manifest_launch *source;
	struct mpk_arena *arena;
	struct mpk_report *report;
	struct mpk_launch *launch;
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

/* mpk_resolve_array - memory of the arena, never of no bytes; NULL sets r->nomem */
void *mpk_resolve_array(struct mpk_resolve *r, size_t count, size_t size);

/* mpk_resolve_scan - a text of the manifest with its position, for the scanners of expr.h */
struct mpk_scan mpk_resolve_scan(const struct mpk_toml_str *m);

/* mpk_resolve_param, mpk_resolve_var - where a name stands; the count when it does not */
size_t mpk_resolve_param(const struct mpk_launch_param *params, size_t count, struct mpk_span name);
size_t mpk_resolve_var(const struct mpk_launch *l, struct mpk_span name);

/* mpk_resolve_names - whether the function has all names of an expression; reported else */
bool mpk_resolve_names(struct mpk_resolve *r, const struct mpk_expr *e, struct mpk_pos pos);

/* mpk_resolve_kernel - "MODULE.KERNEL" in the kernel tables; sets step->module and kernel
 * Returns  NULL: there is none (reported, with what was meant) */
const struct mpk_manifest_function *mpk_resolve_kernel(struct mpk_resolve *r,
						       const struct mpk_toml_str *name,
						       struct mpk_launch_step *step);

/* mpk_resolve_extents - grid, block and shared memory of a step, and whether the kernel's launch
 * tags carry them; sets step->tags first
 * @kernel  NULL: it is not known, nor its tags */
void mpk_resolve_extents(struct mpk_resolve *r, const struct mpk_manifest_step *m,
			 const struct mpk_manifest_function *kernel, struct mpk_launch_step *step);

#endif
