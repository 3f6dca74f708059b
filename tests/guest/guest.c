/* SPDX-License-Identifier: Apache-2.0 */
/* guest.c - the runtime in a shared object that a program opens and closes: tests/unit/check_guest.c */
#include "guest.h"

#include <stdatomic.h>

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

/* As a compiled function does. */
static void scratch(uint64_t bytes)
{
	void *(*take)(int, int, uint64_t, int, int) =
		(void *(*)(int, int, uint64_t, int, int))mpk_module_api_find(
			"TVMBackendAllocWorkspace", MPK_API_BACKEND);
	int (*give)(int, int, void *) = (int (*)(int, int, void *))mpk_module_api_find(
		"TVMBackendFreeWorkspace", MPK_API_BACKEND);

	(void)give(MPK_DL_CPU, 0, take(MPK_DL_CPU, 0, bytes, MPK_DTYPE_INT, 8));
}

static int count_task(int task, struct mpk_parallel_env *env, void *data)
{
	atomic_int *sum = data;

	(void)atomic_fetch_add(sum, task + 1);
	scratch(1000);
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
	.scratch = scratch,
};
