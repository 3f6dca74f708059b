/* SPDX-License-Identifier: Apache-2.0 */
/* Many children: starting and waiting. SIGCHLD is blocked for the whole run but while ppoll sleeps, so
 * that nothing is missed between looking at the children and sleeping. And the command lines of
 * programs to run. */
#include "process/process.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/internal/process.h"

struct run {
	const struct mpk_process *list;
	struct mpk_process_end *ends;
	struct mpk_child *slots;
	struct pollfd *channels; /* MPK_CHILD_FDS of each slot */
	unsigned parallel, busy;
	bool failed;
	bool contains;                 /* some are contained */
	struct mpk_children strangers; /* children from before */
	sigset_t mask;                 /* of signals, from before */
	struct sigaction on_child;     /* of SIGCHLD, from before */
	int subreaper, dumpable;       /* prctl settings from before */
};

static volatile sig_atomic_t stopped;

/* The signal that tells about the ends of children. */
void mpk_process_stop(void)
{
	stopped = 1;
	(void)kill(getpid(), SIGCHLD);
}

bool mpk_process_succeeded(const struct mpk_process_end *end)
{
	return (end->how == MPK_PROCESS_RETURNED && end->error.code == MPK_OK) ||
	       (end->how == MPK_PROCESS_EXITED && end->status == 0);
}

static enum mpk_code process_start(struct run *r, size_t index, struct mpk_error *err)
{
	struct mpk_child *slot = r->slots;

	while (slot->pid)
		slot++;
	MPK_TRY(mpk_child_start(&r->list[index], &r->mask, &r->ends[index], slot, err));
	r->busy++;
	return MPK_OK;
}

/* Reaps children that have ended or are late. Returns nanoseconds until the next deadline. */
static int64_t process_look(struct run *r)
{
	int64_t sleep = 3600 * MPK_NANOSECONDS;

	for (unsigned i = 0; i < r->parallel; i++) {
		struct mpk_child *slot = &r->slots[i];

		bool runs = slot->pid != 0;
		int64_t left = mpk_child_look(slot, stopped, &r->channels[i * MPK_CHILD_FDS]);

		sleep = left < sleep ? left : sleep;
		if (runs && !slot->pid) {
			r->busy--;
			r->failed |= !mpk_process_succeeded(slot->end);
		}
	}
	return sleep;
}

/* Returns when fewer children run than before. */
static void wait_for_one(struct run *r)
{
	unsigned before = r->busy;
	sigset_t mask = r->mask;

	(void)sigdelset(&mask, SIGCHLD);
	for (;;) {
		int64_t left = process_look(r);
		struct timespec sleep = { .tv_sec = (time_t)(left / MPK_NANOSECONDS),
					  .tv_nsec = (long)(left % MPK_NANOSECONDS) };

		if (r->busy < before)
			return;
		(void)ppoll(r->channels, (nfds_t)r->parallel * MPK_CHILD_FDS, &sleep, &mask);
	}
}

/* --- the whole run --------------------------------------------------------------- */

static void wake_up(int sig)
{
	(void)sig;
}

static enum mpk_code process_prepare(struct run *r, size_t count, struct mpk_error *err)
{
	struct sigaction wake = { .sa_handler = wake_up };
	sigset_t block;

	for (size_t i = 0; i < count; i++) {
		r->ends[i] = (struct mpk_process_end){ .how = MPK_PROCESS_LEFT_OUT };
		r->contains |= r->list[i].contained;
	}
	r->slots = calloc(r->parallel, sizeof *r->slots);
	r->channels = calloc(r->parallel, MPK_CHILD_FDS * sizeof *r->channels);
	MPK_TRY_ALLOC(r->slots && r->channels, err);
	if (r->contains)
		MPK_TRY(mpk_children_list(&r->strangers, err));
	(void)sigemptyset(&block);
	(void)sigaddset(&block, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &block, &r->mask);
	/* Children of a process that ignores SIGCHLD cannot be waited for, nor is a sleep interrupted by a
	 * signal without a handler. */
	(void)sigaction(SIGCHLD, &wake, &r->on_child);
	(void)prctl(PR_GET_CHILD_SUBREAPER, &r->subreaper);
	if (!r->contains)
		return MPK_OK;
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* a process of the same user could write into our memory, through /proc */
	r->dumpable = prctl(PR_GET_DUMPABLE);
	(void)prctl(PR_SET_DUMPABLE, 0);
	return MPK_OK;
}

static void run_fini(struct run *r)
{
	free(r->slots);
	free(r->channels);
	free(r->strangers.pids);
}

enum mpk_code mpk_process_run(const struct mpk_process *list, size_t count, unsigned parallel,
			      struct mpk_process_end *ends, struct mpk_error *err)
{
	MPK_CLEANUP(run_fini)
	struct run r = { .list = list, .ends = ends, .parallel = parallel ? parallel : 1 };
	enum mpk_code code = MPK_OK;

	MPK_TRY(process_prepare(&r, count, err));
	for (size_t next = 0; next < count && code == MPK_OK && !r.failed; next++) {
		while (r.busy == r.parallel)
			wait_for_one(&r);
		if (!r.failed)
			code = process_start(&r, next, err);
	}
	while (r.busy)
		wait_for_one(&r);

	if (r.contains) {
		mpk_orphans_kill(&r.strangers);
		(void)prctl(PR_SET_CHILD_SUBREAPER, (unsigned long)r.subreaper);
		(void)prctl(PR_SET_DUMPABLE, (unsigned long)(r.dumpable == 1));
	}
	(void)sigaction(SIGCHLD, &r.on_child, NULL);
	(void)sigprocmask(SIG_SETMASK, &r.mask, NULL);

	return code;
}

/* --- command lines ------------------------------------------------------------- */

/* A command line is in an arena and always ends in NULL, so that it can be given to exec at any
 * moment. A failure is remembered and reported once, at the end. */
void mpk_argv_add(struct mpk_argv *v, const char *arg)
{
	if (!arg)
		v->failed = true;
	if (v->failed)
		return;
	if (v->count + 2 > v->cap) {
		/* Old arrays stay in the arena, which is freed with the command. */
		size_t cap = v->cap ? v->cap * 2 : 32;
		const char **longer = mpk_arena_array(v->arena, cap, sizeof *longer);

		if (!longer) {
			v->failed = true;
			return;
		}
		if (v->count)
			memcpy(longer, v->items, v->count * sizeof *longer);
		v->items = longer;
		v->cap = cap;
	}
	v->items[v->count++] = arg;
	v->items[v->count] = NULL;
}

void mpk_argv_add_all(struct mpk_argv *v, const struct mpk_words *args)
{
	for (size_t i = 0; i < args->count; i++)
		mpk_argv_add(v, args->items[i]);
}

void mpk_argv_printf(struct mpk_argv *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	mpk_argv_add(v, mpk_arena_vprintf(v->arena, fmt, ap));
	va_end(ap);
}

enum mpk_code mpk_process_call(const struct mpk_process *function, const char *what,
			       struct mpk_error *err)
{
	struct mpk_process_end end;

	MPK_TRY(mpk_process_run(function, 1, 1, &end, err));
	if (end.how != MPK_PROCESS_RETURNED)
		return mpk_fail(err, MPK_E_INTERNAL, "the process that %s was ended", what);
	if (end.error.code != MPK_OK && err)
		*err = end.error;
	return end.error.code == MPK_OK ? MPK_OK : mpk_failed(end.error.code);
}
