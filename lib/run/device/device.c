/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - an open device: the interface's calls to the operations of its back end
 *
 * What is the same for all back ends is checked here, so that they need not: empty ranges, NULL,
 * ranges that overlap, streams.
 */
#include <inttypes.h>

#include "device/internal/backend.h"

void mpk_device_close(struct mpk_device *device)
{
	if (!device)
		return;
	while (device->modules)
		mpk_device_unload(device->modules);
	device->ops->close(device);
}

const struct mpk_device_info *mpk_device_get_info(const struct mpk_device *device)
{
	return &device->info;
}

void mpk_device_set_cuda_home(struct mpk_device *device, const char *home)
{
	device->cuda_home = home;
}

enum mpk_code mpk_device_alloc(struct mpk_device *device, uint64_t bytes, void **out,
			       struct mpk_error *err)
{
	return device->ops->alloc(device, bytes, out, err);
}

enum mpk_code mpk_device_alloc_texture(struct mpk_device *device,
				       const struct mpk_device_texture *texture, void **out,
				       struct mpk_error *err)
{
	if (!device->ops->alloc_texture)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "%s devices have no textures here",
				device->ops->name);
	return device->ops->alloc_texture(device, texture, out, err);
}

void mpk_device_free(struct mpk_device *device, void *data)
{
	if (data)
		device->ops->free(device, data);
}

enum mpk_code mpk_device_write(struct mpk_device *device, void *to, uint64_t to_off,
			       struct mpk_span from, struct mpk_error *err)
{
	return from.len ? device->ops->write(device, to, to_off, from, err) : MPK_OK;
}

enum mpk_code mpk_device_read(struct mpk_device *device, const void *from, uint64_t from_off,
			      void *to, size_t n, struct mpk_error *err)
{
	return n ? device->ops->read(device, from, from_off, to, n, err) : MPK_OK;
}

enum mpk_code mpk_device_copy(struct mpk_device *device, const struct mpk_device_copy *copy,
			      struct mpk_error *err)
{
	uint64_t gap = copy->to_off > copy->from_off ? copy->to_off - copy->from_off
						     : copy->from_off - copy->to_off;

	/* drivers differ in what they make of it */
	if (copy->to == copy->from && gap < copy->bytes)
		return mpk_fail(err, MPK_E_RANGE,
				"copy of %" PRIu64 " bytes at %" PRIu64 " to %" PRIu64
				" of the same memory: the ranges overlap",
				copy->bytes, copy->from_off, copy->to_off);
	return copy->bytes ? device->ops->copy(device, copy, err) : MPK_OK;
}

enum mpk_code mpk_device_sync(struct mpk_device *device, struct mpk_error *err)
{
	return device->ops->sync(device, err);
}

enum mpk_code mpk_device_set_stream(struct mpk_device *device, void *stream, struct mpk_error *err)
{
	if (stream && !device->ops->takes_streams)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "%s devices have one queue, no streams",
				device->ops->name);
	if (stream != device->stream) /* the new stream does not wait for the old one */
		MPK_TRY(mpk_device_sync(device, err));
	device->stream = stream;
	return MPK_OK;
}
