/* SPDX-License-Identifier: Apache-2.0 */
/* Starting, waiting and ending. SIGCHLD is blocked for the whole run but while ppoll sleeps, so
 * that nothing is missed between looking at the children and sleeping. When a child's time ends
 * is kept here and nowhere that a child could write. Each
 * child is waited for by its own number: others that the caller has are none of our business. */
#include "process/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/internal/process.h"
#include "text/escape.h"

static const int64_t TICK = MPK_NANOSECONDS / 10;

enum { GROUPS_MAX = 256 }; /* more jobs at once than that end by PR_SET_PDEATHSIG alone */

/* What is waited for of a child. */
enum { FD_CHANNEL, FD_KEEPER, FD_OUTPUT, FDS };

/* A child that runs. */
struct running {
	pid_t pid; /* 0: this slot is free; of a contained child, its keeper */
	struct mpk_keeper keeper;
	struct mpk_copier copier;
	size_t index;
	struct mpk_process_self *self;
	int64_t deadline; /* nanoseconds of the monotonic clock; 0: none */
	bool is_deaf;     /* hear has had enough */
};

struct run {
	const struct mpk_process *list;
	struct mpk_process_end *ends;
	struct running *slots;
	struct pollfd *channels; /* FDS of each slot */
	unsigned parallel, busy;
	bool failed;
	bool contains;                 /* some are contained */
	struct mpk_children strangers; /* children from before */
	sigset_t mask;                 /* of signals, from before */
	struct sigaction on_child;     /* of SIGCHLD, from before */
	int subreaper, dumpable;       /* prctl settings from before */
};

static volatile sig_atomic_t stopped;

/* The groups of children that run, for a signal handler; each slot holds the number of its leader. */
static _Atomic(pid_t) groups[GROUPS_MAX];

static void groups_swap(pid_t from, pid_t to)
{
	for (size_t i = 0; i < GROUPS_MAX; i++) {
		pid_t expected = from;

		if (atomic_compare_exchange_strong(&groups[i], &expected, to))
			return;
	}
}

void mpk_process_signal_all(int sig)
{
	for (size_t i = 0; i < GROUPS_MAX; i++) {
		pid_t group = atomic_load(&groups[i]);

		if (group)
			(void)kill(-group, sig);
	}
}

/* Whoever waits for children waits for this signal. */
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

/* --- starting -------------------------------------------------------------------- */

static struct running *free_slot(const struct run *r)
{
	struct running *slot = r->slots;

	while (slot->pid)
		slot++;
	return slot;
}

static int64_t after(double seconds)
{
	return seconds > 0 ? mpk_clock() + (int64_t)(seconds * (double)MPK_NANOSECONDS) : 0;
}

static void unmap_self(struct mpk_process_self **self)
{
	if (*self != MAP_FAILED)
		(void)munmap(*self, sizeof **self);
}

