/* SPDX-License-Identifier: Apache-2.0 */
/* lock.h - recursive and checked mutexes, mutexes across fork(), reference counts */
#ifndef MPK_BASE_LOCK_H
#define MPK_BASE_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* mpk_lock_init_recursive - a mutex that its owner may lock again; end it with
 * pthread_mutex_destroy */
static inline void mpk_lock_init_recursive(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	(void)pthread_mutexattr_init(&attributes);
	(void)pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	(void)pthread_mutex_init(lock, &attributes);
	(void)pthread_mutexattr_destroy(&attributes);
}

/* mpk_lock_init_checked - a mutex that fails with an error when its owner locks it again */
static inline void mpk_lock_init_checked(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	(void)pthread_mutexattr_init(&attributes);
	(void)pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
	(void)pthread_mutex_init(lock, &attributes);
	(void)pthread_mutexattr_destroy(&attributes);
}

/* The moments at which a handler of pthread_atfork runs. */
enum mpk_fork_moment { MPK_FORK_PREPARE, MPK_FORK_PARENT, MPK_FORK_CHILD };

/* mpk_lock_at_fork - hold a mutex during a fork, in parent and child, so that the child finds the
 * guarded data complete. The mutex is not recursive, is only held briefly, and never while code
 * runs that may fork. */
static inline void mpk_lock_at_fork(pthread_mutex_t *lock, enum mpk_fork_moment moment)
{
	if (moment == MPK_FORK_PREPARE)
		(void)pthread_mutex_lock(lock);
	else
		(void)pthread_mutex_unlock(lock);
}

/* mpk_lock_free_in_child - unlock a mutex that a thread of the parent may have held at the fork;
 * that thread does not exist in the child. The mutex is not recursive. Call it before the child
 * starts threads. */
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

/* mpk_refs_hold - add a reference */
static inline void mpk_refs_hold(atomic_uint *refs)
{
	(void)atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

/* mpk_refs_drop - remove a reference
 * Returns  the number of references left; at 0 the caller destroys the object */
static inline unsigned mpk_refs_drop(atomic_uint *refs)
{
	return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) - 1;
}

/* mpk_refs_is_only - whether the caller has the only reference; what earlier owners wrote is then
 * visible */
static inline bool mpk_refs_is_only(const atomic_uint *refs)
{
	return atomic_load_explicit(refs, memory_order_acquire) == 1;
}

#endif
