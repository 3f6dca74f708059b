/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.c - devices and memory of GPUs whose driver has CUDA's interface
 *
 * With CUDA a device is its primary context, with HIP a number. Calls may come from any thread, so
 * every function first makes its device the thread's current one. Other users of the driver in this
 * process share the device.
 *
 * Kernels and copies within the device run on the caller's stream, or else on the default stream.
 * Copies to and from the host run on the default stream, and the two streams do not wait for each
 * other. So a host copy first waits for the caller's stream, and waits for the default stream
 * before it returns. */
#include "device/internal/gpu.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "text/escape.h"

/* --- what went wrong ------------------------------------------------------------------------------ */

enum mpk_code(mpk_gpu_fail)(const struct mpk_gpu_maker *maker, struct mpk_error *err,
			    unsigned status, const char *fmt, ...)
{
	struct mpk_device_status as =
		mpk_device_status_find(maker->statuses, maker->status_count, (long long)status);
	va_list ap;

	as.name = maker->status_name(status);
	if (!as.name)
		as.name = "unknown error";
	va_start(ap, fmt);
	(void)mpk_device_fail_status(err, &as, fmt, ap);
	va_end(ap);
	return as.code;
}

/* --- memory ---------------------------------------------------------------------------------- */

enum mpk_code mpk_gpu_enter(struct mpk_gpu_device *device, struct mpk_error *err)
{
	unsigned status = device->maker->enter(device);

	if (status != MPK_CU_SUCCESS)
		return mpk_gpu_fail(device->maker, err, status, "%s:%u", device->maker->name,
				    device->base.info.ordinal);
	return MPK_OK;
}

static unsigned long long device_address(const void *data, uint64_t off)
{
	return (unsigned long long)(uintptr_t)data + off;
}

/* The driver refuses 0 bytes or returns NULL, so a tensor without elements gets one byte. */
enum mpk_code mpk_gpu_alloc(struct mpk_device *base, uint64_t bytes, void **out,
			    struct mpk_error *err)
{
	struct mpk_gpu_device *device = mpk_gpu_device_of(base);
	unsigned long long address = 0;

	MPK_TRY(mpk_gpu_enter(device, err));
	unsigned status = device->cu->cuMemAlloc(&address, bytes ? (size_t)bytes : 1);

	if (status != MPK_CU_SUCCESS)
		return mpk_gpu_fail(device->maker, err, status,
				    "cannot allocate %" PRIu64 " bytes on %s:%u (%s)", bytes,
				    device->maker->name, base->info.ordinal, base->info.name);
	*out = (void *)(uintptr_t)address;
	return MPK_OK;
}

void mpk_gpu_free(struct mpk_device *base, void *data)
{
	struct mpk_gpu_device *device = mpk_gpu_device_of(base);

	/* After a kernel's fault the driver refuses this call too; the error is ignored. */
	if (mpk_gpu_enter(device, NULL) == MPK_OK)
		(void)device->cu->cuMemFree(device_address(data, 0));
}

/* Kernels fail after their launch has returned; this call reports such faults. */
enum mpk_code mpk_gpu_sync(struct mpk_device *base, struct mpk_error *err)
{
	struct mpk_gpu_device *device = mpk_gpu_device_of(base);

	MPK_TRY(mpk_gpu_enter(device, err));
	unsigned status = device->cu->cuStreamSynchronize(base->stream);

	if (status != MPK_CU_SUCCESS)
		return mpk_gpu_fail(device->maker, err, status, "a kernel on %s:%u failed",
				    device->maker->name, base->info.ordinal);
	return MPK_OK;
}

/* Work on the caller's stream must end before the default stream copies. */
static enum mpk_code before_host_copy(struct mpk_device *base, struct mpk_error *err)
{
	if (base->stream)
		return mpk_gpu_sync(base, err);
	return mpk_gpu_enter(mpk_gpu_device_of(base), err);
}

/* way: "to", "from", "on" */
static enum mpk_code copied(struct mpk_device *base, unsigned status, uint64_t bytes,
			    const char *way, struct mpk_error *err)
{
	const struct mpk_gpu_maker *maker = mpk_gpu_device_of(base)->maker;

	if (status != MPK_CU_SUCCESS)
		return mpk_gpu_fail(maker, err, status, "cannot copy %" PRIu64 " bytes %s %s:%u",
				    bytes, way, maker->name, base->info.ordinal);
	return MPK_OK;
}

enum mpk_code mpk_gpu_write(struct mpk_device *base, void *to, uint64_t to_off,
			    struct mpk_span from, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = mpk_gpu_device_of(base)->cu;

	MPK_TRY(before_host_copy(base, err));
	unsigned status = cu->cuMemcpyHtoD(device_address(to, to_off), from.data, from.len);

	/* the driver returns when it has read the bytes, which may be before they are on the device */
	if (status == MPK_CU_SUCCESS && base->stream)
		status = cu->cuStreamSynchronize(NULL);
	return copied(base, status, from.len, "to", err);
}

enum mpk_code mpk_gpu_read(struct mpk_device *base, const void *from, uint64_t from_off, void *to,
			   size_t n, struct mpk_error *err)
{
	MPK_TRY(before_host_copy(base, err));
	return copied(
		base,
		mpk_gpu_device_of(base)->cu->cuMemcpyDtoH(to, device_address(from, from_off), n), n,
		"from", err);
}

