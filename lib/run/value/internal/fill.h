/* SPDX-License-Identifier: Apache-2.0 */
/* fill.h - the elements of a tensor from text; used by the value grammar of parse.h */
#ifndef MPK_VALUE_INTERNAL_FILL_H
#define MPK_VALUE_INTERNAL_FILL_H

#include <stddef.h>

#include "base/error.h"
#include "value/value.h"

/* mpk_tensor_fill - set every element of t from text + pos
 * A list separated by commas or spaces, with or without the brackets of the nesting;
 * one number for all elements; "rand" or "rand:SEED": floats in [-1, 1), integers from 0
 * to 99, the same on every machine.
 * Returns  MPK_OK; MPK_E_USAGE naming the column in text; MPK_E_UNSUPPORTED for types
 *          without a text form. Some elements may have been set on failure. */
enum mpk_code mpk_tensor_fill(struct mpk_tensor *t, const char *text, size_t pos,
			      struct mpk_error *err) MPK_MUST_CHECK;

#endif
