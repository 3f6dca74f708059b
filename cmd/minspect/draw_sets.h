/* SPDX-License-Identifier: Apache-2.0 */
/* draw_sets.h - two folders or two archives on one page: the newer one is shown, with what differs
 * from the older one */
#ifndef MINSPECT_DRAW_SETS_H
#define MINSPECT_DRAW_SETS_H

#include "base/strmap.h"
#include "minspect/diff_set.h"
#include "minspect/diff_totals.h"
#include "minspect/document.h"

struct minspect_drawn_pair;

/* Zero-initialise except for map.fd of both sets and of archive, which is -1. */
struct minspect_drawn_sets {
	bool are_two;
	struct minspect_set_of_files older, newer;
	struct minspect_set_changes changes;
	struct minspect_file archive; /* the older archive; not open for a folder */
	struct mpk_strmap libraries;  /* numbers of its libraries by name */
	struct minspect_diff_totals totals;
	struct minspect_drawn_pair *pairs; /* files that both have and that differ; malloc'ed */
	size_t pair_count, pair_cap;
	struct mpk_strmap pair_names;
	size_t row_count; /* rows of all pairs */
	struct mpk_arena arena;
};

/* minspect_drawn_sets_begin - recognise two folders or two archives with files of the same names
 * @o       its files; if are_two is set, they become those of the newer set
 * Returns  MPK_OK; errors of minspect_set_read; MPK_E_NOMEM */
enum mpk_code minspect_drawn_sets_begin(struct minspect_options *o, struct minspect_drawn_sets *s,
					struct mpk_error *err) MPK_MUST_CHECK;

/* minspect_drawn_sets_add - compare a file of the newer set with its counterpart, if there is one;
 * instructions are not compared
 * Returns  MPK_OK, also if the counterpart cannot be read; MPK_E_NOMEM */
enum mpk_code minspect_drawn_sets_add(struct minspect_drawn_sets *s, struct minspect_look *l,
				      struct mpk_error *err) MPK_MUST_CHECK;

/* minspect_drawn_sets_put - put "sets": both names and sizes, totals as --diff prints them, each
 * file that differs, and rows of the kernels and images in it that do */
enum mpk_code minspect_drawn_sets_put(const struct minspect_drawn_sets *s, struct mpk_json *j,
				      struct mpk_error *err) MPK_MUST_CHECK;

void minspect_drawn_sets_fini(struct minspect_drawn_sets *s);

#endif
