/* SPDX-License-Identifier: Apache-2.0 */
/* result.h - what a call gave: values, and how long it took */
#ifndef MPK_SESSION_INTERNAL_RESULT_H
#define MPK_SESSION_INTERNAL_RESULT_H

#include <stddef.h>

#include "value/value.h"

struct mpk_profile;     /* observe/profile.h */
struct mpk_comparisons; /* observe/compare.h */

struct mpk_call_result {
	struct mpk_value *values; /* the outputs in order, then what the last call
				       * returned, arrays flattened; none is left out
				       * unless it is all there is */
	size_t count;
	double *seconds; /* of each timed call, in order */
	size_t seconds_count;
	uint64_t dump_left_out;              /* results that are not in the dump */
	struct mpk_profile *profile;         /* of the timed calls; NULL: not asked for */
	struct mpk_comparisons *comparisons; /* of the first timed one; NULL: not asked for */
};

/* Figures over the timed calls, in seconds. */
struct mpk_timing {
	double min, median, p95, mean;
};

/* mpk_call_result_fini - drop the values; safe on a zeroed result */
void mpk_call_result_fini(struct mpk_call_result *r);

/* mpk_timing_of - the figures; p95 is the smallest time that 95 of 100 calls stay within.
 * Sorts seconds. count > 0. */
struct mpk_timing mpk_timing_of(double *seconds, size_t count);

#endif
