/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.h - tasks of a parallel loop on real threads, with barriers */
#ifndef MPK_RUNTIME_PARALLEL_H
#define MPK_RUNTIME_PARALLEL_H

#include <stdint.h>

/* TVMParallelGroupEnv */
struct mpk_parallel_env {
	void *sync_handle;
	int32_t num_task;
};

typedef int mpk_parallel_fn(int task, struct mpk_parallel_env *env, void *data);

enum { MPK_PARALLEL_TASKS_MAX = 4096 };

/* mpk_parallel_cores - how many cores this thread may use; at least 1
 * The system is asked at a thread's first call, and again when a runtime was created, and in the child of a fork. A thread
 * that is given other cores in between goes on with as many tasks as before. */
unsigned mpk_parallel_cores(void);

/* mpk_parallel_launch - run fn(task, env, data) for task 0 to count - 1 at the same time
 * Every task has a thread of its own, so that barriers between them work; task 0 runs in
 * the caller. Those that have not begun when another ends may run in its thread. Threads are kept for the next
 * launch, until the last runtime is destroyed. May be called from within a task.
 * @count   1 to MPK_PARALLEL_TASKS_MAX
 * Returns  0; the first non-zero status of a task (what it raised is then raised in the
 *          caller); -1 when threads cannot be made
 *
 * mpk_parallel_loop - run a loop that fn divides by the number of tasks it gets: in as many as make it fastest, by
 * at most so many threads, of which each takes one task after the other. One that waits at a barrier makes as many
 * threads as there are tasks left. Within a task there is one.
 * @threads at least 1
 * Returns  as above; where threads cannot be made it goes on with fewer, unless there is a barrier */
int mpk_parallel_launch(mpk_parallel_fn *fn, void *data, int count);
int mpk_parallel_loop(mpk_parallel_fn *fn, void *data, unsigned threads);

/* mpk_parallel_barrier - wait until every task of the launch is here
 * Returns  0; -1 when a task ended instead, so that the others do not wait for ever */
int mpk_parallel_barrier(struct mpk_parallel_env *env);

/* mpk_once_run - fn(data) for the first who comes with this slot, which is NULL before and not NULL
 * from then on; others wait until it has ended
 * A call that comes from fn itself, also in a task of a parallel loop that fn launched, does not wait.
 * Runs of different slots do not know of each other.
 * Returns  what fn returned; 0 for others */
int mpk_once_run(void **slot, int (*fn)(void *data), void *data);

#endif
