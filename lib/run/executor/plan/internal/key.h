/* SPDX-License-Identifier: Apache-2.0 */
/* key.h - what a plan depends on, as words that are compared; for the files of this folder */
#ifndef MPK_EXECUTOR_PLAN_INTERNAL_KEY_H
#define MPK_EXECUTOR_PLAN_INTERNAL_KEY_H

#include "value/value.h"

/* Arrays within arrays, of what a plan takes and gives: it is no place for recursion without end. */
enum { MPK_PLAN_NEST_MAX = 16 };

/* Zero-initialise; mpk_plan_key_fini. */
struct mpk_plan_key {
	int64_t *words;
	size_t count, cap;
	uint64_t hash;
};

/* mpk_plan_key_make - the key of a call: function, and type, shape and device of each tensor, value
 * and type of each integer, value of each shape among its arguments
 * Returns  false when a call with these arguments has no plan: other kinds of values, tensors with
 *          gaps or strides that ours do not have, arrays nested too deep; or memory is out */
bool mpk_plan_key_make(struct mpk_plan_key *key, size_t function, const struct mpk_value *args,
		       size_t count);

/* mpk_plan_key_copy - into *to, which is overwritten; false when memory is out */
bool mpk_plan_key_copy(struct mpk_plan_key *to, const struct mpk_plan_key *from);

/* mpk_plan_key_equal - word by word */
bool mpk_plan_key_equal(const struct mpk_plan_key *a, const struct mpk_plan_key *b);
void mpk_plan_key_fini(struct mpk_plan_key *key);

#endif
