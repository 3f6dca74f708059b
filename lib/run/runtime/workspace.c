/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/internal/workspace.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/num.h"

/* Stands before the memory handed out, as long as the alignment. */
struct block {
	uint64_t bytes;     /* usable */
	struct block *next; /* in the list of free ones */
};

enum { KEPT_MAX = 16 };

struct pool {
	struct block *free;
	unsigned count;
};

static _Thread_local struct pool pool;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;

static void empty(void *argument)
{
	struct pool *p = argument;

	while (p->free) {
		struct block *b = p->free;

		p->free = b->next;
		free(b);
	}
	p->count = 0;
}

static void make_key(void)
{
	has_key = pthread_key_create(&key, empty) == 0;
}

static struct block *take(uint64_t bytes)
{
	for (struct block **at = &pool.free; *at; at = &(*at)->next) {
		struct block *b = *at;

		/* a block much larger than asked for is kept for who needs it */
		if (b->bytes < bytes || b->bytes / 4 > bytes)
			continue;
		*at = b->next;
		pool.count--;
		return b;
	}
	return NULL;
}

void *mpk_workspace_alloc(uint64_t bytes)
{
	struct block *b = take(bytes);
	uint64_t room;

	if (!b) {
		if (!mpk_align_up(bytes ? bytes : 1, MPK_WORKSPACE_ALIGN, &room) ||
		    !mpk_add_u64(room, MPK_WORKSPACE_ALIGN, &room) || room > SIZE_MAX / 2)
			return NULL;
		b = aligned_alloc(MPK_WORKSPACE_ALIGN, (size_t)room);
		if (!b)
			return NULL;
		b->bytes = room - MPK_WORKSPACE_ALIGN;
	}
	return (char *)b + MPK_WORKSPACE_ALIGN;
}

void mpk_workspace_free(void *data)
{
	if (!data)
		return;

	struct block *b = (struct block *)(void *)((char *)data - MPK_WORKSPACE_ALIGN);
	(void)pthread_once(&once, make_key);
	/* the destructor runs only for a thread that set the key */
	if (pool.count >= KEPT_MAX || !has_key || pthread_setspecific(key, &pool) != 0) {
		free(b);
		return;
	}
	b->next = pool.free;
	pool.free = b;
	pool.count++;
}
