/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - the devices that a runtime has opened, and tensors on them
 *
 * A device is opened when code or a tensor first needs it and stays open until the runtime goes,
 * as drivers take long to start. One lock is over the table alone; calls of drivers are made
 * without it.
 */
#include "runtime/devices.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "runtime/internal/runtime.h"

/* --- free lists by size class ------------------------------------------------------------------ */

/* Sizes are rounded up to one of four classes per power of two, so that tensors of nearly the
 * same size (a sequence one token longer) find each other's memory: at most a quarter is lost
 * to rounding, and a model of changing shapes does not grow without end. */

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
	struct mpk_memory *memory; /* NULL: nobody counts */
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
				   struct mpk_memory *memory, struct mpk_allocator **out,
				   struct mpk_error *err)
{
	struct mpk_allocator *a = calloc(1, sizeof *a);

	MPK_TRY_ALLOC(a, err);
	(void)pthread_mutex_init(&a->lock, NULL);
	a->device = device;
	a->where = where;
	a->memory = memory;
	*out = a;
	return MPK_OK;
}

/* The storage's release: called when its last reference is gone, from any thread. */
static void put_back(struct mpk_storage *storage)
{
	struct block *b = (struct block *)storage;
	struct mpk_allocator *a = b->allocator;

	mpk_memory_keep(a->memory, storage->bytes, storage->purpose);
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
static enum mpk_code allocator_take_memory(struct mpk_allocator *a, uint64_t room, void **out,
					   struct mpk_error *err)
{
	const struct mpk_memory *m = a->memory;
	enum mpk_code code;

	if (m && m->from.allocate) {
		MPK_TRY_ALLOC(room <= SIZE_MAX / 2, err);
		*out = m->from.allocate(m->from.user, a->where, room, MPK_MEMORY_ALIGN);
		if (!*out && mpk_allocator_trim(a))
			*out = m->from.allocate(m->from.user, a->where, room, MPK_MEMORY_ALIGN);
		MPK_TRY_ALLOC(*out, err);
		return MPK_OK;
	}
	code = mpk_device_alloc(a->device, room, out, err);
	if (code != MPK_OK && mpk_allocator_trim(a))
		code = mpk_device_alloc(a->device, room, out, err);
	return code;
}

static void allocator_give_memory(struct mpk_allocator *a, struct block *b)
{
	const struct mpk_memory *m = a->memory;

	if (m && m->from.allocate) {
		/* the caller does not know which kernels use it; a device that fails runs none */
		enum mpk_code ended = mpk_device_sync(a->device, NULL);

		(void)ended;
		m->from.release(m->from.user, a->where, b->storage.data, b->storage.bytes);
	} else {
		mpk_device_free(a->device, b->storage.data);
	}
}

static enum mpk_code allocator_make(struct mpk_allocator *a, unsigned class, uint64_t room,
				    struct block **out, struct mpk_error *err)
{
	struct block *b = calloc(1, sizeof *b);
	enum mpk_code code;

	MPK_TRY_ALLOC(b, err);
	b->storage.purpose = (uint8_t)mpk_purpose_here();
	code = mpk_memory_count(a->memory, room, b->storage.purpose, err);
	if (code != MPK_OK) {
		free(b);
		return mpk_failed(code);
	}
	code = allocator_take_memory(a, room, &b->storage.data, err);
	if (code != MPK_OK) {
		mpk_memory_uncount(a->memory, room, b->storage.purpose);
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
	if (b) {
		b->storage.purpose = (uint8_t)mpk_purpose_here();
		mpk_memory_lend(a->memory, room, b->storage.purpose);
	} else {
		MPK_TRY(allocator_make(a, class, room, &b, err));
	}
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
			allocator_give_memory(a, b);
			free(b);
		}
	a->stats.held_bytes -= bytes;
	if (a->memory)
		atomic_fetch_sub_explicit(&a->memory->used, bytes, memory_order_relaxed);
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

/* Let a child use the memory of its parent on the CPU; other devices do not work there */
static void allocator_at_fork(struct mpk_allocator *a, enum mpk_fork_moment moment)
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

struct open_device {
	struct mpk_dldevice where;
	struct mpk_device *device;
	struct mpk_allocator *allocator;
};

struct mpk_devices {
	pthread_mutex_t lock; /* over everything below */
	struct open_device *open;
	size_t open_count, open_cap;
	int32_t current[MPK_DEVICE_KINDS]; /* ordinal, by place in mpk_device_kinds */
	bool image_arrays;
	const char *cuda_home;
	struct mpk_memory host, others; /* of the CPU; of all other devices */
	bool forks; /* a fork has the lock, and that of the allocator on the CPU */
	struct mpk_devices *next, **at;
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mpk_devices *all_devices;

/* The ordinal that module code set for a kind of device. */
static int32_t *current_of(struct mpk_devices *devices, enum mpk_device_kind kind)
{
	size_t i = 0;

	while (i + 1 < MPK_DEVICE_KINDS && mpk_device_kinds[i] != kind)
		i++;
	return &devices->current[i];
}

/* --- life -------------------------------------------------------------------------------- */

/* Locks are taken as by who opens a device: none of them allocates while it has one. */
static uint64_t trim_devices(struct mpk_devices *devices, bool is_host)
{
	uint64_t bytes = 0;

	(void)pthread_mutex_lock(&devices->lock);
	for (size_t i = 0; i < devices->open_count; i++)
		if ((devices->open[i].where.type == MPK_DL_CPU) == is_host)
			bytes += mpk_allocator_trim(devices->open[i].allocator);
	(void)pthread_mutex_unlock(&devices->lock);
	return bytes;
}

static uint64_t trim_host(void *owner)
{
	return trim_devices(owner, true);
}

static uint64_t trim_others(void *owner)
{
	return trim_devices(owner, false);
}

struct mpk_memory *mpk_devices_memory(struct mpk_devices *devices, bool is_host)
{
	return is_host ? &devices->host : &devices->others;
}

enum mpk_code mpk_devices_create(const char *cuda_home, struct mpk_devices **out,
				 struct mpk_error *err)
{
	struct mpk_devices *devices = calloc(1, sizeof *devices);

	MPK_TRY_ALLOC(devices, err);
	(void)pthread_mutex_init(&devices->lock, NULL);
	devices->cuda_home = cuda_home;
	devices->host.trim = trim_host;
	devices->others.trim = trim_others;
	devices->host.owner = devices->others.owner = devices;
	(void)pthread_mutex_lock(&all_lock);
	devices->next = all_devices;
	devices->at = &all_devices;
	if (all_devices)
		all_devices->at = &devices->next;
	all_devices = devices;
	(void)pthread_mutex_unlock(&all_lock);
	*out = devices;
	return MPK_OK;
}

/* Forks have nothing to do with them any more before they go: in the reverse order of opening, and allocators before
 * their device, whose memory they keep. */
void mpk_devices_destroy(struct mpk_devices *devices)
{
	if (!devices)
		return;
	(void)pthread_mutex_lock(&all_lock);
	*devices->at = devices->next;
	if (devices->next)
		devices->next->at = devices->at;
	(void)pthread_mutex_unlock(&all_lock);
	for (size_t i = devices->open_count; i-- > 0;) {
		mpk_allocator_destroy(devices->open[i].allocator);
		mpk_device_close(devices->open[i].device);
	}
	free(devices->open);
	(void)pthread_mutex_destroy(&devices->lock);
	free(devices);
}

/* Device 0 of a kind is opened when code first names it; an id is DLPack's, so it may be
 * anything. */
static enum mpk_code open_device(struct mpk_devices *devices, struct mpk_dldevice where,
				 struct open_device *out, struct mpk_error *err)
{
	enum mpk_device_kind kind = mpk_device_kind_from(where.type);
	struct open_device opened = { .where = where };

	for (size_t i = 0; i < devices->open_count; i++)
		if (mpk_dldevice_equal(devices->open[i].where, where)) {
			*out = devices->open[i];
			return MPK_OK;
		}
	if (kind == MPK_DEVICE_NONE || where.id < 0)
		return mpk_fail(err, MPK_E_DEVICE, "the code asks for device %d of DLPack type %d",
				where.id, where.type);
	MPK_TRY_ALLOC(MPK_VEC_ROOM(devices->open, devices->open_count, devices->open_cap), err);
	MPK_TRY(mpk_device_open(kind, (unsigned)where.id, devices->cuda_home, &opened.device, err));
	enum mpk_code code = mpk_allocator_create(
		opened.device, where, mpk_devices_memory(devices, where.type == MPK_DL_CPU),
		&opened.allocator, err);

	if (code != MPK_OK) {
		mpk_device_close(opened.device);
		return mpk_failed(code);
	}
	devices->open[devices->open_count++] = opened;
	*out = opened;
	return MPK_OK;
}

static enum mpk_code devices_get(struct mpk_devices *devices, struct mpk_dldevice where,
				 struct open_device *out, struct mpk_error *err)
{
	(void)pthread_mutex_lock(&devices->lock);
	enum mpk_code code = open_device(devices, where, out, err);

	(void)pthread_mutex_unlock(&devices->lock);
	return code;
}

enum mpk_code mpk_devices_get(struct mpk_devices *devices, struct mpk_dldevice where,
			      struct mpk_device **out, struct mpk_error *err)
{
	struct open_device opened;

	MPK_TRY(devices_get(devices, where, &opened, err));
	*out = opened.device;
	return MPK_OK;
}

enum mpk_code mpk_devices_allocator(struct mpk_devices *devices, struct mpk_dldevice where,
				    struct mpk_allocator **out, struct mpk_error *err)
{
	struct open_device opened;

	MPK_TRY(devices_get(devices, where, &opened, err));
	*out = opened.allocator;
	return MPK_OK;
}

/* Opened first, so that a device which is missing is an error here and not at the next launch. */
enum mpk_code mpk_devices_use(struct mpk_devices *devices, struct mpk_dldevice where,
			      struct mpk_error *err)
{
	struct open_device opened;

	MPK_TRY(devices_get(devices, where, &opened, err));
	(void)pthread_mutex_lock(&devices->lock);
	*current_of(devices, mpk_device_kind_from(where.type)) = where.id;
	(void)pthread_mutex_unlock(&devices->lock);
	return MPK_OK;
}

/* Each launch asks for it: the lock is taken once. */
enum mpk_code mpk_devices_get_current(struct mpk_devices *devices, enum mpk_device_kind kind,
				      struct mpk_device **out, struct mpk_error *err)
{
	struct mpk_dldevice where = { .type = (int32_t)kind };
	struct open_device opened;

	(void)pthread_mutex_lock(&devices->lock);
	where.id = *current_of(devices, kind);
	enum mpk_code code = open_device(devices, where, &opened, err);

	(void)pthread_mutex_unlock(&devices->lock);
	MPK_TRY(code);
	*out = opened.device;
	return MPK_OK;
}

/* Whoever has the lock may be waiting for a driver that forks, so it is not waited for. Only memory on
 * the CPU is of use in a child. */
static void table_at_fork(struct mpk_devices *devices, enum mpk_fork_moment moment)
{
	if (moment == MPK_FORK_PREPARE)
		devices->forks = pthread_mutex_trylock(&devices->lock) == 0;
	for (size_t i = 0; devices->forks && i < devices->open_count; i++)
		if (devices->open[i].where.type == MPK_DL_CPU)
			allocator_at_fork(devices->open[i].allocator, moment);
	if (moment != MPK_FORK_PREPARE && devices->forks)
		(void)pthread_mutex_unlock(&devices->lock);
	else if (moment == MPK_FORK_CHILD)
		mpk_lock_free_in_child(&devices->lock);
}

static void devices_at_fork(enum mpk_fork_moment moment)
{
	if (moment == MPK_FORK_PREPARE)
		mpk_lock_at_fork(&all_lock, moment);
	for (struct mpk_devices *d = all_devices; d; d = d->next)
		table_at_fork(d, moment);
	if (moment != MPK_FORK_PREPARE)
		mpk_lock_at_fork(&all_lock, moment);
}

const struct mpk_process_part mpk_devices_part = { .at_fork = devices_at_fork };

/* --- for module code --------------------------------------------------------------------- */

/* The type in a kernel's source says how this library folds textures; a payload does not say it
 * otherwise. */
void mpk_devices_add_images(struct mpk_devices *devices, const struct mpk_tree *tree)
{
	static const char type[] = "image2d_array_t";
	bool arrays = false;

	for (size_t i = 0; tree && i < tree->count && !arrays; i++) {
		const struct mpk_node *node = &tree->nodes[i];

		arrays = mpk_span_is(node->kind, "opencl") && node->payload.len &&
			 memmem(node->payload.data, node->payload.len, type, sizeof type - 1);
	}
	(void)pthread_mutex_lock(&devices->lock);
	devices->image_arrays |= arrays;
	(void)pthread_mutex_unlock(&devices->lock);
}

bool mpk_devices_image_arrays(struct mpk_devices *devices)
{
	(void)pthread_mutex_lock(&devices->lock);
	bool arrays = devices->image_arrays;

	(void)pthread_mutex_unlock(&devices->lock);
	return arrays;
}

enum mpk_code mpk_devices_sync(struct mpk_devices *devices, struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;

	(void)pthread_mutex_lock(&devices->lock);
	for (size_t i = 0; i < devices->open_count && code == MPK_OK; i++)
		code = mpk_device_sync(devices->open[i].device, err);
	(void)pthread_mutex_unlock(&devices->lock);
	return code;
}
