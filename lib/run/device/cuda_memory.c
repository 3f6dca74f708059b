/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_memory.c - device memory, copies, waiting
 *
 * Kernels run on the caller's stream, or on the default stream when there is none; copies within
 * the device are queued there too. Copies to and from the host use the default stream, for which
 * the caller's need not wait, nor it for the caller's: then such a copy waits for the caller's
 * before it begins and for the default one before it returns.
 */
#include <inttypes.h>

#include "device/internal/cuda.h"

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

enum mpk_code mpk_cuda_alloc(struct mpk_device *base, uint64_t bytes, void **out,
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

void mpk_cuda_free(struct mpk_device *base, void *data)
{
	struct mpk_cuda_device *device = mpk_cuda_device_of(base);

	/* After a fault of a kernel the driver refuses this too; there is nothing left to do. */
	if (mpk_cuda_enter(device, NULL) == MPK_OK)
		(void)device->cu->cuMemFree(address_of(data, 0));
}

enum mpk_code mpk_cuda_sync(struct mpk_device *base, struct mpk_error *err)
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
static enum mpk_code before_copy(struct mpk_device *base, struct mpk_error *err)
{
	if (base->stream)
		return mpk_cuda_sync(base, err);
	return mpk_cuda_enter(mpk_cuda_device_of(base), err);
}

enum mpk_code mpk_cuda_write(struct mpk_device *base, void *to, uint64_t to_off,
			     struct mpk_span from, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = mpk_cuda_device_of(base)->cu;

	MPK_TRY(before_copy(base, err));
	unsigned status = cu->cuMemcpyHtoD(address_of(to, to_off), from.data, from.len);

	/* it returns when the bytes are read, which may be before they are on the device */
	if (status == MPK_CU_SUCCESS && base->stream)
		status = cu->cuStreamSynchronize(NULL);
	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(cu, err, status, "cannot copy %zu bytes to cuda:%u", from.len,
				     base->info.ordinal);
	return MPK_OK;
}

enum mpk_code mpk_cuda_read(struct mpk_device *base, const void *from, uint64_t from_off, void *to,
			    size_t n, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = mpk_cuda_device_of(base)->cu;

	MPK_TRY(before_copy(base, err));
	unsigned status = cu->cuMemcpyDtoH(to, address_of(from, from_off), n);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(cu, err, status, "cannot copy %zu bytes from cuda:%u", n,
				     base->info.ordinal);
	return MPK_OK;
}

enum mpk_code mpk_cuda_copy(struct mpk_device *base, const struct mpk_device_copy *copy,
			    struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = mpk_cuda_device_of(base)->cu;

	MPK_TRY(mpk_cuda_enter(mpk_cuda_device_of(base), err));
	unsigned status = cu->cuMemcpyDtoDAsync(address_of(copy->to, copy->to_off),
						address_of(copy->from, copy->from_off),
						(size_t)copy->bytes, base->stream);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(cu, err, status, "cannot copy %" PRIu64 " bytes on cuda:%u",
				     copy->bytes, base->info.ordinal);
	return MPK_OK;
}
