/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.h - the threads of parallel loops, where and when they run, and what they take over from who
 * launched them */
#ifndef MPK_RUNTIME_INTERNAL_PARALLEL_H
#define MPK_RUNTIME_INTERNAL_PARALLEL_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "runtime/parallel.h"

/* --- what runs once (workspace.c) --- */

struct mpk_once;

/* mpk_once_inside - where the innermost of what this thread is running once is noted, NULL: nothing; a thread that works
 * for another, which waits for it, takes that one's over */
struct mpk_once **mpk_once_inside(void);

/* --- kept threads (parallel.c) --- */

struct mpk_worker;

/* What workers are called for together, and who waits for them. begin, core (-1), busy and state (0) are to be set. */
struct mpk_gang {
	void (*fn)(struct mpk_worker *self, void *data); /* called once by each */
	void *data;
	atomic_uint state;     /* workers that have not ended, and whether the caller sleeps */
	int core;              /* of the caller; -1: threads stay where they are */
	int64_t begin, called; /* of the loop and of its workers; 0: not measured */
	atomic_llong busy;     /* nanoseconds of workers */
};

struct mpk_worker {
	pthread_t thread;
	bool alone; /* its process had one core when it was made */
	atomic_uint state;
	struct mpk_gang *gang; /* once it is called; NULL: it is to end */
	atomic_ullong tasks;   /* its taker's */
	/* what it may run on, and where it was moved to */
	cpu_set_t allowed, chosen;
	bool is_known;
	int64_t moved; /* when last */
	int begun;     /* one more than the core where it began its last task; 0: none so far */
	struct mpk_worker *next;            /* among idle ones, or those of its taker */
	struct mpk_worker *all_next, **all; /* among all */
};

struct mpk_crew {
	struct mpk_worker *first;
	unsigned count;
	unsigned wake; /* nanoseconds until the first, which sleeps, begins; 0: it is awake */
};

/* mpk_workers_take - threads that do nothing else, in a list
 * @count   how many; fewer are in the list when memory is out
 * mpk_workers_give_back - let others take them; what they were called for has ended, or was taken back */
struct mpk_crew mpk_workers_take(int count);
void mpk_workers_give_back(struct mpk_worker *list);

/* mpk_core_here - the core that this thread is running on, which all of its hyperthreads have in common; -1:
 * not known */
int mpk_core_here(void);

/* --- when a loop is worth other threads (pace.c) --- */

/* What loops of a function took so far. */
struct mpk_pace_entry {
	atomic_uintptr_t fn;
	atomic_uint mean; /* nanoseconds of all its tasks; 0: not known */
	atomic_uint count;
};

/* One loop. */
struct mpk_pace {
	struct mpk_pace_entry *entry;
	int64_t begin;    /* 0: it is not measured */
	int64_t expected; /* nanoseconds, were it run by one thread; 0: not known */
	bool is_shared;
	bool may_become_shared; /* it is long, or not known: who began it alone asks again */
};

/* mpk_pace_take - the workers of a loop of so many threads, the caller among them; none: it is not worth them. Zero *p
 * before; called again in the middle of such a loop, it looks whether the loop is by now
 * mpk_pace_end - it has ended; busy: nanoseconds in its tasks, of all threads together; waited: of its launcher, for the
 * others
 * Called by any thread, without locks: what they learn from each other is an estimate. */
struct mpk_crew mpk_pace_take(struct mpk_pace *p, mpk_parallel_fn *fn, unsigned threads);
void mpk_pace_end(struct mpk_pace *p, int64_t busy, int64_t waited);

/* mpk_cores_are_free - whether no more threads want to run, in all of the system, than leave cores for so many of this
 * process, the caller among them. Takes some microseconds; false where the system does not tell. One that begins to
 * run loops lets others have its core first, for a moment */
bool mpk_cores_are_free(unsigned threads, bool begins);

/* mpk_pace_patience - how many nanoseconds a thread waits busily for the next loop */
int64_t mpk_pace_patience(void);

#endif