/* Asynchronous, as a copy within the device is ordered by its stream like a kernel. */
enum mpk_code mpk_gpu_copy(struct mpk_device *base, const struct mpk_device_copy *copy,
			   struct mpk_error *err)
{
	struct mpk_gpu_device *device = mpk_gpu_device_of(base);

	MPK_TRY(mpk_gpu_enter(device, err));
	unsigned status = device->cu->cuMemcpyDtoDAsync(device_address(copy->to, copy->to_off),
							device_address(copy->from, copy->from_off),
							(size_t)copy->bytes, base->stream);

	return copied(base, status, copy->bytes, "on", err);
}

/* --- devices --------------------------------------------------------------------------------- */

/* Returns 0 for an attribute that the driver does not know: later drivers added some. */
static unsigned attribute_of(const struct mpk_cuda_api *cu, int id, unsigned which)
{
	int value = 0;

	if (cu->cuDeviceGetAttribute(&value, which, id) != MPK_CU_SUCCESS || value < 0)
		return 0;
	return (unsigned)value;
}

/* Only the handle is required: a listing with a gap is better than none. */
static enum mpk_code describe_device(const struct mpk_gpu_maker *maker, unsigned ordinal, int *id,
				     struct mpk_device_info *info, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = maker->api;
	char raw[128] = "";
	size_t bytes = 0;
	unsigned status = cu->cuDeviceGet(id, (int)ordinal);

	if (status != MPK_CU_SUCCESS)
		return mpk_gpu_fail(maker, err, status, "%s:%u", maker->name, ordinal);
	*info = (struct mpk_device_info){ .kind = maker->kind, .ordinal = ordinal };
	(void)cu->cuDeviceGetName(raw, sizeof raw - 1, *id);
	mpk_escape_to(mpk_span_str(raw), info->name, sizeof info->name);
	(void)cu->cuDeviceTotalMem(&bytes, *id);
	info->memory_bytes = bytes;
	info->compute_units = attribute_of(cu, *id, maker->units);
	info->block_limit = attribute_of(cu, *id, maker->threads);
	info->shared_bytes = attribute_of(cu, *id, maker->shared_optin);
	/* the driver does not know the attribute: a block gets only the default */
	if (!info->shared_bytes)
		info->shared_bytes = attribute_of(cu, *id, maker->shared);
	if (maker->capability[0])
		info->sm = 10 * attribute_of(cu, *id, maker->capability[0]) +
			   attribute_of(cu, *id, maker->capability[1]);
	maker->describe(*id, info);
	return MPK_OK;
}

/* A driver without a GPU reports either an error or a count of 0. */
static enum mpk_code count_devices(const struct mpk_gpu_maker *maker, size_t *out,
				   struct mpk_error *err)
{
	int count = 0;

	MPK_TRY(mpk_driver_get(maker->driver, err));
	unsigned status = maker->api->cuDeviceGetCount(&count);

	if (status != MPK_CU_SUCCESS)
		return mpk_gpu_fail(maker, err, status, "no %s here", maker->interface);
	if (count <= 0)
		return mpk_fail(err, MPK_E_DEVICE, "no %s here: the driver finds no GPU",
				maker->interface);
	*out = (size_t)count;
	return MPK_OK;
}

enum mpk_code mpk_gpu_list(const struct mpk_gpu_maker *maker, struct mpk_device_list *list,
			   struct mpk_error *err)
{
	size_t count;

	MPK_TRY(count_devices(maker, &count, err));
	for (size_t i = 0; i < count; i++) {
		struct mpk_device_info info;
		int id;

		MPK_TRY(describe_device(maker, (unsigned)i, &id, &info, err));
		MPK_TRY(mpk_device_list_push(list, &info, err));
	}
	return MPK_OK;
}

static enum mpk_code start_device(struct mpk_gpu_device *device, unsigned ordinal,
				  struct mpk_error *err)
{
	const struct mpk_gpu_maker *maker = device->maker;

	MPK_TRY(describe_device(maker, ordinal, &device->id, &device->base.info, err));
	for (unsigned axis = 0; axis < 3; axis++) {
		device->block_limits[axis] =
			attribute_of(device->cu, device->id, maker->block_x + axis);
		device->grid_limits[axis] =
			attribute_of(device->cu, device->id, maker->grid_x + axis);
	}
	device->shared_optin = (unsigned)device->base.info.shared_bytes;
	unsigned status = maker->start(device);

	if (status != MPK_CU_SUCCESS)
		return mpk_gpu_fail(maker, err, status, "cannot start %s:%u (%s)", maker->name,
				    ordinal, device->base.info.name);
	return MPK_OK;
}

/* Checks the number first: for a number beyond the last device the driver only says "invalid
 * device". */
enum mpk_code mpk_gpu_open(const struct mpk_gpu_maker *maker, unsigned ordinal,
			   struct mpk_device **out, struct mpk_error *err)
{
	size_t count;

	MPK_TRY(count_devices(maker, &count, err));
	if (ordinal >= count)
		return mpk_device_no_such(err, maker->name, ordinal, count);
	struct mpk_gpu_device *device = calloc(1, sizeof *device);

	MPK_TRY_ALLOC(device, err);
	device->base.ops = maker->ops;
	device->maker = maker;
	device->cu = maker->api;
	enum mpk_code code = start_device(device, ordinal, err);

	if (code != MPK_OK) {
		free(device);
		return mpk_failed(code);
	}
	*out = &device->base;
	return MPK_OK;
}

void mpk_gpu_close(struct mpk_device *base)
{
	struct mpk_gpu_device *device = mpk_gpu_device_of(base);

	device->maker->stop(device);
	free(device);
}
