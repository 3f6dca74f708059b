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
 *
 * A thread that is made or woken is often put beside the one that does so, and takes its core for milliseconds
 * while another is idle. So a launcher moves a new worker, and one that began last where it is itself, before it
 * calls it; and a worker that finds itself on its launcher's core leaves that core. The launcher's thread is the
 * program's and is left where it is.
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

#ifdef __x86_64__
#include <cpuid.h>
#endif

enum {
	LOOKS = 64, /* between looks at the clock */
	/* What a main thread has by default. musl's threads have 128 KiB otherwise, and the code of a
	 * model does not know that it runs in one. Memory is taken as it is touched. */
	STACK_BYTES = 8 << 20,

	WAKE_FIRST = 30000, /* nanoseconds, before a waking was measured */
	WAKE_MOST = 200000,

	SLEEPING = 1, /* of gang.state: the caller sleeps */
	MEMBER = 2,   /* of gang.state: a worker that has not ended */
};

/* The state that is waited for is the smallest: spin_until_below compares with a limit. */
enum { WORKER_CALLED, WORKER_IDLE, WORKER_SLEEPING, WORKER_WORKS };

static pthread_mutex_t workers_lock = PTHREAD_MUTEX_INITIALIZER; /* over what follows */
static struct mpk_worker *idle;
static struct mpk_worker *all_workers;
static pid_t owner; /* the process that has these threads */

/* Nanoseconds from the call of a thread that sleeps to its begin: a mean in which the last ones count most. */
static atomic_int wake = WAKE_FIRST;

/* --- waiting ------------------------------------------------------------------------------- */

static void futex_wait(atomic_uint *word, unsigned value)
{
	(void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word)
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

/* Look at a word until it is below a limit, for so many nanoseconds; 0: once. Whether it is.
 * Nobody is given the core meanwhile: the kernel takes the whole time slice for that, where another process wants it. */
static bool spin_until_below(atomic_uint *word, unsigned limit, int64_t nanoseconds)
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

		if (spin_until_below(&w->state, WORKER_IDLE, w->alone ? 0 : mpk_pace_patience()) &&
		    change_state(w, &called, WORKER_WORKS))
			return slept;
		if (change_state(w, &idle_state, WORKER_SLEEPING) ||
		    idle_state == WORKER_SLEEPING) {
			futex_wait(&w->state, WORKER_SLEEPING);
			slept = true;
		}
	}
}

/* The kernel is asked to wake it only when it sleeps.
 * @g       NULL: to end */
static void call_worker(struct mpk_worker *w, struct mpk_gang *g)
{
	w->gang = g;
	if (atomic_exchange_explicit(&w->state, WORKER_CALLED, memory_order_acq_rel) ==
	    WORKER_SLEEPING)
		futex_wake(&w->state);
}

/* --- on which cores they run ----------------------------------------------------------------- */

enum { CPUS = CPU_SETSIZE, MOVES_APART = 1000000 /* nanoseconds */ };

/* One more than the core that a hyperthread belongs to; 0: nobody asked so far. Asked once each, as a
 * virtual machine stops for it. */
static atomic_int core_of[CPUS];

/* Levels of the processor, the lowest of which are the hyperthreads of a core: leaf 0xb has the number of
 * bits that tell them apart, and the number of the one that runs this. */
static int ask_core(int cpu)
{
#ifdef __x86_64__
	unsigned a, b, c, d;

	if (__get_cpuid_count(0xb, 0, &a, &b, &c, &d) && (c >> 8 & 0xff) == 1)
		return (int)(d >> (a & 0x1f));
#endif
	return cpu;
}

int mpk_core_here(void)
{
	int cpu = sched_getcpu(), core;

	if (cpu < 0 || cpu >= CPUS)
		return -1;
	core = atomic_load_explicit(&core_of[cpu], memory_order_relaxed);
	if (!core) {
		core = ask_core(cpu) + 1;
		if (core <= 0 || sched_getcpu() != cpu) /* it moved meanwhile */
			return -1;
		atomic_store_explicit(&core_of[cpu], core, memory_order_relaxed);
	}
	return core - 1;
}

/* All but the hyperthreads of that core, of which those are known that somebody ran on. */
static cpu_set_t without(const cpu_set_t *allowed, int core)
{
	cpu_set_t set = *allowed;

	for (size_t i = 0; i < CPUS; i++)
		if (atomic_load_explicit(&core_of[i], memory_order_relaxed) == core + 1)
			CPU_CLR(i, &set);
	return set;
}

/* At most every millisecond; whoever changes what the thread is allowed meanwhile is heard. */
static void move_away(struct mpk_worker *w, int core)
{
	int64_t now = mpk_clock();
	cpu_set_t set;

	if (w->moved && now - w->moved < MOVES_APART)
		return;
	w->moved = now;
	if (pthread_getaffinity_np(w->thread, sizeof set, &set) != 0)
		return;
	if (!w->is_known || !CPU_EQUAL(&set, &w->chosen))
		w->allowed = set;
	w->chosen = without(&w->allowed, core);
	w->is_known = CPU_COUNT(&w->chosen) > 0 &&
		      pthread_setaffinity_np(w->thread, sizeof w->chosen, &w->chosen) == 0;
}

/* A worker that was not called yet, or began last on that core; -1: any core will do. */
static void leave_core(struct mpk_worker *w, int core)
{
	if (core < 0 || (w->begun && w->begun != core + 1))
		return;
	move_away(w, core);
	w->begun = -1;
}

/* --- what they are called for ---------------------------------------------------------------- */

