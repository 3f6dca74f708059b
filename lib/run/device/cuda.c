/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.c - the CUDA driver, its devices and their memory
 *
 * A device is its primary context, which other users of CUDA in this process share. Every call that
 * needs a context makes it the thread's current one first, as calls may come from any thread.
 *
 * Kernels run on the caller's stream, or on the default stream when there is none; copies within
 * the device are queued there too. Copies to and from the host use the default stream, for which
 * the caller's need not wait, nor it for the caller's: then such a copy waits for the caller's
 * before it begins and for the default one before it returns.
 */
#include "device/internal/cuda.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "code/cuda.h"
#include "code/cuda_images.h"
#include "device/internal/driver.h"
#include "text/escape.h"

/* --- which architectures CUDA code is for, and whether a device can run it --------------------- */

/* Asked before a driver loads it (mpk_device_check), and to say more than the driver does when it refuses. */

struct images {
	struct mpk_code_target *items;
	size_t count; /* 0: the bytes are no CUDA code that this program reads */
};

static struct images cuda_code_images_of(struct mpk_span code, struct mpk_arena *arena)
{
	struct images images = { 0 };

	if (mpk_cuda_images(code, arena, &images.items, &images.count, NULL) != MPK_OK ||
	    (images.count && !images.items[0].sm))
		images.count = 0;
	return images;
}

/* As NVIDIA's tools name architectures, "sm_90a", with the form in brackets. */
static int cuda_code_describe(const struct mpk_code_target *t, char *out, size_t room)
{
	const char *form = t->kind == MPK_TARGET_BINARY ? "cubin" : "not run by drivers";
	char ptx[32];

	if (t->kind == MPK_TARGET_PTX) {
		(void)snprintf(ptx, sizeof ptx, "PTX %u.%u", t->ptx_major, t->ptx_minor);
		form = ptx;
	}
	return snprintf(out, room, "sm_%u%.*s (%s)", t->sm, t->suffix ? 1 : 0, &t->suffix, form);
}

const char *mpk_cuda_code_describe(struct mpk_span code, char out[MPK_CUDA_CODE_TEXT])
{
	struct mpk_arena arena = { 0 };
	struct images images = cuda_code_images_of(code, &arena);
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < images.count && used + 2 < MPK_CUDA_CODE_TEXT; i++) {
		int n = snprintf(out + used, MPK_CUDA_CODE_TEXT - used, "%s", i ? ", " : "");

		used += (size_t)n;
		n = cuda_code_describe(&images.items[i], out + used, MPK_CUDA_CODE_TEXT - used);
		used += n < 0                                   ? 0
			: (size_t)n < MPK_CUDA_CODE_TEXT - used ? (size_t)n
								: MPK_CUDA_CODE_TEXT - used - 1;
	}
	mpk_arena_fini(&arena);
	return out;
}

/* The rule by which a driver chooses among images is that of code/cuda.h; bytes that nobody here
 * understands are left to the driver. */
enum mpk_code mpk_cuda_code_check(struct mpk_span code, const struct mpk_device_info *info,
				  struct mpk_error *err)
{
	const struct mpk_cuda_place place = { .sm = info->sm };
	struct mpk_arena arena = { 0 };
	struct images images = cuda_code_images_of(code, &arena);
	bool runs =
		!images.count || mpk_cuda_choose(images.items, images.count, &place) < images.count;
	char held[MPK_CUDA_CODE_TEXT];

	mpk_arena_fini(&arena);
	if (runs)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_LOAD,
		"the code is for %s, but %s is %s: build it for that architecture, or as PTX of it or an earlier one",
		mpk_cuda_code_describe(code, held), info->name, info->arch);
}

/* --- the driver ------------------------------------------------------------------------------ */

static struct mpk_cuda_api cuda_api;

static const struct mpk_driver_symbol cuda_symbols[] = {
#define SYMBOL(member, name, need, params, driver)                                                 \
	MPK_DRIVER_SYMBOL(struct mpk_cuda_api, member, name, need)
	MPK_CUDA_SYMBOLS(SYMBOL)
#undef SYMBOL
		{ 0 },
};

static enum mpk_code start_driver(struct mpk_error *err)
{
	unsigned status = cuda_api.cuInit(0);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(&cuda_api, err, status, "the driver does not start");
	return MPK_OK;
}

static const char *const cuda_names[] = { "libcuda.so.1", NULL };
static struct mpk_driver cuda_driver = { .names = cuda_names,
					 .symbols = cuda_symbols,
					 .table = &cuda_api,
					 .start = start_driver,
					 .without = "no CUDA here: ",
					 .lock = PTHREAD_MUTEX_INITIALIZER };

/* The driver's functions; opened and initialised at the first call
 * Returns  MPK_OK; MPK_E_DEVICE. Safe from several threads. */
