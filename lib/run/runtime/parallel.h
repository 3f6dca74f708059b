/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.h - tasks of a parallel loop on real threads, with barriers */
#ifndef MPK_RUNTIME_PARALLEL_H
#define MPK_RUNTIME_PARALLEL_H

#include "runtime/stub.h"

enum { MPK_PARALLEL_TASKS_MAX = 4096 };

/* mpk_parallel_cores - how many cores this process may use; at least 1 */
unsigned mpk_parallel_cores(void);

/* mpk_parallel_launch - run fn(task, env, data) for task 0 to count - 1 at the same time
 * Every task has a thread of its own, so that barriers between them work; task 0 runs in
 * the caller. Threads are kept for the next launch. May be called from within a task.
 * @count   1 to MPK_PARALLEL_TASKS_MAX
 * Returns  0; the first non-zero status of a task (what it raised is then raised in the
 *          caller); -1 when threads cannot be made */
int mpk_parallel_launch(mpk_parallel_fn *fn, void *data, int count);

/* mpk_parallel_barrier - wait until every task of the launch is here
 * Returns  0; -1 when a task ended instead, so that the others do not wait for ever */
int mpk_parallel_barrier(struct mpk_parallel_env *env);

/* mpk_once_run - fn(data) for the first who comes with this slot, which is NULL before and not NULL
 * from then on; others wait until it has ended
 * A call that comes from fn itself, also in a task of a parallel loop that fn launched, does not wait.
 * Runs of different slots do not know of each other.
 * Returns  what fn returned; 0 for others */
int mpk_once_run(void **slot, int (*fn)(void *data), void *data);

/* mpk_once_init - the same for a slot that gets what init gave; an init that fails is tried again
 * Returns  what init returned, 0 for others; -1 with *bad_handle 1 when it gave no handle */
int mpk_once_init(void **slot, int (*init)(void **result), int *bad_handle);

#endif
