/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - calling any function; apart from function.c because values hold functions and a call
 * drops values */
#include "text/escape.h"
#include "value/function.h"

static enum mpk_code refuse_names(const struct mpk_args *args, struct mpk_error *err)
{
	for (size_t i = 0; args->names && i < args->count; i++)
		if (args->names[i].len)
			return mpk_fail(
				err, MPK_E_USAGE,
				"argument %zu is named '%s': this function takes its arguments by position alone",
				i, MPK_QUOTE(args->names[i]));
	return MPK_OK;
}

enum mpk_code mpk_function_call(struct mpk_function *f, const struct mpk_args *args,
				struct mpk_value *result, struct mpk_error *err)
{
	struct mpk_value got = { 0 };

	if (!f->takes_names)
		MPK_TRY(refuse_names(args, err));
	enum mpk_code rc = f->call(f, args, &got, err);

	if (rc != MPK_OK) {
		mpk_value_drop(&got);
		return mpk_failed(rc);
	}
	*result = got;
	return MPK_OK;
}
