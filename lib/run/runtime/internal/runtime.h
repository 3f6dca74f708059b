/* SPDX-License-Identifier: Apache-2.0 */
/* runtime.h - what the files of this folder share, and nobody else includes */
#ifndef MPK_RUNTIME_INTERNAL_RUNTIME_H
#define MPK_RUNTIME_INTERNAL_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/lock.h"
#include "blob/blob.h"
#include "device/device.h"
#include "runtime/library.h"
#include "value/module.h"
#include "value/tensor.h"

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
 * @memory  counts what it takes and may give it; borrowed until destroy; NULL: nobody does
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_allocator_create(struct mpk_device *device, struct mpk_dldevice where,
				   struct mpk_memory *memory, struct mpk_allocator **out,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_allocator_destroy - give all kept memory back; its storages must be gone. NULL is fine */
void mpk_allocator_destroy(struct mpk_allocator *a);

/* mpk_allocator_storage - memory of at least bytes bytes, in host memory aligned to 64
 * May be called from several threads.
 * @out     one reference; storage->bytes may be more than asked for
 * Returns  MPK_OK; MPK_E_BUDGET; as mpk_device_alloc, after all kept memory was given back and it was tried
 *          again */
enum mpk_code mpk_allocator_storage(struct mpk_allocator *a, uint64_t bytes,
				    struct mpk_storage **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_allocator_owns - whether a storage came from an allocator and goes back to it */
bool mpk_allocator_owns(const struct mpk_storage *storage);

/* mpk_allocator_trim - give all kept memory back to the device; returns how many bytes that was */
uint64_t mpk_allocator_trim(struct mpk_allocator *a);

/* mpk_allocator_get_stats - what it has done so far, and what it keeps */
struct mpk_allocator_stats mpk_allocator_get_stats(struct mpk_allocator *a);

/* --- The functions that module code expects of its loader, and how it gets them --- */

/* Whose names they are: of all generations, of tvm-ffi, of TVM up to 0.20. What compiled functions call
 * most is there once for each layout of objects, and asks nobody which one it is. */
enum {
	MPK_API_NONE = 0,
	MPK_API_BACKEND = 1,
	MPK_API_FFI = 2,
	MPK_API_LEGACY = 4,
	MPK_API_FFI_NOW = 8,  /* of tvm-ffi from 0.22 on */
	MPK_API_FFI_021 = 16, /* of 0.21 */
	MPK_API_FFI_ALL = MPK_API_FFI | MPK_API_FFI_NOW | MPK_API_FFI_021,
};

/* mpk_module_api_parts - those that a library of a convention has */
static inline unsigned mpk_module_api_parts(enum mpk_convention convention)
{
	if (convention == MPK_CONV_LEGACY)
		return MPK_API_BACKEND | MPK_API_LEGACY;
	return MPK_API_BACKEND | MPK_API_FFI |
	       (convention == MPK_CONV_FFI021 ? MPK_API_FFI_021 : MPK_API_FFI_NOW);
}

typedef void mpk_module_code(void);

/* A function that module code imports by this name, or calls through a pointer "__NAME" of its own. */
struct mpk_module_symbol {
	unsigned part; /* MPK_API_... */
	const char *name;
	mpk_module_code *code;
};

struct mpk_module_symbols {
	const struct mpk_module_symbol *rows;
	size_t count;
};

/* mpk_module_api - all of them: of this file, of the threads of loops, scratch memory and what runs once, and what compiled functions of
 * the Relax VM call most (module_api.c, parallel.c, workspace.c, vm_api.c)
 * mpk_module_api_find - the code of a name in these parts; NULL: they have none */
enum { MPK_MODULE_APIS = 4 };
extern const struct mpk_module_symbols *const mpk_module_api[MPK_MODULE_APIS];
extern const struct mpk_module_symbols mpk_parallel_api, mpk_workspace_api, mpk_vm_api;
mpk_module_code *mpk_module_api_find(const char *name, unsigned parts);

/* MPK_API_ROW - a row of a table. Host code that is linked into a standalone library has the functions that it calls by
 * MPK_API_LINKED from the linker: no other code sees them. Host code of the old convention has pointers for all that it
 * calls but the first part. */
#define MPK_API_ROW(part, name, function) { MPK_API_##part, name, (mpk_module_code *)(function) },
#ifdef MPK_RUN_LINKED
#define MPK_API_LINKED(name, function)                                                             \
	extern __typeof__(function) linked_##name __asm__(#name)                                   \
		__attribute__((alias(#function), visibility("hidden")));
#else
#define MPK_API_LINKED(name, function)
#endif

/* mpk_host_link - open the library, write our functions into the slots of what it imports, look whether
 * anything is missing; fills host->handle and host->copy
 * Returns  as mpk_library_open */
enum mpk_code mpk_host_link(struct mpk_host *host, struct mpk_error *err) MPK_MUST_CHECK;

/* --- The object of a library (copy.c) --- */

struct mpk_elfdyn; /* elfdyn/elfdyn.h */

/* mpk_object_open - open the file, or a copy for this host alone, whose imports need not be there yet
 * Fills host->handle; for a copy also host->copy, its descriptor, which is to be closed after the handle.
 * @object  of the library's bytes
 * @parts   MPK_API_...: imports of these names may be missing in a copy; they are then NULL, until they are
 *          written
 * @needs_copy  the file itself will not do; else it is opened where nobody has it open and a copy would
 *          be large or is not wanted
 * @runs    the constructors of a copy are left out, for the caller to call
 * Returns  MPK_OK; MPK_E_LOAD: as dlopen says, or this system has no files in memory that code may be
 *          in; MPK_E_NOMEM */
enum mpk_code mpk_object_open(struct mpk_host *host, const struct mpk_elfdyn *object,
			      unsigned parts, bool needs_copy, bool runs,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_perf_map_add - tell perf(1) the functions of an object that was opened at base, by /tmp/perf-PID.map
 * One caller at a time in a process. What cannot be written is left out. */
void mpk_perf_map_add(const struct mpk_elfdyn *object, uintptr_t base);

/* --- what runtimes have in common in their process, and what becomes of it ---
 *
 * Threads, thread keys and memory that threads keep belong to no runtime. When the last one is
 * destroyed the threads end and the memory is given back. When the shared object or the program
 * that this code is in ends, thread keys and handlers of fork go, which would otherwise lead to
 * code that is no longer there.
 */

/* A part of it: its functions, called by runtime.c. NULL: there is nothing to do. */
struct mpk_process_part {
	void (*begin)(void);                          /* a runtime was created */
	void (*at_fork)(enum mpk_fork_moment moment); /* a child finds it whole; never NULL */
	void (*leave)(struct mpk_devices *devices);   /* those of a runtime are about to go */
	/* no runtime is left; or the code goes, while runtimes may be open and threads in loops */
	void (*end)(bool is_unused, bool code_goes);
};

extern const struct mpk_process_part mpk_devices_part, mpk_cores_part, mpk_workers_part,
	mpk_workspaces_part, mpk_link_part, mpk_registry_part;

/* mpk_process_watch_forks - see to it that a child of fork finds things whole; from the first call on */
void mpk_process_watch_forks(void);

#endif
