/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - what runtimes have in common in their process, and what becomes of it
 *
 * Threads, thread keys and memory that threads keep belong to no runtime. When the last one is
 * destroyed the threads end and the memory is given back. When the shared object or the program
 * that this code is in ends, thread keys and handlers of fork go, which would otherwise lead to
 * code that is no longer there.
 */
#ifndef MPK_RUNTIME_INTERNAL_PROCESS_H
#define MPK_RUNTIME_INTERNAL_PROCESS_H

#include <stdint.h>

#include "base/lock.h"

struct mpk_devices;
struct mpk_allocator;

/* A runtime in the list of all, in the runtime itself; zero: it is not listed. */
struct mpk_process_member {
	struct mpk_process_member *next, **at;
	struct mpk_devices *devices;
};

/* mpk_process_enter - list a runtime; its cores are asked for again
 * mpk_process_leave - destroy its devices and take it off the list, when nothing else of it is left; after the last
 *                     one nothing is left of all. One that is not listed is fine. */
void mpk_process_enter(struct mpk_process_member *member, struct mpk_devices *devices);
void mpk_process_leave(struct mpk_process_member *member);

/* mpk_process_watch_forks - see to it that a child of fork finds things whole; from the first call on */
void mpk_process_watch_forks(void);

/* --- scratch memory --- */

/* mpk_workspace_take - memory on the CPU, aligned to 128; NULL: there is none
 * mpk_workspace_give - give it back, from any thread, which keeps some for its next; NULL is fine */
void *mpk_workspace_take(uint64_t bytes);
void mpk_workspace_give(void *data);

/* --- locks of a runtime --- */

/* mpk_devices_at_fork - let a child use the memory of its parent on the CPU; other
 * devices do not work there */
void mpk_devices_at_fork(struct mpk_devices *devices, enum mpk_fork_moment moment);

#endif