static enum mpk_code process_start(struct run *r, size_t index, struct mpk_error *err)
{
	const struct mpk_process *p = &r->list[index];
	MPK_CLEANUP(unmap_self)
	struct mpk_process_self *self =
		mmap(NULL, sizeof *self, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MPK_CLEANUP(mpk_copier_close) struct mpk_copier copier = { 0 };
	struct mpk_keeper_others others = { .parent = getpid() };
	struct mpk_keeper keeper = { .socket = -1 };

	if (self == MAP_FAILED)
		return mpk_fail_nomem(err);
	if (p->output == MPK_OUTPUT_COPIED)
		MPK_TRY(mpk_copier_open(p->fd, p->output_max, &copier, err));
	int64_t deadline = after(p->timeout);
	pid_t pid = p->contained ? mpk_keeper_fork(&r->mask, &keeper, &others) : mpk_fork(&r->mask);
	if (pid == 0)
		mpk_process_child_main(p, self, copier.child, &others);
	if (pid < 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot start a child process");
	mpk_copier_started(&copier);
	if (!p->in_foreground && !p->contained)
		(void)setpgid(pid, pid); /* it does so, too: whoever comes first */
	if (!p->in_foreground)
		groups_swap(0, pid);
	*free_slot(r) = (struct running){ pid, keeper, copier, index, self, deadline, !p->hear };
	copier = (struct mpk_copier){ 0 };
	self = MAP_FAILED;
	r->busy++;
	return MPK_OK;
}

/* --- ending ---------------------------------------------------------------------- */

/* Why a child is killed, if it is. */
enum kill { ALIVE, LATE, STOPPED };

static void process_judge(const struct mpk_process *p, const struct mpk_process_self *self,
			  int status, enum kill killed, struct mpk_process_end *end)
{
	*end = (struct mpk_process_end){ 0 };
	if (killed) {
		end->how = killed == LATE ? MPK_PROCESS_LATE : MPK_PROCESS_STOPPED;
	} else if (WIFSIGNALED(status)) {
		end->how = MPK_PROCESS_KILLED;
		end->status = WTERMSIG(status);
	} else if (!p->run && self->exec_errno) {
		end->how = MPK_PROCESS_NOT_EXECUTED;
		end->status = self->exec_errno;
	} else if (p->run && self->returned) {
		end->how = MPK_PROCESS_RETURNED;
		mpk_escape_error(&self->error, MPK_E_RAISED, &end->error);
	} else {
		end->how = p->run ? MPK_PROCESS_QUIT : MPK_PROCESS_EXITED;
		end->status = WEXITSTATUS(status);
	}
}

/* All that the child has said. Returns  false: it is to be killed */
static bool process_hear(const struct run *r, struct running *slot, bool has_ended)
{
	const struct mpk_process *p = &r->list[slot->index];

	while (!slot->is_deaf) {
		double seconds = 0;

		switch (p->hear(p->data, has_ended, &seconds)) {
		case MPK_HEARD_NOTHING:
			return true;
		case MPK_HEARD_ONE:
			break;
		case MPK_HEARD_NEW_TIME:
			slot->deadline = after(seconds);
			break;
		case MPK_HEARD_ENOUGH:
			slot->is_deaf = true;
			break;
		case MPK_HEARD_KILL:
			slot->is_deaf = true;
			return false;
		}
	}
	return true;
}

/* Returns  how it ended, as of waitpid(2) */
static int reap(const struct mpk_process *p, struct running *slot, enum kill killed)
{
	int status = 0xff00; /* 255, which is no success, should somebody else have reaped it */

	if (p->contained)
		return mpk_keeper_take(&slot->keeper, killed != ALIVE);
	if (killed)
		(void)kill(slot->pid, SIGKILL);
	while (waitpid(slot->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return status;
}

static void process_finish(struct run *r, struct running *slot, enum kill killed)
{
	const struct mpk_process *p = &r->list[slot->index];
	struct mpk_process_end *end = &r->ends[slot->index];
	int status;

	/* until it is reaped, its number and its group's are nobody else's */
	if (!p->in_foreground)
		groups_swap(slot->pid, 0);
	status = reap(p, slot, killed);
	mpk_copier_drain(&slot->copier);
	mpk_copier_close(&slot->copier);
	if (!killed && !process_hear(r, slot, true))
		killed = STOPPED;
	process_judge(p, slot->self, status, killed, end);
	r->failed |= !mpk_process_succeeded(end);
	(void)munmap(slot->self, sizeof *slot->self);
	slot->pid = 0;
	r->busy--;
}

static bool has_ended(const struct running *slot)
{
	siginfo_t info = { .si_pid = 0 };

	if (slot->keeper.pid)
		return mpk_keeper_has_ended(&slot->keeper);
	return waitid(P_PID, (id_t)slot->pid, &info, WEXITED | WNOWAIT | WNOHANG) != 0 ||
	       info.si_pid == slot->pid;
}

/* Nanoseconds until it is late or ticks; 0: it was brought to an end. */
static int64_t look_at(struct run *r, struct running *slot)
{
	const struct mpk_process *p = &r->list[slot->index];
	int64_t left = 3600 * MPK_NANOSECONDS;

	mpk_copier_step(&slot->copier);
	if (has_ended(slot)) {
		process_finish(r, slot, ALIVE);
		return 0;
	}
	if (!process_hear(r, slot, false)) {
		process_finish(r, slot, STOPPED);
		return 0;
	}
	if (slot->deadline)
		left = slot->deadline - mpk_clock();
	if (left <= 0 || stopped) {
		process_finish(r, slot, LATE);
		return 0;
	}
	if (!p->tick)
		return left;
	p->tick(p->data);
	return TICK < left ? TICK : left;
}

/* ppoll passes over a negative descriptor. */
static void set_fds(const struct run *r, const struct running *slot, struct pollfd fds[FDS])
{
	bool hears = slot->pid && !slot->is_deaf;

	fds[FD_CHANNEL] = (struct pollfd){ hears ? r->list[slot->index].channel : -1, POLLIN, 0 };
	fds[FD_KEEPER] = (struct pollfd){ slot->pid && slot->keeper.pid ? slot->keeper.socket : -1,
					  POLLIN, 0 };
	fds[FD_OUTPUT] = mpk_copier_wait_for(&slot->copier);
}

/* Takes those that have ended or are late; nanoseconds until there is something to do. */
static int64_t process_look(struct run *r)
{
	int64_t sleep = 3600 * MPK_NANOSECONDS;

	for (unsigned i = 0; i < r->parallel; i++) {
		struct running *slot = &r->slots[i];

		if (slot->pid) {
			int64_t left = look_at(r, slot);

			sleep = left < sleep ? left : sleep;
		}
		set_fds(r, slot, &r->channels[i * FDS]);
	}
	return sleep;
}

/* Returns when fewer run than before. */
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
		(void)ppoll(r->channels, (nfds_t)r->parallel * FDS, &sleep, &mask);
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
	r->channels = calloc(r->parallel, FDS * sizeof *r->channels);
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

static void restore(struct run *r)
{
	if (r->contains) {
		mpk_orphans_kill(&r->strangers);
		(void)prctl(PR_SET_CHILD_SUBREAPER, (unsigned long)r->subreaper);
		(void)prctl(PR_SET_DUMPABLE, (unsigned long)(r->dumpable == 1));
	}
	(void)sigaction(SIGCHLD, &r->on_child, NULL);
	(void)sigprocmask(SIG_SETMASK, &r->mask, NULL);
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
	restore(&r);
	return code;
}