static enum mpk_code get_cuda(const struct mpk_cuda_api **out, struct mpk_error *err)
{
	MPK_TRY(mpk_driver_get(&cuda_driver, err));
	*out = &cuda_api;
	return MPK_OK;
}

/* The usual cause of a status, and which kind of failure it is: no device, code that cannot be
 * loaded, or a call that failed. */
static const struct mpk_device_status cuda_statuses[] = {
	{ MPK_CU_INVALID_VALUE, NULL, "an argument the driver refuses", MPK_E_RAISED },
	{ MPK_CU_OUT_OF_MEMORY, NULL, "out of device memory", MPK_E_RAISED },
	{ MPK_CU_STUB_LIBRARY, NULL, "this libcuda.so.1 is the toolkit's stub, not a driver",
	  MPK_E_DEVICE },
	{ MPK_CU_NO_DEVICE, NULL, "the driver finds no GPU", MPK_E_DEVICE },
	{ MPK_CU_INVALID_IMAGE, NULL, "the code is damaged or no CUDA code", MPK_E_LOAD },
	{ MPK_CU_NO_BINARY_FOR_GPU, NULL, "the code is for another GPU architecture", MPK_E_LOAD },
	{ MPK_CU_INVALID_PTX, NULL, "the PTX does not compile", MPK_E_LOAD },
	{ MPK_CU_UNSUPPORTED_PTX_VERSION, NULL,
	  "the PTX is newer than the driver: update the driver, or compile with an older toolkit",
	  MPK_E_LOAD },
	{ MPK_CU_INVALID_SOURCE, NULL, "the code does not compile", MPK_E_LOAD },
	{ MPK_CU_NOT_FOUND, NULL, "the code has no kernel of this name", MPK_E_LOAD },
	{ MPK_CU_ILLEGAL_ADDRESS, NULL,
	  "a kernel read or wrote outside its memory; the device cannot be used further by this process",
	  MPK_E_RAISED },
	{ MPK_CU_LAUNCH_OUT_OF_RESOURCES, NULL,
	  "too many registers or too much shared memory for this block size", MPK_E_RAISED },
	{ MPK_CU_LAUNCH_TIMEOUT, NULL, "the kernel ran too long", MPK_E_RAISED },
	{ MPK_CU_ASSERT, NULL, "an assertion of the kernel failed", MPK_E_RAISED },
	{ MPK_CU_ILLEGAL_INSTRUCTION, NULL, "a kernel met an illegal instruction", MPK_E_RAISED },
	{ MPK_CU_MISALIGNED_ADDRESS, NULL, "a kernel used a misaligned address", MPK_E_RAISED },
	{ MPK_CU_LAUNCH_FAILED, NULL, "a kernel faulted", MPK_E_RAISED },
	{ MPK_CU_COOPERATIVE_TOO_LARGE, NULL, "a cooperative grid must fit on the GPU all at once",
	  MPK_E_RAISED },
	{ MPK_CU_SYSTEM_DRIVER_MISMATCH, NULL,
	  "libcuda.so.1 and the kernel driver are of different versions", MPK_E_DEVICE },
	{ MPK_CU_INVALID_CLUSTER_SIZE, NULL,
	  "the grid must be a multiple of the cluster, which the GPU must support", MPK_E_RAISED },
};

/* "CUDA_ERROR_NO_BINARY_FOR_GPU", in the driver's own storage */
static const char *status_name(const struct mpk_cuda_api *cu, unsigned status)
{
	const char *name = NULL;

	if (cu->cuGetErrorName(status, &name) != MPK_CU_SUCCESS || !name)
		return "unknown CUDA error";
	return name;
}

enum mpk_code(mpk_cuda_fail)(const struct mpk_cuda_api *cu, struct mpk_error *err, unsigned status,
			     const char *fmt, ...)
{
	struct mpk_device_status as = mpk_device_status_find(
		cuda_statuses, MPK_ARRAY_COUNT(cuda_statuses), (long long)status);
	va_list ap;

	as.name = status_name(cu, status);
	va_start(ap, fmt);
	(void)mpk_device_fail_status(err, &as, fmt, ap);
	va_end(ap);
	return as.code;
}

/* --- memory ---------------------------------------------------------------------------------- */

enum mpk_code mpk_cuda_enter(struct mpk_cuda_device *device, struct mpk_error *err)
{
	unsigned status = device->cu->cuCtxSetCurrent(device->context);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(device->cu, err, status, "cuda:%u", device->base.info.ordinal);
	return MPK_OK;
}

static unsigned long long device_address(const void *data, uint64_t off)
{
	return (unsigned long long)(uintptr_t)data + off;
}

