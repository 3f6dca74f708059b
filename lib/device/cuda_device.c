/* cuda_device.c - devices, primary contexts, memory */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "device/cuda.h"
#include "text/escape.h"

static unsigned attribute(const struct mpk_cuda_api *cu, int id, unsigned which)
{
	int value = 0;

	if (cu->cuDeviceGetAttribute(&value, which, id) != MPK_CU_SUCCESS || value < 0)
		return 0;
	return (unsigned)value;
}

static enum mpk_code describe(const struct mpk_cuda_api *cu, unsigned ordinal, int *id,
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
	info->compute_units = attribute(cu, *id, MPK_CU_MULTIPROCESSORS);
	info->block_limit = attribute(cu, *id, MPK_CU_MAX_THREADS_PER_BLOCK);
	info->shared_bytes = attribute(cu, *id, MPK_CU_MAX_SHARED_OPTIN);
	if (!info->shared_bytes)
		info->shared_bytes = attribute(cu, *id, MPK_CU_MAX_SHARED_PER_BLOCK);
	info->sm = 10 * attribute(cu, *id, MPK_CU_CAPABILITY_MAJOR) +
		   attribute(cu, *id, MPK_CU_CAPABILITY_MINOR);
	(void)snprintf(info->arch, sizeof info->arch, "sm_%u", info->sm);
	return MPK_OK;
}

static enum mpk_code get_count(const struct mpk_cuda_api *cu, size_t *out, struct mpk_error *err)
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

	MPK_TRY(mpk_cuda_api_get(&cu, err));
	MPK_TRY(get_count(cu, &count, err));
	for (size_t i = 0; i < count; i++) {
		struct mpk_device_info info;
		int id;

		MPK_TRY(describe(cu, (unsigned)i, &id, &info, err));
		MPK_TRY(mpk_device_list_push(list, &info, err));
	}
	return MPK_OK;
}

static enum mpk_code start(struct mpk_cuda_device *device, unsigned ordinal, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = device->cu;

	MPK_TRY(describe(cu, ordinal, &device->id, &device->base.info, err));
	for (unsigned axis = 0; axis < 3; axis++) {
		device->block_limits[axis] = attribute(cu, device->id, MPK_CU_MAX_BLOCK_X + axis);
		device->grid_limits[axis] = attribute(cu, device->id, MPK_CU_MAX_GRID_X + axis);
	}
	device->shared_optin = (unsigned)device->base.info.shared_bytes;
	unsigned status = cu->cuDevicePrimaryCtxRetain(&device->context, device->id);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(cu, err, status, "cannot start cuda:%u (%s)", ordinal,
				     device->base.info.name);
	return MPK_OK;
}

static enum mpk_code cuda_open(unsigned ordinal, struct mpk_device **out, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu;
	size_t count;

	MPK_TRY(mpk_cuda_api_get(&cu, err));
	MPK_TRY(get_count(cu, &count, err));
	if (ordinal >= count)
		return mpk_device_no_such(err, "cuda", ordinal, count);
	struct mpk_cuda_device *device = calloc(1, sizeof *device);

	if (!device)
		return mpk_fail_nomem(err);
	device->base.ops = &mpk_cuda_ops;
	device->cu = cu;
	enum mpk_code code = start(device, ordinal, err);

	if (code != MPK_OK) {
		free(device);
		return mpk_failed(code);
	}
	*out = &device->base;
	return MPK_OK;
}

static void cuda_close(struct mpk_device *base)
{
	struct mpk_cuda_device *device = mpk_cuda_device_of(base);

	(void)device->cu->cuDevicePrimaryCtxRelease(device->id);
	free(device);
}

enum mpk_code mpk_cuda_enter(struct mpk_cuda_device *device, struct mpk_error *err)
{
	unsigned status = device->cu->cuCtxSetCurrent(device->context);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(device->cu, err, status, "cuda:%u", device->base.info.ordinal);
	return MPK_OK;
}

static unsigned long long address_of(const void *data, uint64_t off)
{
	return (unsigned long long)(uintptr_t)data + off;
}

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
		(void)device->cu->cuMemFree(address_of(data, 0));
}

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

/* Copies run on the default stream: what the caller's own stream holds must end first. */
static enum mpk_code before_copy(struct mpk_device *base, struct mpk_error *err)
{
	if (base->stream)
		return cuda_sync(base, err);
	return mpk_cuda_enter(mpk_cuda_device_of(base), err);
}

static enum mpk_code cuda_write(struct mpk_device *base, void *to, uint64_t to_off,
				struct mpk_span from, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = mpk_cuda_device_of(base)->cu;

	MPK_TRY(before_copy(base, err));
	unsigned status = cu->cuMemcpyHtoD(address_of(to, to_off), from.data, from.len);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(cu, err, status, "cannot copy %zu bytes to cuda:%u", from.len,
				     base->info.ordinal);
	return MPK_OK;
}

static enum mpk_code cuda_read(struct mpk_device *base, const void *from, uint64_t from_off,
			       void *to, size_t n, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = mpk_cuda_device_of(base)->cu;

	MPK_TRY(before_copy(base, err));
	unsigned status = cu->cuMemcpyDtoH(to, address_of(from, from_off), n);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(cu, err, status, "cannot copy %zu bytes from cuda:%u", n,
				     base->info.ordinal);
	return MPK_OK;
}

static enum mpk_code cuda_copy(struct mpk_device *base, const struct mpk_device_copy *copy,
			       struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = mpk_cuda_device_of(base)->cu;

	MPK_TRY(before_copy(base, err));
	unsigned status =
		cu->cuMemcpyDtoD(address_of(copy->to, copy->to_off),
				 address_of(copy->from, copy->from_off), (size_t)copy->bytes);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(cu, err, status, "cannot copy %" PRIu64 " bytes on cuda:%u",
				     copy->bytes, base->info.ordinal);
	return MPK_OK;
}

const struct mpk_device_ops mpk_cuda_ops = {
	.kind = MPK_DEVICE_CUDA,
	.name = "cuda",
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
	.load = mpk_cuda_load,
	.unload = mpk_cuda_unload,
	.bind = mpk_cuda_bind,
	.unbind = mpk_cuda_unbind,
	.kernel_bytes = sizeof(struct mpk_cuda_kernel),
	.launch = mpk_cuda_launch,
	.check = mpk_cuda_check,
};
