/* SPDX-License-Identifier: Apache-2.0 */
/* assertion.h - what one assertion of a function says, by its text. TVM up to 0.21 writes
 *
 *   Assert fail: CONDITION, saxpy: num_args should be 3
 *   Assert fail: CONDITION, saxpy: Expect arg[1] to be pointer
 *   Assert fail: CONDITION, saxpy.X.ndim is expected to equal 1
 *   Assert fail: CONDITION, saxpy.X.dtype is expected to be float32
 *   Assert fail: CONDITION, Argument saxpy.Y.shape[0] has an unsatisfied constraint: n == ...
 *   Assert fail: CONDITION, Argument saxpy.Y.device_type has an unsatisfied constraint: 1 == ...
 */
#ifndef MPK_HOSTCODE_INTERNAL_ASSERTION_H
#define MPK_HOSTCODE_INTERNAL_ASSERTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum mpk_assertion_kind {
	MPK_ASSERT_COUNT,   /* number arguments */
	MPK_ASSERT_CLASS,   /* argument `number` is a value ("pointer", "int", "float") */
	MPK_ASSERT_POINTER, /* variable is the argument that path names */
	MPK_ASSERT_RANK,    /* number dimensions; variable as well */
	MPK_ASSERT_DTYPE,   /* value */
	MPK_ASSERT_SHAPE,   /* extent `number` is value */
	MPK_ASSERT_DEVICE,  /* number, of DLPack */
	MPK_ASSERT_STRIDES, /* the condition: an and of strides */
	MPK_ASSERT_DATA,    /* value: the product of all extents, as far as it is not a number */
};

struct mpk_assertion {
	enum mpk_assertion_kind kind;
	struct mpk_span path;      /* "saxpy", or "saxpy.X" of one argument */
	struct mpk_span variable;  /* that the code has for the argument; may be empty */
	struct mpk_span value;     /* text; of the assertion */
	struct mpk_span condition; /* what holds when it does not fail */
	int64_t number;
};

/* mpk_assertion_read - one text
 * Returns  true and sets *out, views of text; false: it is no assertion, or one that says nothing of
 *          what a function takes */
bool mpk_assertion_read(struct mpk_span text, struct mpk_assertion *out);

/* mpk_assertion_stride - what the condition says that stride `index` is
 * Returns  false when it says nothing */
bool mpk_assertion_stride(struct mpk_span condition, size_t index, struct mpk_span *out);

#endif
