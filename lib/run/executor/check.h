/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - the inputs of a call against what a model takes, before anything runs
 *
 * Kernels check their arguments, too, but in words of their own ("Assert fail: ...ndim == 2") and
 * after other kernels have run. A model that knows its inputs refuses a wrong call as a mistake
 * of the caller, and shows him a right one.
 */
#ifndef MPK_EXECUTOR_CHECK_H
#define MPK_EXECUTOR_CHECK_H

#include "base/error.h"
#include "signature/signature.h"
#include "value/function.h"

/* mpk_signature_bind - which value of a call is which input
 * A value with a name is the input or the parameter of that name; those without are the inputs
 * that no value was named for, in their order.
 * @m       its inputs are known; those of no known type take any value
 * @bound   m->input_count + m->param_count places: receives the value of each input, then of each
 *          parameter, borrowed from args; NULL for parameters that keep what they are
 * Returns  MPK_OK; MPK_E_USAGE: a name that the model has not, an input twice, too many or too
 *          few, something else than a tensor, another type, rank or shape, a symbolic extent
 *          with two sizes. The sentence says what was expected and what came, and shows the
 *          options of a call that is right. bound is then undefined. */
enum mpk_code mpk_signature_bind(const struct mpk_signature *m, const struct mpk_args *args,
				 const struct mpk_value **bound,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_signature_order - the values of a call with names in the order of the inputs
 * @out     m->input_count + m->param_count values, to be freed; what they hold is borrowed from args
 * Returns  as mpk_signature_bind; MPK_E_NOMEM */
enum mpk_code mpk_signature_order(const struct mpk_signature *m, const struct mpk_args *args,
				  struct mpk_value **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_signature_check - whether values, in order, are right
 * Returns  as mpk_signature_bind; MPK_E_NOMEM */
enum mpk_code mpk_signature_check(const struct mpk_signature *m, const struct mpk_value *values,
				  size_t count, struct mpk_error *err) MPK_MUST_CHECK;

#endif
