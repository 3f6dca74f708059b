/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - memory and kernels of CPUs, OpenCL devices, NVIDIA's and AMD's GPUs, by one interface
 *
 * The driver libraries (libOpenCL.so.1, libcuda.so.1, libnvrtc.so, libamdhip64.so) are opened at first
 * use and stay open; where one is missing or finds no hardware the call that needed it
 * returns MPK_E_DEVICE with one line that says why. Every failure of a driver carries
 * the driver's own name of the error ("CL_OUT_OF_RESOURCES") and its likely cause.
 *
 * Ownership: a device owns its modules, a module its kernels. Memory belongs to whoever
 * allocated it. Close what was opened in the reverse order: memory and modules before
 * the device; mpk_device_close unloads modules that are left.
 *
 * Threads: a device, its modules and its memory may be used from any thread, by one at a
 * time; launches alone may also come from several threads at once.
 *
 * Order: launches, writes, reads and copies of one device happen in the order of the calls,
 * so that each sees what those before it did. Launches and copies within the device only
 * queue and return; writes and reads wait for what was queued before them.
 */
#ifndef MPK_DEVICE_DEVICE_H
#define MPK_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "kernels/kernels.h"
#include "program/device_kind.h"

struct mpk_device;
struct mpk_device_module;
struct mpk_device_kernel;

/* What a driver says about a device. Texts are escaped and NUL-terminated. */
struct mpk_device_info {
	enum mpk_device_kind kind;
	unsigned ordinal;   /* N of "opencl:N" */
	char name[128];     /* "NVIDIA H100 80GB HBM3" */
	char platform[128]; /* "Portable Computing Language"; "CUDA driver 13.0"; "HIP 6.2" */
	char arch[64]; /* "sm_90"; "OpenCL C 1.2"; "gfx90a:sramecc+:xnack-", or empty: not known */
	uint64_t memory_bytes;
	unsigned compute_units; /* multiprocessors, cores */
	uint64_t block_limit;   /* work items (threads) in one group (block) */
	uint64_t shared_bytes;  /* local (shared) memory one group may use */
	unsigned sm;            /* CUDA: 10 * major + minor of the capability; else 0 */
	bool takes_spirv;       /* OpenCL: clCreateProgramWithIL works */
	bool has_half, has_double, has_images; /* OpenCL: what sources may name */
};

/* Zero-initialise, fill, mpk_device_list_fini. */
struct mpk_device_list {
	struct mpk_device_info *items;
	size_t count, cap;
};

/* mpk_device_parse - "cpu", "cuda", "opencl", "opencl:1", "rocm"
 * @kind, @ordinal  receive the kind and the number (0 when there is none)
 * Returns  MPK_OK; MPK_E_USAGE with a "did you mean" */
