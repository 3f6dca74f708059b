/* SPDX-License-Identifier: Apache-2.0 */
/* globals.h - global functions of a runtime, by their names */
#ifndef MPK_TESTS_UNIT_GLOBALS_H
#define MPK_TESTS_UNIT_GLOBALS_H

#include "harness.h"
#include "runtime/runtime.h"

HARNESS_FN struct mpk_function *global_named(struct mpk_runtime *of, const char *name)
{
	struct mpk_function *f;
	struct mpk_error why = { 0 };

	ck_assert_msg(mpk_runtime_find_global(of, name, &f, &why) == MPK_OK, "%s", why.text);
	return f;
}

#endif
