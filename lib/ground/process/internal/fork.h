/* SPDX-License-Identifier: Apache-2.0 */
/* fork.h - the one fork() of this project, and what a new process does first; for this room only */
#ifndef MPK_PROCESS_INTERNAL_FORK_H
#define MPK_PROCESS_INTERNAL_FORK_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

/* mpk_fork - fork() that leaves no handler of this program in the child
 * What is buffered for output is written first, so that it is not written twice. No signal
 * arrives in the child before its handlers are gone. Those that the caller ignores (nohup)
 * stay ignored, except SIGCHLD, without which nobody can wait for children.
 * @mask    the child's signal mask
 * Returns  as fork() */
pid_t mpk_fork(const sigset_t *mask);

/* mpk_fork_into - the same, into namespaces of its own: flags of clone(2); 0: none
 * Of one that has some no SIGCHLD tells the end, and it is waited for with __WALL.
 * Returns  as fork(); -1 also where the system has none for this process, or where it has threads, which
 *          may hold locks that the child would wait for */
pid_t mpk_fork_into(uint64_t namespaces, const sigset_t *mask);

/* mpk_close_all_but - close every descriptor but one; where the kernel has no such call they stay open */
void mpk_close_all_but(int fd);

#endif