enum mpk_code mpk_device_parse(struct mpk_span text, enum mpk_device_kind *kind, unsigned *ordinal,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_list_add - append all devices of a kind, by ordinal; OpenCL: devices that are
 * not CPUs first, so that `opencl` means a GPU where there is one
 * Returns  MPK_OK (at least one was added); MPK_E_DEVICE with the reason; MPK_E_NOMEM */
enum mpk_code mpk_device_list_add(struct mpk_device_list *list, enum mpk_device_kind kind,
				  struct mpk_error *err) MPK_MUST_CHECK;
void mpk_device_list_fini(struct mpk_device_list *list);

/* mpk_device_runs - whether this program has a back end for a kind */
bool mpk_device_runs(enum mpk_device_kind kind);

/* mpk_device_open - start using device `ordinal` of a kind
 * @cuda_home  where a CUDA toolkit lies whose include folder sources are to find, too; borrowed until the device is
 *          closed; NULL: none. Other kinds of devices ignore it
 * @out     to be closed by the caller
 * Returns  MPK_OK; MPK_E_DEVICE (no library, no driver, no such device, or the driver cannot start
 *          it), which nothing but this and mpk_device_list_add returns; MPK_E_NOMEM */
enum mpk_code mpk_device_open(enum mpk_device_kind kind, unsigned ordinal, const char *cuda_home,
			      struct mpk_device **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_close - unload modules, release the device; NULL is allowed */
void mpk_device_close(struct mpk_device *device);

/* Bytes: mpk_device_alloc gives memory aligned to at least this, which is enough for every
 * element type and what TVM itself asks for. */
enum { MPK_DEVICE_ALIGN = 64 };

/* mpk_device_alloc - memory on the device, aligned to MPK_DEVICE_ALIGN; what it holds is undefined
 * @bytes   0 is allowed and gives memory that can be freed
 * @out     the value of DLTensor.data. CUDA and ROCm: the device address. OpenCL: the address of a
 *          descriptor whose first field is the cl_mem (what TVM 0.8 on passes to kernels).
 *          CPU: the address
 * Returns  MPK_OK; MPK_E_RAISED (out of device memory, ...); MPK_E_NOMEM */
enum mpk_code mpk_device_alloc(struct mpk_device *device, uint64_t bytes, void **out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* An image of RGBA pixels. */
struct mpk_device_texture {
	struct mpk_dtype channel;       /* of one of the four; lanes are ignored */
	uint64_t width, height, layers; /* layers 0: no array */
};

/* mpk_device_alloc_texture - an image of the device; copied as a whole, pixel after pixel
 * @out     like mpk_device_alloc's, freed the same way
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (back end without images, an empty image, an element type
 *          without an image format); MPK_E_RAISED */
enum mpk_code mpk_device_alloc_texture(struct mpk_device *device,
				       const struct mpk_device_texture *texture, void **out,
				       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_free - free what mpk_device_alloc gave; NULL is allowed
 * Waits for kernels that use it, as far as the driver requires. */
void mpk_device_free(struct mpk_device *device, void *data);

/* mpk_device_write, mpk_device_read - to and from a device; offsets and sizes in bytes
 * They wait for the launches and copies before them. When they return, the host memory may be
 * used again, and what is queued later sees the bytes. No bytes: nothing is done, nor waited for.
 * Returns  MPK_OK; MPK_E_RANGE for a range beyond the allocation where the back end knows
 *          its size (opencl), else MPK_E_RAISED with the driver's error, also when a kernel
 *          before faulted; MPK_E_UNSUPPORTED for a part of a texture */
enum mpk_code mpk_device_write(struct mpk_device *device, void *to, uint64_t to_off,
			       struct mpk_span from, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_device_read(struct mpk_device *device, const void *from, uint64_t from_off,
			      void *to, size_t n, struct mpk_error *err) MPK_MUST_CHECK;

/* One copy within a device; offsets and sizes in bytes. */
struct mpk_device_copy {
	void *to;
	uint64_t to_off;
	const void *from;
	uint64_t from_off;
	uint64_t bytes;
};
/* mpk_device_copy - queue a copy after the launches and copies before it; does not wait
 * Both memories stay allocated until a later mpk_device_sync, _read or _write has returned, or are
 * given to mpk_device_free, which knows of the copy. No bytes: nothing is done.
 * Returns  as mpk_device_write; MPK_E_RANGE also for ranges of one memory that overlap. What goes
 *          wrong later is reported by a later call */
enum mpk_code mpk_device_copy(struct mpk_device *device, const struct mpk_device_copy *copy,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_sync - wait for everything issued so far; reports what kernels did wrong
 * Returns  MPK_OK; MPK_E_RAISED (a kernel faulted, the driver failed) */
enum mpk_code mpk_device_sync(struct mpk_device *device, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_set_stream - where later launches and copies are queued; waits for those before
 * @stream  CUDA: a CUstream of the caller, ROCm: a hipStream_t, or NULL for the default stream. OpenCL and CPU
 *          have one queue and take NULL alone
 * Returns  MPK_OK; MPK_E_UNSUPPORTED for a stream that the back end cannot have; as
 *          mpk_device_sync when another stream was set before */
enum mpk_code mpk_device_set_stream(struct mpk_device *device, void *stream,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_load - make a payload's kernels available on the device
 * Code is compiled when a kernel is first asked for where the payload allows that
 * (OpenCL), else here.
 * @kernels its arrays and payload bytes are borrowed until the module is unloaded
 * @out     owned by the device; mpk_device_unload frees it earlier
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (a format the back end cannot run, with the list);
 *          MPK_E_LOAD (the driver refuses the code: its log, and for an architecture
 *          mismatch both architectures); MPK_E_CORRUPT (not what its format says);
 *          MPK_E_NOMEM */
enum mpk_code mpk_device_load(struct mpk_device *device, const struct mpk_kernels *kernels,
			      struct mpk_device_module **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_unload - waits for running kernels; NULL is allowed */
void mpk_device_unload(struct mpk_device_module *module);

/* mpk_device_get_kernel - the kernel with this key of the function table
 * @out     owned by the module; the same key gives the same pointer
 * Returns  MPK_OK; MPK_E_NOTFOUND with a "did you mean"; MPK_E_LOAD (build log);
 *          MPK_E_UNSUPPORTED (an argument type that cannot be passed, an unknown launch
 *          tag); MPK_E_CONFLICT (the code's parameters are not those of the table) */
enum mpk_code mpk_device_get_kernel(struct mpk_device_module *module, struct mpk_span key,
				    struct mpk_device_kernel **out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_launch - run a kernel; does not wait for it
 * @slots   one 64-bit value per parameter of the table, then one per launch tag that takes
 *          a value, in the order of the tags (tvm-blob(5), LAUNCH TAGS). Handles: what
 *          mpk_device_alloc gave (0: null). Integers: sign- or zero-extended. Floats of
 *          every width: the bits of the double. Extents: int64; 0 counts as 1
 * @count   number of slots
 * Returns  MPK_OK; MPK_E_RANGE (wrong count, an extent is negative); MPK_E_RAISED: an extent above
 *          the device's limit, which is named beside the request; the driver refuses the launch; an
 *          earlier kernel faulted */
enum mpk_code mpk_device_launch(struct mpk_device_kernel *kernel, const uint64_t *slots,
				size_t count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_check - whether a device could run a payload, judged without the driver
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (format); MPK_E_LOAD (architecture: both named);
 *          MPK_E_NOMEM */
enum mpk_code mpk_device_check(const struct mpk_device_info *info,
			       const struct mpk_kernels *kernels,
			       struct mpk_error *err) MPK_MUST_CHECK;

#endif
