/* SPDX-License-Identifier: Apache-2.0 */
#include "session/expect.h"

#include <string.h>

#include "value/parse.h"

enum mpk_code mpk_expect_parse(const char *text, struct mpk_expect *out, struct mpk_error *err)
{
	struct mpk_expect e = {
		.is_ignored = strcmp(text, "ignored") == 0 || strcmp(text, "(ignored)") == 0,
	};

	if (!e.is_ignored)
		MPK_TRY(mpk_value_parse(text, &e.value, err));
	*out = e;
	return MPK_OK;
}

enum mpk_code mpk_expect_check(const struct mpk_expect *expect,
			       const struct mpk_call_result *results, size_t i,
			       struct mpk_tolerance tolerance, struct mpk_comparison *out,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf why = { 0 };
	struct mpk_comparison c = { 0 };

	if (expect->is_ignored)
		return MPK_OK;
	if (i >= results->count)
		mpk_strbuf_printf(&why, "there is no such result; there are %zu", results->count);
	else
		MPK_TRY(mpk_value_compare(&results->values[i], &expect->value, tolerance, &c, &why,
					  err));
	*out = c;
	if (c.is_equal)
		return MPK_OK;
	return mpk_fail(err, MPK_E_DIFFERENT, "result %zu: %s", i, mpk_strbuf_text(&why));
}
