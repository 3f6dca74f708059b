/* SPDX-License-Identifier: Apache-2.0 */
/* allocator.h - storages of one device, kept for the next who wants one of the size
 *
 * Models allocate and free the same sizes at every step, and a driver's allocation costs more
 * than a small kernel. A storage that is dropped goes back to its allocator and is given out
 * again: on a device all uses are ordered by its one queue, so nobody has to wait for the kernels
 * that still use it. Content is not cleared.
 */
#ifndef MPK_RUNTIME_INTERNAL_ALLOCATOR_H
#define MPK_RUNTIME_INTERNAL_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "device/device.h"
#include "value/storage.h"

struct mpk_allocator;

/* What an allocator did so far. */
struct mpk_allocator_stats {
	uint64_t given;      /* storages handed out */
	uint64_t allocated;  /* of them new memory of the device; the others were there */
	uint64_t held_bytes; /* of the device now: in use or kept */
};

/* mpk_allocator_create - for one device
 * @device  borrowed until destroy
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_allocator_create(struct mpk_device *device, struct mpk_dldevice where,
				   struct mpk_allocator **out,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_allocator_destroy - give all kept memory back; its storages must be gone. NULL is fine */
void mpk_allocator_destroy(struct mpk_allocator *a);

/* mpk_allocator_storage - memory of at least bytes bytes, in host memory aligned to 64
 * May be called from several threads.
 * @out     one reference; storage->bytes may be more than asked for
 * Returns  MPK_OK; as mpk_device_alloc, after all kept memory was given back and it was tried
 *          again */
enum mpk_code mpk_allocator_storage(struct mpk_allocator *a, uint64_t bytes,
				    struct mpk_storage **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_allocator_owns - whether a storage came from an allocator and goes back to it */
bool mpk_allocator_owns(const struct mpk_storage *storage);

/* mpk_allocator_trim - give all kept memory back to the device; returns how many bytes that was */
uint64_t mpk_allocator_trim(struct mpk_allocator *a);

/* mpk_allocator_get_stats - what it has done so far, and what it keeps */
struct mpk_allocator_stats mpk_allocator_get_stats(struct mpk_allocator *a);

#endif
