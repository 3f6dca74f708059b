/* SPDX-License-Identifier: Apache-2.0 */
/* cores.c - how many cores there are for parallel loops, and threads on cores of their own
 *
 * A thread that is made or woken is often put beside the one that does so, and takes its core for milliseconds
 * while another is idle. So a launcher moves a new worker, and one that began last where it is itself, before it
 * calls it; and a worker that finds itself on its launcher's core leaves that core. The launcher's thread is the
 * program's and is left where it is.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/internal/parallel.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

/* --- how many ------------------------------------------------------------------------------ */

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

/* --- which --------------------------------------------------------------------------------- */

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

void mpk_core_leave(struct mpk_place *place, pthread_t thread, int core)
{
	int64_t now = mpk_clock();
	cpu_set_t set;

	if (place->moved && now - place->moved < MOVES_APART)
		return;
	place->moved = now;
	if (pthread_getaffinity_np(thread, sizeof set, &set) != 0)
		return;
	if (!place->is_known || !CPU_EQUAL(&set, &place->chosen))
		place->allowed = set;
	place->chosen = without(&place->allowed, core);
	place->is_known = CPU_COUNT(&place->chosen) > 0 &&
			  pthread_setaffinity_np(thread, sizeof place->chosen, &place->chosen) == 0;
}
