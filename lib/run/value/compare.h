/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - does a result hold what was expected? */
#ifndef MPK_VALUE_COMPARE_H
#define MPK_VALUE_COMPARE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "value/value.h"

/* How far numbers may lie apart: |got - want| <= atol + rtol * |want|. */
struct mpk_tolerance {
	double atol, rtol; /* negative: by the type: atol 1e-4 for f32 and f64, 1e-3 for f16, 1e-2
			    * for bf16, rtol 1e-5; 0 and 0 for everything else */
};

struct mpk_comparison {
	bool is_equal;
	uint64_t differing, total; /* elements of a tensor; 1 for a plain value */
	uint64_t first;            /* row-major index of the first that differs */
	double max_abs, max_rel;   /* over the elements where both are finite */
};

/* mpk_value_compare - compare got with want
 * NaN equals NaN, infinities of the same sign are equal. Tensors are compact and in host memory;
 * they must agree in shape and type. Plain numbers and bools compare by value, whatever their type; text,
 * shapes, types and devices must be equal.
 * @why     receives, when they differ, one sentence without a full stop
 * Returns  MPK_OK, *out filled, also when they differ; MPK_E_UNSUPPORTED for values that
 *          cannot be compared (functions, objects); MPK_E_NOMEM */
enum mpk_code mpk_value_compare(const struct mpk_value *got, const struct mpk_value *want,
				struct mpk_tolerance tolerance, struct mpk_comparison *out,
				struct mpk_strbuf *why, struct mpk_error *err) MPK_MUST_CHECK;

#endif
