/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.c - parallel loops of module code
 *
 * Each thread of a loop has some of its tasks, the same ones whenever the loop is run again, and takes those of
 * others when it has done its own. So a thread that is late costs what it is doing, and no more.
 *
 * Where tasks meet at a barrier, all of them need a thread. A launch of so many tasks gives each its own. A loop
 * that was divided into more tasks than threads gets the missing ones when the first task comes to a barrier. Only
 * when a task has ended is it known that no barrier needs them all any more; others are then done by any thread.
 */
#include "runtime/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "base/clock.h"
#include "runtime/internal/parallel.h"
#include "runtime/internal/runtime.h"
#include "runtime/runtime.h"
#include "runtime/stop.h"

enum {
	TASK_NS = 5000, /* that a task of a loop takes at least */
	TASKS_MOST = 8, /* a thread */
	TASKS_FIRST = 4,
	WAIT_LEAST = 20000, /* nanoseconds, busily */
	WAIT_MOST = 200000,
};

/* One parallel loop; it is gone as soon as no worker is left in its gang. */
struct launch {
	struct mpk_gang gang;
	mpk_parallel_fn *fn;
	void *data;
	struct mpk_context context; /* of the thread that launched */
	struct mpk_stop *stop;      /* of that thread */
	struct mpk_once *once;      /* what that thread is running once */
	int count;                  /* of tasks */
	int64_t done;               /* when its own thread had nothing left to do */
	atomic_ullong tasks;        /* of the launcher, as those of workers */
	struct mpk_worker *workers;
	atomic_int ended;       /* tasks */
	atomic_int waiting;     /* tasks at the barrier */
	pthread_mutex_t lock;   /* of what follows */
	pthread_cond_t changed; /* a barrier was passed, or will not be */
	unsigned round;         /* barriers passed */
	int status;             /* of the first task that failed */
	bool lacks_threads;     /* there are tasks without one */
	struct mpk_worker *recruits;
	struct mpk_raised raised;
};

/* A loop within a task has the thread of that task. */
static _Thread_local bool in_loop;

/* --- tasks --------------------------------------------------------------------------------- */

/* A range of tasks: the first, and in the upper half the end. */
static unsigned long long tasks_of(unsigned first, unsigned end)
{
	return (unsigned long long)end << 32 | first;
}

/* The owner takes the first of its tasks, others the last. */
static bool take_task(atomic_ullong *tasks, bool first, int *out)
{
	unsigned long long now = atomic_load_explicit(tasks, memory_order_relaxed), then;

	do {
		unsigned from = (unsigned)now, end = (unsigned)(now >> 32);

		if (from >= end)
			return false;
		*out = (int)(first ? from : end - 1);
		then = first ? tasks_of(from + 1, end) : tasks_of(from, end - 1);
	} while (!atomic_compare_exchange_weak_explicit(tasks, &now, then, memory_order_acq_rel,
							memory_order_relaxed));
	return true;
}

/* The first failure is the launch's; later ones are often its consequences, so it is noted before others are let go
 * for it. Who comes to a barrier counts itself before it looks for ends, and who ends counts before it looks for
 * those who wait. */
static void note_end(struct launch *l, int status)
{
	if (status) {
		(void)pthread_mutex_lock(&l->lock);
		if (!l->status) {
			l->status = status;
			l->raised = *mpk_raised_get();
		}
		(void)pthread_mutex_unlock(&l->lock);
	}
	atomic_fetch_add(&l->ended, 1);
	if (!atomic_load(&l->waiting))
		return;
	(void)pthread_mutex_lock(&l->lock);
	(void)pthread_cond_broadcast(&l->changed);
	(void)pthread_mutex_unlock(&l->lock);
}

/* Raise that the call is over. */
static int fail_stopped(const struct mpk_stop *s)
{
	struct mpk_error error;

	(void)mpk_stop_fail(s, &error);
	mpk_raised_set_error(&error);
	return -1;
}

static void run_task(struct launch *l, int task)
{
	struct mpk_parallel_env env = { .sync_handle = l, .num_task = l->count };

	mpk_raised_get()->is_set = false;
	if (mpk_stop_is_due(l->stop))
		note_end(l, fail_stopped(l->stop));
	else
		note_end(l, l->fn(task, &env, l->data));
}

