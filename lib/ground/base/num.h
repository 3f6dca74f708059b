/* SPDX-License-Identifier: Apache-2.0 */
/* num.h - arithmetic that cannot wrap, and numbers from text */
#ifndef MPK_BASE_NUM_H
#define MPK_BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

/* Each returns true and sets *out, or false on overflow (*out undefined then). */
static inline bool mpk_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
	return !__builtin_add_overflow(a, b, out);
}

static inline bool mpk_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
	return !__builtin_mul_overflow(a, b, out);
}

/* mpk_align_up - the next multiple of align (a power of two); false on overflow */
static inline bool mpk_align_up(uint64_t value, uint64_t align, uint64_t *out)
{
	uint64_t sum;

	if (__builtin_add_overflow(value, align - 1, &sum))
		return false;
	*out = sum & ~(align - 1);
	return true;
}

/* mpk_parse_i64, mpk_parse_u64 - the whole span as a decimal or 0x number, '_' not allowed
 * Returns  true and sets *out; false when the text is no such number or does not fit */
bool mpk_parse_i64(struct mpk_span text, int64_t *out);
bool mpk_parse_u64(struct mpk_span text, uint64_t *out);

/* mpk_parse_f64 - the whole span as a C floating number, inf or nan included; at most 127 bytes */
bool mpk_parse_f64(struct mpk_span text, double *out);

#endif
