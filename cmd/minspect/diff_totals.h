/* SPDX-License-Identifier: Apache-2.0 */
/* diff_totals.h - totals over all pairs of files of two sets: devices and kernels that were added,
 * removed or changed, and the worst changes */
#ifndef MINSPECT_DIFF_TOTALS_H
#define MINSPECT_DIFF_TOTALS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "compare/differ.h"
#include "text/json.h"

enum { MINSPECT_WORST = 10, MINSPECT_TOTAL_DEVICES = 64 };

/* A device for which libraries gained or lost code. */
struct minspect_total_device {
	const char *name;
	size_t added, removed; /* numbers of libraries */
};

struct minspect_worse {
	uint64_t weight;  /* 0 if unused */
	const char *text; /* "registers of sums 32 -> 80 (sm_90)" */
};

/* Zero-initialise; the caller sets arena, which receives the texts. */
struct minspect_diff_totals {
	struct mpk_arena *arena;
	struct minspect_total_device devices[MINSPECT_TOTAL_DEVICES];
	size_t device_count;
	size_t added, removed, changed; /* numbers of kernels */
	size_t worse_count;             /* number of kernels with a figure that grew */
	/* numbers of kernels whose stack or spilled registers grew or shrank, and whose occupancy
	 * did */
	size_t spills_more, spills_less, occupancy_more, occupancy_less;
	struct minspect_worse worst[MINSPECT_WORST];
};

/* minspect_totals_add - add the differences of one pair of files
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code minspect_totals_add(struct minspect_diff_totals *t, const struct mpk_diff *diff,
				  struct mpk_error *err) MPK_MUST_CHECK;

/* minspect_totals_put - append a line each for devices, kernels, figures and worst changes; empty
 * lines are omitted
 * @is_markdown  write them as list items for a pull request */
void minspect_totals_put(const struct minspect_diff_totals *t, bool is_markdown,
			 struct mpk_strbuf *out);

/* minspect_totals_json - add "devices", "kernels", "spills", "occupancy", "worse" and
 * "worse_count" to an object */
void minspect_totals_json(const struct minspect_diff_totals *t, struct mpk_json *j,
			  struct mpk_json_at *at);

#endif
