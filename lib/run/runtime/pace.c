/* SPDX-License-Identifier: Apache-2.0 */
/* pace.c - when a parallel loop is worth other threads, and how many cores there are for them
 *
 * What loops of a function took is known from those before. A loop that is shorter than a hand-over runs
 * where it is, as does one that is shorter than it takes to wake a thread, unless loops follow each other so
 * closely that a thread which is awake serves many of them: those that ran alone save up for it. Threads wait
 * busily as long as the gaps between loops are worth.
 *
 * Beside other busy processes a thread may be away in the middle of its work, and all wait for it. So loops run
 * alone for a while as soon as that is seen: a launcher waited long for a worker, or lost its own core to
 * somebody for more than a moment. Tries that end so are made less and less often. A thread of which nothing is
 * known yet asks the system whether cores are free, and runs loops alone for some milliseconds only if they are not.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/internal/parallel.h"
#include "runtime/internal/runtime.h"

enum {
	US = 1000,
	ENTRIES = 256,
	SHORT = 2 * US, /* a hand-over between threads that are awake, there and back */
	TINY = 1 * US,  /* loops of which one of SAMPLED is measured */
	SAMPLED = 16,
	WAKE_CALL = 10 * US, /* what waking costs the one who does it, and more */
	BURST = 1000 * US,   /* after a longer gap nothing is saved up */
	GAP_MOST = 200 * US, /* longer ones are not waited for */
	PATIENCE_LEAST = 20 * US,
	PATIENCE_SHORT = 5 * US,
	LOOK_EVERY = 1000 * US, /* whether a core was lost */
	LOOK_BACK = 20000 * US,
	LOST = 700 * US, /* more than a thread of the kernel takes */
	STALL = 500 * US,
	CALM_USED =
		4000 * US, /* of a core that was not lost, before a thread counts on it unasked */
	LONG = 8000 * US,  /* a loop that begins alone and may go on shared */
	REST_FIRST = 20000 * US,
	REST_MOST = 640000 * US,
	CALM = 100000 * US, /* after which a try has succeeded */
};

static struct mpk_pace_entry entries[ENTRIES];

static struct {
	atomic_llong last_end; /* 0: not measured */
	atomic_llong gap, saved;
	atomic_llong alone_until, rest;
} pace = { .rest = REST_FIRST / 2 };

/* A thread's own: what it had used when it looked last. */
static _Thread_local struct {
	int64_t at, used;
	int64_t calm_from; /* as used, when it lost its core last */
	long switches;
} looked;

static int64_t pace_load(atomic_llong *a)
{
	return atomic_load_explicit(a, memory_order_relaxed);
}

static void pace_store(atomic_llong *a, int64_t v)
{
	atomic_store_explicit(a, v, memory_order_relaxed);
}

/* A mean in which the last ones count most. */
static void follow(atomic_llong *mean, int64_t v)
{
	int64_t m = pace_load(mean);

	pace_store(mean, m + (v - m) / 8);
}

static void count(atomic_llong *a, int64_t v)
{
	(void)atomic_fetch_add_explicit(a, v, memory_order_relaxed);
}

/* --- how many cores ----------------------------------------------------------------------- */

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

static void forget_cores(void)
{
	(void)atomic_fetch_add_explicit(&cores_epoch, 1, memory_order_relaxed);
}

static void cores_at_fork(enum mpk_fork_moment moment)
{
	if (moment == MPK_FORK_CHILD)
		forget_cores();
}

const struct mpk_process_part mpk_cores_part = { .begin = forget_cores, .at_fork = cores_at_fork };

/* --- how many are free --------------------------------------------------------------------- */

/* Threads that run or could run, this one among them, which is what comes before the slash in
 * "0.44 1.38 2.33 1/345 1234". 0: not known. */
static unsigned long count_runnable(void)
{
	char text[128], *at;
	int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof text - 1);
	(void)close(fd);
	text[n < 0 ? 0 : n] = '\0';
	at = strchr(text, '/');
	while (at && at > text && at[-1] != ' ')
		at--;
	return at ? strtoul(at, NULL, 10) : 0;
}

bool mpk_cores_are_free(unsigned threads, bool begins)
{
	unsigned most = mpk_parallel_cores();
	unsigned long runnable = threads <= most ? count_runnable() : 0, room = most - threads + 1;

	/* One too many may wait for this core only to fall asleep, as who made this process does. */
	if (begins && runnable == room + 1) {
		(void)sched_yield();
		runnable = count_runnable();
	}
	return runnable && runnable <= room;
}

/* --- loops --------------------------------------------------------------------------------- */

static void note_gap(int64_t now)
{
	int64_t last = pace_load(&pace.last_end), gap = now - last;

	if (!last)
		return;
	follow(&pace.gap, gap < 4 * GAP_MOST ? gap : 4 * GAP_MOST);
	if (gap > BURST)
		pace_store(&pace.saved, 0);
}

/* A try that ends soon makes the next rest longer. */
static void rest_from(int64_t now)
{
	int64_t until = pace_load(&pace.alone_until), rest = pace_load(&pace.rest);

	if (now > until + CALM)
		rest = REST_FIRST;
	else if (now > until && rest < REST_MOST)
		rest *= 2;
	pace_store(&pace.rest, rest);
	pace_store(&pace.alone_until, now + rest);
}

