/* session.h - a call as its child process makes it */
#ifndef MPK_RUN_SESSION_H
#define MPK_RUN_SESSION_H

#include "run/call.h"

struct mpk_session_work {
	struct mpk_library_options library;
	const struct mpk_call *call;
};

/* mpk_session_work_in_child - open what is called, call it as often as asked, reply
 * The reply is the seconds of each timed call and the last returned value. Outputs are in
 * the call's own tensors, whose memory is shared.
 * @work    struct mpk_session_work; changed
 * Returns  as mpk_call_run */
enum mpk_code mpk_session_work_in_child(struct mpk_child_side *side, void *work,
					struct mpk_error *err);

#endif
