/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.c - threads of module code: parallel loops, and what runs once
 *
 * Kernels of a model launch a loop every few microseconds, and waking a thread takes as long as
 * many a loop. So whoever waits looks for SPIN_NS first, and only then sleeps; whoever has news
 * calls the kernel only when somebody sleeps.
 *
 * No lock is held while something runs once. It may launch a parallel loop whose tasks, in other
 * threads, run other things once, or come to the same slot again: with a lock around it they would
 * wait for whoever waits for them.
 */
#include "runtime/parallel.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/raised.h"
#include "base/clock.h"
#include "runtime/context.h"

/* --- once ------------------------------------------------------------------------------------ */

/* Something that is being run; lives on the stack of the thread that runs it. */
struct mpk_once {
	void **slot;
	const struct mpk_once *outer; /* what its thread was running once before */
	struct mpk_once *next;        /* in the list of all */
};

static pthread_mutex_t once_lock = PTHREAD_MUTEX_INITIALIZER; /* over the list and the slots */
static pthread_cond_t once_ended = PTHREAD_COND_INITIALIZER;
static struct mpk_once *once_running;
static _Thread_local const struct mpk_once *inside;

static const struct mpk_once *current_once(void)
{
	return inside;
}

static void inherit_once(const struct mpk_once *outer)
{
	inside = outer;
}

/* A slot that this thread is already running once: waiting for it would be for ever. */
static bool parallel_is_inside(void *const *slot)
{
	for (const struct mpk_once *o = inside; o; o = o->outer)
		if (o->slot == slot)
			return true;
	return false;
}

static bool is_running(void *const *slot)
{
	for (const struct mpk_once *o = once_running; o; o = o->next)
		if (o->slot == slot)
			return true;
	return false;
}

/* Whether the caller is to run it: then *self is listed, and finish must follow. */
static bool begin_once(void **slot, struct mpk_once *self)
{
	bool mine;

	if (parallel_is_inside(slot))
		return false;
	(void)pthread_mutex_lock(&once_lock);
	while (is_running(slot))
		(void)pthread_cond_wait(&once_ended, &once_lock);
	mine = !__atomic_load_n(slot, __ATOMIC_ACQUIRE);
	if (mine) {
		*self = (struct mpk_once){ slot, inside, once_running };
		once_running = self;
		inside = self;
	}
	(void)pthread_mutex_unlock(&once_lock);
	return mine;
}

static void finish_once(struct mpk_once *self, void *value)
{
	struct mpk_once **link = &once_running;

	(void)pthread_mutex_lock(&once_lock);
	while (*link != self)
		link = &(*link)->next;
	*link = self->next;
	inside = self->outer;
	if (value)
		__atomic_store_n(self->slot, value, __ATOMIC_RELEASE);
	(void)pthread_cond_broadcast(&once_ended);
	(void)pthread_mutex_unlock(&once_lock);
}

int mpk_once_run(void **slot, int (*fn)(void *data), void *data)
{
	struct mpk_once self;
	int rc;

	if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) || !begin_once(slot, &self))
		return 0;
	rc = fn(data);
	finish_once(&self, slot); /* any pointer that is not NULL */
	return rc;
}

/* A NULL handle would make the slot look as if nothing had run. */
int mpk_once_init(void **slot, int (*init)(void **result), int *bad_handle)
{
	struct mpk_once self;
	void *result = NULL;
	int rc;

	*bad_handle = 0;
	if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) || !begin_once(slot, &self))
		return 0;
	rc = init(&result);
	*bad_handle = rc == 0 && !result;
	finish_once(&self, rc == 0 ? result : NULL);
	return *bad_handle ? -1 : rc;
}

/* --- parallel loops -------------------------------------------------------------------------- */

enum {
	SPIN_NS = 50000,
	/* What a main thread has by default. musl's threads have 128 KiB otherwise, and the code of a
	 * model does not know that it runs in one. Memory is taken as it is touched. */
	STACK_BYTES = 8 << 20,
	LOOKS = 64,   /* before others may have the core */
	SLEEPING = 1, /* of launch.state: the launcher sleeps */
	TASK = 2,     /* of launch.state: a task that has not ended */
};

/* One parallel loop; it is gone as soon as no task is left in its state. */
struct launch {
	atomic_uint state;
	mpk_parallel_fn *fn;
	void *data;
	struct mpk_context context;  /* of the thread that launched */
	const struct mpk_once *once; /* what that thread is running once */
	int count;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	int ended;
	int waiting;    /* tasks at the barrier */
	unsigned round; /* barriers passed */
	int status;     /* of the first task that failed */
	struct mpk_raised raised;
};

/* The state that is waited for is the smallest: spin_until_below compares with a limit. */
enum { WORKER_CALLED, WORKER_IDLE, WORKER_SLEEPING };

