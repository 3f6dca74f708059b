/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.c - forks processes, and ends a process with everything that it started.
 *
 * glibc's posix_spawn can neither request PR_SET_PDEATHSIG nor run a function, hence fork; our
 * programs are small and share what they have mapped. PR_SET_PDEATHSIG reaches a child but not its
 * children, and is lost when a process changes its user, so it only helps. The guarantee comes
 * from the end of a PID namespace, or from a process that lives until it has ended all others. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <sys/single_threaded.h>
#endif

#include "base/clock.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "process/internal/process.h"
#include "sandbox/sandbox.h"

/* --- forking ----------------------------------------------------------------------------- */

/* glibc 2.32 and later tell whether the process has threads; elsewhere callers have none. */
static bool has_threads(void)
{
#ifdef __GLIBC__
	return !__libc_single_threaded;
#else
	return false;
#endif
}

/* fork() with flags of clone(2). */
static pid_t clone_into(uint64_t namespaces)
{
#ifdef SYS_clone3
	struct clone_args args = { .flags = namespaces };

	if (!has_threads())
		return (pid_t)syscall(SYS_clone3, &args, sizeof args);
#endif
	errno = ENOSYS;
	return -1;
}

/* mpk_fork into new namespaces. namespaces: flags of clone(2), 0 for none. A child in new
 * namespaces raises no SIGCHLD and is waited for with __WALL.
 * Returns  as fork(); -1 also where this process may not make namespaces, or has
 *          threads: these may hold locks that the child would wait for */
static pid_t fork_into(uint64_t namespaces, const sigset_t *mask)
{
	sigset_t all, before;

	(void)fflush(NULL);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);

	pid_t pid = namespaces ? clone_into(namespaces) : fork();
	int saved = errno;

	if (pid == 0) {
		/* Reset handlers: ours would remove the parent's temporary files, and those of a
		 * sanitizer would hide the signal that ended the child. */
		for (int sig = 1; sig < NSIG; sig++) {
			struct sigaction old;

			if (sigaction(sig, NULL, &old) == 0 && old.sa_handler != SIG_DFL &&
			    (old.sa_handler != SIG_IGN || sig == SIGCHLD))
				(void)signal(sig, SIG_DFL);
		}
	}
	(void)sigprocmask(SIG_SETMASK, pid == 0 ? mask : &before, NULL);
	errno = saved;
	return pid;
}

pid_t mpk_fork(const sigset_t *mask)
{
	return fork_into(0, mask);
}

/* --- children and orphans ---------------------------------------------------------------- */

/* Returns  the parent of a process; 0 when the process has ended. */
static pid_t parent_of(pid_t pid)
{
	char path[64], stat[512];
	int parent = 0;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, stat, sizeof stat - 1) : 0;

	if (fd >= 0)
		(void)close(fd);
	stat[n > 0 ? n : 0] = '\0';
	/* The name in parentheses may hold anything, a parenthesis too. */
	const char *name_end = strrchr(stat, ')');
	return name_end && sscanf(name_end, ") %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

static bool has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | WNOHANG) == 0;
}

/* Iterates over the children of this process through /proc. /proc lists all processes of the
 * machine, so waitid is asked first whether there are children, which costs nothing. Without
 * /proc, as in a bare chroot, every possible process number is tried, which takes a second. */
struct seek {
	DIR *proc;  /* NULL: no /proc */
	pid_t last; /* without /proc: the number that was tried last */
};

static struct seek seek_begin(void)
{
	/* the folder /proc exists even if nothing is mounted there */
	return (struct seek){ .proc = access("/proc/self/stat", F_OK) == 0 ? opendir("/proc")
									   : NULL };
}

static void seek_end(struct seek *s)
{
	if (s->proc)
		(void)closedir(s->proc);
}

/* Whether pid is a child of this process, running or not yet reaped. */
static bool is_child(pid_t pid)
{
	siginfo_t info;

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0;
}

/* Returns  the next child of this process; 0 at the end. */
static pid_t next_child(struct seek *s)
{
	enum { PID_MAX = 1 << 22 }; /* the kernel's PID_MAX_LIMIT */

	while (!s->proc && s->last < PID_MAX)
		if (is_child(++s->last))
			return s->last;
	for (struct dirent *e; s->proc && (e = readdir(s->proc)) != NULL;) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10); /* 0: not a process */

		if (pid > 0 && parent_of(pid) == getpid())
			return pid;
	}
	return 0;
}

enum mpk_code mpk_children_list(struct mpk_children *out, struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;
	struct seek s;

	if (!has_children())
		return MPK_OK;
	s = seek_begin();
	for (pid_t pid; code == MPK_OK && (pid = next_child(&s));) {
		if (mpk_vec_reserve(&out->pids, &out->cap, out->count + 1, sizeof pid))
			out->pids[out->count++] = pid;
		else
			code = mpk_fail_nomem(err);
	}
	seek_end(&s);
	return code;
}

