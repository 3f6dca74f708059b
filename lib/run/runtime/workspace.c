/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.c - what compiled functions ask for around their work: scratch memory, and what is to run once
 *
 * Both are of the process and of its threads, not of a runtime. What becomes of them when it forks or ends, their
 * rows say (struct mpk_process_part).
 */
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "abi/ffi_object.h"
#include "base/compiler.h"
#include "base/num.h"
#include "base/vec.h"
#include "runtime/devices.h"
#include "runtime/internal/parallel.h"
#include "runtime/internal/runtime.h"
#include "runtime/parallel.h"
#include "runtime/runtime.h"

/* --- what module code wants to run once -------------------------------------------------------- */

/* No lock is held while something runs once. It may launch a parallel loop whose tasks, in other
 * threads, run other things once, or come to the same slot again: with a lock around it they would
 * wait for whoever waits for them. */

/* Something that is being run; lives on the stack of the thread that runs it. */
struct mpk_once {
	void **slot;
	struct mpk_once *outer; /* what its thread was running once before */
	struct mpk_once *next;  /* in the list of all */
};

static pthread_mutex_t once_lock = PTHREAD_MUTEX_INITIALIZER; /* over the list and the slots */
static pthread_cond_t once_ended = PTHREAD_COND_INITIALIZER;
static struct mpk_once *once_running;
static _Thread_local struct mpk_once *inside;

struct mpk_once **mpk_once_inside(void)
{
	return &inside;
}

/* A slot that this thread is already running once: waiting for it would be for ever. */
static bool is_inside(void *const *slot)
{
	for (const struct mpk_once *o = inside; o; o = o->outer)
		if (o->slot == slot)
			return true;
	return false;
}

static bool is_running(void *const *slot)
{
	for (const struct mpk_once *o = once_running; o; o = o->next)
		if (o->slot == slot)
			return true;
	return false;
}

/* Whether the caller is to run it: then *self is listed, and finish must follow. */
static bool begin_once(void **slot, struct mpk_once *self)
{
	bool mine;

	if (is_inside(slot))
		return false;
	(void)pthread_mutex_lock(&once_lock);
	while (is_running(slot))
		(void)pthread_cond_wait(&once_ended, &once_lock);
	mine = !__atomic_load_n(slot, __ATOMIC_ACQUIRE);
	if (mine) {
		*self = (struct mpk_once){ slot, inside, once_running };
		once_running = self;
		inside = self;
	}
	(void)pthread_mutex_unlock(&once_lock);
	return mine;
}

static void finish_once(struct mpk_once *self, void *value)
{
	struct mpk_once **link = &once_running;

	(void)pthread_mutex_lock(&once_lock);
	while (*link != self)
		link = &(*link)->next;
	*link = self->next;
	inside = self->outer;
	if (value)
		__atomic_store_n(self->slot, value, __ATOMIC_RELEASE);
	(void)pthread_cond_broadcast(&once_ended);
	(void)pthread_mutex_unlock(&once_lock);
}

int mpk_once_run(void **slot, int (*fn)(void *data), void *data)
{
	struct mpk_once self;
	int rc;

	if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) || !begin_once(slot, &self))
		return 0;
	rc = fn(data);
	finish_once(&self, slot); /* any pointer that is not NULL */
	return rc;
}

static int run_once(void **slot, int (*fn)(void *), void *data, int bytes)
{
	(void)bytes;
	return mpk_once_run(slot, fn, data);
}

/* The slot gets what init gave; an init that fails is tried again. A NULL handle would make the slot look as if nothing had
 * run. Apart from who asks, as the room of an error is filled at each entry. */
__attribute__((noinline)) static int init_slot(void **slot, int (*init)(void **result))
{
	struct mpk_error e;
	struct mpk_once self;
	void *result = NULL;
	int rc;

	if (!begin_once(slot, &self))
		return 0;
	rc = init(&result);
	finish_once(&self, rc == 0 ? result : NULL);
	if (rc != 0 || result)
		return rc;
	(void)mpk_fail(&e, MPK_E_RAISED, "an initialiser gave no handle");
	mpk_raised_set_error(&e);
	return -1;
}

/* Compiled code asks before each call. */
static int init_once(void **slot, int (*init)(void **result))
{
	return __atomic_load_n(slot, __ATOMIC_ACQUIRE) ? 0 : init_slot(slot, init);
}

static int deinit_once(void **slot, int (*deinit)(void *handle))
{
	void *handle = __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL);

	return handle ? deinit(handle) : 0;
}

/* --- scratch memory of compiled functions ------------------------------------------------------ */

