/* SPDX-License-Identifier: Apache-2.0 */
/* allocator.c - free lists by size class
 *
 * Sizes are rounded up to one of four classes per power of two, so that tensors of nearly the
 * same size (a sequence one token longer) find each other's memory: at most a quarter is lost
 * to rounding, and a model of changing shapes does not grow without end.
 */
#include "runtime/internal/runtime.h"

#include <pthread.h>
#include <stdlib.h>

#include "runtime/internal/process.h"

enum {
	SMALLEST_LOG2 = 6,                  /* one cache line, and the alignment */
	CLASSES = 4 * (64 - SMALLEST_LOG2), /* a class is 4 * log2 + the two bits below the first */
};

struct block {
	struct mpk_storage storage;
	struct mpk_allocator *allocator;
	unsigned class;
	struct block *next; /* in its free list */
};

struct mpk_allocator {
	pthread_mutex_t lock;
	struct mpk_device *device;
	struct mpk_dldevice where;
	struct block *free[CLASSES];
	struct mpk_allocator_stats stats;
};

/* The smallest class whose blocks hold bytes, and how much they hold. */
static unsigned allocator_class_of(uint64_t bytes, uint64_t *room)
{
	uint64_t least = UINT64_C(1) << SMALLEST_LOG2;

	if (bytes <= least) {
		*room = least;
		return 0;
	}
	unsigned log2 = 63 - (unsigned)__builtin_clzll(bytes - 1);
	unsigned quarter = (unsigned)((bytes - 1) >> (log2 - 2) & 3);

	*room = (UINT64_C(5) + quarter) << (log2 - 2);
	return 4 * (log2 - SMALLEST_LOG2) + quarter + 1;
}

/* No memory is taken before the first storage is asked for. */
enum mpk_code mpk_allocator_create(struct mpk_device *device, struct mpk_dldevice where,
				   struct mpk_allocator **out, struct mpk_error *err)
{
	struct mpk_allocator *a = calloc(1, sizeof *a);

	MPK_TRY_ALLOC(a, err);
	(void)pthread_mutex_init(&a->lock, NULL);
	a->device = device;
	a->where = where;
	*out = a;
	return MPK_OK;
}

/* The storage's release: called when its last reference is gone, from any thread. */
static void put_back(struct mpk_storage *storage)
{
	struct block *b = (struct block *)storage;
	struct mpk_allocator *a = b->allocator;

	(void)pthread_mutex_lock(&a->lock);
	b->next = a->free[b->class];
	a->free[b->class] = b;
	(void)pthread_mutex_unlock(&a->lock);
}

bool mpk_allocator_owns(const struct mpk_storage *storage)
{
	return storage->release == put_back;
}

/* The latest one given back, whose memory is most likely still in a cache. */
static struct block *allocator_take(struct mpk_allocator *a, unsigned class)
{
	(void)pthread_mutex_lock(&a->lock);
	struct block *b = a->free[class];

	if (b)
		a->free[class] = b->next;
	a->stats.given += b != NULL;
	(void)pthread_mutex_unlock(&a->lock);
	return b;
}

/* Memory that other classes keep is given back before the device is said to be full. */
static enum mpk_code allocator_make(struct mpk_allocator *a, unsigned class, uint64_t room,
				    struct block **out, struct mpk_error *err)
{
	struct block *b = calloc(1, sizeof *b);

	MPK_TRY_ALLOC(b, err);
	enum mpk_code code = mpk_device_alloc(a->device, room, &b->storage.data, err);

	if (code != MPK_OK && mpk_allocator_trim(a))
		code = mpk_device_alloc(a->device, room, &b->storage.data, err);
	if (code != MPK_OK) {
		free(b);
		return mpk_failed(code);
	}
	b->storage.device = a->where;
	b->storage.bytes = room;
	b->storage.release = put_back;
	b->allocator = a;
	b->class = class;
	(void)pthread_mutex_lock(&a->lock);
	a->stats.given++;
	a->stats.allocated++;
	a->stats.held_bytes += room;
	(void)pthread_mutex_unlock(&a->lock);
	*out = b;
	return MPK_OK;
}

enum mpk_code mpk_allocator_storage(struct mpk_allocator *a, uint64_t bytes,
				    struct mpk_storage **out, struct mpk_error *err)
{
	uint64_t room;
	struct block *b;
	unsigned class;

	if (bytes > INT64_MAX)
		return mpk_fail(err, MPK_E_RANGE, "a storage of more than 2^63 bytes");
	class = allocator_class_of(bytes, &room);
	b = allocator_take(a, class);
	if (!b)
		MPK_TRY(allocator_make(a, class, room, &b, err));
	atomic_store_explicit(&b->storage.refs, 1, memory_order_relaxed);
	*out = &b->storage;
	return MPK_OK;
}

/* Only what nobody uses: storages that are out come back later. */
uint64_t mpk_allocator_trim(struct mpk_allocator *a)
{
	uint64_t bytes = 0;

	(void)pthread_mutex_lock(&a->lock);
	for (unsigned class = 0; class < CLASSES; class ++)
		while (a->free[class]) {
			struct block *b = a->free[class];

			a->free[class] = b->next;
			bytes += b->storage.bytes;
			mpk_device_free(a->device, b->storage.data);
			free(b);
		}
	a->stats.held_bytes -= bytes;
	(void)pthread_mutex_unlock(&a->lock);
	return bytes;
}

struct mpk_allocator_stats mpk_allocator_get_stats(struct mpk_allocator *a)
{
	(void)pthread_mutex_lock(&a->lock);
	struct mpk_allocator_stats stats = a->stats;

	(void)pthread_mutex_unlock(&a->lock);
	return stats;
}

void mpk_allocator_at_fork(struct mpk_allocator *a, enum mpk_fork_moment moment)
{
	mpk_lock_at_fork(&a->lock, moment);
}

void mpk_allocator_destroy(struct mpk_allocator *a)
{
	if (!a)
		return;
	(void)mpk_allocator_trim(a);
	(void)pthread_mutex_destroy(&a->lock);
	free(a);
}
