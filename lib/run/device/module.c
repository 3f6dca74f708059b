/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - payloads on a device and their kernels, as far as back ends agree */
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "device/internal/backend.h"
#include "text/escape.h"

enum mpk_code mpk_device_load(struct mpk_device *device, const struct mpk_kernels *kernels,
			      struct mpk_device_module **out, struct mpk_error *err)
{
	struct mpk_device_module *module;

	MPK_TRY(device->ops->load(device, kernels, &module, err));
	module->device = device;
	module->kernels = *kernels;
	module->bound =
		mpk_arena_array(&module->arena, kernels->function_count + 1, sizeof *module->bound);
	module->next = device->modules;
	device->modules = module;
	if (!module->bound) {
		mpk_device_unload(module);
		return mpk_fail_nomem(err);
	}
	*out = module;
	return MPK_OK;
}

static void unbind(struct mpk_device_kernel *kernel)
{
	kernel->module->device->ops->unbind(kernel);
	(void)pthread_mutex_destroy(&kernel->lock);
}

void mpk_device_unload(struct mpk_device_module *module)
{
	if (!module)
		return;
	const struct mpk_device_ops *ops = module->device->ops;
	struct mpk_device_module **link = &module->device->modules;

	while (*link != module)
		link = &(*link)->next;
	*link = module->next;
	/* What a fault would say now, the next call that can report it will say. */
	(void)ops->sync(module->device, NULL);
	for (size_t i = 0; module->bound && i < module->kernels.function_count; i++)
		if (module->bound[i])
			unbind(module->bound[i]);
	ops->unload(module);
}

static enum mpk_code fail_key(const struct mpk_device_module *module, struct mpk_span key,
			      struct mpk_error *err)
{
	const struct mpk_kernels *k = &module->kernels;
	struct mpk_span *names = calloc(k->function_count + 1, sizeof *names);

	MPK_TRY_ALLOC(names, err);
	for (size_t i = 0; i < k->function_count; i++)
		names[i] = k->functions[i].key;
	size_t near = mpk_closest(key, names, k->function_count);

	free(names);
	if (near < k->function_count)
		return mpk_fail(err, MPK_E_NOTFOUND, "no kernel '%s'; did you mean '%s'?",
				MPK_QUOTE(key), MPK_QUOTE(k->functions[near].key));
	return mpk_fail(err, MPK_E_NOTFOUND, "no kernel '%s' in this module", MPK_QUOTE(key));
}

static enum mpk_code bind_kernel(struct mpk_device_module *module,
				 const struct mpk_function_info *info,
				 struct mpk_device_kernel **out, struct mpk_error *err)
{
	const struct mpk_device_ops *ops = module->device->ops;
	struct mpk_device_kernel *kernel = mpk_arena_alloc(&module->arena, ops->kernel_bytes);

	MPK_TRY_ALLOC(kernel, err);
	kernel->module = module;
	kernel->info = info;
	kernel->name = mpk_arena_text(&module->arena, info->key);
	MPK_TRY_ALLOC(kernel->name, err);
	mpk_escape_to(info->key, kernel->shown, sizeof kernel->shown);
	if (memchr(kernel->name, '\0', info->key.len + 1) != kernel->name + info->key.len)
		return mpk_fail(err, MPK_E_CORRUPT, "kernel name '%s' contains a NUL byte",
				kernel->shown);
	MPK_TRY(mpk_launch_plan_make(info, &module->arena, &kernel->plan, err));
	MPK_TRY(ops->bind(kernel, err));
	(void)pthread_mutex_init(&kernel->lock, NULL);
	*out = kernel;
	return MPK_OK;
}

enum mpk_code mpk_device_get_kernel(struct mpk_device_module *module, struct mpk_span key,
				    struct mpk_device_kernel **out, struct mpk_error *err)
{
	const struct mpk_function_info *info = mpk_kernels_find(&module->kernels, key);

	if (!info)
		return fail_key(module, key, err);
	size_t index = (size_t)(info - module->kernels.functions);

	if (!module->bound[index])
		MPK_TRY(bind_kernel(module, info, &module->bound[index], err));
	*out = module->bound[index];
	return MPK_OK;
}

enum mpk_code mpk_device_launch(struct mpk_device_kernel *kernel, const uint64_t *slots,
				size_t count, struct mpk_error *err)
{
	struct mpk_launch_shape shape;

	MPK_TRY(mpk_launch_shape_of(&kernel->plan, slots, count, &shape, err));
	(void)pthread_mutex_lock(&kernel->lock);
	enum mpk_code code = kernel->module->device->ops->launch(kernel, slots, &shape, err);

	(void)pthread_mutex_unlock(&kernel->lock);
	return code;
}
