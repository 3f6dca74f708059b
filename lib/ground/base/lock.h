/* SPDX-License-Identifier: Apache-2.0 */
/* lock.h - locks that their owner may take again */
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

#endif
