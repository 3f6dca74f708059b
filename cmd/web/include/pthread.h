/* SPDX-License-Identifier: Apache-2.0 */
/* pthread.h - one thread: a lock is always free, and a thread cannot be started */
#ifndef MPK_WEB_PTHREAD_H
#define MPK_WEB_PTHREAD_H

#include <errno.h>
#include <sys/types.h> /* wasi-libc defines the types */

#define PTHREAD_MUTEX_INITIALIZER { 0 }
#define PTHREAD_COND_INITIALIZER { 0 }
#define PTHREAD_ONCE_INIT 0

enum { PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK };

static inline int mpk_web_nothing(void *object)
{
	(void)object;
	return 0;
}

#define pthread_mutex_init(lock, attributes) ((void)(attributes), mpk_web_nothing(lock))
#define pthread_mutex_destroy(lock) mpk_web_nothing(lock)
#define pthread_mutex_lock(lock) mpk_web_nothing(lock)
#define pthread_mutex_trylock(lock) mpk_web_nothing(lock)
#define pthread_mutex_unlock(lock) mpk_web_nothing(lock)
#define pthread_mutexattr_init(attributes) mpk_web_nothing(attributes)
#define pthread_mutexattr_settype(attributes, kind) ((void)(kind), mpk_web_nothing(attributes))
#define pthread_mutexattr_destroy(attributes) mpk_web_nothing(attributes)
#define pthread_cond_init(condition, attributes) ((void)(attributes), mpk_web_nothing(condition))
#define pthread_cond_destroy(condition) mpk_web_nothing(condition)
#define pthread_cond_broadcast(condition) mpk_web_nothing(condition)
#define pthread_cond_signal(condition) mpk_web_nothing(condition)
#define pthread_cond_wait(condition, lock) ((void)(lock), mpk_web_nothing(condition))
#define pthread_join(thread, result) ((void)(thread), (void)(result), 0)

/* pthread_create - fails with EAGAIN: the caller does the work itself */
static inline int pthread_create(pthread_t *thread, const void *attributes, void *(*run)(void *),
				 void *data)
{
	(void)thread, (void)attributes, (void)run, (void)data;
	return EAGAIN;
}

static inline int pthread_once(pthread_once_t *once, void (*run)(void))
{
	if (!*once) {
		*once = 1;
		run();
	}
	return 0;
}

#endif
