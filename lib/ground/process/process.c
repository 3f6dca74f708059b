/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - runs child processes, one or many at once, and builds command lines. SIGCHLD is
 * blocked during the whole run, except while ppoll sleeps, so that no end is missed between
 * checking the children and sleeping. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/internal/process.h"
#include "process/process.h"
#include "sandbox/sandbox.h"
#include "text/escape.h"

/* --- One child from its beginning to its end: fork, ties to the parent, copied output, watch, end,
 * verdict. Its deadline is kept only here, where the child cannot write it. Waits for the child by
 * number, so other children of the caller are left alone. */

static const int64_t TICK = MPK_NANOSECONDS / 10;

enum { GROUPS_MAX = 256 }; /* Jobs beyond this number end only by PR_SET_PDEATHSIG. */

/* The process groups of running children, for a signal handler; each slot holds the leader's
 * number. */
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

/* --- in the child -------------------------------------------------------------- */

/* First steps of a child between fork and its work: streams, limits, a group or session of its
 * own, a death signal. Ties to the parent come first, so that a parent that dies meanwhile takes
 * the child along. */

/* dup2 that does nothing for equal numbers, because exec would close such a descriptor. Without a
 * descriptor (no /dev/null in a bare chroot) the stream stays. */
static void put_stream(int fd, int target)
{
	if (fd == target)
		(void)fcntl(fd, F_SETFD, 0);
	else if (fd >= 0)
		(void)dup2(fd, target);
}

/* Gives the child an empty input even where /dev/null is missing: it must not read ours. */
static void put_nothing(int target)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	(void)close(ends[1]);
	put_stream(ends[0], target);
	if (ends[0] != target)
		(void)close(ends[0]);
}

/* Sets a hard limit, which only root could raise again. */
static void limit_cpu(double seconds)
{
	struct rlimit limit;

	if (!(seconds > 0) || getrlimit(RLIMIT_CPU, &limit) != 0)
		return;
	if (seconds + 1 < (double)limit.rlim_max / 2)
		limit.rlim_cur = limit.rlim_max = (rlim_t)seconds + 1;
	(void)setrlimit(RLIMIT_CPU, &limit);
}

/* Returns when the program cannot be executed; errno says why. The vectors are const in our
 * hands and in exec's practice, not in its prototype. */
static void execute(const struct mpk_process *p)
{
	for (const char *const *env = p->env; env && *env; env++)
		(void)putenv((char *)(uintptr_t)*env);
	if (!p->dir || chdir(p->dir) == 0)
		(void)execvp(p->argv[0], (char *const *)(uintptr_t)p->argv);
}

/* The child's main function.
 * @output  write end of a pipe for its output; MPK_OUTPUT_COPIED
 * @others  the process that forked it, which may have ended; for a contained child, the
 *          processes that it must not reach */
MPK_NORETURN static void child_main(const struct mpk_process *p, struct mpk_process_self *self,
				    int output, const struct mpk_supervisor_others *others)
{
	struct mpk_error err = { 0 };

	/* Requests a signal for the parent's end. The parent may have ended before; that is
	 * checked next. */
	if (p->contained) {
		/* Its own session: no other process is in its group or on its terminal. */
		(void)setsid();
		(void)prctl(PR_SET_DUMPABLE, 1); /* The parent is not the process that forked us. */
		(void)mpk_sandbox_protect(others->pids, others->count, p->enters_sandbox);
	} else if (!p->in_foreground) {
		(void)setpgid(0, 0);
	}
	(void)prctl(PR_SET_PDEATHSIG, p->contained || p->disposable ? SIGKILL : SIGTERM);
	if (getppid() != others->parent)
		_exit(127);

	limit_cpu(p->cpu_seconds);

	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (!p->in_foreground && null >= 0)
		put_stream(null, STDIN_FILENO);
	else if (!p->in_foreground)
		put_nothing(STDIN_FILENO);
	switch (p->output) {
	case MPK_OUTPUT_MESSAGES:
		put_stream(STDERR_FILENO, STDOUT_FILENO);
		break;
	case MPK_OUTPUT_DISCARD:
		put_stream(null, STDOUT_FILENO);
		put_stream(null, STDERR_FILENO);
		break;
	case MPK_OUTPUT_FILE:
		put_stream(p->fd, STDOUT_FILENO);
		break;
	case MPK_OUTPUT_LOG:
		put_stream(p->fd, STDOUT_FILENO);
		put_stream(p->fd, STDERR_FILENO);
		break;
	case MPK_OUTPUT_COPIED:
		put_stream(output, STDOUT_FILENO);
		put_stream(output, STDERR_FILENO);
		break;
	}
	if (null > STDERR_FILENO)
		(void)close(null);

	if (!p->run) {
		execute(p);
		self->exec_errno = errno;
		_exit(127);
	}
	err.code = p->run(self, p->data, &err);
	(void)fflush(NULL);
	self->error = err;
	self->returned = true;
	_exit(0);
}

