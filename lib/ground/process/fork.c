/* SPDX-License-Identifier: Apache-2.0 */
/* glibc's posix_spawn cannot ask for PR_SET_PDEATHSIG nor run a function, hence fork; the programs
 * are small, and what they have mapped is shared. */
#include "process/internal/process.h"

#include <errno.h>
#include <linux/sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <sys/single_threaded.h>
#endif

/* Handlers of ours would undo in the child what the parent is still at (temporary files), and
 * those of a sanitizer would hide the signal that ended it. */
static void reset_handlers(void)
{
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction old;

		if (sigaction(sig, NULL, &old) == 0 &&
		    (old.sa_handler != SIG_IGN || sig == SIGCHLD))
			(void)signal(sig, SIG_DFL);
	}
}

/* glibc 2.32 knows by itself whether a process has threads; elsewhere no caller has any. */
static bool has_threads(void)
{
#ifdef __GLIBC__
	return !__libc_single_threaded;
#else
	return false;
#endif
}

/* As fork() does it, with flags that it has no argument for. */
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

pid_t mpk_fork_into(uint64_t namespaces, const sigset_t *mask)
{
	sigset_t all, before;

	(void)fflush(NULL);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);

	pid_t pid = namespaces ? clone_into(namespaces) : fork();
	int saved = errno;

	if (pid == 0)
		reset_handlers();
	(void)sigprocmask(SIG_SETMASK, pid == 0 ? mask : &before, NULL);
	errno = saved;
	return pid;
}

pid_t mpk_fork(const sigset_t *mask)
{
	return mpk_fork_into(0, mask);
}

void mpk_close_all_but(int fd)
{
#ifdef SYS_close_range
	if (fd > 0)
		(void)syscall(SYS_close_range, 0, fd - 1, 0);
	(void)syscall(SYS_close_range, fd + 1, ~0U, 0);
#else
	(void)fd;
#endif
}
