/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - a function of ours in a process of its own, so that a crash is only a
 * result */
#ifndef MPK_SESSION_INTERNAL_CHILD_H
#define MPK_SESSION_INTERNAL_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "process/process.h"

/* What the child is doing. */
enum mpk_child_phase { MPK_CHILD_LOADING, MPK_CHILD_CALLING, MPK_CHILD_ENDING };

/* What the parent has the child do; named in the message when it does not come back. */
struct mpk_child_task {
	const char *what;    /* the function's name */
	double timeout;      /* seconds that it was given; 0: as many as it likes */
	double seconds_left; /* of them */
	enum mpk_child_phase phase;
};

struct mpk_child_progress;

/* What a child is at, and how much of what it loads is there. */
struct mpk_child_state {
	enum mpk_child_phase phase;
	uint64_t loaded, to_load; /* bytes, as the child says; to_load 0: nobody knows */
};

/* The child's view of the connection. */
struct mpk_child_side {
	struct mpk_child_progress *progress; /* for mpk_child_load */
};

/* The work; runs in the child. */
typedef enum mpk_code mpk_child_fn(struct mpk_child_side *side, void *user, struct mpk_error *err);

struct mpk_child_options {
	const struct mpk_child_task
		*task; /* what it begins with; hear changes it with what it does */
	/* as of struct mpk_process */
	enum mpk_process_heard (*hear)(void *user, bool has_ended, double *seconds);
	void *hear_user;
	int channel;
	double cpu_seconds;  /* of all threads; 0: no limit */
	uint64_t output_max; /* bytes on standard error; 0: no limit */
	bool enters_sandbox; /* as of struct mpk_process */
	/* called every tenth of a second while the child runs; NULL: nothing is */
	void (*watch)(void *user, const struct mpk_child_state *state);
	void *watch_user;
};

/* mpk_child_load - in the child: bytes more are to be loaded
 * mpk_child_loaded - bytes more are loaded */
void mpk_child_load(struct mpk_child_side *side, uint64_t bytes);
void mpk_child_loaded(struct mpk_child_side *side, uint64_t bytes);

/* mpk_child_run - fork, run fn there, wait
 * The child is contained (process/process.h), has no standard input, and its standard output
 * goes to standard error, as does its standard error, through a pipe. Memory shared before (MPK_STORAGE_SHARED) is shared with it.
 * @end     receives how it ended. Its code: MPK_OK: fn did, as the child says; what fn failed with;
 *          MPK_E_RAISED: killed by a signal (named), ended by the module itself, or stopped by hear;
 *          MPK_E_TIMEOUT
 * Returns  MPK_OK however it ended; MPK_E_IO, MPK_E_NOMEM: no child could be made */
enum mpk_code mpk_child_run(mpk_child_fn *fn, void *user, const struct mpk_child_options *options,
			    struct mpk_error *end, struct mpk_error *err) MPK_MUST_CHECK;

#endif
