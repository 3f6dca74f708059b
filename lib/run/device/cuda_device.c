/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_device.c - devices and their primary contexts; the back end's table of operations */
#include <stdio.h>
#include <stdlib.h>

#include "device/internal/cuda.h"
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

	MPK_TRY_ALLOC(device, err);
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

const struct mpk_device_ops mpk_cuda_ops = {
	.kind = MPK_DEVICE_CUDA,
	.name = "cuda",
	.list = cuda_list,
	.open = cuda_open,
	.close = cuda_close,
	.alloc = mpk_cuda_alloc,
	.free = mpk_cuda_free,
	.write = mpk_cuda_write,
	.read = mpk_cuda_read,
	.copy = mpk_cuda_copy,
	.sync = mpk_cuda_sync,
	.takes_streams = true,
	.load = mpk_cuda_load,
	.unload = mpk_cuda_unload,
	.bind = mpk_cuda_bind,
	.unbind = mpk_cuda_unbind,
	.kernel_bytes = sizeof(struct mpk_cuda_kernel),
	.launch = mpk_cuda_launch,
	.check = mpk_cuda_check,
};