/* Those of others, from their ends. */
static void run_tasks(struct launch *l, atomic_ullong *own)
{
	bool before = in_loop;
	int task;

	in_loop = true;
	while (take_task(own, true, &task))
		run_task(l, task);
	while (take_task(&l->tasks, false, &task))
		run_task(l, task);
	for (struct mpk_worker *w = l->workers; w; w = w->next)
		while (take_task(&w->tasks, false, &task))
			run_task(l, task);
	in_loop = before;
}

/* --- workers ------------------------------------------------------------------------------- */

/* In another thread. */
static void work_on(struct mpk_worker *self, void *data)
{
	struct launch *l = data;

	(void)mpk_context_swap(l->context);
	(void)mpk_stop_swap(l->stop);
	*mpk_once_inside() = l->once;
	run_tasks(l, &self->tasks);
	(void)mpk_stop_swap(NULL); /* it may be gone when the loop is over */
	mpk_legacy_forget_result();
}

/* Workers that have not begun when the launcher has nothing else to do: what they were to do is done, but for
 * the tasks of recruits. */
static void take_back(struct launch *l, struct mpk_worker *workers)
{
	for (struct mpk_worker *w = workers; w; w = w->next)
		if (mpk_worker_take_back(&l->gang, w))
			run_tasks(l, &w->tasks);
}

static struct mpk_worker *recruits_of(struct launch *l)
{
	(void)pthread_mutex_lock(&l->lock);
	struct mpk_worker *recruits = l->recruits;

	(void)pthread_mutex_unlock(&l->lock);
	return recruits;
}

/* --- launches ------------------------------------------------------------------------------ */

static int no_threads(int count)
{
	struct mpk_error e;

	(void)mpk_fail(&e, MPK_E_NOMEM, "cannot start %d threads for a parallel loop", count);
	mpk_raised_set_error(&e);
	return -1;
}

/* Task by task, so that what is not set here costs nothing. */
static void launch_init(struct launch *l, mpk_parallel_fn *fn, void *data, int count)
{
	l->fn = fn;
	l->data = data;
	l->context = mpk_context_get();
	l->stop = mpk_stop_get();
	l->once = *mpk_once_inside();
	l->count = count;
	l->gang.fn = work_on;
	l->gang.data = l;
	atomic_init(&l->gang.state, 0);
	l->gang.core = -1;
	l->gang.begin = l->gang.called = 0;
	atomic_init(&l->gang.busy, 0);
	atomic_init(&l->tasks, tasks_of(0, (unsigned)count));
	l->workers = NULL;
	atomic_init(&l->ended, 0);
	atomic_init(&l->waiting, 0);
	(void)pthread_mutex_init(&l->lock, NULL);
	(void)pthread_cond_init(&l->changed, NULL);
	l->round = 0;
	l->status = 0;
	l->lacks_threads = false;
	l->recruits = NULL;
}

static void call_workers(struct launch *l, struct mpk_worker *workers)
{
	l->workers = workers;
	mpk_workers_call(&l->gang, workers, true);
}

/* Each thread gets as many tasks as the others, in their order. The first are the caller's. */
static void deal_tasks(struct launch *l, struct mpk_worker *workers, unsigned threads)
{
	unsigned count = (unsigned)l->count, i = 1;

	l->lacks_threads = count > threads;
	atomic_store_explicit(&l->tasks, tasks_of(0, count / threads), memory_order_relaxed);
	for (struct mpk_worker *w = workers; w; w = w->next, i++)
		atomic_store_explicit(&w->tasks,
				      tasks_of((unsigned)((uint64_t)count * i / threads),
					       (unsigned)((uint64_t)count * (i + 1) / threads)),
				      memory_order_relaxed);
}

/* The caller's tasks, and the end of the loop. */
static int finish_launch(struct launch *l, int64_t patience)
{
	run_tasks(l, &l->tasks);
	take_back(l, l->workers);
	take_back(l, recruits_of(l));
	l->done = l->gang.begin ? mpk_clock() : 0;
	mpk_gang_wait(&l->gang, patience);
	mpk_workers_give_back(l->workers);
	mpk_workers_give_back(l->recruits);
	(void)pthread_cond_destroy(&l->changed);
	(void)pthread_mutex_destroy(&l->lock);
	if (l->status)
		*mpk_raised_get() = l->raised;
	return l->status;
}

