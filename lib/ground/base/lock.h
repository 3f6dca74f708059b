/* SPDX-License-Identifier: Apache-2.0 */
/* lock.h - what threads share: locks that their owner may take again, locks in a process that forks, counted
 * references */
#ifndef MPK_BASE_LOCK_H
#define MPK_BASE_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* mpk_lock_init_recursive - a mutex of that kind; pthread_mutex_destroy it */
static inline void mpk_lock_init_recursive(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	(void)pthread_mutexattr_init(&attributes);
	(void)pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	(void)pthread_mutex_init(lock, &attributes);
	(void)pthread_mutexattr_destroy(&attributes);
}

/* mpk_lock_init_checked - a mutex that refuses its owner a second time, with an error */
static inline void mpk_lock_init_checked(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	(void)pthread_mutexattr_init(&attributes);
	(void)pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
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

/* --- counted references to objects that several threads may hold ---
 *
 * The count is a member of the object and begins at 1, for the one who made it. Taking a reference needs
 * no order, because whoever takes one has one. The last one to let go must see what all others wrote,
 * so letting go releases and acquires. */

/* mpk_refs_hold - one more */
static inline void mpk_refs_hold(atomic_uint *refs)
{
	(void)atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

/* mpk_refs_drop - one less
 * Returns  how many are left: at 0 the caller destroys the object */
static inline unsigned mpk_refs_drop(atomic_uint *refs)
{
	return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) - 1;
}

/* mpk_refs_is_only - whether nobody else has a reference: what others wrote before is seen */
static inline bool mpk_refs_is_only(const atomic_uint *refs)
{
	return atomic_load_explicit(refs, memory_order_acquire) == 1;
}

#endif
