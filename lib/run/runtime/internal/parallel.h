/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.h - the threads of parallel loops, and what they take over from who launched them */
#ifndef MPK_RUNTIME_INTERNAL_PARALLEL_H
#define MPK_RUNTIME_INTERNAL_PARALLEL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/lock.h"

/* --- what runs once (process.c) --- */

struct mpk_once;

/* mpk_once_current - the innermost of what this thread is running once; NULL: nothing
 * mpk_once_inherit - make it that of another thread, which waits for this one */
struct mpk_once *mpk_once_current(void);
void mpk_once_inherit(struct mpk_once *outer);

/* --- kept threads (workers.c) --- */

struct mpk_worker;

/* One task. It must say mpk_worker_done before anybody can know that it has ended, and may go on for a moment
 * after that: the worker begins its next task when this one has returned. */
typedef void mpk_worker_fn(struct mpk_worker *self, void *data, int task);
void mpk_worker_done(struct mpk_worker *self);

/* mpk_workers_take - so many threads that do nothing else, in a list; NULL: not so many can be made
 * mpk_workers_give_back - let others take them; all of their tasks have ended, or were taken back
 * mpk_worker_next - the next of the list, which is its taker's
 * @count  at least 1 */
struct mpk_worker *mpk_workers_take(int count);
void mpk_workers_give_back(struct mpk_worker *list);
struct mpk_worker *mpk_worker_next(const struct mpk_worker *w);

/* mpk_workers_call - tasks 1, 2, ... by those of the list, one each, which stays the taker's
 * mpk_worker_take_back - whether it had not begun yet: then it does nothing, and its task is the caller's */
void mpk_workers_call(struct mpk_worker *list, mpk_worker_fn *fn, void *data);
bool mpk_worker_take_back(struct mpk_worker *w);

/* mpk_workers_end - end and join all that are in no task; others may still be made and taken */
void mpk_workers_end(void);

/* mpk_workers_at_fork - a child has none of its parent's threads */
void mpk_workers_at_fork(enum mpk_fork_moment moment);

/* --- waiting --- */

/* mpk_spin_until_below - look at a word until it is below a limit, for a while at most
 * @alone  there is one core, which whoever is waited for needs: look only once
 * Returns  whether it is */
bool mpk_spin_until_below(atomic_uint *word, unsigned limit, bool alone);

/* mpk_futex_wait, mpk_futex_wake - sleep while a word has a value; wake all who sleep at it. The word that
 * is woken at may be gone. */
void mpk_futex_wait(atomic_uint *word, unsigned value);
void mpk_futex_wake(atomic_uint *word);

#endif
