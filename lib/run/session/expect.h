/* SPDX-License-Identifier: Apache-2.0 */
/* expect.h - what a call is to give */
#ifndef MPK_SESSION_EXPECT_H
#define MPK_SESSION_EXPECT_H

#include "session/call.h"
#include "value/compare.h"

/* Zero-initialise; mpk_value_drop(&expect->value). */
struct mpk_expect {
	bool is_ignored; /* any result is right */
	struct mpk_value value;
};

/* mpk_expect_parse - a value, or "ignored" (also as it is printed, "(ignored)")
 * Returns  as mpk_value_parse */
enum mpk_code mpk_expect_parse(const char *text, struct mpk_expect *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_expect_check - compare result number i, counted from 0
 * @out     untouched for what is ignored; all 0 when there is no such result
 * Returns  MPK_OK; MPK_E_DIFFERENT: "result N: " and one sentence;
 *          as mpk_value_compare */
enum mpk_code mpk_expect_check(const struct mpk_expect *expect,
			       const struct mpk_call_result *results, size_t i,
			       struct mpk_tolerance tolerance, struct mpk_comparison *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

#endif