/* cuMemAlloc refuses 0 bytes, but tensors may have no elements: they get one byte. */
static enum mpk_code cuda_alloc(struct mpk_device *base, uint64_t bytes, void **out,
				struct mpk_error *err)
{
	struct mpk_cuda_device *device = mpk_cuda_device_of(base);
	unsigned long long address = 0;

	MPK_TRY(mpk_cuda_enter(device, err));
	unsigned status = device->cu->cuMemAlloc(&address, bytes ? (size_t)bytes : 1);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(device->cu, err, status,
				     "cannot allocate %" PRIu64 " bytes on cuda:%u (%s)", bytes,
				     base->info.ordinal, base->info.name);
	*out = (void *)(uintptr_t)address;
	return MPK_OK;
}

static void cuda_free(struct mpk_device *base, void *data)
{
	struct mpk_cuda_device *device = mpk_cuda_device_of(base);

	/* After a fault of a kernel the driver refuses this too; there is nothing left to do. */
	if (mpk_cuda_enter(device, NULL) == MPK_OK)
		(void)device->cu->cuMemFree(device_address(data, 0));
}

/* Kernels fail after their launch has returned; this is where a fault shows. */
static enum mpk_code cuda_sync(struct mpk_device *base, struct mpk_error *err)
{
	struct mpk_cuda_device *device = mpk_cuda_device_of(base);

	MPK_TRY(mpk_cuda_enter(device, err));
	unsigned status = device->cu->cuStreamSynchronize(base->stream);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(device->cu, err, status, "a kernel on cuda:%u failed",
				     base->info.ordinal);
	return MPK_OK;
}

/* What the caller's own stream holds must end before the default stream copies. */
static enum mpk_code before_host_copy(struct mpk_device *base, struct mpk_error *err)
{
	if (base->stream)
		return cuda_sync(base, err);
	return mpk_cuda_enter(mpk_cuda_device_of(base), err);
}

static enum mpk_code cuda_write(struct mpk_device *base, void *to, uint64_t to_off,
				struct mpk_span from, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = mpk_cuda_device_of(base)->cu;

	MPK_TRY(before_host_copy(base, err));
	unsigned status = cu->cuMemcpyHtoD(device_address(to, to_off), from.data, from.len);

	/* it returns when the bytes are read, which may be before they are on the device */
	if (status == MPK_CU_SUCCESS && base->stream)
		status = cu->cuStreamSynchronize(NULL);
	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(cu, err, status, "cannot copy %zu bytes to cuda:%u", from.len,
				     base->info.ordinal);
	return MPK_OK;
}

static enum mpk_code cuda_read(struct mpk_device *base, const void *from, uint64_t from_off,
			       void *to, size_t n, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = mpk_cuda_device_of(base)->cu;

	MPK_TRY(before_host_copy(base, err));
	unsigned status = cu->cuMemcpyDtoH(to, device_address(from, from_off), n);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(cu, err, status, "cannot copy %zu bytes from cuda:%u", n,
				     base->info.ordinal);
	return MPK_OK;
}

/* Asynchronous, as a copy within the device is ordered by its stream like a kernel. */
static enum mpk_code cuda_copy(struct mpk_device *base, const struct mpk_device_copy *copy,
			       struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = mpk_cuda_device_of(base)->cu;

	MPK_TRY(mpk_cuda_enter(mpk_cuda_device_of(base), err));
	unsigned status = cu->cuMemcpyDtoDAsync(device_address(copy->to, copy->to_off),
						device_address(copy->from, copy->from_off),
						(size_t)copy->bytes, base->stream);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(cu, err, status, "cannot copy %" PRIu64 " bytes on cuda:%u",
				     copy->bytes, base->info.ordinal);
	return MPK_OK;
}

/* --- devices --------------------------------------------------------------------------------- */

/* 0 for what the driver does not know: attributes came with later drivers. */
static unsigned device_attribute(const struct mpk_cuda_api *cu, int id, unsigned which)
{
	int value = 0;

	if (cu->cuDeviceGetAttribute(&value, which, id) != MPK_CU_SUCCESS || value < 0)
		return 0;
	return (unsigned)value;
}

