/* SPDX-License-Identifier: Apache-2.0 */
/* lock.h - locks that their owner may take again, and locks in a process that forks */
#ifndef MPK_BASE_LOCK_H
#define MPK_BASE_LOCK_H

#include <pthread.h>

/* mpk_lock_init_recursive - a mutex of that kind; pthread_mutex_destroy it */
static inline void mpk_lock_init_recursive(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	(void)pthread_mutexattr_init(&attributes);
	(void)pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	(void)pthread_mutex_init(lock, &attributes);
	(void)pthread_mutexattr_destroy(&attributes);
}

/* When a handler of pthread_atfork runs. */
enum mpk_fork_moment { MPK_FORK_PREPARE, MPK_FORK_PARENT, MPK_FORK_CHILD };

/* mpk_lock_at_fork - hold a mutex, not a recursive one, from before a fork until after it, on both sides, so
 * that the child finds whole what it guards. For those that are held for a moment, and never while code
 * that may fork is called. */
static inline void mpk_lock_at_fork(pthread_mutex_t *lock, enum mpk_fork_moment moment)
{
	if (moment == MPK_FORK_PREPARE)
		(void)pthread_mutex_lock(lock);
	else
		(void)pthread_mutex_unlock(lock);
}

/* mpk_lock_free_in_child - make a mutex, not a recursive one, free that a thread of the parent may have held, which is not here to
 * give it back. For the child of a fork, before it has threads. */
static inline void mpk_lock_free_in_child(pthread_mutex_t *lock)
{
	if (pthread_mutex_trylock(lock) == 0)
		(void)pthread_mutex_unlock(lock);
	else
		(void)pthread_mutex_init(lock, NULL);
}

#endif
