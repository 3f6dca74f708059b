/* SPDX-License-Identifier: Apache-2.0 */
/* What a child does between fork and its work: streams, limits, a group or a session of its
 * own, and a death signal. The order matters: ties to the parent come first, so that a
 * parent that dies meanwhile takes the child along. */
#include "process/internal/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sandbox/sandbox.h"

/* dup2, which leaves alone what has the number already: that would be closed by exec. Without a
 * descriptor (no /dev/null in a bare chroot) the stream stays what it is. */
static void put_stream(int fd, int target)
{
	if (fd == target)
		(void)fcntl(fd, F_SETFD, 0);
	else if (fd >= 0)
		(void)dup2(fd, target);
}

/* As empty as /dev/null, where there is none: what we read is not for the child. */
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

static void set_streams(const struct mpk_process *p, int output)
{
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
}

/* A hard limit: nobody but root gets more. */
static void limit_cpu(double seconds)
{
	struct rlimit limit;

	if (!(seconds > 0) || getrlimit(RLIMIT_CPU, &limit) != 0)
		return;
	if (seconds + 1 < (double)limit.rlim_max / 2)
		limit.rlim_cur = limit.rlim_max = (rlim_t)seconds + 1;
	(void)setrlimit(RLIMIT_CPU, &limit);
}

/* Ends with the parent, whatever ends that. Asked for by the child, who may come too late. */
static void tie_to_parent(const struct mpk_process *p, const struct mpk_keeper_others *others)
{
	if (p->contained) {
		/* no group and no terminal that anybody else is in */
		(void)setsid();
		(void)prctl(PR_SET_DUMPABLE, 1); /* the parent is not just now, see process.c */
		(void)mpk_sandbox_protect(others->pids, others->count, p->enters_sandbox);
	} else if (!p->in_foreground) {
		(void)setpgid(0, 0);
	}
	(void)prctl(PR_SET_PDEATHSIG, p->contained || p->disposable ? SIGKILL : SIGTERM);
	if (getppid() != others->parent)
		_exit(127);
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

MPK_NORETURN void mpk_process_child_main(const struct mpk_process *p, struct mpk_process_self *self,
					 int output, const struct mpk_keeper_others *others)
{
	struct mpk_error err = { 0 };

	tie_to_parent(p, others);
	limit_cpu(p->cpu_seconds);
	set_streams(p, output);
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
