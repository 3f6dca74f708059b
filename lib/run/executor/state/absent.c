/* SPDX-License-Identifier: Apache-2.0 */
/* absent.c - builtins of TVM that need what is not here: they say what
 *
 * A model that names one of them loads and runs as far as it does not call it.
 */
#include "executor/state/internal/state.h"

static enum mpk_code needs(struct mpk_error *err, const char *what)
{
	return mpk_fail(err, MPK_E_UNSUPPORTED, "this builtin needs %s", what);
}

#define ABSENT(function, what)                                                                     \
	static enum mpk_code function(const struct mpk_value *args, size_t count,                  \
				      struct mpk_value *result, struct mpk_error *err)             \
	{                                                                                          \
		(void)args;                                                                        \
		(void)count;                                                                       \
		(void)result;                                                                      \
		return needs(err, what);                                                           \
	}

ABSENT(absent_nvshmem,
       "NVSHMEM, by which caches of several processes send each other keys and values")
ABSENT(absent_pages, "page groups, in which TVM takes a cache from one process to another")
ABSENT(absent_python, "functions of Python, which are registered in TVM's own process")
ABSENT(absent_files,
       "files, which models do not read here: give the weights to the call as parameters")

static const struct mpk_relax_builtin rows[] = {
#define MPK_ROW_absent(...) __VA_ARGS__,
#include "executor/relax/family.def"
};
const struct mpk_relax_builtins mpk_relax_absent_builtins = { rows, MPK_ARRAY_COUNT(rows) };
