/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - a function of ours in a process of its own, so that a crash is only a
 * result */
#ifndef MPK_SESSION_CHILD_H
#define MPK_SESSION_CHILD_H

#include <stdbool.h>

#include "base/error.h"
#include "process/process.h"
#include "session/wire.h"

/* What the child is doing; named in the message when it does not come back. */
enum mpk_child_phase { MPK_CHILD_LOADING, MPK_CHILD_CALLING, MPK_CHILD_ENDING };

struct mpk_child_control;

/* What a child is at, and how much of what it loads is there. */
struct mpk_child_state {
	enum mpk_child_phase phase;
	uint64_t loaded, to_load; /* bytes; to_load 0: nobody knows */
};

/* The child's view of the connection. */
struct mpk_child_side {
	struct mpk_wire wire;                 /* the reply */
	volatile enum mpk_child_phase *phase; /* set it as the work proceeds */
	struct mpk_child_control *control;    /* for mpk_child_begin, as is process */
	struct mpk_process_self *process;
};

/* The work; runs in the child. What it writes to side->wire is the reply. */
typedef enum mpk_code mpk_child_fn(struct mpk_child_side *side, void *user, struct mpk_error *err);

struct mpk_child_options {
	double timeout;   /* seconds; 0: none */
	double limit;     /* seconds that all of it may take, whatever the child says; 0: none */
	const char *what; /* the function's name, for messages */
	/* told here every tenth of a second while the child runs; NULL: nobody is */
	void (*watch)(void *user, const struct mpk_child_state *state);
	void *watch_user;
	bool keep_reply; /* *reply is set to what was written also when this fails; NULL
			    * when there was no child */
};

/* mpk_child_begin - in the child: from now on it does another thing
 * @what    as in the options; copied
 * @timeout seconds from now; 0: none. Takes the place of the time that was left. */
void mpk_child_begin(struct mpk_child_side *side, const char *what, double timeout);

/* mpk_child_load - in the child: bytes more are to be loaded
 * mpk_child_loaded - bytes more are loaded */
void mpk_child_load(struct mpk_child_side *side, uint64_t bytes);
void mpk_child_loaded(struct mpk_child_side *side, uint64_t bytes);

/* mpk_child_run - fork, run fn there, wait
 * The child is contained (process/process.h), has no standard input, and its standard output
 * goes to standard error. Memory shared before (MPK_STORAGE_SHARED) is shared with it.
 * @reply   receives what fn wrote; mpk_wire_map_drop it
 * Returns  MPK_OK; what fn failed with; MPK_E_RAISED: killed by a signal (named) or ended
 *          by the module itself; MPK_E_TIMEOUT; MPK_E_IO, MPK_E_NOMEM: no child could be
 *          made */
enum mpk_code mpk_child_run(mpk_child_fn *fn, void *user, const struct mpk_child_options *options,
			    struct mpk_wire_map **reply, struct mpk_error *err) MPK_MUST_CHECK;

#endif
