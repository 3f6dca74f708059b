/* SPDX-License-Identifier: Apache-2.0 */
/* once.c - what module code wants to run once
 *
 * No lock is held while something runs once. It may launch a parallel loop whose tasks, in other
 * threads, run other things once, or come to the same slot again: with a lock around it they would
 * wait for whoever waits for them.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/internal/parallel.h"
#include "runtime/parallel.h"

/* Something that is being run; lives on the stack of the thread that runs it. */
struct mpk_once {
	void **slot;
	struct mpk_once *outer; /* what its thread was running once before */
	struct mpk_once *next;  /* in the list of all */
};

static pthread_mutex_t once_lock = PTHREAD_MUTEX_INITIALIZER; /* over the list and the slots */
static pthread_cond_t once_ended = PTHREAD_COND_INITIALIZER;
static struct mpk_once *once_running;
static _Thread_local struct mpk_once *inside;

struct mpk_once *mpk_once_current(void)
{
	return inside;
}

void mpk_once_inherit(struct mpk_once *outer)
{
	inside = outer;
}

/* A slot that this thread is already running once: waiting for it would be for ever. */
static bool is_inside(void *const *slot)
{
	for (const struct mpk_once *o = inside; o; o = o->outer)
		if (o->slot == slot)
			return true;
	return false;
}

static bool is_running(void *const *slot)
{
	for (const struct mpk_once *o = once_running; o; o = o->next)
		if (o->slot == slot)
			return true;
	return false;
}

/* Whether the caller is to run it: then *self is listed, and finish must follow. */
static bool begin_once(void **slot, struct mpk_once *self)
{
	bool mine;

	if (is_inside(slot))
		return false;
	(void)pthread_mutex_lock(&once_lock);
	while (is_running(slot))
		(void)pthread_cond_wait(&once_ended, &once_lock);
	mine = !__atomic_load_n(slot, __ATOMIC_ACQUIRE);
	if (mine) {
		*self = (struct mpk_once){ slot, inside, once_running };
		once_running = self;
		inside = self;
	}
	(void)pthread_mutex_unlock(&once_lock);
	return mine;
}

static void finish_once(struct mpk_once *self, void *value)
{
	struct mpk_once **link = &once_running;

	(void)pthread_mutex_lock(&once_lock);
	while (*link != self)
		link = &(*link)->next;
	*link = self->next;
	inside = self->outer;
	if (value)
		__atomic_store_n(self->slot, value, __ATOMIC_RELEASE);
	(void)pthread_cond_broadcast(&once_ended);
	(void)pthread_mutex_unlock(&once_lock);
}

int mpk_once_run(void **slot, int (*fn)(void *data), void *data)
{
	struct mpk_once self;
	int rc;

	if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) || !begin_once(slot, &self))
		return 0;
	rc = fn(data);
	finish_once(&self, slot); /* any pointer that is not NULL */
	return rc;
}

/* A NULL handle would make the slot look as if nothing had run. */
int mpk_once_init(void **slot, int (*init)(void **result), int *bad_handle)
{
	struct mpk_once self;
	void *result = NULL;
	int rc;

	*bad_handle = 0;
	if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) || !begin_once(slot, &self))
		return 0;
	rc = init(&result);
	*bad_handle = rc == 0 && !result;
	finish_once(&self, rc == 0 ? result : NULL);
	return *bad_handle ? -1 : rc;
}

/* What threads of the parent were running never ends in a child, so that its threads would wait for
 * ever: whoever comes first runs it again. */
static void forget_other_threads(void)
{
	once_running = NULL;
	for (struct mpk_once *o = inside; o; o = o->outer) {
		o->next = once_running;
		once_running = o;
	}
	once_ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

void mpk_once_at_fork(enum mpk_fork_moment moment)
{
	if (moment == MPK_FORK_CHILD)
		forget_other_threads();
	mpk_lock_at_fork(&once_lock, moment);
}
