/* SPDX-License-Identifier: Apache-2.0 */
/* args.h - what global functions do with their arguments, and how they raise */
#ifndef MPK_EXECUTOR_CONTRIB_INTERNAL_ARGS_H
#define MPK_EXECUTOR_CONTRIB_INTERNAL_ARGS_H

#include "base/error.h"
#include "value/function.h"
#include "value/value.h"

/* The arguments of a call with the name of the function, for messages. */
struct mpk_contrib_args {
	const char *name;
	const struct mpk_value *values;
	size_t count;
};

/* mpk_contrib_raise - MPK_E_RAISED "KIND: name: sentence" */
enum mpk_code mpk_contrib_raise(const struct mpk_contrib_args *a, struct mpk_error *err,
				const char *kind, const char *fmt, ...)
	MPK_PRINTF(4, 5) MPK_MUST_CHECK;
#define mpk_contrib_raise(...) mpk_failed(mpk_contrib_raise(__VA_ARGS__))

/* mpk_contrib_arity - that there are least to most arguments */
enum mpk_code mpk_contrib_arity(const struct mpk_contrib_args *a, size_t least, size_t most,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_contrib_int, mpk_contrib_float - a number; ints count as bools and floats, too */
enum mpk_code mpk_contrib_int(const struct mpk_contrib_args *a, size_t i, int64_t *out,
			      struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_contrib_float(const struct mpk_contrib_args *a, size_t i, double *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_contrib_tensor - a tensor, anywhere, with memory unless it has no elements; borrowed
 * Returns  MPK_OK; MPK_E_RAISED, a TypeError */
enum mpk_code mpk_contrib_tensor(const struct mpk_contrib_args *a, size_t i,
				 struct mpk_tensor **out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
