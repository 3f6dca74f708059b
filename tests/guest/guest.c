/* SPDX-License-Identifier: Apache-2.0 */
/* guest.c - the runtime in a shared object that a program opens and closes: tests/unit/check_guest.c */
#include "guest.h"

#include <stdatomic.h>

#include "../unit/workspace.h"
#include "runtime/internal/runtime.h"
#include "runtime/parallel.h"
#include "runtime/runtime.h"

static const struct mpk_runtime_options options;

static void *open_runtime(void)
{
	struct mpk_runtime *runtime;
	struct mpk_error err;

	return mpk_runtime_create(&options, &runtime, &err) == MPK_OK ? runtime : NULL;
}

static void close_runtime(void *runtime)
{
	mpk_runtime_destroy(runtime);
}

static int count_task(int task, struct mpk_parallel_env *env, void *data)
{
	atomic_int *sum = data;

	(void)atomic_fetch_add(sum, task + 1);
	workspace_use(1000);
	return mpk_parallel_barrier(env);
}

static int sum_tasks(int count)
{
	atomic_int sum = 0;

	return mpk_parallel_launch(count_task, &sum, count) == 0 ? atomic_load(&sum) : -1;
}

__attribute__((visibility("default"))) const struct guest guest = {
	.open_runtime = open_runtime,
	.close_runtime = close_runtime,
	.sum_tasks = sum_tasks,
	.scratch = workspace_use,
};
