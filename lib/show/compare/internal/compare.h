/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - declarations private to lib/show/compare */
#ifndef MPK_COMPARE_INTERNAL_COMPARE_H
#define MPK_COMPARE_INTERNAL_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "compare/compare.h"

/* --- What tells the meaning of addresses in host code --- */

/* A named range of addresses: a symbol or a section. */
struct mpk_host_place {
	uint64_t begin, bytes;
	const char *name;
	uint64_t flags; /* section flags; 0 for symbols */
	size_t order;   /* index in its table */
};

/* A word that a loader fills in. */
struct mpk_host_slot {
	uint64_t at;
	/* symbol whose address the loader stores; NULL if it stores only the addend */
	const char *name;
	uint64_t addend;
};

/* Finds the elements of two sequences that have no partner in the other one
 *
 * Elements are numbers: equal numbers stand for equal lines. The method is that of Myers ("An
 * O(ND) Difference Algorithm and Its Variations", 1986) in its linear-space form, with a limit
 * on the work of one split. Within the limit the result is a shortest edit script; beyond it, a
 * valid one.
 */

struct mpk_sequence {
	const uint32_t *ids;
	size_t count;
	bool *changed; /* one flag for each element; receives whether the element has no partner */
};

/* mpk_script_find - mark the elements of a that were removed and those of b that were added; the
 * unmarked elements are equal in both, in order
 * Needs 8 bytes for each element, and time proportional to (a + b) * min(difference, 512).
 * @a, @b   together fewer than 2^30 elements; changed is all false
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_script_find(struct mpk_sequence a, struct mpk_sequence b,
			      struct mpk_error *err) MPK_MUST_CHECK;

#endif
