/* SPDX-License-Identifier: Apache-2.0 */
/* args.c - what global functions do with their arguments, and how they raise
 *
 * Compiled code passes whatever the model says, so each argument is checked for its kind before it is
 * used. Errors begin with the name of a Python exception, as those of TVM's own functions do.
 */
#include "executor/contrib/internal/args.h"

#include <stdarg.h>
#include <stdio.h>

enum mpk_code(mpk_contrib_raise)(const struct mpk_contrib_args *a, struct mpk_error *err,
				 const char *kind, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return mpk_fail(err, MPK_E_RAISED, "%s: %s: %s", kind, a->name, text);
}

enum mpk_code mpk_contrib_arity(const struct mpk_contrib_args *a, size_t least, size_t most,
				struct mpk_error *err)
{
	if (a->count >= least && a->count <= most)
		return MPK_OK;
	return mpk_contrib_raise(a, err, "TypeError", "got %zu arguments", a->count);
}

static enum mpk_code wrong_kind(const struct mpk_contrib_args *a, size_t i, const char *wanted,
				struct mpk_error *err)
{
	return mpk_contrib_raise(a, err, "TypeError", "argument %zu must be %s, not %s", i, wanted,
				 mpk_value_kind_name(a->values[i].kind));
}

enum mpk_code mpk_contrib_int(const struct mpk_contrib_args *a, size_t i, int64_t *out,
			      struct mpk_error *err)
{
	if (a->values[i].kind == MPK_VALUE_INT)
		*out = a->values[i].integer;
	else if (a->values[i].kind == MPK_VALUE_BOOL)
		*out = a->values[i].boolean;
	else
		return wrong_kind(a, i, "an int", err);
	return MPK_OK;
}

enum mpk_code mpk_contrib_float(const struct mpk_contrib_args *a, size_t i, double *out,
				struct mpk_error *err)
{
	int64_t number;

	if (a->values[i].kind == MPK_VALUE_FLOAT) {
		*out = a->values[i].real;
		return MPK_OK;
	}
	if (a->values[i].kind != MPK_VALUE_INT && a->values[i].kind != MPK_VALUE_BOOL)
		return wrong_kind(a, i, "a float", err);
	MPK_TRY(mpk_contrib_int(a, i, &number, err));
	*out = (double)number;
	return MPK_OK;
}

enum mpk_code mpk_contrib_tensor(const struct mpk_contrib_args *a, size_t i,
				 struct mpk_tensor **out, struct mpk_error *err)
{
	if (a->values[i].kind != MPK_VALUE_TENSOR)
		return wrong_kind(a, i, "a tensor", err);
	*out = a->values[i].tensor;
	if ((*out)->bytes && !(*out)->dl.data)
		return mpk_contrib_raise(a, err, "ValueError", "argument %zu has no memory", i);
	return MPK_OK;
}
