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
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/convention.h"
#include "abi/ffi_object.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "runtime/internal/parallel.h"
#include "runtime/internal/runtime.h"
#include "runtime/parallel.h"
#include "runtime/runtime.h"
#include "runtime/stop.h"

/* --- Threads that are kept from one parallel loop to the next.
 *
 * Kernels of a model launch a loop every few microseconds, and waking a thread takes as long as
 * many a loop. So whoever waits looks for a while first (pace.c says how long), and only then
 * sleeps; whoever has news calls the kernel only when somebody sleeps.
 *
 * A worker is taken for a loop by its launcher, who gives it back after the last task. So the next
 * loop finds it, and all threads that run code of this library when no loop is running are in the
 * list of idle ones, to be joined.
 *
 * One that sleeps, or whose core is busy, begins late. Its launcher, who has nothing else to do,
 * then takes the call back: what decides is who changes the worker's state first.
 *
 * A thread that is made or woken is often put beside the one that does so, and takes its core for
 * milliseconds while another is idle. So a launcher moves a new worker, and one that began last
 * where it is itself, before it calls it; and a worker that finds itself on its launcher's core
 * leaves that core. The launcher's thread is the program's and is left where it is.
 */

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

/* Has each of a list call g->fn. It can be called again before that is known to have ended.
 * @is_first  they are all that the loop begins with: they are measured, and leave the caller's core where there is one
 *            for each */
static void workers_call(struct mpk_gang *g, struct mpk_worker *list, bool is_first)
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

/* Whether it had not begun yet: then it does nothing */
static bool worker_take_back(struct mpk_gang *g, struct mpk_worker *w)
{
	unsigned called = WORKER_CALLED;

	if (!change_state(w, &called, WORKER_IDLE))
		return false;
	let_go(g);
	return true;
}

/* Waits until all that were called have ended, busily for so many nanoseconds. */
static void gang_wait(struct mpk_gang *g, int64_t patience)
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
	struct mpk_memory *memory;  /* for whom it takes some */
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
	(void)mpk_memory_swap(l->memory);
	*mpk_once_inside() = l->once;
	run_tasks(l, &self->tasks);
	(void)mpk_stop_swap(NULL); /* it may be gone when the loop is over */
	(void)mpk_memory_swap(NULL);
	mpk_legacy_forget_result();
}

/* Workers that have not begun when the launcher has nothing else to do: what they were to do is done, but for
 * the tasks of recruits. */
static void take_back(struct launch *l, struct mpk_worker *workers)
{
	for (struct mpk_worker *w = workers; w; w = w->next)
		if (worker_take_back(&l->gang, w))
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
	l->memory = mpk_memory_here();
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
	workers_call(&l->gang, workers, true);
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
	gang_wait(&l->gang, patience);
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

/* --- loops that the caller runs ------------------------------------------------------------- */

/* In a thread of the caller's, which may be in another call. */
static void run_given_task(void *argument, size_t i)
{
	struct launch *l = argument;
	struct mpk_context context = mpk_context_swap(l->context);
	struct mpk_stop *stop = mpk_stop_swap(l->stop);
	struct mpk_memory *memory = mpk_memory_swap(l->memory);
	struct mpk_once *once = *mpk_once_inside();
	bool before = in_loop;
	int task;

	(void)i; /* which one it is tells nothing: a barrier may have taken it */
	*mpk_once_inside() = l->once;
	in_loop = true;
	if (take_task(&l->tasks, true, &task))
		run_task(l, task);
	in_loop = before;
	*mpk_once_inside() = once;
	(void)mpk_memory_swap(memory);
	(void)mpk_stop_swap(stop);
	(void)mpk_context_swap(context);
}

/* Tasks that meet at a barrier get threads of this library, as the caller's may be fewer. */
static int run_by_caller(mpk_parallel_fn *fn, void *data, const struct mpk_runtime_options *options,
			 unsigned threads)
{
	struct launch l;

	if (threads < 2 || in_loop)
		return run_alone(fn, data);
	launch_init(&l, fn, data,
		    (int)(threads < MPK_PARALLEL_TASKS_MAX ? threads : MPK_PARALLEL_TASKS_MAX));
	l.lacks_threads = true;
	options->parallel_for(options->parallel_user, (size_t)l.count, run_given_task, &l);
	return finish_launch(&l, WAIT_LEAST);
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
			workers_call(&l->gang, w, false);
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
	const struct mpk_runtime_options *options = runtime ? mpk_runtime_options(runtime) : NULL;
	unsigned threads = options ? options->threads : 0;

	if (num_task != 0)
		return mpk_parallel_launch(fn, data, num_task);
	if (!threads)
		threads = mpk_parallel_cores();
	if (options && options->parallel_for)
		return run_by_caller(fn, data, options, threads);
	return mpk_parallel_loop(fn, data, threads);
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
