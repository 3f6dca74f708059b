/* SPDX-License-Identifier: Apache-2.0 */
/* executor.c - the executors that the profile has, and what a runtime needs so that models run in it
 *
 * A runtime can also be had without executors: then it runs host code and kernels alone, and this
 * object, with all that it links, stays out of the program.
 */
#include "executor/executor.h"

#include "device/profile.h"
#include "executor/contrib/contrib.h"

#define EXECUTOR_ROW(name) &mpk_##name##_executor,
#define GLOBALS_ROW(name) mpk_##name##_add_globals,

/* One row a kind of executor that the profile has; NULL ends. */
static const struct mpk_loader *const executors[] = { MPK_PROFILE_EXECUTORS(EXECUTOR_ROW) NULL };

/* What adds the global functions that models call; NULL ends. */
static enum mpk_code (*const globals[])(struct mpk_runtime *runtime,
					struct mpk_error *err) = { MPK_PROFILE_GLOBALS(GLOBALS_ROW)
									   NULL };

enum mpk_code mpk_executors_add(struct mpk_runtime *runtime, struct mpk_error *err)
{
	for (size_t i = 0; executors[i]; i++)
		MPK_TRY(mpk_runtime_add_loader(runtime, executors[i], err));
	for (size_t i = 0; globals[i]; i++)
		MPK_TRY(globals[i](runtime, err));
	return MPK_OK;
}

bool mpk_executors_have(struct mpk_span kind)
{
	for (size_t i = 0; executors[i]; i++)
		if (executors[i]->accepts(kind))
			return true;
	return false;
}