/* Everything but the handle may be missing: a listing with a gap is better than none. */
static enum mpk_code describe_device(const struct mpk_cuda_api *cu, unsigned ordinal, int *id,
				     struct mpk_device_info *info, struct mpk_error *err)
{
	char raw[128] = "";
	size_t bytes = 0;
	int version = 0;
	unsigned status = cu->cuDeviceGet(id, (int)ordinal);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(cu, err, status, "cuda:%u", ordinal);
	*info = (struct mpk_device_info){ .kind = MPK_DEVICE_CUDA, .ordinal = ordinal };
	(void)cu->cuDeviceGetName(raw, sizeof raw - 1, *id);
	mpk_escape_to(mpk_span_str(raw), info->name, sizeof info->name);
	(void)cu->cuDeviceTotalMem(&bytes, *id);
	(void)cu->cuDriverGetVersion(&version);
	(void)snprintf(info->platform, sizeof info->platform, "CUDA driver %d.%d", version / 1000,
		       version % 1000 / 10);
	info->memory_bytes = bytes;
	info->compute_units = device_attribute(cu, *id, MPK_CU_MULTIPROCESSORS);
	info->block_limit = device_attribute(cu, *id, MPK_CU_MAX_THREADS_PER_BLOCK);
	info->shared_bytes = device_attribute(cu, *id, MPK_CU_MAX_SHARED_OPTIN);
	/* a driver that does not know of it gives a block no more than the default */
	if (!info->shared_bytes)
		info->shared_bytes = device_attribute(cu, *id, MPK_CU_MAX_SHARED_PER_BLOCK);
	info->sm = 10 * device_attribute(cu, *id, MPK_CU_CAPABILITY_MAJOR) +
		   device_attribute(cu, *id, MPK_CU_CAPABILITY_MINOR);
	(void)snprintf(info->arch, sizeof info->arch, "sm_%u", info->sm);
	return MPK_OK;
}

/* A driver without a GPU reports either an error or a count of 0. */
static enum mpk_code count_devices(const struct mpk_cuda_api *cu, size_t *out,
				   struct mpk_error *err)
{
	int count = 0;
	unsigned status = cu->cuDeviceGetCount(&count);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(cu, err, status, "no CUDA here");
	if (count <= 0)
		return mpk_fail(err, MPK_E_DEVICE, "no CUDA here: the driver finds no GPU");
	*out = (size_t)count;
	return MPK_OK;
}

static enum mpk_code cuda_list(struct mpk_device_list *list, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu;
	size_t count;

	MPK_TRY(get_cuda(&cu, err));
	MPK_TRY(count_devices(cu, &count, err));
	for (size_t i = 0; i < count; i++) {
		struct mpk_device_info info;
		int id;

		MPK_TRY(describe_device(cu, (unsigned)i, &id, &info, err));
		MPK_TRY(mpk_device_list_push(list, &info, err));
	}
	return MPK_OK;
}

/* The primary context, which the CUDA runtime API uses too: code of both sees the same memory. */
static enum mpk_code start_device(struct mpk_cuda_device *device, unsigned ordinal,
				  struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = device->cu;

	MPK_TRY(describe_device(cu, ordinal, &device->id, &device->base.info, err));
	for (unsigned axis = 0; axis < 3; axis++) {
		device->block_limits[axis] =
			device_attribute(cu, device->id, MPK_CU_MAX_BLOCK_X + axis);
		device->grid_limits[axis] =
			device_attribute(cu, device->id, MPK_CU_MAX_GRID_X + axis);
	}
	device->shared_optin = (unsigned)device->base.info.shared_bytes;
	unsigned status = cu->cuDevicePrimaryCtxRetain(&device->context, device->id);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(cu, err, status, "cannot start_device cuda:%u (%s)", ordinal,
				     device->base.info.name);
	return MPK_OK;
}

/* Counted first: cuDeviceGet of a number beyond the last says "invalid device" and no more. */
static enum mpk_code cuda_open(unsigned ordinal, struct mpk_device **out, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu;
	size_t count;

	MPK_TRY(get_cuda(&cu, err));
	MPK_TRY(count_devices(cu, &count, err));
	if (ordinal >= count)
		return mpk_device_no_such(err, "cuda", ordinal, count);
	struct mpk_cuda_device *device = calloc(1, sizeof *device);

	MPK_TRY_ALLOC(device, err);
	device->base.ops = &mpk_cuda_ops;
	device->cu = cu;
	enum mpk_code code = start_device(device, ordinal, err);

	if (code != MPK_OK) {
		free(device);
		return mpk_failed(code);
	}
	*out = &device->base;
	return MPK_OK;
}

/* Releases the one reference that start_device took; the context stays while others have some. */
static void cuda_close(struct mpk_device *base)
{
	struct mpk_cuda_device *device = mpk_cuda_device_of(base);

	(void)device->cu->cuDevicePrimaryCtxRelease(device->id);
	free(device);
}

const struct mpk_device_ops mpk_cuda_ops = {
	.list = cuda_list,
	.open = cuda_open,
	.close = cuda_close,
	.alloc = cuda_alloc,
	.free = cuda_free,
	.write = cuda_write,
	.read = cuda_read,
	.copy = cuda_copy,
	.sync = cuda_sync,
	.takes_streams = true,
	.code = &mpk_cuda_code_ops,
};
