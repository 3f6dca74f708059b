/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - one interface to the memory and kernels of CPUs, OpenCL devices, and GPUs of NVIDIA
 * and AMD
 *
 * The driver libraries (libOpenCL.so.1, libcuda.so.1, libnvrtc.so, libamdhip64.so) are opened at
 * first use and stay open. If a driver is missing or finds no hardware, the call that needed it
 * returns MPK_E_DEVICE with one line that says why. Every error from a driver contains the driver's
 * name for it ("CL_OUT_OF_RESOURCES") and its likely cause.
 *
 * Ownership: a device owns its modules, a module its kernels. Memory belongs to the caller that
 * allocated it. Close objects in reverse order: memory and modules before the device.
 * mpk_device_close unloads modules that are left.
 *
 * Threads: a device, its modules and its memory may be used from any thread, but only by one at a
 * time. Launches are the exception: several threads may launch at once.
 *
 * Order: launches, writes, reads and copies of one device take effect in the order of the calls.
 * Launches and copies within the device are queued and return at once; writes and reads wait for
 * everything queued before them. */
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

/* Properties of a device as its driver reports them. Texts are escaped and NUL-terminated. */
struct mpk_device_info {
	enum mpk_device_kind kind;
	unsigned ordinal; /* N in "opencl:N" */
	char name[128];   /* such as "NVIDIA H100 80GB HBM3" */
	char platform
		[128]; /* such as "Portable Computing Language", "CUDA driver 13.0", "HIP 6.2" */
	char arch[64]; /* such as "sm_90", "OpenCL C 1.2", "gfx90a:sramecc+:xnack-"; empty if
		        * unknown */
	uint64_t memory_bytes;
	unsigned compute_units; /* number of multiprocessors or cores */
	uint64_t block_limit;   /* most work items (threads) in one group (block) */
	uint64_t shared_bytes;  /* most bytes of local (shared) memory that one group may use */
	unsigned sm;            /* CUDA: 10 * major + minor of the compute capability; else 0 */
	bool takes_spirv;       /* OpenCL: clCreateProgramWithIL works, so SPIR-V can be loaded */
	bool has_half, has_double, has_images; /* OpenCL: features that sources may use */
};

/* Zero-initialise; free with mpk_device_list_fini. */
struct mpk_device_list {
	struct mpk_device_info *items;
	size_t count, cap;
};

/* mpk_device_parse - parse the name of a device: "cpu", "cuda", "opencl", "opencl:1", "rocm"
 * @kind, @ordinal  receive the kind and the number (0 if the name has none)
 * Returns  MPK_OK; MPK_E_USAGE, with a similar name if there is one */