/* From here on *g may be gone; a futex is woken by its address alone. */
static void let_go(struct mpk_gang *g)
{
	if (atomic_fetch_sub_explicit(&g->state, MEMBER, memory_order_acq_rel) ==
	    (MEMBER | SLEEPING))
		futex_wake(&g->state);
}

void mpk_workers_call(struct mpk_gang *g, struct mpk_worker *list, bool is_first)
{
	unsigned count = 0;

	for (struct mpk_worker *w = list; w; w = w->next)
		count++;
	if (is_first) {
		g->called = g->begin ? mpk_clock() : 0;
		g->core = count < mpk_parallel_cores() ? mpk_core_here() : -1;
	}
	(void)atomic_fetch_add_explicit(&g->state, count * MEMBER, memory_order_acq_rel);
	for (struct mpk_worker *w = list; w; w = w->next) {
		if (is_first)
			leave_core(w, g->core);
		call_worker(w, g);
	}
}

bool mpk_worker_take_back(struct mpk_gang *g, struct mpk_worker *w)
{
	unsigned called = WORKER_CALLED;

	if (!change_state(w, &called, WORKER_IDLE))
		return false;
	let_go(g);
	return true;
}

void mpk_gang_wait(struct mpk_gang *g, int64_t patience)
{
	unsigned state;

	if (spin_until_below(&g->state, MEMBER, mpk_parallel_cores() == 1 ? 0 : patience))
		return;
	state = atomic_fetch_or_explicit(&g->state, SLEEPING, memory_order_acq_rel) | SLEEPING;
	while (state >= MEMBER) {
		futex_wait(&g->state, state);
		state = atomic_load_explicit(&g->state, memory_order_acquire);
	}
}

/* --- threads ------------------------------------------------------------------------------- */

/* No variable of a thread is touched here: the first touch may wait for a lock of the dynamic
 * linker, which is held by whoever closes this library and waits for this thread. */
static void *work(void *argument)
{
	struct mpk_worker *w = argument;

	for (;;) {
		bool slept = wait_to_be_called(w);

		if (!w->gang)
			return NULL;

		/* The worker can be called again before who waits for it goes on. */
		struct mpk_gang *g = w->gang;
		int64_t begin = g->begin ? mpk_clock() : 0;

		if (begin && slept && g->called) {
			int64_t taken = begin - g->called;
			int mean = atomic_load_explicit(&wake, memory_order_relaxed);

			atomic_store_explicit(
				&wake,
				mean + ((int)(taken < WAKE_MOST ? taken : WAKE_MOST) - mean) / 8,
				memory_order_relaxed);
		}
		if (g->core >= 0) {
			w->begun = mpk_core_here() + 1;
			leave_core(w, g->core);
		}
		g->fn(w, g->data);
		if (begin)
			(void)atomic_fetch_add_explicit(&g->busy, mpk_clock() - begin,
							memory_order_relaxed);
		atomic_store_explicit(&w->state, WORKER_IDLE, memory_order_release);
		let_go(g);
	}
}

static bool start_thread(struct mpk_worker *w)
{
	pthread_attr_t attributes;
	sigset_t blocked, before;

	/* Signals sent to the process are for threads of the program, which may wait for them
	 * with other stacks and rights; what a thread brings upon itself, and profilers, must
	 * reach it. */
	static const int kept[] = { SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
				    SIGTRAP, SIGABRT, SIGSYS, SIGPROF };

	(void)sigfillset(&blocked);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(kept); i++)
		(void)sigdelset(&blocked, kept[i]);

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

/* One may stop sleeping, or begin to, at any time. */
struct mpk_crew mpk_workers_take(int count)
{
	struct mpk_crew crew = { .first = take_idle(count) };

	for (struct mpk_worker *w = crew.first; w; w = w->next)
		crew.count++;
	for (struct mpk_worker *w; (int)crew.count < count && (w = make_worker()); crew.count++) {
		w->next = crew.first;
		crew.first = w;
	}
	if (crew.first &&
	    atomic_load_explicit(&crew.first->state, memory_order_relaxed) == WORKER_SLEEPING)
		crew.wake = (unsigned)atomic_load_explicit(&wake, memory_order_relaxed);
	return crew;
}

/* --- their end ------------------------------------------------------------------------------ */

/* Ends and joins all that do nothing; others may still be made and taken. In a child of a fork that no handler saw the list
 * has threads that are not there. */
static void end_workers(bool is_unused, bool code_goes)
{
	struct mpk_worker *list;

	(void)is_unused;
	(void)code_goes;
	(void)pthread_mutex_lock(&workers_lock);
	list = owner == getpid() ? idle : NULL;
	idle = NULL;
	for (struct mpk_worker *w = list; w; w = w->next)
		forget_worker(w);
	(void)pthread_mutex_unlock(&workers_lock);
	for (struct mpk_worker *w = list; w; w = w->next)
		call_worker(w, NULL);
	while (list) {
		struct mpk_worker *w = list;

		list = w->next;
		(void)pthread_join(w->thread, NULL);
		free(w);
	}
}

static void workers_at_fork(enum mpk_fork_moment moment)
{
	if (moment == MPK_FORK_CHILD) {
		/* Those in a task stay in the list of all: their launchers have them, one of
		 * whom may be the one that forks. */
		while (idle) {
			struct mpk_worker *w = idle;

			idle = w->next;
			forget_worker(w);
			free(w);
		}
		owner = 0;
	}
	mpk_lock_at_fork(&workers_lock, moment);
}

const struct mpk_process_part mpk_workers_part = { .at_fork = workers_at_fork, .end = end_workers };