/* --- what it prints ------------------------------------------------------------ */

/* Copies what a child prints to a descriptor that the child does not have. A process that owns a
 * descriptor can do more than write: truncate a log, seek in it, make it non-blocking, stop the
 * terminal. A pipe only takes bytes.
 *
 * Nothing here blocks while the child runs: a slow reader must not stop the loop that also watches
 * for the child's end and the time limit. */

/* POSIX: a pipe that poll calls writable takes this much without blocking. */
enum { PIECE_BYTES = 4096 };

static void copier_started(struct mpk_copier *c)
{
	if (c->is_open && c->child >= 0)
		(void)close(c->child);
	c->child = -1;
}

static void copier_close(struct mpk_copier *c)
{
	if (!c->is_open)
		return;
	copier_started(c);
	if (c->in >= 0)
		(void)close(c->in);
	mpk_strbuf_fini(&c->held);
	*c = (struct mpk_copier){ 0 };
}

static bool copier_holds(const struct mpk_copier *c)
{
	return c->at < c->held.len;
}

static struct pollfd copier_wait_for(const struct mpk_copier *c)
{
	if (!c->is_open || (c->in < 0 && !copier_holds(c)))
		return (struct pollfd){ .fd = -1 };
	if (copier_holds(c))
		return (struct pollfd){ .fd = c->out, .events = POLLOUT };
	return (struct pollfd){ .fd = c->in, .events = POLLIN };
}

/* With a limit, the text is untrusted and made safe to print; without one it is copied
 * unchanged. */
static void hold(struct mpk_copier *c, struct mpk_span piece)
{
	uint64_t before = c->bytes;

	c->bytes += piece.len;
	if (!c->bytes_max) {
		mpk_strbuf_put(&c->held, (const char *)piece.data, piece.len);
		return;
	}
	if (before > c->bytes_max)
		return;
	if (c->bytes > c->bytes_max)
		piece.len = (size_t)(c->bytes_max - before);
	mpk_escape_lines(&c->held, piece);
	if (c->bytes > c->bytes_max)
		mpk_strbuf_printf(&c->held, "\n[what it printed beyond %llu bytes is left out]\n",
				  (unsigned long long)c->bytes_max);
}

/* Returns  false: nothing to read. */
static bool copier_take(struct mpk_copier *c)
{
	uint8_t piece[PIECE_BYTES];
	ssize_t n;

	c->held.len = c->at = 0;
	do
		n = read(c->in, piece, sizeof piece);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		hold(c, mpk_span_of(piece, (size_t)n));
	return n > 0;
}

/* A closed reader must not end us by SIGPIPE; the child and its clock go on. */
static void give(struct mpk_copier *c)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	size_t left = c->held.len - c->at;
	ssize_t n = -1;

	if (!c->is_broken) {
		(void)sigaction(SIGPIPE, &ignore, &before);
		n = write(c->out, c->held.data + c->at, left < PIECE_BYTES ? left : PIECE_BYTES);
		(void)sigaction(SIGPIPE, &before, NULL);
	}
	if (n >= 0)
		c->at += (size_t)n;
	else if (c->is_broken || (errno != EINTR && errno != EAGAIN))
		c->is_broken = true, c->at = c->held.len;
}

static bool is_ready(struct pollfd p, int wait)
{
	return p.fd >= 0 && poll(&p, 1, wait) > 0;
}

static void copier_step(struct mpk_copier *c)
{
	enum { STEPS = 64 }; /* limits one round, because other children wait for their turn */

	for (int i = 0; i < STEPS && is_ready(copier_wait_for(c), 0); i++) {
		if (copier_holds(c)) {
			give(c);
		} else if (!copier_take(c)) {
			(void)close(c->in); /* The write end is closed everywhere. */
			c->in = -1;
		}
	}
}

