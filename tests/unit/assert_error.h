/* SPDX-License-Identifier: Apache-2.0 */
/* assert_error.h - assertions about errors as values */
#ifndef MPK_TESTS_UNIT_ASSERT_ERROR_H
#define MPK_TESTS_UNIT_ASSERT_ERROR_H

#include <check.h>
#include <string.h>

#include "base/error.h"

#define ck_assert_text(err, part)                                                                  \
	ck_assert_msg(strstr((err).text, part) != NULL, "'%s' lacks '%s'", (err).text, part)
#define ck_assert_ok(call, err)                                                                    \
	do {                                                                                       \
		enum mpk_code code_ = (call);                                                      \
		ck_assert_msg(code_ == MPK_OK, "%s: code %d: %s", #call, code_, (err).text);       \
	} while (0)

#endif
