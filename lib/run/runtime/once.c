/* SPDX-License-Identifier: Apache-2.0 */
/* once.c - no lock is held while something runs once
 *
 * It may launch a parallel loop whose tasks, in other threads, run other things once, or come to the
 * same slot again: with a lock around it they would wait for whoever waits for them.
 */
#include "runtime/internal/once.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Something that is being run; lives on the stack of the thread that runs it. */
struct mpk_once {
	void **slot;
	const struct mpk_once *outer; /* what its thread was inside of */
	struct mpk_once *next;        /* in the list of all */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over the list and the slots */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static struct mpk_once *running;
static _Thread_local const struct mpk_once *inside;

const struct mpk_once *mpk_once_current(void)
{
	return inside;
}

void mpk_once_inherit(const struct mpk_once *outer)
{
	inside = outer;
}

static bool is_inside(void *const *slot)
{
	for (const struct mpk_once *o = inside; o; o = o->outer)
		if (o->slot == slot)
			return true;
	return false;
}

static bool is_running(void *const *slot)
{
	for (const struct mpk_once *o = running; o; o = o->next)
		if (o->slot == slot)
			return true;
	return false;
}

/* Whether the caller is to run it: then *self is listed, and finish must follow. */
static bool begin(void **slot, struct mpk_once *self)
{
	bool mine;

	if (is_inside(slot))
		return false;
	(void)pthread_mutex_lock(&lock);
	while (is_running(slot))
		(void)pthread_cond_wait(&ended, &lock);
	mine = !__atomic_load_n(slot, __ATOMIC_ACQUIRE);
	if (mine) {
		*self = (struct mpk_once){ slot, inside, running };
		running = self;
		inside = self;
	}
	(void)pthread_mutex_unlock(&lock);
	return mine;
}

static void finish(struct mpk_once *self, void *value)
{
	struct mpk_once **link = &running;

	(void)pthread_mutex_lock(&lock);
	while (*link != self)
		link = &(*link)->next;
	*link = self->next;
	inside = self->outer;
	if (value)
		__atomic_store_n(self->slot, value, __ATOMIC_RELEASE);
	(void)pthread_cond_broadcast(&ended);
	(void)pthread_mutex_unlock(&lock);
}

int mpk_once_run(void **slot, int (*fn)(void *data), void *data)
{
	struct mpk_once self;
	int rc;

	if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) || !begin(slot, &self))
		return 0;
	rc = fn(data);
	finish(&self, slot); /* any pointer that is not NULL */
	return rc;
}

int mpk_once_init(void **slot, int (*init)(void **result), int *bad_handle)
{
	struct mpk_once self;
	void *result = NULL;
	int rc;

	*bad_handle = 0;
	if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) || !begin(slot, &self))
		return 0;
	rc = init(&result);
	*bad_handle = rc == 0 && !result;
	finish(&self, rc == 0 ? result : NULL);
	return *bad_handle ? -1 : rc;
}
