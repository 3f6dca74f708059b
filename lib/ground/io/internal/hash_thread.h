/* SPDX-License-Identifier: Apache-2.0 */
/* hash_thread.h - a thread that shows bytes to a tap, a digest, while they are written
 *
 * One span is posted at a time. Whoever waits for it while the thread has not begun, because
 * the machine has no core to spare, does the work itself: hashing in a thread never takes
 * longer than hashing and writing one after the other.
 */
#ifndef MPK_IO_INTERNAL_HASH_THREAD_H
#define MPK_IO_INTERNAL_HASH_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#include "base/span.h"
#include "io/copy.h"

enum mpk_hash_state { MPK_HASH_IDLE, MPK_HASH_POSTED, MPK_HASH_TAKEN, MPK_HASH_STOPPED };

struct mpk_hash_thread {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum mpk_hash_state state;
	struct mpk_span bytes; /* posted or taken */
	const struct mpk_tap *tap;
};

/* mpk_hash_thread_start - begin; false when there can be no thread: call the tap directly then */
bool mpk_hash_thread_start(struct mpk_hash_thread *s, const struct mpk_tap *tap);

/* mpk_hash_thread_post - let the tap see bytes, which stay valid until mpk_hash_thread_wait */
void mpk_hash_thread_post(struct mpk_hash_thread *s, struct mpk_span bytes);

/* mpk_hash_thread_wait - return when the tap has seen what was posted */
void mpk_hash_thread_wait(struct mpk_hash_thread *s);

/* mpk_hash_thread_stop - end the thread, after mpk_hash_thread_wait */
void mpk_hash_thread_stop(struct mpk_hash_thread *s);

#endif
