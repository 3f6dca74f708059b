/* SPDX-License-Identifier: Apache-2.0 */
/* contrib.c - all families of tvm.contrib.*, added to a runtime */
#include "executor/contrib/contrib.h"

#include "base/compiler.h"

/* Rows of a table; random numbers have a state and are added apart. */
static const struct mpk_contrib_globals *const contribs[] = { &mpk_contrib_sort,
							      &mpk_contrib_blas };

enum mpk_code mpk_contrib_add_globals(struct mpk_runtime *runtime, struct mpk_error *err)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(contribs); i++)
		MPK_TRY(mpk_runtime_add_globals(runtime, contribs[i]->rows, contribs[i]->count,
						err));
	return mpk_contrib_add_random(runtime, err);
}
