/* side.h - a second pair of eyes: a thread that looks at bytes while they are written
 *
 * One span is posted at a time. Whoever waits for it while the thread has not begun, because
 * the machine has no core to spare, does the work itself: a side thread never makes it
 * slower than doing one after the other.
 */
#ifndef MPK_IO_SIDE_H
#define MPK_IO_SIDE_H

#include <pthread.h>
#include <stdbool.h>

#include "base/span.h"
#include "io/copy.h"

enum mpk_side_state { MPK_SIDE_IDLE, MPK_SIDE_POSTED, MPK_SIDE_TAKEN, MPK_SIDE_STOPPED };

struct mpk_side {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum mpk_side_state state;
	struct mpk_span bytes; /* posted or taken */
	const struct mpk_tap *tap;
};

/* mpk_side_start - begin; false when there can be no thread: call the tap directly then */
bool mpk_side_start(struct mpk_side *s, const struct mpk_tap *tap);

/* mpk_side_post - let the tap see bytes, which stay valid until mpk_side_wait */
void mpk_side_post(struct mpk_side *s, struct mpk_span bytes);

/* mpk_side_wait - return when the tap has seen what was posted */
void mpk_side_wait(struct mpk_side *s);

/* mpk_side_stop - end the thread, after mpk_side_wait */
void mpk_side_stop(struct mpk_side *s);

#endif
