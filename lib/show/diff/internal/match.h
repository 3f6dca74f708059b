/* SPDX-License-Identifier: Apache-2.0 */
/* match.h - which module of one file is which of another, wherever it stands */
#ifndef MPK_DIFF_INTERNAL_MATCH_H
#define MPK_DIFF_INTERNAL_MATCH_H

#include "model/view.h"

/* The partner of a module that has none. */
#define MPK_NO_MODULE SIZE_MAX

struct mpk_module_match {
	size_t *partner; /* of each module of a: its index in b, or MPK_NO_MODULE */
	bool *same;    /* of each module of a: kind and payload are known to equal its partner's */
	size_t *owner; /* of each module of b: its index in a, or MPK_NO_MODULE */
};

/* mpk_match_modules - pair the modules of two files, each with one other at most. In this order, and of
 * several that do equally well those with one path:
 *   1. kind and payload are equal;
 *   2. the kind is, and the names that it defines are shared, the most first: kernels, functions of
 *      models, symbols, constants. Of a name that many modules of a kind define only some are looked at;
 *   3. kind and path are; or it is the only one left of its kind in both and defines no names;
 *   4. the path is.
 * @arena   receives the lists; what else is needed is freed
 * Returns  MPK_OK; MPK_E_NOMEM. Takes n log n for n modules and names, and reads a payload twice at
 *          most. */
enum mpk_code mpk_match_modules(const struct mpk_view *a, const struct mpk_view *b,
				struct mpk_arena *arena, struct mpk_module_match *out,
				struct mpk_error *err) MPK_MUST_CHECK;

#endif
