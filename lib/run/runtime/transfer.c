/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.c - tensors on devices: made there, sent, fetched, copied from one to another
 *
 * Drivers copy within a device, and between it and the host; all else goes over the host.
 */
#include "runtime/devices.h"

#include <stdlib.h>
#include <string.h>

enum mpk_code mpk_devices_empty(struct mpk_devices *devices, const struct mpk_tensor *like,
				struct mpk_dldevice where, struct mpk_tensor **out,
				struct mpk_error *err)
{
	struct mpk_allocator *allocator;
	struct mpk_storage *storage;

	MPK_TRY(mpk_devices_allocator(devices, where, &allocator, err));
	MPK_TRY(mpk_allocator_storage(allocator, like->bytes, &storage, err));
	enum mpk_code code = mpk_tensor_view(storage, 0, like->dl.dtype, like->dl.shape,
					     (size_t)like->dl.ndim, out, err);

	mpk_storage_drop(storage);
	return code;
}

/* Two devices that are not the processor have no way to each other but over it. */
static enum mpk_code copy_over_host(struct mpk_device *a, const struct mpk_dltensor *from,
				    struct mpk_device *b, const struct mpk_dltensor *to,
				    uint64_t bytes, struct mpk_error *err)
{
	void *data = malloc(bytes ? (size_t)bytes : 1);
	enum mpk_code code;

	MPK_TRY_ALLOC(data, err);
	code = mpk_device_read(a, from->data, from->byte_offset, data, (size_t)bytes, err);
	if (code == MPK_OK)
		code = mpk_device_write(b, to->data, to->byte_offset,
					mpk_span_of(data, (size_t)bytes), err);
	free(data);
	return code;
}

/* The devices of both ends are opened where they are not, so that an error names the device. */
enum mpk_code mpk_devices_copy(struct mpk_devices *devices, const struct mpk_dltensor *from,
			       const struct mpk_dltensor *to, uint64_t bytes, struct mpk_error *err)
{
	struct mpk_device *a, *b;

	if (mpk_dldevice_is_host(from->device) && mpk_dldevice_is_host(to->device)) {
		if (bytes)
			memmove(mpk_dltensor_data(to), mpk_dltensor_data(from), (size_t)bytes);
		return MPK_OK;
	}
	MPK_TRY(mpk_devices_get(devices, from->device, &a, err));
	MPK_TRY(mpk_devices_get(devices, to->device, &b, err));
	if (mpk_dldevice_is_host(from->device))
		return mpk_device_write(b, to->data, to->byte_offset,
					mpk_span_of(mpk_dltensor_data(from), (size_t)bytes), err);
	if (mpk_dldevice_is_host(to->device))
		return mpk_device_read(a, from->data, from->byte_offset, mpk_dltensor_data(to),
				       (size_t)bytes, err);
	if (a != b)
		return copy_over_host(a, from, b, to, bytes, err);
	return mpk_device_copy(a,
			       &(struct mpk_device_copy){ .to = to->data,
							  .to_off = to->byte_offset,
							  .from = from->data,
							  .from_off = from->byte_offset,
							  .bytes = bytes },
			       err);
}

enum mpk_code mpk_devices_send(struct mpk_devices *devices, struct mpk_tensor *tensor,
			       struct mpk_dldevice where, struct mpk_tensor **out,
			       struct mpk_error *err)
{
	struct mpk_device *device;
	struct mpk_tensor *sent;

	if (where.type == MPK_DL_CPU) {
		*out = mpk_tensor_hold(tensor);
		return MPK_OK;
	}
	MPK_TRY(mpk_devices_get(devices, where, &device, err));
	MPK_TRY(mpk_devices_empty(devices, tensor, where, &sent, err));
	enum mpk_code code =
		mpk_device_write(device, sent->dl.data, 0, mpk_tensor_span(tensor), err);

	if (code != MPK_OK) {
		mpk_tensor_drop(sent);
		return mpk_failed(code);
	}
	*out = sent;
	return MPK_OK;
}

/* Waits first: a fault of a kernel is then reported as one and not as a failed copy. */
enum mpk_code mpk_devices_fetch(struct mpk_devices *devices, const struct mpk_dltensor *from,
				struct mpk_tensor *to, struct mpk_error *err)
{
	struct mpk_device *device;

	MPK_TRY(mpk_devices_get(devices, from->device, &device, err));
	MPK_TRY(mpk_device_sync(device, err));
	return mpk_device_read(device, from->data, from->byte_offset, mpk_dltensor_data(&to->dl),
			       (size_t)to->bytes, err);
}

enum mpk_code mpk_devices_copy_to_host(struct mpk_devices *devices, const struct mpk_dltensor *from,
				       struct mpk_tensor **out, struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;
	struct mpk_tensor *copy;

	if (!mpk_dldevice_is_host(from->device) && !mpk_dltensor_is_compact(from))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a tensor on a device whose rows are not contiguous");
	MPK_TRY(mpk_tensor_create(from->dtype, from->shape, (size_t)from->ndim, MPK_STORAGE_PRIVATE,
				  &copy, err));
	if (mpk_dldevice_is_host(from->device))
		mpk_tensor_copy_from(copy, from);
	else
		code = mpk_devices_fetch(devices, from, copy, err);
	if (code != MPK_OK) {
		mpk_tensor_drop(copy);
		return mpk_failed(code);
	}
	*out = copy;
	return MPK_OK;
}