enum mpk_code mpk_device_parse(struct mpk_span text, enum mpk_device_kind *kind, unsigned *ordinal,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_list_add - append all devices of a kind, by ordinal
 * OpenCL devices that are not CPUs come first, so that `opencl` means a GPU if there is one.
 * Returns  MPK_OK (at least one was added); MPK_E_DEVICE with the reason; MPK_E_NOMEM */
enum mpk_code mpk_device_list_add(struct mpk_device_list *list, enum mpk_device_kind kind,
				  struct mpk_error *err) MPK_MUST_CHECK;
void mpk_device_list_fini(struct mpk_device_list *list);

/* mpk_device_runs - whether this program was built with a back end for a kind */
bool mpk_device_runs(enum mpk_device_kind kind);

/* mpk_device_open - open device number `ordinal` of a kind
 * @cuda_home  folder of a CUDA toolkit in which sources find additional headers; borrowed until the
 *          device is closed; may be NULL; only CUDA uses it
 * @out     to be closed by the caller
 * Returns  MPK_OK; MPK_E_DEVICE: no library, no driver, no such device, or the driver cannot start
 *          it (only this function and mpk_device_list_add return this code); MPK_E_NOMEM */
enum mpk_code mpk_device_open(enum mpk_device_kind kind, unsigned ordinal, const char *cuda_home,
			      struct mpk_device **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_close - unload modules, release the device; NULL is allowed */
void mpk_device_close(struct mpk_device *device);

/* Alignment of memory from mpk_device_alloc, in bytes. It is enough for every element type and
 * equals TVM's own alignment. */
enum { MPK_DEVICE_ALIGN = 64 };

/* mpk_device_alloc - allocate memory on the device, aligned to MPK_DEVICE_ALIGN; its content is
 * undefined
 * @bytes   may be 0; the memory must be freed all the same
 * @out     a value for DLTensor.data. CPU: the address. CUDA and ROCm: the device address. OpenCL:
 *          the address of a descriptor whose first field is the cl_mem, which TVM from 0.8 on
 *          passes to kernels
 * Returns  MPK_OK; MPK_E_RAISED (out of device memory, ...); MPK_E_NOMEM */
enum mpk_code mpk_device_alloc(struct mpk_device *device, uint64_t bytes, void **out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* An image of RGBA pixels. */
struct mpk_device_texture {
	struct mpk_dtype channel;       /* type of each of the four channels; lanes are ignored */
	uint64_t width, height, layers; /* extents in pixels; layers is 0 if the image is not an
					 * array */
};

/* mpk_device_alloc_texture - allocate an image on the device; writes, reads and copies transfer all
 * of its pixels
 * @out     as from mpk_device_alloc; free it in the same way
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (back end without images, an empty image, an element type
 *          without an image format); MPK_E_RAISED */
enum mpk_code mpk_device_alloc_texture(struct mpk_device *device,
				       const struct mpk_device_texture *texture, void **out,
				       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_free - free memory from mpk_device_alloc or mpk_device_alloc_texture; NULL is allowed
 * It waits for kernels that use the memory, if the driver requires that. */
void mpk_device_free(struct mpk_device *device, void *data);

/* mpk_device_write, mpk_device_read - copy to and from a device; offsets and sizes in bytes
 * They wait for earlier launches and copies. When they return, the host memory may be reused, and
 * work that is queued later sees the bytes. With 0 bytes they do nothing and do not wait.
 * Returns  MPK_OK; MPK_E_RANGE: the range exceeds the allocation (OpenCL only; other drivers do not
 *          know its size); MPK_E_RAISED with the driver's error, which may come from an earlier
 *          kernel; MPK_E_UNSUPPORTED: a part of a texture */
enum mpk_code mpk_device_write(struct mpk_device *device, void *to, uint64_t to_off,
			       struct mpk_span from, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_device_read(struct mpk_device *device, const void *from, uint64_t from_off,
			      void *to, size_t n, struct mpk_error *err) MPK_MUST_CHECK;

/* A copy within a device; offsets and sizes in bytes. */
struct mpk_device_copy {
	void *to;
	uint64_t to_off;
	const void *from;
	uint64_t from_off;
	uint64_t bytes;
};
/* mpk_device_copy - queue a copy after earlier launches and copies; does not wait
 * Both memories must stay allocated until a later mpk_device_sync, _read or _write has returned;
 * mpk_device_free waits by itself. With 0 bytes nothing is done.
 * Returns  as mpk_device_write; MPK_E_RANGE also for overlapping ranges of one memory. Later errors
 *          of the copy are reported by a later call */
enum mpk_code mpk_device_copy(struct mpk_device *device, const struct mpk_device_copy *copy,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_sync - wait for everything issued so far, and report errors of kernels
 * Returns  MPK_OK; MPK_E_RAISED (a kernel faulted, the driver failed) */
enum mpk_code mpk_device_sync(struct mpk_device *device, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_set_stream - set the stream on which later launches and copies are queued; waits for
 * earlier ones
 * @stream  CUDA: a CUstream of the caller; ROCm: a hipStream_t; NULL: the default stream. OpenCL
 *          and CPU have one queue and accept only NULL
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: the back end has no such streams; errors of mpk_device_sync
 *          if another stream was set before */
enum mpk_code mpk_device_set_stream(struct mpk_device *device, void *stream,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_load - load the kernels of a payload onto the device
 * OpenCL compiles code when one of its kernels is first requested; other back ends compile it here.
 * @kernels its arrays and payload bytes are borrowed until the module is unloaded
 * @out     owned by the device; mpk_device_unload frees it earlier
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: a format that the back end cannot run (the error lists those
 *          it can); MPK_E_LOAD: the driver refuses the code (the error quotes its log; for an
 *          architecture mismatch it names both); MPK_E_CORRUPT: the code is not in its stated
 *          format; MPK_E_NOMEM */
enum mpk_code mpk_device_load(struct mpk_device *device, const struct mpk_kernels *kernels,
			      struct mpk_device_module **out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_unload - wait for running kernels, then free the module; NULL is allowed */
void mpk_device_unload(struct mpk_device_module *module);

/* mpk_device_get_kernel - find a kernel by its key in the function table
 * @out     owned by the module; the same key gives the same pointer
 * Returns  MPK_OK; MPK_E_NOTFOUND, with a similar name if there is one; MPK_E_LOAD (build log);
 *          MPK_E_UNSUPPORTED (an argument type that cannot be passed, an unknown launch tag);
 *          MPK_E_CONFLICT (the code's parameters differ from those of the table) */
enum mpk_code mpk_device_get_kernel(struct mpk_device_module *module, struct mpk_span key,
				    struct mpk_device_kernel **out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_launch - queue a kernel; does not wait for it
 * @slots   one 64-bit value for each parameter of the table, then one for each launch tag that
 *          takes a value, in the order of the tags (tvm-blob(5), LAUNCH TAGS). Handles: pointers
 *          from mpk_device_alloc (0: null). Integers: sign- or zero-extended. Floats of every
 *          width: the bits of the double. Extents: int64; 0 counts as 1
 * @count   number of slots
 * Returns  MPK_OK; MPK_E_RANGE: wrong count, or a negative extent; MPK_E_RAISED: an extent above
 *          the device's limit (the error gives both), the driver refuses the launch, or an earlier
 *          kernel faulted */
enum mpk_code mpk_device_launch(struct mpk_device_kernel *kernel, const uint64_t *slots,
				size_t count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_device_check - whether a device could run a payload, without asking the driver
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: its format; MPK_E_LOAD: its architecture (the error names
 *          both); MPK_E_NOMEM */
enum mpk_code mpk_device_check(const struct mpk_device_info *info,
			       const struct mpk_kernels *kernels,
			       struct mpk_error *err) MPK_MUST_CHECK;

#endif
