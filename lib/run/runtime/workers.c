/* SPDX-License-Identifier: Apache-2.0 */
/* workers.c - threads that are kept from one parallel loop to the next
 *
 * Kernels of a model launch a loop every few microseconds, and waking a thread takes as long as
 * many a loop. So whoever waits looks for a while first (pace.c says how long), and only then sleeps; whoever has
 * news calls the kernel only when somebody sleeps.
 *
 * A worker is taken for a loop by its launcher, who gives it back after the last task. So the next
 * loop finds it, and all threads that run code of this library when no loop is running are in the
 * list of idle ones, to be joined.
 *
 * One that sleeps, or whose core is busy, begins late. Its launcher, who has nothing else to do, then
 * takes the call back: what decides is who changes the worker's state first.
 */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "runtime/internal/parallel.h"
#include "runtime/internal/runtime.h"
#include "runtime/parallel.h"

enum {
	LOOKS = 64, /* between looks at the clock */
	/* What a main thread has by default. musl's threads have 128 KiB otherwise, and the code of a
	 * model does not know that it runs in one. Memory is taken as it is touched. */
	STACK_BYTES = 8 << 20,
};

/* The state that is waited for is the smallest: mpk_spin_until_below compares with a limit. */
enum { WORKER_CALLED, WORKER_IDLE, WORKER_SLEEPING, WORKER_WORKS };

static pthread_mutex_t workers_lock = PTHREAD_MUTEX_INITIALIZER; /* over what follows */
static struct mpk_worker *idle;
static struct mpk_worker *all_workers;
static pid_t owner; /* the process that has these threads */

/* --- waiting ------------------------------------------------------------------------------- */

