/* SPDX-License-Identifier: Apache-2.0 */
/* PR_SET_PDEATHSIG reaches a child and not its children, and is lost when a process changes its user: no
 * more than a help. What is kept is kept by the end of a namespace, or by a process that lives until it has
 * ended all others. */
#include "process/internal/process.h"

#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "sandbox/sandbox.h"

/* A status as of waitpid(2), which has macros to take it apart. */
static int status_of(int exits_with, int signal)
{
	return (exits_with & 0xff) << 8 | (signal & 0x7f);
}

enum { PATIENCE_MS = 2000 }; /* for a keeper that ends what there is */

/* From the keeper. */
enum kind { REFUSED, STARTED, ENDED };

struct message {
	int kind;
	int value; /* STARTED: the worker's number, as we see it; ENDED: its status */
};

/* Returns  false: the parent waits for it in vain */
static bool tell(int socket, enum kind kind, int value)
{
	const struct message m = { (int)kind, value };

	return write(socket, &m, sizeof m) == (ssize_t)sizeof m;
}

/* Returns  false: not of that kind, or there is none */
static bool keeper_hear(int socket, enum kind kind, bool waits, int *value)
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

/* --- the keeper ------------------------------------------------------------------------- */

/* Its end of the socket is ours alone, the other one the parent's. */
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
	int status = status_of(255, 0); /* no success, should somebody else have reaped it */

	while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		continue;
	return status;
}

/* Returns  how the worker ended, as of waitpid(2) */
static int end_worker(pid_t worker)
{
	/* until it is reaped, its number and its group's are nobody else's */
	(void)kill(worker, SIGKILL);
	(void)kill(-worker, SIGKILL);
	return reap(worker);
}

/* The worker and all that it has started.
 * Returns  how the worker ended, as of waitpid(2) */
static int end_all(pid_t worker)
{
	const struct mpk_children none = { 0 };
	int status = end_worker(worker);

	mpk_orphans_kill(&none);
	return status;
}

/* Until the worker has ended or somebody asks for its end: SIGTERM comes from the parent, and from the kernel
 * when the parent has ended. All others are ended then, also while the parent lives: it may be killed at any
 * moment, and nobody would be left who knows of them. */
static int wait_as_reaper(pid_t worker, const sigset_t *signals)
{
	siginfo_t info = { .si_pid = 0 };

	while (waitid(P_PID, (id_t)worker, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && !info.si_pid)
		if (sigwaitinfo(signals, NULL) == SIGTERM)
			break;
	return end_all(worker);
}

/* What the keeper has before it has a worker. */
struct setting {
	pid_t parent;
	int socket;
	enum mpk_apart apart;
	uid_t user; /* ours, which has no number in a new namespace yet */
	gid_t group;
};

/* Returns in the worker. */
static void keeper_main(const struct setting *s, const sigset_t *mask,
			struct mpk_keeper_others *others)
{
	sigset_t signals;
	int status;

	(void)setsid();
	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGCHLD);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (s->apart && !mpk_sandbox_apart_enter(s->apart, s->user, s->group)) {
		(void)tell(s->socket, REFUSED, 0);
		_exit(1);
	}
	/* behind what changes its rights, with which the kernel forgets it */
	(void)prctl(PR_SET_PDEATHSIG, s->apart ? SIGKILL : SIGTERM);
	if (parent_is_gone(s->socket))
		_exit(1);
	*others = (struct mpk_keeper_others){ .parent = getpid() };
	if (!s->apart) {
		others->pids[others->count++] = s->parent;
		others->pids[others->count++] = others->parent;
	}
	pid_t worker = mpk_fork(mask);
	if (worker == 0) {
		(void)close(s->socket);
		return;
	}
	bool is_told = tell(s->socket, worker < 0 ? REFUSED : STARTED, s->apart ? 0 : worker);
	mpk_close_all_but(s->socket);
	/* by now it may have run for a while */
	if (worker >= 0 && !is_told && !s->apart)
		(void)end_all(worker);
	if (worker < 0 || !is_told)
		_exit(1);
	status = s->apart ? wait_as_init(worker) : wait_as_reaper(worker, &signals);
	_exit(tell(s->socket, ENDED, status) ? 0 : 1);
}

/* --- the parent ------------------------------------------------------------------------- */

/* Returns  as fork(); -1 also when there is no worker */
static pid_t fork_as(enum mpk_apart apart, const sigset_t *mask, struct mpk_keeper *out,
		     struct mpk_keeper_others *others)
{
	struct setting s = { .parent = getpid(), .apart = apart };
	sigset_t all;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return -1;
	s.socket = ends[1];
	s.user = geteuid();
	s.group = getegid();
	(void)sigfillset(&all); /* those that it waits for are taken by name */
	pid_t pid = mpk_fork_into(mpk_sandbox_apart_flags(apart), &all);
	if (pid == 0) {
		(void)close(ends[0]);
		keeper_main(&s, mask, others);
		return 0;
	}
	int saved = errno;

	(void)close(ends[1]);
	*out = (struct mpk_keeper){ .pid = pid, .socket = ends[0] };
	if (pid > 0 && keeper_hear(ends[0], STARTED, true, &out->worker))
		return pid;
	(void)close(ends[0]);
	if (pid > 0)
		(void)waitpid(pid, NULL, __WALL);
	errno = pid > 0 ? EAGAIN : saved;
	return -1;
}

/* Of earlier keepers whose end nobody waited for: no other children end without a signal. */
static void reap_earlier(void)
{
	while (waitpid(-1, NULL, (int)(__WCLONE | WNOHANG)) > 0)
		continue;
}

pid_t mpk_keeper_fork(const sigset_t *mask, struct mpk_keeper *out,
		      struct mpk_keeper_others *others)
{
	pid_t pid = -1;

	reap_earlier();
	for (int apart = MPK_APART_LAST; apart >= MPK_APART_NOT && pid < 0; apart--)
		pid = fork_as((enum mpk_apart)apart, mask, out, others);
	return pid;
}

bool mpk_keeper_has_ended(const struct mpk_keeper *k)
{
	struct pollfd p = { .fd = k->socket, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* A namespace ends with its first process. A keeper without one ends what there is and then itself; only one
 * that does not, as somebody has stopped it, is killed before that. */
static void end_keeper(const struct mpk_keeper *k)
{
	const int64_t late = mpk_clock() + PATIENCE_MS * (MPK_NANOSECONDS / 1000);
	struct pollfd p = { .fd = k->socket, .events = POLLIN };

	if (k->worker && kill(k->pid, SIGTERM) == 0)
		while (mpk_clock() < late && poll(&p, 1, PATIENCE_MS) < 0)
			continue;
	if (!k->worker || p.revents == 0)
		(void)kill(k->pid, SIGKILL);
}

int mpk_keeper_take(struct mpk_keeper *k, bool kills)
{
	bool is_told;
	int status;

	if (kills)
		end_keeper(k);
	is_told = keeper_hear(k->socket, ENDED, !kills, &status);
	/* a namespace takes the kernel longer to end than all that was done in it */
	if (kills || !is_told || k->worker) {
		int of_keeper = reap(k->pid);

		if (!is_told)
			status = of_keeper;
		/* a keeper that was killed may not have reaped it; otherwise its number may be anybody's */
		if (k->worker && WIFSIGNALED(of_keeper) && mpk_children_has(k->worker))
			(void)end_worker(k->worker);
	}
	(void)close(k->socket);
	k->socket = -1;
	return status;
}
