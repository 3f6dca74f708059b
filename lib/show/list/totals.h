/* SPDX-License-Identifier: Apache-2.0 */
/* totals.h - adds up the GPU code of many files by device */
#ifndef MPK_LIST_TOTALS_H
#define MPK_LIST_TOTALS_H

#include "answer/answer.h"
#include "base/strmap.h"
#include "model/view.h"

/* Bytes of code for one device. */
struct mpk_total {
	const char *target; /* "sm_90", "compute_90"; not escaped */
	uint64_t bytes;     /* bytes as stored in the file */
};

/* Zero-initialise, add files, print, free with mpk_totals_fini. */
struct mpk_totals {
	struct mpk_arena arena;
	struct mpk_strmap by_target;
	struct mpk_total *items; /* in the order of first appearance; malloc'ed */
	size_t count, cap;
	size_t files;          /* number of files with GPU code */
	uint64_t linker_bytes; /* bytes in sections for a device linker, which no driver reads */
	size_t linker_files;
};

/* mpk_totals_add - add the GPU code of one more file, from headers only; nothing of view is kept
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_totals_add(struct mpk_totals *t, const struct mpk_view *view,
			     struct mpk_error *err) MPK_MUST_CHECK;
void mpk_totals_fini(struct mpk_totals *t);

/* Printer of struct mpk_totals: a line of bytes by device, only the largest if there are many, and
 * a line for linker input; nothing if there is no GPU code */
extern const struct mpk_answer mpk_answer_totals;

#endif
