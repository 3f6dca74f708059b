/* SPDX-License-Identifier: Apache-2.0 */
#include "process/cleanup.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/fork.h"

/* Reads until the other end is gone with the process that held it. A byte means that there is
 * nothing to do. */
static MPK_NORETURN void cleanup_main(void (*run)(void *data), void *data, int fd)
{
	char byte;
	ssize_t n;

	(void)setsid();
	if (fd > 0)
		(void)close_range(0, (unsigned)fd - 1, 0);
	(void)close_range((unsigned)fd + 1, ~0U, 0);
	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		run(data);
	_exit(0);
}

/* Forked twice, so that the process is reaped by init. */
static pid_t fork_detached(void (*run)(void *data), void *data, const int ends[2])
{
	sigset_t none;
	int saved;

	(void)sigemptyset(&none);
	pid_t pid = mpk_fork(&none);
	if (pid == 0) {
		(void)close(ends[1]);
		if (mpk_fork(&none) == 0)
			cleanup_main(run, data, ends[0]);
		_exit(0);
	}
	saved = errno;
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	errno = saved;
	return pid;
}

enum mpk_code mpk_cleanup_start(void (*run)(void *data), void *data, struct mpk_cleanup *out,
				struct mpk_error *err)
{
	int ends[2];

	/* A socket, since writing to it never raises SIGPIPE when asked so. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot make a socket");
	pid_t pid = fork_detached(run, data, ends);
	int saved = errno;

	(void)close(ends[0]);
	if (pid < 0) {
		(void)close(ends[1]);
		return mpk_fail_errno(err, MPK_E_IO, saved, "cannot start a child process");
	}
	*out = (struct mpk_cleanup){ .is_on = true, .fd = ends[1] };
	return MPK_OK;
}

void mpk_cleanup_stop(struct mpk_cleanup *c, bool needed)
{
	if (!c->is_on)
		return;
	if (!needed)
		(void)!send(c->fd, "", 1, MSG_NOSIGNAL);
	(void)close(c->fd);
	c->is_on = false;
}
