/* SPDX-License-Identifier: Apache-2.0 */
/* fork.h - the one fork() of this project; for this room only */
#ifndef MPK_PROCESS_FORK_H
#define MPK_PROCESS_FORK_H

#include <signal.h>
#include <sys/types.h>

/* mpk_fork - fork() that leaves no handler of this program in the child
 * What is buffered for output is written first, so that it is not written twice. No signal
 * arrives in the child before its handlers are gone. Those that the caller ignores (nohup)
 * stay ignored, except SIGCHLD, without which nobody can wait for children.
 * @mask    the child's signal mask
 * Returns  as fork() */
pid_t mpk_fork(const sigset_t *mask);

#endif
