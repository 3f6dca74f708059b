/* SPDX-License-Identifier: Apache-2.0 */
/* glibc's posix_spawn cannot ask for PR_SET_PDEATHSIG nor run a function, hence fork; the programs
 * are small, and what they have mapped is shared. */
#include "process/fork.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

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

pid_t mpk_fork(const sigset_t *mask)
{
	sigset_t all, before;

	(void)fflush(NULL);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);

	pid_t pid = fork();
	int saved = errno;

	if (pid == 0)
		reset_handlers();
	(void)sigprocmask(SIG_SETMASK, pid == 0 ? mask : &before, NULL);
	errno = saved;
	return pid;
}