/* They take and give it back on each call, so a thread keeps what it freed for its next request, in
 * a pool that is its own and needs no lock. The thread's end frees it, or the end of the last
 * runtime: pools that have something are listed. */

enum {
	WORKSPACE_ALIGN = 128, /* bytes; what the strictest release of TVM assumed */
	KEPT_MAX = 16,
};

/* Stands before the memory handed out, as long as the alignment. */
struct block {
	uint64_t bytes;            /* usable */
	struct mpk_memory *memory; /* of the runtime whose code has it; NULL: nobody counts */
	struct block *next;        /* in the list of free ones */
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

/* @bytes   a multiple of WORKSPACE_ALIGN, as those of blocks are */
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

/* What a thread keeps is counted for nobody: the code that gets it next may be of another runtime. */
static void *take_workspace(struct mpk_memory *m, uint64_t bytes)
{
	struct block *b;
	uint64_t room;

	if (!mpk_align_up(bytes ? bytes : 1, WORKSPACE_ALIGN, &room) ||
	    room > SIZE_MAX / 2 - WORKSPACE_ALIGN)
		return NULL;
	b = take_block(room);
	if (b)
		room = b->bytes;
	if (mpk_memory_count(m, room, MPK_PURPOSE_SCRATCH, NULL) != MPK_OK) {
		free(b);
		return NULL;
	}
	if (!b) {
		b = aligned_alloc(WORKSPACE_ALIGN, (size_t)room + WORKSPACE_ALIGN);
		if (!b) {
			mpk_memory_uncount(m, room, MPK_PURPOSE_SCRATCH);
			return NULL;
		}
		b->bytes = room;
	}
	b->memory = m;
	return (char *)b + WORKSPACE_ALIGN;
}

static void give_workspace(void *data)
{
	if (!data)
		return;

	struct block *b = (struct block *)(void *)((char *)data - WORKSPACE_ALIGN);

	mpk_memory_uncount(b->memory, b->bytes, MPK_PURPOSE_SCRATCH);
	b->memory = NULL;
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

/* Pools stay listed: their threads go on, and hear of nothing. What threads keep stays theirs when the code goes with
 * runtimes open: at the end of a program they may be running. */
static void end_workspaces(bool is_unused, bool code_goes)
{
	(void)pthread_mutex_lock(&pools_lock);
	if (code_goes && key_state == KEY_THERE)
		(void)pthread_key_delete(pool_key);
	if (code_goes)
		key_state = KEY_NEVER;
	for (struct pool *p = is_unused ? pools : NULL; p; p = p->next)
		empty_pool(p);
	(void)pthread_mutex_unlock(&pools_lock);
}

/* --- scratch memory on devices ----------------------------------------------------------------- */

/* Kernels that sort or scan ask for it in each call; a driver takes tens of microseconds for what an allocator
 * has at hand. What is given back and taken again is used in the order of one queue. */

static pthread_mutex_t lent_lock = PTHREAD_MUTEX_INITIALIZER; /* over what follows */
static struct lent {
	struct mpk_devices *devices;
	struct mpk_storage *storage;
} *lent; /* what module code has, the last one taken at the end */
static size_t lent_count, lent_cap;

static void *take_scratch(struct mpk_devices *devices, struct mpk_dldevice where, uint64_t bytes)
{
	struct mpk_allocator *allocator;
	struct mpk_storage *storage;
	bool has_room;

	if (mpk_devices_allocator(devices, where, &allocator, NULL) != MPK_OK ||
	    mpk_allocator_storage(allocator, bytes, &storage, NULL) != MPK_OK)
		return NULL;
	(void)pthread_mutex_lock(&lent_lock);
	has_room = MPK_VEC_ROOM(lent, lent_count, lent_cap);
	if (has_room)
		lent[lent_count++] = (struct lent){ devices, storage };
	(void)pthread_mutex_unlock(&lent_lock);
	if (has_room)
		return storage->data;
	mpk_storage_drop(storage);
	return NULL;
}

/* From any thread; memory that was not taken there is left alone.
 * @where   NULL: whatever was taken of these devices
 * Returns  whether there was something */
static bool give_scratch(struct mpk_devices *devices, const struct mpk_dldevice *where,
			 const void *data)
{
	struct mpk_storage *found = NULL;

	(void)pthread_mutex_lock(&lent_lock);
	for (size_t i = lent_count; i-- > 0 && !found;) {
		struct mpk_storage *s = lent[i].storage;

		if (lent[i].devices != devices ||
		    (where && (s->data != data || !mpk_dldevice_equal(s->device, *where))))
			continue;
		found = s;
		memmove(&lent[i], &lent[i + 1], (--lent_count - i) * sizeof *lent);
	}
	(void)pthread_mutex_unlock(&lent_lock);
	if (found)
		mpk_storage_drop(found);
	return found;
}

/* What code forgot to give back. */
static void leave_scratch(struct mpk_devices *devices)
{
	while (give_scratch(devices, NULL, NULL))
		;
	(void)pthread_mutex_lock(&lent_lock);
	if (!lent_count) {
		free(lent);
		lent = NULL;
		lent_cap = 0;
	}
	(void)pthread_mutex_unlock(&lent_lock);
}

static void workspaces_at_fork(enum mpk_fork_moment moment)
{
	if (moment == MPK_FORK_CHILD) {
		/* The pools of threads that are not here lie in memory that the next thread
		 * gets. One that its thread was at may be in pieces, and what is in it is lost. */
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

	if (moment == MPK_FORK_CHILD) {
		/* What threads of the parent were running never ends in a child, so that its
		 * threads would wait for ever: whoever comes first runs it again. */
		once_running = NULL;
		for (struct mpk_once *o = inside; o; o = o->outer) {
			o->next = once_running;
			once_running = o;
		}
		once_ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	}
	mpk_lock_at_fork(&once_lock, moment);

	mpk_lock_at_fork(&pools_lock, moment);
	mpk_lock_at_fork(&lent_lock, moment);
}

const struct mpk_process_part mpk_workspaces_part = { .at_fork = workspaces_at_fork,
						      .leave = leave_scratch,
						      .end = end_workspaces };

/* --- as module code calls them ---------------------------------------------------------------- */

/* Errors get lost here: a C function returns NULL alone. Apart from who asks, as the room of an error is filled at each
 * entry. */
__attribute__((noinline)) static void *fail_workspace(int type, struct mpk_memory *m)
{
	struct mpk_error e;

	if (m && atomic_load(&m->was_refused))
		(void)mpk_memory_fail(m, &e);
	else
		(void)mpk_fail(&e, type == MPK_DL_CPU ? MPK_E_NOMEM : MPK_E_RAISED,
			       "no memory for the workspace of a function");
	mpk_raised_set_error(&e);
	return NULL;
}

/* Whose code this thread is in; what its functions take is given by the caller where he gives memory, as on other
 * devices. */
static struct mpk_devices *devices_here(int type, struct mpk_memory **m)
{
	struct mpk_runtime *runtime = mpk_context_get().runtime;
	struct mpk_devices *devices = runtime ? mpk_runtime_devices(runtime) : NULL;

	*m = devices ? mpk_devices_memory(devices, type == MPK_DL_CPU) : NULL;
	return devices;
}

static void *alloc_workspace(int type, int id, uint64_t bytes, int code, int bits)
{
	struct mpk_memory *m;
	struct mpk_devices *devices = devices_here(type, &m);
	void *data = NULL;

	(void)code;
	(void)bits;
	if (type == MPK_DL_CPU && (!m || !m->from.allocate))
		data = take_workspace(m, bytes);
	else if (devices)
		data = take_scratch(devices, (struct mpk_dldevice){ type, id }, bytes);
	return data ? data : fail_workspace(type, m);
}

static int free_workspace(int type, int id, void *data)
{
	struct mpk_memory *m;
	struct mpk_devices *devices = devices_here(type, &m);

	if (type == MPK_DL_CPU && (!m || !m->from.allocate))
		give_workspace(data);
	else if (devices)
		(void)give_scratch(devices, &(struct mpk_dldevice){ type, id }, data);
	return 0;
}

/* clang-format off */
MPK_API_LINKED(TVMBackendAllocWorkspace, alloc_workspace)
MPK_API_LINKED(TVMBackendFreeWorkspace, free_workspace)
MPK_API_LINKED(TVMBackendRunOnce, run_once)
MPK_API_LINKED(TVMFFIHandleInitOnce, init_once)
MPK_API_LINKED(TVMFFIHandleDeinitOnce, deinit_once)

static const struct mpk_module_symbol rows[] = {
	MPK_API_ROW(BACKEND, "TVMBackendAllocWorkspace", alloc_workspace)
	MPK_API_ROW(BACKEND, "TVMBackendFreeWorkspace", free_workspace)
	MPK_API_ROW(BACKEND, "TVMBackendRunOnce", run_once)
	MPK_API_ROW(FFI, "TVMFFIHandleInitOnce", init_once)
	MPK_API_ROW(FFI, "TVMFFIHandleDeinitOnce", deinit_once)
};
/* clang-format on */

const struct mpk_module_symbols mpk_workspace_api = { rows, MPK_ARRAY_COUNT(rows) };
