/* SPDX-License-Identifier: Apache-2.0 */
/* The file that a back end would be in lib/run/device, a worked example of CONTRIBUTING.md: memory of the host as
 * a device, and one kernel, `fill`, which sets words of it. */
#ifndef DEVICE_SHELF_H
#define DEVICE_SHELF_H

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "device/internal/backend.h"

/* The number that formats/dtype/dlpack.h and a row of devices.def would give. */
enum { MPK_DEVICE_SHELF = 12 };

static const struct mpk_device_ops mpk_shelf_ops;

static enum mpk_code shelf_list(struct mpk_device_list *list, struct mpk_error *err)
{
	const struct mpk_device_info info = { .kind = (enum mpk_device_kind)MPK_DEVICE_SHELF,
					      .name = "a shelf",
					      .block_limit = 64 };

	return mpk_device_list_push(list, &info, err);
}

static enum mpk_code shelf_open(unsigned ordinal, struct mpk_device **out, struct mpk_error *err)
{
	struct mpk_device *device;

	if (ordinal)
		return mpk_device_no_such(err, "shelf", ordinal, 1);
	device = calloc(1, sizeof *device);
	MPK_TRY_ALLOC(device, err);
	device->ops = &mpk_shelf_ops;
	device->info.kind = (enum mpk_device_kind)MPK_DEVICE_SHELF;
	device->info.block_limit = 64;
	*out = device;
	return MPK_OK;
}

static void shelf_close(struct mpk_device *device)
{
	free(device);
}

static enum mpk_code shelf_alloc(struct mpk_device *device, uint64_t bytes, void **out,
				 struct mpk_error *err)
{
	(void)device;
	uint64_t rounded;
	void *data;

	if (!mpk_align_up(bytes ? bytes : 1, MPK_DEVICE_ALIGN, &rounded))
		return mpk_fail_nomem(err);
	data = aligned_alloc(MPK_DEVICE_ALIGN, rounded);
	MPK_TRY_ALLOC(data, err);
	*out = data;
	return MPK_OK;
}

static void shelf_free(struct mpk_device *device, void *data)
{
	(void)device;
	free(data);
}

static enum mpk_code shelf_write(struct mpk_device *device, void *to, uint64_t to_off,
				 struct mpk_span from, struct mpk_error *err)
{
	(void)device;
	(void)err;
	memcpy((char *)to + to_off, from.data, from.len);
	return MPK_OK;
}

static enum mpk_code shelf_read(struct mpk_device *device, const void *from, uint64_t from_off,
				void *to, size_t n, struct mpk_error *err)
{
	(void)device;
	(void)err;
	memcpy(to, (const char *)from + from_off, n);
	return MPK_OK;
}

static enum mpk_code shelf_copy(struct mpk_device *device, const struct mpk_device_copy *copy,
				struct mpk_error *err)
{
	(void)device;
	(void)err;
	memcpy((char *)copy->to + copy->to_off, (const char *)copy->from + copy->from_off,
	       copy->bytes);
	return MPK_OK;
}

static enum mpk_code shelf_sync(struct mpk_device *device, struct mpk_error *err)
{
	(void)device;
	(void)err;
	return MPK_OK; /* a driver is asked here what kernels did wrong */
}

static enum mpk_code shelf_check(const struct mpk_device_info *info,
				 const struct mpk_kernels *kernels, struct mpk_error *err)
{
	(void)info;
	if (mpk_span_is(kernels->fmt, "shelf"))
		return MPK_OK;
	return mpk_fail(err, MPK_E_UNSUPPORTED, "a shelf runs code of the format 'shelf' alone");
}

static enum mpk_code shelf_load(struct mpk_device *device, const struct mpk_kernels *kernels,
				struct mpk_device_module **out, struct mpk_error *err)
{
	MPK_TRY(shelf_check(&device->info, kernels, err));
	*out = calloc(1, sizeof **out);
	MPK_TRY_ALLOC(*out, err);
	return MPK_OK;
}

static void shelf_unload(struct mpk_device_module *module)
{
	mpk_arena_fini(&module->arena);
	free(module);
}

static enum mpk_code shelf_bind(struct mpk_device_kernel *kernel, struct mpk_error *err)
{
	if (strcmp(kernel->name, "fill") == 0 && kernel->plan.arg_count == 2)
		return MPK_OK;
	return mpk_fail(err, MPK_E_LOAD, "kernel '%s' is not on the shelf", kernel->shown);
}

/* fill(words, value): a word of 32 bits for each thread */
static enum mpk_code shelf_launch(struct mpk_device_kernel *kernel, const uint64_t *slots,
				  const struct mpk_launch_shape *shape, struct mpk_error *err)
{
	uint64_t threads = mpk_launch_block_size(shape), value;
	uint32_t *words = (uint32_t *)(uintptr_t)slots[0];

	if (threads > kernel->module->device->info.block_limit)
		return mpk_fail(err, MPK_E_RAISED, "kernel '%s': a block of %u threads at most",
				kernel->shown, 64u);
	mpk_launch_pack(&kernel->plan.args[1], slots[1], &value);
	for (uint64_t i = 0; i < shape->grid[0] * threads; i++)
		memcpy(&words[i], &value, sizeof words[i]);
	return MPK_OK;
}

static const struct mpk_device_code_ops shelf_code = {
	.load = shelf_load,
	.unload = shelf_unload,
	.bind = shelf_bind,
	.kernel_bytes = sizeof(struct mpk_device_kernel),
	.launch = shelf_launch,
	.check = shelf_check,
};

static const struct mpk_device_ops mpk_shelf_ops = {
	.list = shelf_list,
	.open = shelf_open,
	.close = shelf_close,
	.alloc = shelf_alloc,
	.free = shelf_free,
	.write = shelf_write,
	.read = shelf_read,
	.copy = shelf_copy,
	.sync = shelf_sync,
	.code = &shelf_code,
};

#endif
