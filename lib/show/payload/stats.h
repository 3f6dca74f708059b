/* SPDX-License-Identifier: Apache-2.0 */
/* stats.h - the values of a tensor in a few numbers */
#ifndef MPK_PAYLOAD_STATS_H
#define MPK_PAYLOAD_STATS_H

#include <stdint.h>

#include "base/strbuf.h"
#include "tensor/tensor.h"

enum mpk_stats_kind {
	MPK_STATS_NONE, /* of a type that is not read here: complex, 4 and 8-bit floats, ... */
	MPK_STATS_FLOAT,
	MPK_STATS_SIGNED,
	MPK_STATS_UNSIGNED, /* bool among them */
};

struct mpk_stats {
	enum mpk_stats_kind kind;
	uint64_t count;      /* elements, lanes counted one by one */
	uint64_t nans, infs; /* not in the numbers below */
	union {
		struct {
			double min, max;
		} f;
		struct {
			int64_t min, max;
		} i;
		struct {
			uint64_t min, max;
		} u;
	} range;     /* meaningful when count > nans + infs */
	double mean; /* meaningful as range is */
};

/* mpk_stats_of - read every element: float16, bfloat16, float32, float64, integers of 8 to 64
 * bits and bool; little-endian, unaligned */
struct mpk_stats mpk_stats_of(const struct mpk_tensor_record *t);

/* mpk_stats_text - append "min -1, max 2.5, mean 0.25, 1 NaN, 2 infinite"; nothing when
 * there is nothing to say */
void mpk_stats_text(const struct mpk_stats *s, struct mpk_strbuf *out);

#endif