void mpk_futex_wait(atomic_uint *word, unsigned value)
{
	(void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void mpk_futex_wake(atomic_uint *word)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void pause_core(void)
{
#if defined __x86_64__ || defined __i386__
	__builtin_ia32_pause();
#elif defined __aarch64__
	__asm__ volatile("yield");
#endif
}

/* Nobody is given the core meanwhile: the kernel takes the whole time slice for that, where another process wants it. */
bool mpk_spin_until_below(atomic_uint *word, unsigned limit, int64_t nanoseconds)
{
	int64_t end = nanoseconds ? mpk_clock() + nanoseconds : 0;

	do {
		for (int i = 0; i < LOOKS; i++) {
			if (atomic_load_explicit(word, memory_order_acquire) < limit)
				return true;
			pause_core();
		}
	} while (mpk_clock() < end);
	return false;
}

static bool change_state(struct mpk_worker *w, unsigned *from, unsigned to)
{
	return atomic_compare_exchange_strong_explicit(&w->state, from, to, memory_order_acq_rel,
						       memory_order_acquire);
}

/* Returns when it is called and is the one that answers; whether it slept. */
static bool wait_to_be_called(struct mpk_worker *w)
{
	bool slept = false;

	for (;;) {
		unsigned called = WORKER_CALLED, idle_state = WORKER_IDLE;

		if (mpk_spin_until_below(&w->state, WORKER_IDLE,
					 w->alone ? 0 : mpk_pace_patience()) &&
		    change_state(w, &called, WORKER_WORKS))
			return slept;
		if (change_state(w, &idle_state, WORKER_SLEEPING) ||
		    idle_state == WORKER_SLEEPING) {
			mpk_futex_wait(&w->state, WORKER_SLEEPING);
			slept = true;
		}
	}
}

bool mpk_worker_take_back(struct mpk_worker *w)
{
	unsigned called = WORKER_CALLED;

	return change_state(w, &called, WORKER_IDLE);
}

void mpk_worker_done(struct mpk_worker *w)
{
	atomic_store_explicit(&w->state, WORKER_IDLE, memory_order_release);
}

/* It may stop sleeping, or begin to, at any time. */
bool mpk_worker_sleeps(struct mpk_worker *w)
{
	return atomic_load_explicit(&w->state, memory_order_relaxed) == WORKER_SLEEPING;
}

/* The kernel is asked to wake it only when it sleeps. */
void mpk_worker_call(struct mpk_worker *w, mpk_worker_fn *fn, void *data)
{
	w->fn = fn;
	w->data = data;
	if (atomic_exchange_explicit(&w->state, WORKER_CALLED, memory_order_acq_rel) ==
	    WORKER_SLEEPING)
		mpk_futex_wake(&w->state);
}

/* --- threads ------------------------------------------------------------------------------- */

/* No variable of a thread is touched here: the first touch may wait for a lock of the dynamic
 * linker, which is held by whoever closes this library and waits for this thread. */
static void *work(void *argument)
{
	struct mpk_worker *w = argument;

	for (;;) {
		bool slept = wait_to_be_called(w);

		if (!w->fn)
			return NULL;
		w->fn(w, w->data, slept);
	}
}

/* Signals sent to the process are for threads of the program, which may wait for them with other
 * stacks and rights; what a thread brings upon itself, and profilers, must reach it. */
static void own_signals(sigset_t *out)
{
	static const int kept[] = { SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
				    SIGTRAP, SIGABRT, SIGSYS, SIGPROF };

	(void)sigfillset(out);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(kept); i++)
		(void)sigdelset(out, kept[i]);
}

static bool start_thread(struct mpk_worker *w)
{
	pthread_attr_t attributes;
	sigset_t blocked, before;

	own_signals(&blocked);
	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
	(void)pthread_sigmask(SIG_BLOCK, &blocked, &before);
	int rc = pthread_create(&w->thread, &attributes, work, w);

	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return rc == 0;
}

static struct mpk_worker *make_worker(void)
{
	struct mpk_worker *w = calloc(1, sizeof *w);

	mpk_process_watch_forks();
	if (!w)
		return NULL;
	atomic_init(&w->state, WORKER_IDLE);
	w->alone = mpk_parallel_cores() == 1;
	if (!start_thread(w)) {
		free(w);
		return NULL;
	}
	(void)pthread_mutex_lock(&workers_lock);
	owner = getpid();
	w->all_next = all_workers;
	w->all = &all_workers;
	if (all_workers)
		all_workers->all = &w->all_next;
	all_workers = w;
	(void)pthread_mutex_unlock(&workers_lock);
	return w;
}

/* With the lock. */
static void forget_worker(struct mpk_worker *w)
{
	*w->all = w->all_next;
	if (w->all_next)
		w->all_next->all = w->all;
}

static struct mpk_worker *take_idle(int count)
{
	struct mpk_worker *list = NULL;

	(void)pthread_mutex_lock(&workers_lock);
	for (struct mpk_worker *w; count > 0 && (w = idle); count--) {
		idle = w->next;
		w->next = list;
		list = w;
	}
	(void)pthread_mutex_unlock(&workers_lock);
	return list;
}

void mpk_workers_give_back(struct mpk_worker *list)
{
	(void)pthread_mutex_lock(&workers_lock);
	for (struct mpk_worker *w = list, *next; w; w = next) {
		next = w->next;
		w->next = idle;
		idle = w;
	}
	(void)pthread_mutex_unlock(&workers_lock);
}

struct mpk_worker *mpk_workers_take(int count)
{
	struct mpk_worker *list = take_idle(count), *w;

	for (w = list; w; w = w->next)
		count--;
	for (; count > 0 && (w = make_worker()); count--) {
		w->next = list;
		list = w;
	}
	return list;
}

/* --- their end ------------------------------------------------------------------------------ */

/* In a child of a fork that no handler saw the list has threads that are not there. */
void mpk_workers_end(void)
{
	struct mpk_worker *list;

	(void)pthread_mutex_lock(&workers_lock);
	list = owner == getpid() ? idle : NULL;
	idle = NULL;
	for (struct mpk_worker *w = list; w; w = w->next)
		forget_worker(w);
	(void)pthread_mutex_unlock(&workers_lock);
	for (struct mpk_worker *w = list; w; w = w->next)
		mpk_worker_call(w, NULL, NULL);
	while (list) {
		struct mpk_worker *w = list;

		list = w->next;
		(void)pthread_join(w->thread, NULL);
		free(w);
	}
}

/* Those in a task stay in the list of all: their launchers have them, one of whom may be the one that
 * forks. */
static void forget_threads(void)
{
	while (idle) {
		struct mpk_worker *w = idle;

		idle = w->next;
		forget_worker(w);
		free(w);
	}
	owner = 0;
}

void mpk_workers_at_fork(enum mpk_fork_moment moment)
{
	if (moment == MPK_FORK_CHILD)
		forget_threads();
	mpk_lock_at_fork(&workers_lock, moment);
}
