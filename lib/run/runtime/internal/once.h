/* SPDX-License-Identifier: Apache-2.0 */
/* once.h - what module code runs once, in whichever thread comes first */
#ifndef MPK_RUNTIME_INTERNAL_ONCE_H
#define MPK_RUNTIME_INTERNAL_ONCE_H

/* mpk_once_run - fn(data) for the first who comes with this slot, which is NULL before and not NULL
 * from then on; others wait until it has ended
 * Who comes from inside of it, also in a task of a parallel loop that it launched, does not wait.
 * Runs of different slots do not know of each other.
 * Returns  what fn returned; 0 for others */
int mpk_once_run(void **slot, int (*fn)(void *data), void *data);

/* mpk_once_init - the same for a slot that gets what init gave; an init that fails is tried again
 * Returns  what init returned, 0 for others; -1 with *bad_handle 1 when it gave no handle */
int mpk_once_init(void **slot, int (*init)(void **result), int *bad_handle);

/* mpk_once_current, mpk_once_inherit - what this thread is inside of, for the tasks that it lends to
 * other threads; NULL: nothing. It must not have ended before the last of them. */
struct mpk_once;
const struct mpk_once *mpk_once_current(void);
void mpk_once_inherit(const struct mpk_once *inside);

#endif
