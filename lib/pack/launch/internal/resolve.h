/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.h - what the parts of mpk_launch_resolve share; for lib/pack/launch alone */
#ifndef MPK_LAUNCH_INTERNAL_RESOLVE_H
#define MPK_LAUNCH_INTERNAL_RESOLVE_H

#include "base/strmap.h"
#include "launch/launch.h"

/* A row of a kernel table. */
struct mpk_kernel_row {
	struct mpk_span name;
	size_t module, row; /* in the manifest; in its table */
};

/* What "MODULE.KERNEL" is looked up in. */
struct mpk_kernel_index {
	struct mpk_strmap modules;   /* ids to indices */
	struct mpk_span *ids;        /* of the modules that have one */
	struct mpk_kernel_row *rows; /* of all modules, by name, module and row */
	size_t id_count, row_count;
	bool lacks_ids;        /* a module without an id may be the one that is meant */
	uint64_t letters_left; /* that may still be compared to find what a name was meant to be */
};

enum { MPK_KERNEL_INDEX_LETTERS = 64 * 1024 * 1024 }; /* a third of a second */

/* mpk_kernel_index_init - index the kernel tables of a manifest
 * @index   its lists are in arena; the caller releases its map in every case
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_kernel_index_init(const struct mpk_manifest *m, struct mpk_arena *arena,
				    struct mpk_kernel_index *index,
				    struct mpk_error *err) MPK_MUST_CHECK;

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

/* mpk_resolve_array - memory of the arena, never of no bytes; NULL sets r->nomem */
void *mpk_resolve_array(struct mpk_resolve *r, size_t count, size_t size);

/* mpk_resolve_names - whether the function has all names of an expression; reported else */
bool mpk_resolve_names(struct mpk_resolve *r, const struct mpk_expr *e, struct mpk_pos pos);

/* mpk_resolve_expr - a text of the manifest as an expression, of which the function has all names
 * @out     set also when a name is unknown
 * Returns  false: it is not (reported) */
bool mpk_resolve_expr(struct mpk_resolve *r, const struct mpk_toml_str *text,
		      const struct mpk_expr **out);

/* mpk_expr_name - the name that is all of a text, but for blanks; empty: it is anything else */
struct mpk_span mpk_expr_name(struct mpk_span text);

/* mpk_resolve_args - the arguments of a step, held against what its kernel takes; problems are reported
 * @kernel  NULL: it is not known, and only names are looked at */
void mpk_resolve_args(struct mpk_resolve *r, const struct mpk_manifest_step *m,
		      const struct mpk_manifest_function *kernel, struct mpk_launch_step *step);

/* mpk_resolve_call - a step that calls a C function; what does not hold is reported */
void mpk_resolve_call(struct mpk_resolve *r, const struct mpk_manifest_step *m,
		      struct mpk_launch_step *step);

/* mpk_resolve_step - its kernel, device, arguments and extents; what does not hold is reported
 * A step whose kernel is not found has none, and is checked as far as that goes without it. */
void mpk_resolve_step(struct mpk_resolve *r, const struct mpk_manifest_step *m,
		      struct mpk_launch_step *step);

#endif
