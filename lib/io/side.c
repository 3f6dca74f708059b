#include "io/side.h"

static void set_state(struct mpk_side *s, enum mpk_side_state state)
{
	s->state = state;
	(void)pthread_cond_broadcast(&s->changed);
}

static void *side_main(void *data)
{
	struct mpk_side *s = data;

	(void)pthread_mutex_lock(&s->lock);
	while (s->state != MPK_SIDE_STOPPED) {
		if (s->state != MPK_SIDE_POSTED) {
			(void)pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		s->state = MPK_SIDE_TAKEN;
		(void)pthread_mutex_unlock(&s->lock);
		s->tap->see(s->tap->data, s->bytes);
		(void)pthread_mutex_lock(&s->lock);
		set_state(s, MPK_SIDE_IDLE);
	}
	(void)pthread_mutex_unlock(&s->lock);
	return NULL;
}

bool mpk_side_start(struct mpk_side *s, const struct mpk_tap *tap)
{
	*s = (struct mpk_side){ .lock = PTHREAD_MUTEX_INITIALIZER,
				.changed = PTHREAD_COND_INITIALIZER,
				.tap = tap };
	return pthread_create(&s->thread, NULL, side_main, s) == 0;
}

void mpk_side_post(struct mpk_side *s, struct mpk_span bytes)
{
	(void)pthread_mutex_lock(&s->lock);
	s->bytes = bytes;
	set_state(s, MPK_SIDE_POSTED);
	(void)pthread_mutex_unlock(&s->lock);
}

void mpk_side_wait(struct mpk_side *s)
{
	(void)pthread_mutex_lock(&s->lock);
	bool untouched = s->state == MPK_SIDE_POSTED;

	if (untouched)
		s->state = MPK_SIDE_IDLE;
	while (s->state != MPK_SIDE_IDLE)
		(void)pthread_cond_wait(&s->changed, &s->lock);
	(void)pthread_mutex_unlock(&s->lock);
	if (untouched)
		s->tap->see(s->tap->data, s->bytes);
}

void mpk_side_stop(struct mpk_side *s)
{
	(void)pthread_mutex_lock(&s->lock);
	set_state(s, MPK_SIDE_STOPPED);
	(void)pthread_mutex_unlock(&s->lock);
	(void)pthread_join(s->thread, NULL);
	(void)pthread_cond_destroy(&s->changed);
	(void)pthread_mutex_destroy(&s->lock);
}
