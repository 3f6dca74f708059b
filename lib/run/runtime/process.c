/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - what runtimes have in common in their process: it is counted, forks and ends
 *
 * This code may be in a shared object that its process closes while it has threads, and forks when
 * other threads are in it. Handlers of fork are registered for the object that they are in, so glibc
 * forgets them when it is closed; musl closes nothing.
 *
 * Before a fork every lock is taken that is held for moments, and the child goes on from there. Locks
 * that are held while others' code runs, which may itself fork, are not waited for: in a child they
 * are free, and what they guard is as its threads left it.
 */
#include <pthread.h>

#include "base/compiler.h"
#include "io/mapping.h"
#include "runtime/internal/parallel.h"
#include "runtime/internal/process.h"
#include "runtime/internal/runtime.h"
#include "runtime/parallel.h"

/* Held while the last runtime takes all else with it, so that the next one waits for that. */
static pthread_mutex_t members_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mpk_process_member *members;
static pthread_once_t watched = PTHREAD_ONCE_INIT;

/* --- forks ----------------------------------------------------------------------------------- */

static void at_fork(enum mpk_fork_moment moment)
{
	if (moment == MPK_FORK_PREPARE)
		mpk_lock_at_fork(&members_lock, moment);
	for (struct mpk_process_member *m = members; m; m = m->next)
		if (m->devices)
			mpk_devices_at_fork(m->devices, moment);
	mpk_once_at_fork(moment);
	mpk_workers_at_fork(moment);
	mpk_workspaces_at_fork(moment);
	mpk_mappings_at_fork(moment);
	mpk_link_at_fork(moment);
	if (moment != MPK_FORK_PREPARE)
		mpk_lock_at_fork(&members_lock, moment);
}

static void before_fork(void)
{
	at_fork(MPK_FORK_PREPARE);
}

static void after_fork(void)
{
	at_fork(MPK_FORK_PARENT);
}

static void in_child(void)
{
	mpk_parallel_forget_cores();
	at_fork(MPK_FORK_CHILD);
}

/* Without memory for it a child is on its own. */
static void watch(void)
{
	(void)pthread_atfork(before_fork, after_fork, in_child);
}

void mpk_process_watch_forks(void)
{
	(void)pthread_once(&watched, watch);
}

/* --- runtimes -------------------------------------------------------------------------------- */

void mpk_process_enter(struct mpk_process_member *member, struct mpk_devices *devices)
{
	mpk_process_watch_forks();
	mpk_parallel_forget_cores();
	member->devices = devices;
	(void)pthread_mutex_lock(&members_lock);
	member->next = members;
	member->at = &members;
	if (members)
		members->at = &member->next;
	members = member;
	(void)pthread_mutex_unlock(&members_lock);
}

void mpk_process_hide_devices(struct mpk_process_member *member)
{
	(void)pthread_mutex_lock(&members_lock);
	member->devices = NULL;
	(void)pthread_mutex_unlock(&members_lock);
}

static void unlink_member(struct mpk_process_member *member)
{
	*member->at = member->next;
	if (member->next)
		member->next->at = member->at;
}

void mpk_process_leave(struct mpk_process_member *member)
{
	(void)pthread_mutex_lock(&members_lock);
	if (member->at)
		unlink_member(member);
	if (!members) {
		mpk_workers_end();
		mpk_workspaces_empty();
	}
	(void)pthread_mutex_unlock(&members_lock);
}

/* When the shared object is closed, or the program ends, where runtimes may be open and threads in
 * loops: those are left alone. */
__attribute__((destructor)) static void end_process(void)
{
	(void)pthread_mutex_lock(&members_lock);
	mpk_workers_end();
	mpk_workspaces_end();
	if (!members)
		mpk_workspaces_empty();
	(void)pthread_mutex_unlock(&members_lock);
}
