/* SPDX-License-Identifier: Apache-2.0 */
/* storage.h - reference-counted memory that tensors are views of
 *
 * A tensor holds its storage; whoever drops a storage while tensors of it live (the Relax
 * VM does so all the time) takes nothing away from them. Counts are atomic.
 */
#ifndef MPK_VALUE_STORAGE_H
#define MPK_VALUE_STORAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "value/dltensor.h"

/* What kernels of TVM take for granted of host memory, in bytes. */
enum { MPK_STORAGE_ALIGN = 64 };

struct mpk_storage {
	atomic_uint refs;
	struct mpk_dldevice device;
	void *data;     /* host: an address; else what the device calls its memory */
	uint64_t bytes; /* usable from data on */
	bool is_shared; /* with children forked later */
	/* Gives data back and frees the structure itself; called once, when the last reference
	 * is gone. */
	void (*release)(struct mpk_storage *storage);
	void *owner; /* for release */
};

enum mpk_storage_memory {
	MPK_STORAGE_PRIVATE, /* zeroed memory of this process */
	MPK_STORAGE_SHARED, /* zeroed; from MPK_LARGE_BYTES on a child forked later writes to the same
			      * pages (is_shared). Less is copied from process to process sooner
			      * than it is mapped. */
};

/* mpk_storage_create - zeroed host memory, aligned to MPK_STORAGE_ALIGN
 * @bytes   0 is allowed: data is then an address nobody reads
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM */
enum mpk_code mpk_storage_create(uint64_t bytes, enum mpk_storage_memory memory,
				 struct mpk_storage **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_storage_wrap - memory that belongs to somebody else
 * @owner    what keeps the memory; @release gets it back when the last reference is gone;
 *           both NULL: the memory outlives every reference
 * Returns  MPK_OK, one reference in *out; MPK_E_NOMEM, release not called */
enum mpk_code mpk_storage_wrap(void *data, uint64_t bytes, struct mpk_dldevice device, void *owner,
			       void (*release)(void *owner), struct mpk_storage **out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_storage_hold, mpk_storage_drop - count references; NULL is fine */
struct mpk_storage *mpk_storage_hold(struct mpk_storage *storage);
void mpk_storage_drop(struct mpk_storage *storage);

#endif