/* All threads are there before any task begins: a barrier needs every one of them. */
int mpk_parallel_launch(mpk_parallel_fn *fn, void *data, int count)
{
	struct mpk_crew workers;
	struct launch l;

	if (count < 1 || count > MPK_PARALLEL_TASKS_MAX)
		return no_threads(count);
	workers = mpk_workers_take(count - 1);
	if (workers.count != (unsigned)count - 1) {
		mpk_workers_give_back(workers.first);
		return no_threads(count);
	}
	launch_init(&l, fn, data, count);
	deal_tasks(&l, workers.first, (unsigned)count);
	call_workers(&l, workers.first);
	return finish_launch(&l, WAIT_LEAST);
}

/* --- loops --------------------------------------------------------------------------------- */

/* One task, which has no other to wait for. */
static int run_alone(mpk_parallel_fn *fn, void *data)
{
	struct mpk_parallel_env env = { .num_task = 1 };
	bool before = in_loop;
	int status;

	if (mpk_stop_is_due(mpk_stop_get()))
		return fail_stopped(mpk_stop_get());
	mpk_raised_get()->is_set = false;
	in_loop = true;
	status = fn(0, &env, data);
	in_loop = before;
	return status;
}

/* A power of two for each thread: the extents of loops are divided by it more often than by other numbers, and what
 * is left over makes some tasks shorter than others. */
static unsigned count_tasks(const struct mpk_pace *p, unsigned threads)
{
	int64_t task = p->expected / threads;
	unsigned tasks = threads;

	for (int each = 2;
	     each <= TASKS_MOST && (task ? task / each >= TASK_NS : each <= TASKS_FIRST); each *= 2)
		tasks *= 2;
	return tasks < MPK_PARALLEL_TASKS_MAX ? tasks : MPK_PARALLEL_TASKS_MAX;
}

/* Longer than a task of the loop takes it is not waited busily for its end. */
static int64_t patience_of(const struct mpk_pace *p, int count)
{
	int64_t task = 2 * p->expected / count;

	return task < WAIT_LEAST ? WAIT_LEAST : task > WAIT_MOST ? WAIT_MOST : task;
}

static void end_pace(const struct launch *l, struct mpk_pace *p)
{
	mpk_pace_end(p,
		     l->done - l->gang.begin +
			     atomic_load_explicit(&l->gang.busy, memory_order_relaxed),
		     mpk_clock() - l->done);
}

static int run_shared(mpk_parallel_fn *fn, void *data, struct mpk_crew workers, struct mpk_pace *p)
{
	unsigned threads = workers.count + 1;
	struct launch l;
	int status;

	launch_init(&l, fn, data, (int)count_tasks(p, threads));
	l.gang.begin = p->begin;
	deal_tasks(&l, workers.first, threads);
	call_workers(&l, workers.first);
	status = finish_launch(&l, patience_of(p, l.count));
	end_pace(&l, p);
	return status;
}

/* A long loop whose thread is not known to have a core for itself: it begins alone, and goes on with others
 * once that shows. */
static int run_alone_first(mpk_parallel_fn *fn, void *data, unsigned threads, struct mpk_pace *p)
{
	bool before = in_loop;
	struct launch l;
	int task, status;

	launch_init(&l, fn, data, (int)count_tasks(p, threads));
	l.gang.begin = p->begin;
	l.lacks_threads = true;
	in_loop = true;
	while (!l.workers && take_task(&l.tasks, true, &task)) {
		run_task(&l, task);
		/* a barrier has taken all that is left */
		if (l.lacks_threads) {
			/* Workers that have no tasks take those of the caller. */
			struct mpk_worker *workers = mpk_pace_take(p, fn, threads).first;
			for (struct mpk_worker *w = workers; w; w = w->next)
				atomic_store_explicit(&w->tasks, 0, memory_order_relaxed);
			if (workers)
				call_workers(&l, workers);
		}
	}
	in_loop = before;
	status = finish_launch(&l, WAIT_LEAST);
	end_pace(&l, p);
	return status;
}

