/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - what the files of this folder share, and nobody else includes */
#ifndef MPK_PROCESS_INTERNAL_PROCESS_H
#define MPK_PROCESS_INTERNAL_PROCESS_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "process/process.h"

/* A process between us and one that runs unknown code; for this room only
 *
 * It does nothing but wait. It is there so that whatever its child, the worker, starts and leaves ends with
 * it, and it ends with us, by whatever signal that is. Where the system lets us, it is the first process of
 * a namespace of processes: then the worker has no number for any process outside, and the kernel ends all
 * within when the supervisor ends. Elsewhere it adopts the processes that the worker leaves, and ends them itself.
 */

/* As the parent sees it, which starts it and takes its end. */
struct mpk_supervisor {
	pid_t pid;    /* leads a session and a process group of its own */
	pid_t worker; /* 0: in a namespace of its own, where it has another number */
	int socket; /* over which the supervisor tells how the worker ended: readable when either has; no SIGCHLD comes */
};

/* What the worker can name and must not reach. */
struct mpk_supervisor_others {
	pid_t parent;  /* that a worker has: the supervisor */
	pid_t pids[2]; /* processes that it has a number for: us and the supervisor */
	size_t count;  /* 0: it is in a namespace of its own */
};

/* mpk_supervisor_fork - fork a supervisor and, in it, a worker
 * The caller is to be a "subreaper" (prctl(2)).
 * @mask    the worker's signal mask
 * @out     set in the caller; mpk_supervisor_take
 * @others  set in the worker
 * Returns  as fork(): 0 in the worker; in the caller the number of the supervisor */
pid_t mpk_supervisor_fork(const sigset_t *mask, struct mpk_supervisor *out,
			  struct mpk_supervisor_others *others);

/* mpk_supervisor_take - wait for the supervisor's end and take it, and the worker's
 * @kills   neither is asked whether it wants to end
 * Returns  how the worker ended, as of waitpid(2); how the supervisor did, if it was killed before that */
int mpk_supervisor_take(struct mpk_supervisor *k, bool kills);

/* A page that parent and child both see. A module that the child runs may write anything here:
 * the parent believes none of it further than to its own length. */
struct mpk_process_self {
	int exec_errno;         /* of a program that could not be executed; 0 */
	volatile bool returned; /* run came back, error is set */
	struct mpk_error error;
};

/* Where what a child prints is copied to a descriptor that it does not have. */
struct mpk_copier {
	bool is_open;
	int in;    /* of the pipe; does not wait */
	int child; /* its other end; -1 once it is the child's alone */
	int out;
	uint64_t bytes_max; /* that are copied; 0: all; with a limit the text is made safe, too */
	uint64_t bytes;     /* that were read */
	bool is_broken;     /* nothing more can be written: it is read and lost */
	struct mpk_strbuf held; /* read and not written yet, from at on */
	size_t at;
};

/* A child that runs, or none. Zero-initialise; mpk_child_start. */
struct mpk_child {
	const struct mpk_process *p;
	struct mpk_process_end *end; /* set when it has ended */
	pid_t pid;                   /* 0: none runs; of a contained child, its supervisor */
	struct mpk_supervisor supervisor;
	struct mpk_copier copier;
	struct mpk_process_self *self;
	int64_t deadline; /* nanoseconds of the monotonic clock; 0: none */
	bool is_deaf;     /* hear has had enough */
};

/* Descriptors of a child that poll waits for. */
enum { MPK_CHILD_FDS = 3 };

/* The one fork() of this project, and what a new process does first; for this room only */

/* mpk_fork - fork() that leaves no handler of this program in the child
 * What is buffered for output is written first, so that it is not written twice. No signal
 * arrives in the child before its handlers are gone. Those that the caller ignores (nohup)
 * stay ignored, except SIGCHLD, without which nobody can wait for children.
 * @mask    the child's signal mask
 * Returns  as fork() */
pid_t mpk_fork(const sigset_t *mask);

/* --- The processes that a contained child leaves; for this room only --- */

/* Children of this process. Zero-initialise; free pids. */
struct mpk_children {
	pid_t *pids;
	size_t count, cap;
};

/* mpk_children_list - append those that there are
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_children_list(struct mpk_children *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_orphans_kill - kill and reap every child of this process that is not among the spared
 * What a child started is this process's own once the child is dead: it is a "subreaper"
 * (prctl(2)). */
void mpk_orphans_kill(const struct mpk_children *spared);

#endif
