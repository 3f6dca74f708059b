/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.c - parallel loops of module code
 *
 * Each task has a thread of its own, so that all can meet at a barrier. Only when the launcher's own
 * task has ended is it known that no barrier needs them all any more; it then does what others have
 * not begun.
 */
#include "runtime/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "abi/convention.h"
#include "abi/raised.h"
#include "runtime/context.h"
#include "runtime/internal/parallel.h"

/* --- cores ----------------------------------------------------------------------------------- */

static atomic_uint cores_epoch = 1; /* what was known in an earlier one is not known any more */

/* A thread's own, as each may have its own set of cores. */
static _Thread_local struct {
	unsigned epoch, count;
} cores;

/* sysconf reads a file, which takes longer than many a loop. */
static unsigned ask_cores(void)
{
	cpu_set_t set;
	long online;

	if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
		return (unsigned)CPU_COUNT(&set);
	online = sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 ? (unsigned)online : 1;
}

unsigned mpk_parallel_cores(void)
{
	unsigned epoch = atomic_load_explicit(&cores_epoch, memory_order_relaxed);

	if (cores.epoch != epoch) {
		cores.count = ask_cores();
		cores.epoch = epoch;
	}
	return cores.count;
}

void mpk_parallel_forget_cores(void)
{
	(void)atomic_fetch_add_explicit(&cores_epoch, 1, memory_order_relaxed);
}

/* --- tasks ----------------------------------------------------------------------------------- */

enum {
	SLEEPING = 1, /* of launch.state: the launcher sleeps */
	TASK = 2,     /* of launch.state: a task that has not ended */
};

/* One parallel loop; it is gone as soon as no task is left in its state. */
struct launch {
	atomic_uint state;
	mpk_parallel_fn *fn;
	void *data;
	struct mpk_context context; /* of the thread that launched */
	struct mpk_once *once;      /* what that thread is running once */
	int count;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	int ended;
	int waiting;    /* tasks at the barrier */
	unsigned round; /* barriers passed */
	int status;     /* of the first task that failed */
	struct mpk_raised raised;
};

static int call_task(struct launch *l, int task)
{
	struct mpk_parallel_env env = { .sync_handle = l, .num_task = l->count };

	mpk_raised_get()->is_set = false;
	return l->fn(task, &env, l->data);
}

/* The first failure is the launch's; later ones are often its consequences. */
static void note_end(struct launch *l, int status)
{
	(void)pthread_mutex_lock(&l->lock);
	if (status && !l->status) {
		l->status = status;
		l->raised = *mpk_raised_get();
	}
	l->ended++;
	if (l->waiting)
		(void)pthread_cond_broadcast(&l->changed);
	(void)pthread_mutex_unlock(&l->lock);
}

/* From here on *l may be gone; a futex is woken by its address alone. */
static void let_go(struct launch *l)
{
	if (atomic_fetch_sub_explicit(&l->state, TASK, memory_order_acq_rel) == (TASK | SLEEPING))
		mpk_futex_wake(&l->state);
}

/* In another thread, which can be called again before its launcher goes on. */
static void work_on(struct mpk_worker *self, void *data, int task)
{
	struct launch *l = data;

	(void)mpk_context_swap(l->context);
	mpk_once_inherit(l->once);
	note_end(l, call_task(l, task));
	mpk_legacy_forget_result();
	mpk_worker_done(self);
	let_go(l);
}

static void work_here(struct launch *l, int task)
{
	note_end(l, call_task(l, task));
	let_go(l);
}

/* Tasks whose workers have not begun when the launcher has nothing else to do. They do without a
 * thread of their own: a task has ended, so no barrier can be passed any more. */
static void work_on_late(struct launch *l, struct mpk_worker *workers)
{
	int task = 1;

	for (struct mpk_worker *w = workers; w; w = mpk_worker_next(w), task++)
		if (mpk_worker_take_back(w))
			work_here(l, task);
}

static void wait_for_tasks(struct launch *l)
{
	unsigned state;

	if (mpk_spin_until_below(&l->state, TASK, mpk_parallel_cores() == 1))
		return;
	state = atomic_fetch_or_explicit(&l->state, SLEEPING, memory_order_acq_rel) | SLEEPING;
	while (state >= TASK) {
		mpk_futex_wait(&l->state, state);
		state = atomic_load_explicit(&l->state, memory_order_acquire);
	}
}

static int no_threads(int count)
{
	struct mpk_error e;

	(void)mpk_fail(&e, MPK_E_NOMEM, "cannot start %d threads for a parallel loop", count);
	mpk_raised_set_error(&e);
	return -1;
}

/* Task 0 runs in the caller, whose core would otherwise wait. */
int mpk_parallel_launch(mpk_parallel_fn *fn, void *data, int count)
{
	struct launch l = {
		.fn = fn,
		.data = data,
		.context = mpk_context_get(),
		.once = mpk_once_current(),
		.count = count,
	};
	struct mpk_worker *workers;

	if (count < 1 || count > MPK_PARALLEL_TASKS_MAX)
		return no_threads(count);
	workers = mpk_workers_take(count - 1);
	if (count > 1 && !workers)
		return no_threads(count);
	atomic_init(&l.state, (unsigned)count * TASK);
	(void)pthread_mutex_init(&l.lock, NULL);
	(void)pthread_cond_init(&l.changed, NULL);
	mpk_workers_call(workers, work_on, &l);
	work_here(&l, 0);
	work_on_late(&l, workers);
	wait_for_tasks(&l);
	mpk_workers_give_back(workers);
	(void)pthread_cond_destroy(&l.changed);
	(void)pthread_mutex_destroy(&l.lock);
	if (l.status)
		*mpk_raised_get() = l.raised;
	return l.status;
}

/* The last task to come wakes the others. A task that has ended never comes, so they are let go
 * with an error. */
int mpk_parallel_barrier(struct mpk_parallel_env *env)
{
	struct launch *l = env->sync_handle;
	bool passed = true;

	(void)pthread_mutex_lock(&l->lock);
	unsigned round = l->round;
	if (++l->waiting == l->count) {
		l->waiting = 0;
		l->round++;
		(void)pthread_cond_broadcast(&l->changed);
	}
	while (l->round == round && !l->ended)
		(void)pthread_cond_wait(&l->changed, &l->lock);
	if (l->round == round) {
		l->waiting--;
		passed = false;
	}
	(void)pthread_mutex_unlock(&l->lock);
	return passed ? 0 : -1;
}
