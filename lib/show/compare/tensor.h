/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.h - how far two stored tensors of one shape and type lie apart */
#ifndef MPK_COMPARE_TENSOR_H
#define MPK_COMPARE_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "tensor/tensor.h"

struct mpk_tensor_diff {
	bool is_comparable; /* false: another type or shape; nothing below is known */
	uint64_t count;     /* scalars: lanes count one by one */
	uint64_t differing; /* NaN equals NaN, 0 equals -0: by value, where there are values */
	uint64_t bits_only; /* with other bytes and the same value */
	uint64_t first;     /* row-major index of the first that differs */
	bool has_values;    /* the type has numbers; what follows is known then */
	uint64_t unordered; /* differing ones of which one is NaN or infinite */
	double max_abs;     /* |a - b| over the finite ones */
	uint64_t max_at;    /* where that is first */
	double mean_abs;    /* over all scalars but the unordered; equal ones count as 0 */
};

/* mpk_tensor_compare - every element of both; in the time of reading them */
struct mpk_tensor_diff mpk_tensor_compare(const struct mpk_tensor_record *a,
					  const struct mpk_tensor_record *b);

/* mpk_tensor_diff_text - append "3 of 12 elements differ, by at most 0.5 (element 4), 0.125 on average";
 * of tensors that are not comparable their types and shapes */
void mpk_tensor_diff_text(const struct mpk_tensor_diff *d, const struct mpk_tensor_record *a,
			  const struct mpk_tensor_record *b, struct mpk_strbuf *out);

#endif
