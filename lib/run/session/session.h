/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - the calls of a batch as their child process makes them */
#ifndef MPK_SESSION_SESSION_H
#define MPK_SESSION_SESSION_H

#include "session/batch.h"
#include "session/internal/channel.h"

struct mpk_session_work {
	struct mpk_library_options library;
	const struct mpk_batch_item *items;
	struct mpk_error
		unloadable; /* why the library cannot be loaded, once that is known; else MPK_OK */
	struct mpk_channel channel; /* where orders come from and reports go to */
	/* A file in memory, in which each reply (session/internal/reply.h) takes the place of the one before. */
	int reply;
};

/* mpk_session_work_in_child - do what is ordered, report each, until the last
 * @work    struct mpk_session_work; changed
 * Returns  MPK_OK, also when it stopped early because a device can no longer be trusted; as
 *          mpk_channel_report; as mpk_wire_put */
enum mpk_code mpk_session_work_in_child(struct mpk_child_side *side, void *work,
					struct mpk_error *err);

#endif