int mpk_parallel_loop(mpk_parallel_fn *fn, void *data, unsigned threads)
{
	unsigned cores = mpk_parallel_cores();
	struct mpk_crew workers;
	struct mpk_pace p = { 0 };
	int status;

	if (threads > cores)
		threads = cores;
	if (threads < 2 || in_loop)
		return run_alone(fn, data);
	workers = mpk_pace_take(&p, fn, threads);
	if (workers.count)
		return run_shared(fn, data, workers, &p);
	if (p.may_become_shared)
		return run_alone_first(fn, data, threads, &p);
	status = run_alone(fn, data);
	mpk_pace_end(&p, 0, 0);
	return status;
}

/* --- barriers ------------------------------------------------------------------------------ */

static bool take_any(struct launch *l, int *task)
{
	bool taken = take_task(&l->tasks, false, task);

	for (struct mpk_worker *w = l->workers; w && !taken; w = w->next)
		taken = take_task(&w->tasks, false, task);
	return taken;
}

/* The last task to come wakes the others. A task that has ended never comes, so they are let go
 * with an error. */
int mpk_parallel_barrier(struct mpk_parallel_env *env)
{
	struct launch *l = env->sync_handle;
	bool passed = true;

	if (!l) /* there is one task */
		return 0;
	(void)pthread_mutex_lock(&l->lock);
	unsigned round = l->round;

	if (l->lacks_threads) {
		/* With the lock: a thread for each task that has none. Whoever comes to a
		 * barrier is in a task, so that the launch is not over. Without threads no
		 * barrier is passed; the task is left out, as its loop fails. */
		int task;

		l->lacks_threads = false;
		while (take_any(l, &task)) {
			struct mpk_worker *w = mpk_workers_take(1).first;

			if (!w) {
				atomic_fetch_add(&l->ended, 1);
				l->status = l->status ? l->status : no_threads(l->count);
				l->raised = *mpk_raised_get();
				continue;
			}
			atomic_store_explicit(&w->tasks,
					      tasks_of((unsigned)task, (unsigned)task + 1),
					      memory_order_relaxed);
			mpk_workers_call(&l->gang, w, false);
			w->next = l->recruits;
			l->recruits = w;
		}
	}
	if (atomic_fetch_add(&l->waiting, 1) + 1 == l->count) {
		atomic_store(&l->waiting, 0);
		l->round++;
		(void)pthread_cond_broadcast(&l->changed);
	}
	while (l->round == round && !atomic_load(&l->ended))
		(void)pthread_cond_wait(&l->changed, &l->lock);
	if (l->round == round) {
		(void)atomic_fetch_sub(&l->waiting, 1);
		passed = false;
	}
	(void)pthread_mutex_unlock(&l->lock);
	return passed ? 0 : -1;
}

/* --- as module code calls them ---------------------------------------------------------------- */

static int parallel_launch(mpk_parallel_fn *fn, void *data, int num_task)
{
	struct mpk_runtime *runtime = mpk_context_get().runtime;
	unsigned threads = runtime ? mpk_runtime_options(runtime)->threads : 0;

	if (num_task == 0)
		return mpk_parallel_loop(fn, data, threads ? threads : mpk_parallel_cores());
	return mpk_parallel_launch(fn, data, num_task);
}

static int parallel_barrier(int task, struct mpk_parallel_env *env)
{
	(void)task;
	return mpk_parallel_barrier(env);
}

/* clang-format off */
MPK_API_LINKED(TVMBackendParallelLaunch, parallel_launch)
MPK_API_LINKED(TVMBackendParallelBarrier, parallel_barrier)

static const struct mpk_module_symbol rows[] = {
	MPK_API_ROW(BACKEND, "TVMBackendParallelLaunch", parallel_launch)
	MPK_API_ROW(BACKEND, "TVMBackendParallelBarrier", parallel_barrier)
};
/* clang-format on */

const struct mpk_module_symbols mpk_parallel_api = { rows, MPK_ARRAY_COUNT(rows) };
