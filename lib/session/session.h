/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - the calls of a batch as their child process makes them */
#ifndef MPK_SESSION_SESSION_H
#define MPK_SESSION_SESSION_H

#include "session/batch.h"

enum mpk_slot_state {
	MPK_SLOT_WAITING,
	MPK_SLOT_LOADING,
	MPK_SLOT_CALLING,
	MPK_SLOT_DONE,
};

/* What becomes of one item; in memory that parent and child share. */
struct mpk_session_slot {
	volatile enum mpk_slot_state state;
	double started, ended; /* seconds of the monotonic clock */
	uint64_t reply_off;    /* bytes into the reply: the seconds of each timed call,
				 * then the last returned value, then what observers saw */
	struct mpk_error error;
};

struct mpk_session_work {
	struct mpk_library_options library;
	const struct mpk_batch_item *items;
	struct mpk_session_slot *slots; /* count; an item without a call is done */
	size_t count;
	struct mpk_error unloadable; /* why the library cannot be loaded, once that is
					 * known; else MPK_OK */
};

/* mpk_session_work_in_child - do all that waits, in order; what became of each is in its
 * slot
 * Outputs are in the calls' own tensors, whose memory is shared.
 * @work    struct mpk_session_work; changed
 * Returns  MPK_OK, also when it stopped early because a device can no longer be trusted;
 *          MPK_E_AGAIN as mpk_library_open says, the item still waiting;
 *          MPK_E_NOMEM */
enum mpk_code mpk_session_work_in_child(struct mpk_child_side *side, void *work,
					struct mpk_error *err);

/* mpk_session_clock - seconds of the monotonic clock */
double mpk_session_clock(void);

#endif
