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

/* A supervisor process between us and the worker, a process that runs unknown code; used in this
 * room only
 *
 * The supervisor only waits. It makes sure that everything the worker starts ends with the worker,
 * and that the worker ends when we do, whatever signal ends us. Where possible it is the first
 * process of a PID namespace: then the worker has no number for any process outside, and the
 * kernel ends all processes of the namespace with the supervisor. Elsewhere it adopts the
 * processes that the worker leaves and ends them itself. */

/* The parent's view: the parent starts the supervisor and waits for it. */
struct mpk_supervisor {
	pid_t pid;    /* leads its own session and process group */
	pid_t worker; /* 0: the worker is in a PID namespace, where it has another number */
	/* The supervisor reports on it how the worker ended. Readable when either has ended, as no
	 * SIGCHLD comes. */
	int socket;
};

/* Processes that the worker can name and must not reach. */
struct mpk_supervisor_others {
	pid_t parent;  /* the worker's parent: the supervisor */
	pid_t pids[2]; /* processes that the worker has a number for: us and the supervisor */
	size_t count;  /* 0: the worker is in a PID namespace */
};

/* mpk_supervisor_fork - fork a supervisor and, in it, a worker
 * The caller is to be a "subreaper" (prctl(2)).
 * @mask    the worker's signal mask
 * @out     set in the caller; mpk_supervisor_take
 * @others  set in the worker
 * Returns  as fork(): 0 in the worker; in the caller the number of the supervisor */
pid_t mpk_supervisor_fork(const sigset_t *mask, struct mpk_supervisor *out,
			  struct mpk_supervisor_others *others);

/* mpk_supervisor_take - wait for the end of the supervisor and the worker, and reap the supervisor
 * @kills   kill both instead of asking them to end
 * Returns  the worker's status as of waitpid(2); if the supervisor was killed before,
 *          the supervisor's */
int mpk_supervisor_take(struct mpk_supervisor *k, bool kills);

/* A page that parent and child share. A module in the child may write anything here: the parent
 * trusts none of it and reads within its bounds. */
struct mpk_process_self {
	int exec_errno;         /* errno of a program that could not be executed; 0: none */
	volatile bool returned; /* run has returned, and error is set */
	struct mpk_error error;
};

/* Copies what a child prints to a descriptor that the child does not have. */
struct mpk_copier {
	bool is_open;
	int in;    /* read end of the pipe; non-blocking */
	int child; /* write end; -1 once only the child has it */
	int out;
	/* most bytes to copy; 0: all. With a limit the text is made safe to print, too. */
	uint64_t bytes_max;
	uint64_t bytes;         /* bytes that were read */
	bool is_broken;         /* writing has failed: output is read and dropped */
	struct mpk_strbuf held; /* text that was read and not yet written; written up to at */
	size_t at;
};

/* A running child, or none. Zero-initialise; mpk_child_start. */
struct mpk_child {
	const struct mpk_process *p;
	struct mpk_process_end *end; /* filled when the child has ended */
	pid_t pid;                   /* 0: no child runs; for a contained child, its supervisor */
	struct mpk_supervisor supervisor;
	struct mpk_copier copier;
	struct mpk_process_self *self;
	int64_t deadline; /* nanoseconds of the monotonic clock; 0: none */
	bool is_deaf;     /* hear asked not to be called again */
};

/* The number of descriptors that poll waits for, for each child. */
enum { MPK_CHILD_FDS = 3 };

/* The one fork() of this project, and the first steps of a new process; used in this room only */

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

/* mpk_children_list - append all children of this process
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_children_list(struct mpk_children *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_orphans_kill - kill and reap every child of this process that is not in spared
 * This process is a "subreaper" (prctl(2)): processes that a child leaves behind become its
 * children. */
void mpk_orphans_kill(const struct mpk_children *spared);

#endif