/* Copies only what is in the pipe now: processes that the child started may go on printing. */
static void copier_drain(struct mpk_copier *c)
{
	int there = 0;

	if (!c->is_open)
		return;
	copier_started(c);
	if (c->in >= 0)
		(void)ioctl(c->in, FIONREAD, &there);
	for (uint64_t end = c->bytes + (uint64_t)there;;) {
		while (copier_holds(c))
			if (is_ready(copier_wait_for(c), -1))
				give(c);
		if (c->bytes >= end || !copier_take(c))
			return;
	}
}

/* --- starting ------------------------------------------------------------------ */

static int64_t after(double seconds)
{
	return seconds > 0 ? mpk_clock() + (int64_t)(seconds * (double)MPK_NANOSECONDS) : 0;
}

static void unmap_self(struct mpk_process_self **self)
{
	if (*self != MAP_FAILED)
		(void)munmap(*self, sizeof **self);
}

/* Forks the child with this signal mask.
 * @end     receives how it ends
 * Returns  MPK_OK; MPK_E_IO: no process could be made; MPK_E_NOMEM */
static enum mpk_code child_start(const struct mpk_process *p, const sigset_t *mask,
				 struct mpk_process_end *end, struct mpk_child *out,
				 struct mpk_error *err)
{
	MPK_CLEANUP(unmap_self)
	struct mpk_process_self *self =
		mmap(NULL, sizeof *self, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MPK_CLEANUP(copier_close) struct mpk_copier copier = { 0 };
	struct mpk_supervisor_others others = { .parent = getpid() };
	struct mpk_supervisor supervisor = { .socket = -1 };

	if (self == MAP_FAILED)
		return mpk_fail_nomem(err);
	if (p->output == MPK_OUTPUT_COPIED) {
		int ends[2];

		copier = (struct mpk_copier){ .out = p->fd, .bytes_max = p->output_max };
		if (pipe2(ends, O_CLOEXEC) != 0)
			return mpk_fail_errno(err, MPK_E_IO, errno, "cannot make a pipe");
		(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
		copier.in = ends[0];
		copier.child = ends[1];
		copier.is_open = true;
	}
	int64_t deadline = after(p->timeout);
	pid_t pid = p->contained ? mpk_supervisor_fork(mask, &supervisor, &others) : mpk_fork(mask);
	if (pid == 0)
		child_main(p, self, copier.child, &others);
	if (pid < 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot start a child process");
	copier_started(&copier);
	if (!p->in_foreground && !p->contained)
		/* The child calls setpgid, too; whichever comes first counts. */
		(void)setpgid(pid, pid);
	if (!p->in_foreground)
		groups_swap(0, pid);
	*out = (struct mpk_child){ p, end, pid, supervisor, copier, self, deadline, !p->hear };
	copier = (struct mpk_copier){ 0 };
	/* NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): what cleans up reads it */
	self = MAP_FAILED;
	return MPK_OK;
}

/* --- ending -------------------------------------------------------------------- */

/* Whether a child is to be killed, and why. */
enum kill { ALIVE, LATE, STOPPED };

static void child_judge(const struct mpk_process *p, const struct mpk_process_self *self,
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

/* Reads all messages of the child. Returns false: the child is to be killed. */
static bool child_hear(struct mpk_child *c, bool has_ended)
{
	const struct mpk_process *p = c->p;

	while (!c->is_deaf) {
		double seconds = 0;

		switch (p->hear(p->data, has_ended, &seconds)) {
		case MPK_HEARD_NOTHING:
			return true;
		case MPK_HEARD_ONE:
			break;
		case MPK_HEARD_NEW_TIME:
			c->deadline = after(seconds);
			break;
		case MPK_HEARD_ENOUGH:
			c->is_deaf = true;
			break;
		case MPK_HEARD_KILL:
			c->is_deaf = true;
			return false;
		}
	}
	return true;
}

/* Returns  the child's status as of waitpid(2). */
static int child_reap(struct mpk_child *c, enum kill killed)
{
	int status = 0xff00; /* exit status 255, used if another caller has reaped it */

	if (c->p->contained)
		return mpk_supervisor_take(&c->supervisor, killed != ALIVE);
	if (killed)
		(void)kill(c->pid, SIGKILL);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return status;
}

static void child_finish(struct mpk_child *c, enum kill killed)
{
	int status;

	/* Until the child is reaped, its number and its group's cannot be reused. */
	if (!c->p->in_foreground)
		groups_swap(c->pid, 0);
	status = child_reap(c, killed);
	copier_drain(&c->copier);
	copier_close(&c->copier);
	if (!killed && !child_hear(c, true))
		killed = STOPPED;
	child_judge(c->p, c->self, status, killed, c->end);
	(void)munmap(c->self, sizeof *c->self);
	c->pid = 0;
}

static bool has_ended(const struct mpk_child *c)
{
	siginfo_t info = { .si_pid = 0 };
	struct pollfd p = { .fd = c->supervisor.socket, .events = POLLIN };

	if (c->supervisor.pid)
		return poll(&p, 1, 0) > 0;
	return waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOWAIT | WNOHANG) != 0 ||
	       info.si_pid == c->pid;
}

static int64_t child_look(struct mpk_child *c, bool stops)
{
	int64_t left = 3600 * MPK_NANOSECONDS;

	if (!c->pid)
		return left;
	copier_step(&c->copier);
	if (has_ended(c)) {
		child_finish(c, ALIVE);
		return 0;
	}
	if (!child_hear(c, false)) {
		child_finish(c, STOPPED);
		return 0;
	}
	if (c->deadline)
		left = c->deadline - mpk_clock();
	if (left <= 0 || stops) {
		child_finish(c, LATE);
		return 0;
	}
	if (!c->p->tick)
		return left;
	c->p->tick(c->p->data);
	return TICK < left ? TICK : left;
}

/* Copies the child's output, reads its messages, and ends it if its time is up, hear says so, or
 * stops is set, which counts as late. c->pid is 0 once it has ended.
 * @fds     receives the descriptors that poll waits for; none if no child runs
 * Returns  nanoseconds until the next look, unless poll wakes before */
static int64_t child_attend(struct mpk_child *c, bool stops, struct pollfd fds[MPK_CHILD_FDS])
{
	int64_t left = child_look(c, stops);
	bool hears = c->pid && !c->is_deaf;

	/* ppoll ignores negative descriptors. */
	fds[0] = (struct pollfd){ hears ? c->p->channel : -1, POLLIN, 0 };
	fds[1] = (struct pollfd){ c->pid && c->supervisor.pid ? c->supervisor.socket : -1, POLLIN,
				  0 };
	fds[2] = copier_wait_for(&c->copier);
	return left;
}

struct run {
	const struct mpk_process *list;
	struct mpk_process_end *ends;
	struct mpk_child *slots;
	struct pollfd *channels; /* MPK_CHILD_FDS for each slot */
	unsigned parallel, busy;
	bool failed;
	bool contains;                 /* some children are contained */
	struct mpk_children strangers; /* children that existed before the run */
	sigset_t mask;                 /* signal mask before the run */
	struct sigaction on_child;     /* action on SIGCHLD before the run */
	int subreaper, dumpable;       /* prctl settings before the run */
};

static volatile sig_atomic_t stopped;

/* Interrupts the sleep when a child ends. */
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
	MPK_TRY(child_start(&r->list[index], &r->mask, &r->ends[index], slot, err));
	r->busy++;
	return MPK_OK;
}

/* Reaps children that have ended, kills those that are late. Returns nanoseconds until the next
 * deadline. */
static int64_t process_look(struct run *r)
{
	int64_t sleep = 3600 * MPK_NANOSECONDS;

	for (unsigned i = 0; i < r->parallel; i++) {
		struct mpk_child *slot = &r->slots[i];

		bool runs = slot->pid != 0;
		int64_t left = child_attend(slot, stopped, &r->channels[(size_t)i * MPK_CHILD_FDS]);

		sleep = left < sleep ? left : sleep;
		if (runs && !slot->pid) {
			r->busy--;
			r->failed |= !mpk_process_succeeded(slot->end);
		}
	}
	return sleep;
}

/* Returns  when a child has ended. */
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
	/* A process that ignores SIGCHLD cannot wait for children, and a signal without a handler
	 * interrupts no sleep. So a handler is set. */
	(void)sigaction(SIGCHLD, &wake, &r->on_child);
	(void)prctl(PR_GET_CHILD_SUBREAPER, &r->subreaper);
	if (!r->contains)
		return MPK_OK;
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* a process of the same user could write to our memory through /proc */
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

/* The arguments are in an arena and always end in NULL, so they can be given to exec at any
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
