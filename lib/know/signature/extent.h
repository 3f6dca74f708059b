/* SPDX-License-Identifier: Apache-2.0 */
/* extent.h - symbolic extents as TVM writes them: "n", "n * 2", "T.max(n, T.int64(4))", and as launch
 * functions do: "n / 2", "n %% 2", in a format for printf
 *
 * +, -, *, //, /, %, %%, parentheses, min, max, floordiv, floormod, truncdiv, truncmod, ceildiv, and casts
 * to integer types, which change nothing here.
 */
#ifndef MPK_SIGNATURE_EXTENT_H
#define MPK_SIGNATURE_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

/* What names are known to be. */
struct mpk_extent_value {
	struct mpk_span name;
	int64_t value;
};

struct mpk_extent_values {
	const struct mpk_extent_value *items;
	size_t count;
	int64_t others; /* what every other name is; 0: not known */
};

/* mpk_extent_compute - what an extent is when its names are values
 * Returns  true and sets *out; false: it is none of the above, a name is not known, a divisor is 0
 *          or a number does not fit */
bool mpk_extent_compute(struct mpk_span text, const struct mpk_extent_values *values, int64_t *out);

/* mpk_extent_is_name - whether it is one name and nothing else */
bool mpk_extent_is_name(struct mpk_span text);

/* mpk_extent_shorten - without what says nothing to a reader: "T.int64(4)" is "4", "T.max" "max"
 * @out     lives in arena, or is text
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_extent_shorten(struct mpk_span text, struct mpk_arena *arena,
				 struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
