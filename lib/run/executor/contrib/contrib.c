/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/contrib/contrib.h"

enum mpk_code mpk_contrib_add(struct mpk_runtime *runtime, struct mpk_error *err)
{
	MPK_TRY(mpk_runtime_add_globals(runtime, mpk_contrib_sort.rows, mpk_contrib_sort.count,
					err));
	MPK_TRY(mpk_runtime_add_globals(runtime, mpk_contrib_blas.rows, mpk_contrib_blas.count,
					err));
	return mpk_contrib_add_random(runtime, err);
}
