/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.h - a process between us and one that runs unknown code; for this room only
 *
 * It does nothing but wait. It is there so that whatever its child, the worker, starts and leaves ends with
 * it, and it ends with us, by whatever signal that is. Where the system lets us, it is the first process of
 * a namespace of processes: then the worker has no number for any process outside, and the kernel ends all
 * within when the keeper ends. Elsewhere it collects what the worker leaves behind, and ends that itself.
 */
#ifndef MPK_PROCESS_INTERNAL_KEEPER_H
#define MPK_PROCESS_INTERNAL_KEEPER_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* As the parent sees it, which starts it and takes its end. */
struct mpk_keeper {
	pid_t pid;    /* leads a session and a process group of its own */
	pid_t worker; /* 0: in a namespace of its own, where it has another number */
	int socket;   /* over which the keeper tells how the worker ended */
};

/* What the worker can name and must not reach. */
struct mpk_keeper_others {
	pid_t parent;  /* that a worker has: the keeper */
	pid_t pids[2]; /* processes that it has a number for: us and the keeper */
	size_t count;  /* 0: it is in a namespace of its own */
};

/* mpk_keeper_fork - fork a keeper and, in it, a worker
 * The caller is to be a "subreaper" (prctl(2)).
 * @mask    the worker's signal mask
 * @out     set in the caller; mpk_keeper_take
 * @others  set in the worker
 * Returns  as fork(): 0 in the worker; in the caller the number of the keeper */
pid_t mpk_keeper_fork(const sigset_t *mask, struct mpk_keeper *out,
		      struct mpk_keeper_others *others);

/* mpk_keeper_has_ended - whether it has, or the worker; the socket becomes readable then, no SIGCHLD comes */
bool mpk_keeper_has_ended(const struct mpk_keeper *k);

/* mpk_keeper_take - wait for the keeper's end and take it, and the worker's
 * @kills   neither is asked whether it wants to end
 * Returns  how the worker ended, as of waitpid(2); how the keeper did, if it was killed before that */
int mpk_keeper_take(struct mpk_keeper *k, bool kills);

#endif
