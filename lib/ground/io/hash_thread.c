/* SPDX-License-Identifier: Apache-2.0 */
#include "io/internal/hash_thread.h"

static void set_state(struct mpk_hash_thread *s, enum mpk_hash_state state)
{
	s->state = state;
	(void)pthread_cond_broadcast(&s->changed);
}

static void *hash_main(void *data)
{
	struct mpk_hash_thread *s = data;

	(void)pthread_mutex_lock(&s->lock);
	while (s->state != MPK_HASH_STOPPED) {
		if (s->state != MPK_HASH_POSTED) {
			(void)pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		s->state = MPK_HASH_TAKEN;
		(void)pthread_mutex_unlock(&s->lock);
		s->tap->see(s->tap->data, s->bytes);
		(void)pthread_mutex_lock(&s->lock);
		set_state(s, MPK_HASH_IDLE);
	}
	(void)pthread_mutex_unlock(&s->lock);
	return NULL;
}

bool mpk_hash_thread_start(struct mpk_hash_thread *s, const struct mpk_tap *tap)
{
	*s = (struct mpk_hash_thread){ .lock = PTHREAD_MUTEX_INITIALIZER,
				       .changed = PTHREAD_COND_INITIALIZER,
				       .tap = tap };
	return pthread_create(&s->thread, NULL, hash_main, s) == 0;
}

void mpk_hash_thread_post(struct mpk_hash_thread *s, struct mpk_span bytes)
{
	(void)pthread_mutex_lock(&s->lock);
	s->bytes = bytes;
	set_state(s, MPK_HASH_POSTED);
	(void)pthread_mutex_unlock(&s->lock);
}

void mpk_hash_thread_wait(struct mpk_hash_thread *s)
{
	(void)pthread_mutex_lock(&s->lock);
	bool untouched = s->state == MPK_HASH_POSTED;

	if (untouched)
		s->state = MPK_HASH_IDLE;
	while (s->state != MPK_HASH_IDLE)
		(void)pthread_cond_wait(&s->changed, &s->lock);
	(void)pthread_mutex_unlock(&s->lock);
	if (untouched)
		s->tap->see(s->tap->data, s->bytes);
}

void mpk_hash_thread_stop(struct mpk_hash_thread *s)
{
	(void)pthread_mutex_lock(&s->lock);
	set_state(s, MPK_HASH_STOPPED);
	(void)pthread_mutex_unlock(&s->lock);
	(void)pthread_join(s->thread, NULL);
	(void)pthread_cond_destroy(&s->changed);
	(void)pthread_mutex_destroy(&s->lock);
}
