/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.c - scratch memory of compiled functions
 *
 * They take and give it back on each call, so a thread keeps what it freed for its next request, in
 * a pool that is its own and needs no lock. The thread's end frees it, or the end of the last
 * runtime: pools that have something are listed.
 */
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/num.h"
#include "runtime/internal/process.h"

enum {
	WORKSPACE_ALIGN = 128, /* bytes; what the strictest release of TVM assumed */
	KEPT_MAX = 16,
};

/* Stands before the memory handed out, as long as the alignment. */
struct block {
	uint64_t bytes;     /* usable */
	struct block *next; /* in the list of free ones */
};

struct pool {
	struct block *free;
	unsigned count;
	atomic_bool changes; /* its thread is at the two above */
	bool is_listed;
	struct pool *next, **at; /* in the list of all */
};

static _Thread_local struct pool pool;

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER; /* over what follows */
static struct pool *pools;
static pthread_key_t pool_key; /* its values are pools, so that the end of a thread is heard of */
static enum { KEY_NONE, KEY_THERE, KEY_NEVER } key_state;

/* A fork sees the stores of other threads in the order of these fences. */
static void begin_change(void)
{
	atomic_store_explicit(&pool.changes, true, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static void end_change(void)
{
	atomic_store_explicit(&pool.changes, false, memory_order_release);
}

static void empty_pool(struct pool *p)
{
	while (p->free) {
		struct block *b = p->free;

		p->free = b->next;
		free(b);
	}
	p->count = 0;
}

/* With the lock. */
static void unlist_pool(struct pool *p)
{
	*p->at = p->next;
	if (p->next)
		p->next->at = p->at;
	p->is_listed = false;
}

/* At the end of a thread. The lock is given back last: who ends this library has it after that. */
static void leave_pool(void *argument)
{
	struct pool *p = argument;

	(void)pthread_mutex_lock(&pools_lock);
	if (p->is_listed)
		unlist_pool(p);
	empty_pool(p);
	(void)pthread_mutex_unlock(&pools_lock);
}

/* Without a key nobody would free what the thread keeps. */
static bool list_pool(void)
{
	mpk_process_watch_forks();
	(void)pthread_mutex_lock(&pools_lock);
	if (key_state == KEY_NONE && pthread_key_create(&pool_key, leave_pool) == 0)
		key_state = KEY_THERE;
	pool.is_listed = key_state == KEY_THERE && pthread_setspecific(pool_key, &pool) == 0;
	if (pool.is_listed) {
		pool.next = pools;
		pool.at = &pools;
		if (pools)
			pools->at = &pool.next;
		pools = &pool;
	}
	(void)pthread_mutex_unlock(&pools_lock);
	return pool.is_listed;
}

static struct block *take_block(uint64_t bytes)
{
	for (struct block **at = &pool.free; *at; at = &(*at)->next) {
		struct block *b = *at;

		/* a block much larger than asked for is kept for who needs it */
		if (b->bytes < bytes || b->bytes / 4 > bytes)
			continue;
		begin_change();
		*at = b->next;
		pool.count--;
		end_change();
		return b;
	}
	return NULL;
}

void *mpk_workspace_take(uint64_t bytes)
{
	struct block *b = take_block(bytes);
	uint64_t room;

	if (!b) {
		if (!mpk_align_up(bytes ? bytes : 1, WORKSPACE_ALIGN, &room) ||
		    !mpk_add_u64(room, WORKSPACE_ALIGN, &room) || room > SIZE_MAX / 2)
			return NULL;
		b = aligned_alloc(WORKSPACE_ALIGN, (size_t)room);
		if (!b)
			return NULL;
		b->bytes = room - WORKSPACE_ALIGN;
	}
	return (char *)b + WORKSPACE_ALIGN;
}

void mpk_workspace_give(void *data)
{
	if (!data)
		return;

	struct block *b = (struct block *)(void *)((char *)data - WORKSPACE_ALIGN);

	if (pool.count >= KEPT_MAX || (!pool.is_listed && !list_pool())) {
		free(b);
		return;
	}
	begin_change();
	b->next = pool.free;
	pool.free = b;
	pool.count++;
	end_change();
}

/* They stay listed: their threads go on, and hear of nothing. */
void mpk_workspaces_empty(void)
{
	(void)pthread_mutex_lock(&pools_lock);
	for (struct pool *p = pools; p; p = p->next)
		empty_pool(p);
	(void)pthread_mutex_unlock(&pools_lock);
}

/* What threads keep stays theirs: at the end of a program they may be running. */
void mpk_workspaces_end(void)
{
	(void)pthread_mutex_lock(&pools_lock);
	if (key_state == KEY_THERE)
		(void)pthread_key_delete(pool_key);
	key_state = KEY_NEVER;
	(void)pthread_mutex_unlock(&pools_lock);
}

/* The pools of threads that are not here lie in memory that the next thread gets. One that its thread
 * was at may be in pieces, and what is in it is lost. */
static void forget_pools(void)
{
	struct pool *next;

	for (struct pool *p = pools; p; p = next) {
		next = p->next;
		if (p == &pool)
			continue;
		unlist_pool(p);
		if (!atomic_load_explicit(&p->changes, memory_order_acquire))
			empty_pool(p);
	}
}

void mpk_workspaces_at_fork(enum mpk_fork_moment moment)
{
	if (moment == MPK_FORK_CHILD)
		forget_pools();
	mpk_lock_at_fork(&pools_lock, moment);
}