/* A kept thread: it takes one task at a time. */
struct worker {
	pthread_t thread;
	atomic_uint state;
	struct launch *launch; /* once it is called */
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

/* --- waiting ------------------------------------------------------------------------------- */

static void sleep_while(atomic_uint *word, unsigned value)
{
	(void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(atomic_uint *word)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* When looking ends; at once where whoever is waited for needs this core. */
static int64_t spin_end(void)
{
	static atomic_uint cores;

	if (!atomic_load_explicit(&cores, memory_order_relaxed))
		atomic_store_explicit(&cores, mpk_parallel_cores(), memory_order_relaxed);
	if (atomic_load_explicit(&cores, memory_order_relaxed) == 1)
		return 0;
	return mpk_clock() + SPIN_NS;
}

static bool is_past(int64_t end)
{
	return mpk_clock() >= end;
}

static void pause_core(void)
{
#if defined __x86_64__ || defined __i386__
	__builtin_ia32_pause();
#elif defined __aarch64__
	__asm__ volatile("yield");
#endif
}

/* Looks at a word until it is below a limit, for a while; between looks others may have the core,
 * who may be the ones that are waited for. */
static bool spin_until_below(atomic_uint *word, unsigned limit)
{
	int64_t end = spin_end();

	do {
		for (int i = 0; i < LOOKS; i++) {
			if (atomic_load_explicit(word, memory_order_acquire) < limit)
				return true;
			pause_core();
		}
		(void)sched_yield();
	} while (!is_past(end));
	return false;
}

/* --- tasks --------------------------------------------------------------------------------- */

/* The first failure is the launch's; later ones are often its consequences. */
static void end_task(struct launch *l, int status)
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
	/* from here on *l may be gone; a futex is woken by its address alone */
	if (atomic_fetch_sub_explicit(&l->state, TASK, memory_order_acq_rel) == (TASK | SLEEPING))
		wake(&l->state);
}

static void wait_for_tasks(struct launch *l)
{
	unsigned state;

	if (spin_until_below(&l->state, TASK))
		return;
	state = atomic_fetch_or_explicit(&l->state, SLEEPING, memory_order_acq_rel) | SLEEPING;
	while (state >= TASK) {
		sleep_while(&l->state, state);
		state = atomic_load_explicit(&l->state, memory_order_acquire);
	}
}

static void run_task(struct launch *l, int task)
{
	struct mpk_parallel_env env = { .sync_handle = l, .num_task = l->count };

	mpk_raised_get()->is_set = false;
	end_task(l, l->fn(task, &env, l->data));
}

/* The kernel is asked to wake it only when it sleeps. */
static void call_worker(struct worker *w, struct launch *l, int task)
{
	w->launch = l;
	w->task = task;
	if (atomic_exchange_explicit(&w->state, WORKER_CALLED, memory_order_acq_rel) ==
	    WORKER_SLEEPING)
		wake(&w->state);
}

static bool is_called(struct worker *w)
{
	return atomic_load_explicit(&w->state, memory_order_acquire) == WORKER_CALLED;
}

static void wait_to_be_called(struct worker *w)
{
	unsigned idle_state = WORKER_IDLE;

	if (spin_until_below(&w->state, WORKER_IDLE))
		return;
	if (!atomic_compare_exchange_strong_explicit(&w->state, &idle_state, WORKER_SLEEPING,
						     memory_order_acq_rel, memory_order_acquire))
		return;
	while (!is_called(w))
		sleep_while(&w->state, WORKER_SLEEPING);
}

/* Threads live as long as the process: one that is made for a loop is there for the next. */
static void *work(void *argument)
{
	struct worker *w = argument;

	for (;;) {
		wait_to_be_called(w);
		(void)mpk_context_swap(w->launch->context);
		inherit_once(w->launch->once);
		run_task(w->launch, w->task);
		atomic_store_explicit(&w->state, WORKER_IDLE, memory_order_release);
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
	atomic_init(&w->state, WORKER_IDLE);
	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
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

static void parallel_start(struct worker *list, struct launch *l)
{
	for (int task = 1; list; task++) {
		struct worker *next = list->next;

		call_worker(list, l, task);
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

/* Task 0 runs in the caller, whose core would otherwise wait. */
int mpk_parallel_launch(mpk_parallel_fn *fn, void *data, int count)
{
	struct launch l = {
		.fn = fn,
		.data = data,
		.context = mpk_context_get(),
		.once = current_once(),
		.count = count,
	};
	struct worker *workers;

	if (count < 1 || count > MPK_PARALLEL_TASKS_MAX)
		return no_threads(count);
	workers = take_workers(count - 1);
	if (count > 1 && !workers)
		return no_threads(count);
	atomic_init(&l.state, (unsigned)count * TASK);
	(void)pthread_mutex_init(&l.lock, NULL);
	(void)pthread_cond_init(&l.changed, NULL);
	parallel_start(workers, &l);
	run_task(&l, 0);
	wait_for_tasks(&l);
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
