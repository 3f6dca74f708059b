/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - what the files of this folder share, and nobody else includes */
#ifndef MPK_COMPARE_INTERNAL_COMPARE_H
#define MPK_COMPARE_INTERNAL_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "compare/compare.h"

/* --- What tells the meaning of addresses in host code --- */

/* Addresses that have a name: those of a symbol or of a section. */
struct mpk_host_place {
	uint64_t begin, bytes;
	const char *name;
	uint64_t flags; /* of a section */
	size_t order;   /* in its table */
};

/* A word that a loader fills in. */
struct mpk_host_slot {
	uint64_t at;
	const char *name; /* of the symbol whose address it becomes; NULL: addend alone */
	uint64_t addend;
};

/* Which elements of two sequences have no partner in the other one
 *
 * Sequences are numbers: equal numbers stand for equal lines. The method is that of Myers ("An O(ND)
 * Difference Algorithm and Its Variations", 1986) in its linear-space form, with a bound on the work that
 * one split may take. Up to that bound the answer is a shortest one; beyond it, a valid one.
 */

struct mpk_sequence {
	const uint32_t *ids;
	size_t count;
	bool *changed; /* of each element; receives whether it has no partner */
};

/* mpk_script_find - mark the elements of a that were removed and those of b that were added; what is
 * left unmarked is equal in both, in order
 * Takes 8 bytes for each element, and time in proportion to (a + b) * the smaller of their
 * difference and 512.
 * @a, @b   together fewer than 2^30 elements; changed is all false
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_script_find(struct mpk_sequence a, struct mpk_sequence b,
			      struct mpk_error *err) MPK_MUST_CHECK;

#endif
