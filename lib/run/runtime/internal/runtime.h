/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.h - what the files of this folder share, and nobody else includes */
#ifndef MPK_RUNTIME_INTERNAL_RUNTIME_H
#define MPK_RUNTIME_INTERNAL_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "blob/blob.h"
#include "device/device.h"
#include "runtime/host.h"
#include "runtime/stub.h"
#include "value/module.h"
#include "value/storage.h"

/* Storages of one device, kept for the next who wants one of the size
 *
 * Models allocate and free the same sizes at every step, and a driver's allocation costs more
 * than a small kernel. A storage that is dropped goes back to its allocator and is given out
 * again: on a device all uses are ordered by its one queue, so nobody has to wait for the kernels
 * that still use it. Content is not cleared.
 */

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

/* --- Kernels as a user says them: "add", or "/0#add" of the module at a path --- */

struct mpk_kernel_name {
	const char *name;  /* of the kernel alone; a part of the text */
	size_t first, end; /* nodes of the tree that may hold it */
	int32_t device;    /* DLPack's type of device that the code is to be for; 0: any */
};

/* mpk_kernel_name_parse - take a text apart
 * Returns  MPK_OK; MPK_E_NOTFOUND: no module at that path */
enum mpk_code mpk_kernel_name_parse(const struct mpk_tree *tree, const char *text, int32_t device,
				    struct mpk_kernel_name *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_kernel_name_ambiguous - MPK_E_USAGE that says how to name the one in node a and that in b */
enum mpk_code mpk_kernel_name_ambiguous(const struct mpk_tree *tree,
					const struct mpk_kernel_name *name, size_t a, size_t b,
					struct mpk_error *err);

/* --- The functions that module code expects of its loader, and how it gets them --- */

/* mpk_module_api - what the runtime stubs forward to and context pointers point at; static */
const struct mpk_stub_table *mpk_module_api(void);

/* mpk_host_link - open what module code imports by name, then the library, then look whether
 * anything is missing; fills host->handle
 * Returns  as mpk_library_open */
enum mpk_code mpk_host_link(struct mpk_host *host, struct mpk_error *err) MPK_MUST_CHECK;

#define MPK_TVM_FFI_SONAME "libtvm_ffi.so"

/* mpk_tvm_ffi_global - a function of the real registry, as a handle that is never given
 * back; false when there is no real library or it has none of that name */
bool mpk_tvm_ffi_global(const char *name, void **out);

#endif