static bool is_spared(const struct mpk_children *spared, pid_t pid)
{
	for (size_t i = 0; i < spared->count; i++)
		if (spared->pids[i] == pid)
			return true;
	return false;
}

static bool kill_once(struct seek *s, const struct mpk_children *spared)
{
	bool any = false;

	for (pid_t pid; (pid = next_child(s));) {
		if (is_spared(spared, pid))
			continue;
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		any = true;
	}
	return any;
}

void mpk_orphans_kill(const struct mpk_children *spared)
{
	enum { TRIES = 100 };

	/* New processes may start meanwhile, and a killed process leaves its children to us. */
	for (unsigned i = 0; i < TRIES && has_children(); i++) {
		struct seek s = seek_begin();
		bool any = kill_once(&s, spared);

		seek_end(&s);
		if (!any)
			return;
	}
}

/* --- supervisors ----------------------------------------------------------------------------- */

/* Makes a status that the macros of waitpid(2) can decode. */
static int status_of(int exits_with, int signal)
{
	return (exits_with & 0xff) << 8 | (signal & 0x7f);
}

enum { PATIENCE_MS = 2000 }; /* how long a supervisor may take to end its processes */

/* The kinds of messages from the supervisor. */
enum kind { REFUSED, STARTED, ENDED };

struct message {
	int kind;
	int value; /* STARTED: the worker's number as we see it; ENDED: its status */
};

/* Sends a message to the parent. Returns false: the parent cannot receive it. */
static bool tell(int socket, enum kind kind, int value)
{
	const struct message m = { (int)kind, value };

	return write(socket, &m, sizeof m) == (ssize_t)sizeof m;
}

/* Receives a message. Returns false: it has another kind, or there is none. */
static bool supervisor_hear(int socket, enum kind kind, bool waits, int *value)
{
	struct message m;
	ssize_t n;

	do
		n = recv(socket, &m, sizeof m, waits ? 0 : MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof m || m.kind != (int)kind)
		return false;
	*value = m.value;
	return true;
}

/* Only we have our end of the socket, and only the parent has the other. */

/* Runs as the first process of a namespace, which adopts all orphans in it. When the worker has
 * ended, it ends the others, as the kernel would a little later. */
static bool parent_is_gone(int socket)
{
	struct pollfd p = { .fd = socket };

	return poll(&p, 1, 0) > 0;
}

/* The first process of a namespace, whose children are all that have nobody else. When the worker has ended
 * it ends the others, as the kernel would a little later. */
static int wait_as_init(pid_t worker)
{
	int status = 0, ended = status_of(255, 0);

	for (;;) {
		pid_t pid = waitpid(-1, &status, 0);

		if (pid < 0 && errno != EINTR)
			return ended;
		if (pid != worker)
			continue;
		ended = status;
		(void)kill(-1, SIGKILL);
	}
}

static int reap(pid_t pid)
{
	/* a failure, in case another caller has reaped the worker */
	int status = status_of(255, 0);

	while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		continue;
	return status;
}

/* Kills and reaps the worker. Returns its status as of waitpid(2). */
static int end_worker(pid_t worker)
{
	/* until the worker is reaped, its number and its group's cannot be reused */
	(void)kill(worker, SIGKILL);
	(void)kill(-worker, SIGKILL);
	return reap(worker);
}

/* Ends the worker and everything that it started.
 * Returns  the worker's status as of waitpid(2) */
static int end_all(pid_t worker)
{
	const struct mpk_children none = { 0 };
	int status = end_worker(worker);

	mpk_orphans_kill(&none);
	return status;
}

/* Waits until the worker has ended or SIGTERM comes, from the parent or because the parent has
 * ended. Then it ends all others, even while the parent lives: the parent may be killed at any
 * moment, and then no process would know of them. */