/* Whether this thread lost its core to another process since it looked last: it was made to leave it, and was away
 * for more than a moment. */
static bool has_lost_core(int64_t now)
{
	struct rusage r;
	int64_t since = now - looked.at, used;
	bool lost;

	if (getrusage(RUSAGE_THREAD, &r) != 0)
		return false;
	used = (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * MPK_NANOSECONDS +
	       (r.ru_utime.tv_usec + r.ru_stime.tv_usec) * US;
	lost = looked.at && since < LOOK_BACK && r.ru_nivcsw > looked.switches &&
	       since - (used - looked.used) > LOST;
	/* of its life before nothing is known but how often it had to leave */
	if (!looked.at && r.ru_nivcsw)
		looked.calm_from = used - used / r.ru_nivcsw;
	if (lost)
		looked.calm_from = used;
	looked.at = now;
	looked.used = used;
	looked.switches = r.ru_nivcsw;
	return lost;
}

static bool is_calm(void)
{
	return looked.used - looked.calm_from >= CALM_USED;
}

static bool may_share(int64_t now, unsigned threads)
{
	if (now - looked.at >= LOOK_EVERY) {
		/* Where cores are free, nobody is waited for. A second rest in a row is not cut
		 * short: what stops the threads then is not seen from here, as another virtual
		 * machine. */
		bool rests = now < pace_load(&pace.alone_until), begins = !looked.at;

		if (has_lost_core(now))
			rest_from(now);
		else if ((rests ? pace_load(&pace.rest) == REST_FIRST : !is_calm()) &&
			 mpk_cores_are_free(threads, begins)) {
			pace_store(&pace.alone_until, now);
			looked.calm_from = looked.used - CALM_USED;
		}
	}
	return now >= pace_load(&pace.alone_until) && is_calm();
}

/* Whether a loop is worth threads that sleep. */
static bool pays_waking(const struct mpk_pace *p, int64_t wake)
{
	if (!p->expected || p->expected > wake + WAKE_CALL)
		return true;
	if (pace_load(&pace.gap) > GAP_MOST)
		return false;
	count(&pace.saved, p->expected);
	if (pace_load(&pace.saved) < 2 * wake)
		return false;
	pace_store(&pace.saved, 0);
	return true;
}

struct mpk_crew mpk_pace_take(struct mpk_pace *p, mpk_parallel_fn *fn, unsigned threads)
{
	struct mpk_crew crew = { 0 };

	if (p->entry) {
		/* In the middle of a loop. */
		int64_t now = mpk_clock();

		if (now - looked.at < LOOK_EVERY || !may_share(now, threads))
			return (struct mpk_crew){ 0 };
		p->is_shared = true;
		return mpk_workers_take((int)threads - 1);
	}

	/* Functions that meet at an entry take it from each other. */
	uintptr_t address = (uintptr_t)fn;
	struct mpk_pace_entry *e =
		&entries[(address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 56 & (ENTRIES - 1)];

	if (atomic_load_explicit(&e->fn, memory_order_relaxed) != address) {
		atomic_store_explicit(&e->fn, address, memory_order_relaxed);
		atomic_store_explicit(&e->mean, 0, memory_order_relaxed);
	}
	p->entry = e;

	p->expected = atomic_load_explicit(&p->entry->mean, memory_order_relaxed);
	if (p->expected && p->expected < TINY &&
	    atomic_fetch_add_explicit(&p->entry->count, 1, memory_order_relaxed) % SAMPLED)
		return crew;
	p->begin = mpk_clock();
	note_gap(p->begin);
	if ((p->expected && p->expected < SHORT) || !may_share(p->begin, threads)) {
		p->may_become_shared = !p->expected || p->expected >= LONG;
		return crew;
	}
	crew = mpk_workers_take((int)threads - 1);
	if (crew.wake && !pays_waking(p, crew.wake)) {
		mpk_workers_give_back(crew.first);
		crew.count = 0;
	}
	p->is_shared = crew.count > 0;
	return crew;
}

/* --- what is learned ------------------------------------------------------------------------ */

static void learn(struct mpk_pace_entry *e, int64_t taken)
{
	unsigned ns = taken < 1 ? 1 : taken < UINT32_MAX / 2 ? (unsigned)taken : UINT32_MAX / 2;
	unsigned mean = atomic_load_explicit(&e->mean, memory_order_relaxed);

	mean = mean ? mean - mean / 4 + ns / 4 : ns;
	atomic_store_explicit(&e->mean, mean ? mean : 1, memory_order_relaxed);
}

void mpk_pace_end(struct mpk_pace *p, int64_t busy, int64_t waited)
{
	int64_t now;

	if (!p->begin) {
		pace_store(&pace.last_end, 0);
		return;
	}
	now = mpk_clock();
	pace_store(&pace.last_end, now);
	if (p->is_shared && waited > STALL && waited > p->expected / 4)
		rest_from(now);
	else
		learn(p->entry, p->is_shared ? busy : now - p->begin);
}

/* --- threads ------------------------------------------------------------------------------- */

int64_t mpk_pace_patience(void)
{
	int64_t gap = pace_load(&pace.gap);

	if (gap > GAP_MOST)
		return PATIENCE_SHORT;
	return gap < PATIENCE_LEAST / 2 ? PATIENCE_LEAST : 2 * gap;
}
