/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.c - host memory through the device interface; runs no kernels
 *
 * With this back end, code that copies between devices needs no special case for the host. Nothing
 * is queued, so a sync returns at once. Ranges are not checked, because the heap does not tell how
 * large an allocation is. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "device/internal/backend.h"

static void describe_host(struct mpk_device_info *info)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	*info = (struct mpk_device_info){
		.kind = MPK_DEVICE_CPU,
		.name = "host memory",
		.platform = "host",
		.memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0,
		.compute_units = cores > 0 ? (unsigned)cores : 1,
	};
}

static enum mpk_code cpu_list(struct mpk_device_list *list, struct mpk_error *err)
{
	struct mpk_device_info info;

	describe_host(&info);
	return mpk_device_list_push(list, &info, err);
}

static enum mpk_code cpu_open(unsigned ordinal, struct mpk_device **out, struct mpk_error *err)
{
	if (ordinal != 0)
		return mpk_device_no_such(err, "cpu", ordinal, 1);
	struct mpk_device *device = calloc(1, sizeof *device);

	MPK_TRY_ALLOC(device, err);
	device->ops = &mpk_cpu_ops;
	describe_host(&device->info);
	*out = device;
	return MPK_OK;
}

static void cpu_close(struct mpk_device *device)
{
	free(device);
}

/* aligned_alloc requires a multiple of the alignment. */
static enum mpk_code cpu_alloc(struct mpk_device *device, uint64_t bytes, void **out,
			       struct mpk_error *err)
{
	uint64_t rounded;

	(void)device;
	if (!mpk_align_up(bytes ? bytes : 1, MPK_DEVICE_ALIGN, &rounded) || rounded > SIZE_MAX / 2)
		return mpk_fail_nomem(err);
	void *data = aligned_alloc(MPK_DEVICE_ALIGN, (size_t)rounded);

	MPK_TRY_ALLOC(data, err);
	*out = data;
	return MPK_OK;
}

static void cpu_free(struct mpk_device *device, void *data)
{
	(void)device;
	free(data);
}

static enum mpk_code cpu_write(struct mpk_device *device, void *to, uint64_t to_off,
			       struct mpk_span from, struct mpk_error *err)
{
	(void)device;
	(void)err;
	memmove((uint8_t *)to + to_off, from.data, from.len);
	return MPK_OK;
}

static enum mpk_code cpu_read(struct mpk_device *device, const void *from, uint64_t from_off,
			      void *to, size_t n, struct mpk_error *err)
{
	(void)device;
	(void)err;
	memmove(to, (const uint8_t *)from + from_off, n);
	return MPK_OK;
}

static enum mpk_code cpu_copy(struct mpk_device *device, const struct mpk_device_copy *copy,
			      struct mpk_error *err)
{
	(void)device;
	(void)err;
	memcpy((uint8_t *)copy->to + copy->to_off, (const uint8_t *)copy->from + copy->from_off,
	       (size_t)copy->bytes);
	return MPK_OK;
}

static enum mpk_code cpu_sync(struct mpk_device *device, struct mpk_error *err)
{
	(void)device;
	(void)err;
	return MPK_OK;
}

const struct mpk_device_ops mpk_cpu_ops = {
	.list = cpu_list,
	.open = cpu_open,
	.close = cpu_close,
	.alloc = cpu_alloc,
	.free = cpu_free,
	.write = cpu_write,
	.read = cpu_read,
	.copy = cpu_copy,
	.sync = cpu_sync,
};
