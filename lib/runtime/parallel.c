/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi/raised.h"
#include "runtime/context.h"

/* One parallel loop. */
struct launch {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	mpk_parallel_fn *fn;
	void *data;
	struct mpk_context context; /* of the thread that launched */
	int count;
	int running;    /* tasks that have not ended */
	int waiting;    /* tasks at the barrier */
	unsigned round; /* barriers passed */
	int status;     /* of the first task that failed */
	struct mpk_raised raised;
};

/* A kept thread: it takes one task at a time. */
struct worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t woken;
	struct launch *launch; /* NULL: idle */
	int task;
	struct worker *next; /* in the list of idle ones */
};

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static struct worker *idle;

unsigned mpk_parallel_cores(void)
{
	cpu_set_t set;
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
		return (unsigned)CPU_COUNT(&set);
	return online > 0 ? (unsigned)online : 1;
}

static void end_task(struct launch *l, int status)
{
	(void)pthread_mutex_lock(&l->lock);
	if (status && !l->status) {
		l->status = status;
		l->raised = *mpk_raised_get();
	}
	l->running--;
	(void)pthread_cond_broadcast(&l->changed);
	(void)pthread_mutex_unlock(&l->lock);
}

static void run_task(struct launch *l, int task)
{
	struct mpk_parallel_env env = { .sync_handle = l, .num_task = l->count };

	mpk_raised_get()->is_set = false;
	end_task(l, l->fn(task, &env, l->data));
}

static void *work(void *argument)
{
	struct worker *w = argument;

	for (;;) {
		(void)pthread_mutex_lock(&w->lock);
		while (!w->launch)
			(void)pthread_cond_wait(&w->woken, &w->lock);

		struct launch *l = w->launch;
		int task = w->task;
		w->launch = NULL;
		(void)pthread_mutex_unlock(&w->lock);

		/* back to the idle list first: whoever waits for the launch may start the
		 * next one at once; this thread takes it when it is done here */
		(void)mpk_context_swap(l->context);
		run_task(l, task);
		(void)pthread_mutex_lock(&idle_lock);
		w->next = idle;
		idle = w;
		(void)pthread_mutex_unlock(&idle_lock);
	}
	return NULL;
}

static struct worker *make_worker(void)
{
	struct worker *w = calloc(1, sizeof *w);
	pthread_attr_t attributes;

	if (!w)
		return NULL;
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->woken, NULL);
	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&w->thread, &attributes, work, w) != 0) {
		free(w);
		w = NULL;
	}
	(void)pthread_attr_destroy(&attributes);
	return w;
}

static struct worker *take_worker(void)
{
	(void)pthread_mutex_lock(&idle_lock);
	struct worker *w = idle;
	if (w)
		idle = w->next;
	(void)pthread_mutex_unlock(&idle_lock);
	return w ? w : make_worker();
}

static void give_back(struct worker *list)
{
	while (list) {
		struct worker *next = list->next;

		(void)pthread_mutex_lock(&idle_lock);
		list->next = idle;
		idle = list;
		(void)pthread_mutex_unlock(&idle_lock);
		list = next;
	}
}

/* All threads are taken before any is started: a barrier needs every one of them. */
static struct worker *take_workers(int count)
{
	struct worker *list = NULL;

	for (int i = 0; i < count; i++) {
		struct worker *w = take_worker();

		if (!w) {
			give_back(list);
			return NULL;
		}
		w->next = list;
		list = w;
	}
	return list;
}

static void start(struct worker *list, struct launch *l)
{
	for (int task = 1; list; task++) {
		struct worker *next = list->next;

		(void)pthread_mutex_lock(&list->lock);
		list->launch = l;
		list->task = task;
		(void)pthread_cond_signal(&list->woken);
		(void)pthread_mutex_unlock(&list->lock);
		list = next;
	}
}

static int no_threads(int count)
{
	struct mpk_error e;

	(void)mpk_fail(&e, MPK_E_NOMEM, "cannot start %d threads for a parallel loop", count);
	mpk_raised_set_error(&e);
	return -1;
}

int mpk_parallel_launch(mpk_parallel_fn *fn, void *data, int count)
{
	struct launch l = {
		.fn = fn,
		.data = data,
		.context = mpk_context_get(),
		.count = count,
		.running = count,
	};
	struct worker *workers;

	if (count < 1 || count > MPK_PARALLEL_TASKS_MAX)
		return no_threads(count);
	workers = take_workers(count - 1);
	if (count > 1 && !workers)
		return no_threads(count);
	(void)pthread_mutex_init(&l.lock, NULL);
	(void)pthread_cond_init(&l.changed, NULL);
	start(workers, &l);
	run_task(&l, 0);

	(void)pthread_mutex_lock(&l.lock);
	while (l.running)
		(void)pthread_cond_wait(&l.changed, &l.lock);
	(void)pthread_mutex_unlock(&l.lock);
	(void)pthread_cond_destroy(&l.changed);
	(void)pthread_mutex_destroy(&l.lock);
	if (l.status)
		*mpk_raised_get() = l.raised;
	return l.status;
}

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
	while (l->round == round && l->running == l->count)
		(void)pthread_cond_wait(&l->changed, &l->lock);
	if (l->round == round) {
		l->waiting--;
		passed = false;
	}
	(void)pthread_mutex_unlock(&l->lock);
	return passed ? 0 : -1;
}
