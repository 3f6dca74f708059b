/* SPDX-License-Identifier: Apache-2.0 */
/* A process that cleans up after this one. It learns of our end by a socket whose only other end we
 * hold: the kernel closes that whatever ends us, SIGKILL included, which no handler could see. */
#include "process/cleanup.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/internal/process.h"

/* What the process that cleans up waits for. A socket alone would not do: a copy of its other end
 * is in every process that ours has forked, and one of those may outlive it. */
struct watch {
	int socket;
	int process; /* pidfd of ours; negative: the kernel has none */
};

/* By number: only glibc has the function, since 2.34. Where the kernel has no such call, they stay
 * open, which costs nothing but descriptors. */
static void close_between(unsigned first, unsigned last)
{
#ifdef SYS_close_range
	(void)syscall(SYS_close_range, first, last, 0U);
#else
	(void)first, (void)last;
#endif
}

static void cleanup_close_others(const struct watch *w)
{
	unsigned first = (unsigned)w->socket, last = first;

	if (w->process >= 0) {
		first = (unsigned)(w->process < w->socket ? w->process : w->socket);
		last = (unsigned)(w->process < w->socket ? w->socket : w->process);
	}
	if (first > 0)
		close_between(0, first - 1);
	if (last > first + 1)
		close_between(first + 1, last - 1);
	close_between(last + 1, ~0U);
}

/* Waits for our end. A byte means that there is nothing to do. */
static MPK_NORETURN void cleanup_main(void (*run)(void *data), void *data, const struct watch *w)
{
	struct pollfd fds[] = { { .fd = w->socket, .events = POLLIN },
				{ .fd = w->process, .events = POLLIN } };
	char byte;

	(void)setsid();
	cleanup_close_others(w);
	while (poll(fds, MPK_ARRAY_COUNT(fds), -1) < 0 && errno == EINTR)
		continue;
	/* the byte may have been sent right before the end */
	if (recv(w->socket, &byte, 1, MSG_DONTWAIT) <= 0)
		run(data);
	_exit(0);
}

/* Forked twice, so that the process is reaped by init; what the first says in its status is the error
 * number of the second fork. */
static pid_t fork_detached(void (*run)(void *data), void *data, const int ends[2], int process)
{
	sigset_t none;
	int saved, status = 0;

	(void)sigemptyset(&none);
	pid_t pid = mpk_fork(&none);
	if (pid == 0) {
		(void)close(ends[1]);
		pid = mpk_fork(&none);
		if (pid == 0)
			cleanup_main(run, data, &(struct watch){ ends[0], process });
		_exit(pid < 0 ? errno & 0xff : 0);
	}
	saved = errno;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	errno = pid > 0 ? WEXITSTATUS(status) : saved;
	return errno == 0 ? pid : -1;
}

enum mpk_code mpk_cleanup_start(void (*run)(void *data), void *data, struct mpk_cleanup *out,
				struct mpk_error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot make a socket");
	int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
	pid_t pid = fork_detached(run, data, ends, process);
	int saved = errno;

	if (process >= 0)
		(void)close(process);
	(void)close(ends[0]);
	if (pid < 0) {
		(void)close(ends[1]);
		return mpk_fail_errno(err, MPK_E_IO, saved, "cannot start a child process");
	}
	*out = (struct mpk_cleanup){ .is_on = true, .fd = ends[1] };
	return MPK_OK;
}

/* By a call that a process in a sandbox has. */
static void say_nothing_to_do(const struct mpk_cleanup *c)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;

	(void)sigaction(SIGPIPE, &ignore, &before);
	(void)!write(c->fd, "", 1);
	(void)sigaction(SIGPIPE, &before, NULL);
}

void mpk_cleanup_stop(struct mpk_cleanup *c, bool needed)
{
	if (!c->is_on)
		return;
	if (!needed)
		say_nothing_to_do(c);
	(void)close(c->fd);
	c->is_on = false;
}