static int wait_as_reaper(pid_t worker, const sigset_t *signals)
{
	siginfo_t info = { .si_pid = 0 };

	while (waitid(P_PID, (id_t)worker, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && !info.si_pid)
		if (sigwaitinfo(signals, NULL) == SIGTERM)
			break;
	return end_all(worker);
}

/* What a supervisor is given before it has a worker. */
struct setting {
	pid_t parent;
	int socket;
	uint64_t namespaces; /* namespaces of its own, flags of clone(2); 0: none */
	uid_t user;          /* our user, who has no number in a new namespace yet */
	gid_t group;
};

/* The worker waits for a byte that lets it run.
 * Returns  false: the supervisor has ended, or could not tell the parent */
static bool is_let_in(int gate)
{
	char byte;
	ssize_t n;

	do
		n = read(gate, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

/* Returns in the worker. */
static void supervisor_main(const struct setting *s, const sigset_t *mask,
			    struct mpk_supervisor_others *others)
{
	sigset_t signals;
	int status;

	(void)setsid();
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGCHLD);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (s->namespaces && !mpk_sandbox_pid_namespace(s->namespaces, s->user, s->group)) {
		(void)tell(s->socket, REFUSED, 0);
		_exit(1);
	}
	/* Set after every change of credentials, because the kernel clears it then. */
	(void)prctl(PR_SET_PDEATHSIG, s->namespaces ? SIGKILL : SIGTERM);
	if (parent_is_gone(s->socket))
		_exit(1);
	*others = (struct mpk_supervisor_others){ .parent = getpid() };
	if (!s->namespaces) {
		others->pids[others->count++] = s->parent;
		others->pids[others->count++] = others->parent;
	}
	/* The worker runs only when the parent knows of it. Otherwise it could read data that the
	 * parent meant for the next worker. */
	int gate[2];
	pid_t worker = pipe2(gate, O_CLOEXEC) == 0 ? mpk_fork(mask) : -1;
	if (worker == 0) {
		(void)close(s->socket);
		(void)close(gate[1]);
		if (!is_let_in(gate[0]))
			_exit(1);
		(void)close(gate[0]);
		return;
	}
	bool is_told = tell(s->socket, worker < 0 ? REFUSED : STARTED, s->namespaces ? 0 : worker);
	if (worker >= 0 && is_told)
		is_told = write(gate[1], "", 1) == 1;
	(void)mpk_close_others(0, &s->socket, 1);
	if (worker >= 0 && !is_told && !s->namespaces)
		(void)end_all(worker);
	if (worker < 0 || !is_told)
		_exit(1);
	status = s->namespaces ? wait_as_init(worker) : wait_as_reaper(worker, &signals);
	_exit(tell(s->socket, ENDED, status) ? 0 : 1);
}

/* --- the parent ------------------------------------------------------------------------- */

/* Returns  as fork(); -1 also when there is no worker */
static pid_t fork_as(uint64_t namespaces, const sigset_t *mask, struct mpk_supervisor *out,
		     struct mpk_supervisor_others *others)
{
	struct setting s = { .parent = getpid(), .namespaces = namespaces };
	sigset_t all;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return -1;
	s.socket = ends[1];
	s.user = geteuid();
	s.group = getegid();
	(void)sigfillset(&all); /* it waits for those signals with sigwaitinfo */
	pid_t pid = fork_into(namespaces, &all);
	if (pid == 0) {
		(void)close(ends[0]);
		supervisor_main(&s, mask, others);
		return 0;
	}
	int saved = errno;

	(void)close(ends[1]);
	*out = (struct mpk_supervisor){ .pid = pid, .socket = ends[0] };
	if (pid > 0 && supervisor_hear(ends[0], STARTED, true, &out->worker))
		return pid;
	(void)close(ends[0]);
	if (pid > 0)
		(void)waitpid(pid, NULL, __WALL);
	errno = pid > 0 ? EAGAIN : saved;
	return -1;
}

pid_t mpk_supervisor_fork(const sigset_t *mask, struct mpk_supervisor *out,
			  struct mpk_supervisor_others *others)
{
	/* root may mount and needs no user namespace for that */
	static const uint64_t ways[] = { CLONE_NEWPID | CLONE_NEWNS,
					 CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUSER, 0 };
	pid_t pid = -1;

	/* Reap earlier supervisors that nobody waited for; only they end without a signal
	 * (__WCLONE). */
	while (waitpid(-1, NULL, (int)(__WCLONE | WNOHANG)) > 0)
		continue;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(ways) && pid < 0; i++)
		pid = fork_as(ways[i], mask, out, others);
	return pid;
}

int mpk_supervisor_take(struct mpk_supervisor *k, bool kills)
{
	bool is_told;
	int status;

	if (kills) {
		/* A namespace ends with its first process. A supervisor without one ends its
		 * processes and then itself; it is killed only if it does not end in time, for
		 * example because it was stopped. */
		const int64_t late = mpk_clock() + PATIENCE_MS * (MPK_NANOSECONDS / 1000);
		struct pollfd p = { .fd = k->socket, .events = POLLIN };

		if (k->worker && kill(k->pid, SIGTERM) == 0)
			while (mpk_clock() < late && poll(&p, 1, PATIENCE_MS) < 0)
				continue;
		if (!k->worker || p.revents == 0)
			(void)kill(k->pid, SIGKILL);
	}
	is_told = supervisor_hear(k->socket, ENDED, !kills, &status);
	/* ending a namespace can take the kernel longer than everything that ran in it */
	if (kills || !is_told || k->worker) {
		int of_supervisor = reap(k->pid);

		if (!is_told)
			status = of_supervisor;
		/* a killed supervisor may not have reaped the worker; if it did, the number may
		 * belong to another process */
		if (k->worker && WIFSIGNALED(of_supervisor) && is_child(k->worker))
			(void)end_worker(k->worker);
	}
	(void)close(k->socket);
	k->socket = -1;
	return status;
}
