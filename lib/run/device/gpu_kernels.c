/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_kernels.c - loads, binds and launches kernels on GPUs whose driver has CUDA's interface
 *
 * Limits are checked here, because the driver's "invalid value" names neither the dimension nor the
 * limit. Clusters, cooperative and programmatic launches need attributes, which the plain launch
 * call does not take. All other kernels use the plain call, because older drivers have only that. */
#include "device/internal/gpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/profile.h"
#include "text/escape.h"

/* Code that only AMD's GPUs need is left out of libraries without ROCm, to keep them small. */

/* --- loading --------------------------------------------------------------------------------- */

enum { LOG_BYTES = 8192 };

/* The messages of the driver's compiler for one load. */
struct jit_logs {
	char info[LOG_BYTES], error[LOG_BYTES];
};

static bool has_format(const struct mpk_gpu_maker *maker, struct mpk_span fmt)
{
	for (size_t i = 0; maker->formats[i]; i++)
		if (mpk_span_is(fmt, maker->formats[i]))
			return true;
	return false;
}

static enum mpk_code check_format(const struct mpk_gpu_maker *maker, const struct mpk_kernels *k,
				  struct mpk_error *err)
{
	if (k->layout == MPK_KERNELS_PLAIN && has_format(maker, k->fmt))
		return MPK_OK;
	return mpk_fail(err, MPK_E_UNSUPPORTED, "format '%s' is not one that %s runs (%s)",
			MPK_QUOTE(k->fmt), maker->interface, maker->format_names);
}

enum mpk_code mpk_gpu_check(const struct mpk_gpu_maker *maker, const struct mpk_device_info *info,
			    const struct mpk_kernels *k, struct mpk_error *err)
{
	MPK_TRY(check_format(maker, k, err));
	return maker->check(k->data, info, err);
}

static void *as_value(unsigned number)
{
	return (void *)(uintptr_t)number;
}

/* Requests two logs: information and errors. The sizes leave room for a NUL. */
static unsigned load_image(const struct mpk_gpu_device *device, const char *image,
			   struct jit_logs *logs, struct mpk_cu_module **out)
{
	unsigned options[] = { MPK_CU_JIT_INFO_LOG, MPK_CU_JIT_INFO_LOG_BYTES, MPK_CU_JIT_ERROR_LOG,
			       MPK_CU_JIT_ERROR_LOG_BYTES };
	void *values[] = { logs->info, as_value(LOG_BYTES - 1), logs->error,
			   as_value(LOG_BYTES - 1) };

	return device->cu->cuModuleLoadDataEx(
		out, image, !MPK_RUN_ROCM || device->maker->has_logs ? MPK_ARRAY_COUNT(options) : 0,
		options, values);
}

/* The driver names its status, but not the code's architecture. The error gives the architectures
 * of the code and of the GPU. */
static enum mpk_code fail_load(const struct mpk_gpu_device *device, const struct mpk_kernels *k,
			       unsigned status, const struct jit_logs *logs, struct mpk_error *err)
{
	const struct mpk_device_info *info = &device->base.info;
	struct mpk_error reason;
	char held[MPK_GPU_CODE_TEXT];
	const char *log = logs->error[0] ? logs->error : logs->info;
	enum mpk_code code =
		mpk_gpu_fail(device->maker, &reason, status, "'%s' code does not load on %s",
			     MPK_QUOTE(k->fmt), info->name);
	size_t used = strlen(reason.text), left = sizeof reason.text - used;

	(void)device->maker->describe_code(k->data, held);
	(void)snprintf(reason.text + used, left, "; the device is %s, the code is %s", info->arch,
		       held[0] ? held : device->maker->no_form);
	return mpk_device_fail_log(err, code, reason.text, log);
}

enum mpk_code mpk_gpu_copy_image(struct mpk_span bytes, struct mpk_gpu_image *out,
				 struct mpk_error *err)
{
	char *copy = malloc(bytes.len + 1);

	MPK_TRY_ALLOC(copy, err);
	memcpy(copy, bytes.data, bytes.len);
	copy[bytes.len] = '\0';
	*out = (struct mpk_gpu_image){ copy, bytes.len };
	return MPK_OK;
}

/* The two logs of 8 KiB are on the heap, because threads made by module code may have small stacks. */
static enum mpk_code load_module(struct mpk_gpu_device *device, const struct mpk_kernels *k,
				 const char *image, struct mpk_cu_module **out,
				 struct mpk_error *err)
{
	struct jit_logs *logs = calloc(1, sizeof *logs);
	struct mpk_cu_module *module = NULL;

	MPK_TRY_ALLOC(logs, err);
	unsigned status = load_image(device, image, logs, &module);
	enum mpk_code code = MPK_OK;

	if (status != MPK_CU_SUCCESS)
		code = fail_load(device, k, status, logs, err);
	else
		*out = module;
	free(logs);
	return code;
}

enum mpk_code mpk_gpu_load(struct mpk_device *base, const struct mpk_kernels *k,
			   struct mpk_device_module **out, struct mpk_error *err)
{
	struct mpk_gpu_device *device = mpk_gpu_device_of(base);
	struct mpk_gpu_image image = { 0 };

	MPK_TRY(check_format(device->maker, k, err));
	MPK_TRY(mpk_gpu_enter(device, err));
	if (k->data.len == 0)
		return mpk_fail(err, MPK_E_CORRUPT, "the payload holds no code");
	MPK_TRY(device->maker->get_image(device, k, &image, err));
	struct mpk_gpu_module *module = calloc(1, sizeof *module);
	enum mpk_code code = module ? load_module(device, k, image.bytes, &module->module, err)
				    : mpk_fail_nomem(err);

	if (MPK_RUN_ROCM && code == MPK_OK && device->maker->keeps_image)
		module->image = image;
	else
		free(image.bytes);
	if (code != MPK_OK) {
		free(module);
		return mpk_failed(code);
	}
	*out = &module->base;
	return MPK_OK;
}

void mpk_gpu_unload(struct mpk_device_module *base)
{
	struct mpk_gpu_module *module = (struct mpk_gpu_module *)base;
	struct mpk_gpu_device *device = mpk_gpu_device_of(base->device);

	if (mpk_gpu_enter(device, NULL) == MPK_OK)
		(void)device->cu->cuModuleUnload(module->module);
	mpk_arena_fini(&base->arena);
	if (MPK_RUN_ROCM)
		free(module->image.bytes);
	free(module);
}

/* --- kernels --------------------------------------------------------------------------------- */

enum { CLUSTER_PORTABLE = 8 }; /* blocks in a cluster that every GPU with clusters can run */

/* The base is the first member, so its address is that of the whole struct. */
static struct mpk_gpu_kernel *gpu_kernel_of(struct mpk_device_kernel *kernel)
{
	return (struct mpk_gpu_kernel *)kernel;
}

/* A CUtensorMap is passed by value and has 128 bytes (cuda.h). */
static size_t planned_bytes(const struct mpk_kernel_param *arg)
{
	return arg->form == MPK_PARAM_TENSOR_MAP ? 128 : arg->bytes;
}

/* Compares the code's parameters with the function table. If the code does not tell its parameters,
 * a mismatch shows only at the launch. */
static enum mpk_code check_params(struct mpk_gpu_kernel *kernel, struct mpk_error *err)
{
	const struct mpk_gpu_maker *maker = mpk_gpu_kernel_device(kernel)->maker;
	const struct mpk_launch_plan *plan = &kernel->base.plan;

	for (size_t i = 0; i <= plan->arg_count; i++) {
		size_t bytes = 0;

		if (!maker->param_bytes(kernel, i, &bytes))
			return MPK_OK;
		if (i == plan->arg_count && bytes)
			return mpk_fail(
				err, MPK_E_CONFLICT,
				"kernel '%s' has more parameters in its code than the %zu of the function table",
				kernel->base.shown, plan->arg_count);
		if (i == plan->arg_count)
			return MPK_OK;
		if (!bytes)
			return mpk_fail(
				err, MPK_E_CONFLICT,
				"kernel '%s' has %zu parameters in its code, but %zu in the function table",
				kernel->base.shown, i, plan->arg_count);
		if (bytes != planned_bytes(&plan->args[i]))
			return mpk_fail(
				err, MPK_E_CONFLICT,
				"kernel '%s': parameter %zu has %zu bytes in the code, but %zu in the function table",
				kernel->base.shown, i, bytes, planned_bytes(&plan->args[i]));
	}
	return MPK_OK;
}

static unsigned function_attribute(const struct mpk_gpu_kernel *kernel, unsigned which)
{
	int value = 0;

	if (mpk_gpu_kernel_device(kernel)->cu->cuFuncGetAttribute(
		    &value, which, kernel->function) != MPK_CU_SUCCESS ||
	    value < 0)
		return 0;
	return (unsigned)value;
}

/* The arrays of arguments are allocated once and filled at each launch, under the kernel's lock. */
enum mpk_code mpk_gpu_bind(struct mpk_device_kernel *base, struct mpk_error *err)
{
	struct mpk_gpu_kernel *kernel = gpu_kernel_of(base);
	struct mpk_gpu_module *module = (struct mpk_gpu_module *)base->module;
	struct mpk_gpu_device *device = mpk_gpu_kernel_device(kernel);
	size_t count = base->plan.arg_count;

	kernel->params = mpk_arena_array(&base->module->arena, count + 1, sizeof *kernel->params);
	kernel->values = mpk_arena_array(&base->module->arena, count + 1, sizeof *kernel->values);
	MPK_TRY_ALLOC(kernel->params && kernel->values, err);
	MPK_TRY(mpk_gpu_enter(device, err));
	unsigned status =
		device->cu->cuModuleGetFunction(&kernel->function, module->module, base->name);

	if (status == MPK_CU_NOT_FOUND && (!MPK_RUN_ROCM || device->maker->explain_missing))
		MPK_TRY(device->maker->explain_missing(kernel, err));
	if (status != MPK_CU_SUCCESS)
		return mpk_gpu_fail(device->maker, err, status, "kernel '%s'", base->shown);
	MPK_TRY(check_params(kernel, err));
	kernel->thread_limit = function_attribute(kernel, MPK_CU_FUNC_MAX_THREADS);
	kernel->static_shared = function_attribute(kernel, MPK_CU_FUNC_SHARED_BYTES);
	kernel->dynamic_shared = MPK_RUN_ROCM && !device->maker->shared_free
					 ? device->shared_optin
					 : device->maker->shared_free;
	return MPK_OK;
}

/* A limit of 0 means that the driver did not tell it; then the interface's own range is the limit. */
static enum mpk_code check_axis(const struct mpk_gpu_kernel *kernel, const char *what,
				const uint64_t dims[3], const unsigned limits[3],
				struct mpk_error *err)
{
	for (unsigned axis = 0; axis < 3; axis++)
		if (dims[axis] > (limits[axis] ? limits[axis] : UINT32_MAX))
			return mpk_fail(err, MPK_E_RAISED,
					"kernel '%s': %s dimension %c is %" PRIu64
					", but %s allows at most %u",
					kernel->base.shown, what, "xyz"[axis], dims[axis],
					mpk_gpu_kernel_device(kernel) -> base.info.name,
					limits[axis]);
	return MPK_OK;
}

static enum mpk_code check_limits(const struct mpk_gpu_kernel *kernel,
				  const struct mpk_launch_shape *shape, struct mpk_error *err)
{
	const struct mpk_gpu_device *device = mpk_gpu_kernel_device(kernel);
	uint64_t threads = mpk_launch_block_size(shape);

	MPK_TRY(check_axis(kernel, "grid", shape->grid, device->grid_limits, err));
	MPK_TRY(check_axis(kernel, "block", shape->block, device->block_limits, err));
	MPK_TRY(check_axis(kernel, "cluster", shape->cluster, device->block_limits, err));
	MPK_TRY(check_axis(kernel, "preferred cluster", shape->preferred_cluster,
			   device->block_limits, err));
	if (MPK_RUN_ROCM) {
		/* In HIP a launch counts the threads along an axis in 32 bits. */
		uint64_t limit = mpk_gpu_kernel_device(kernel)->maker->axis_threads;

		for (unsigned axis = 0; limit && axis < 3; axis++)
			if (shape->grid[axis] > limit / shape->block[axis])
				return mpk_fail(err, MPK_E_RAISED,
						"kernel '%s': %" PRIu64 " blocks of %" PRIu64
						" threads along %c, but %s allows at most %" PRIu64
						" threads",
						kernel->base.shown, shape->grid[axis],
						shape->block[axis], "xyz"[axis],
						mpk_gpu_kernel_device(kernel) -> base.info.name,
						limit);
	}
	if (kernel->thread_limit && threads > kernel->thread_limit)
		return mpk_fail(err, MPK_E_RAISED,
				"kernel '%s': a block of %" PRIu64 "x%" PRIu64 "x%" PRIu64
				" = %" PRIu64 " threads, but %s allows at most %u for this kernel",
				kernel->base.shown, shape->block[0], shape->block[1],
				shape->block[2], threads, device->base.info.name,
				kernel->thread_limit);
	if (shape->shared_bytes > device->shared_optin ||
	    shape->shared_bytes + kernel->static_shared > device->shared_optin)
		return mpk_fail(
			err, MPK_E_RAISED,
			"kernel '%s': %" PRIu64
			" bytes of dynamic and %u of static shared memory, but %s allows at most %u in a block",
			kernel->base.shown, shape->shared_bytes, kernel->static_shared,
			device->base.info.name, device->shared_optin);
	return MPK_OK;
}

static enum mpk_code set_function_attribute(struct mpk_gpu_kernel *kernel, unsigned which,
					    int value, struct mpk_error *err)
{
	const struct mpk_gpu_device *device = mpk_gpu_kernel_device(kernel);
	unsigned status = device->cu->cuFuncSetAttribute(kernel->function, which, value);

	if (status != MPK_CU_SUCCESS)
		return mpk_gpu_fail(device->maker, err, status, "kernel '%s': attribute %u = %d",
				    kernel->base.shown, which, value);
	return MPK_OK;
}

static uint64_t cluster_size(const uint64_t dims[3])
{
	return dims[0] * dims[1] * dims[2]; /* each factor is at most a block's extent, so the
					     * product cannot overflow */
}

/* Adds no attribute for a cluster of one block, so that the plain launch call can be used. */
static void add_cluster(struct mpk_cu_launch_config *config, unsigned id, const uint64_t dims[3])
{
	if (cluster_size(dims) == 1)
		return;
	struct mpk_cu_launch_attribute *a = &config->attributes[config->attribute_count++];

	*a = (struct mpk_cu_launch_attribute){ .id = id };
	a->value.dims.x = (unsigned)dims[0];
	a->value.dims.y = (unsigned)dims[1];
	a->value.dims.z = (unsigned)dims[2];
}

static void add_flag(struct mpk_cu_launch_config *config, unsigned id, bool wanted)
{
	if (!wanted)
		return;
	struct mpk_cu_launch_attribute *a = &config->attributes[config->attribute_count++];

	*a = (struct mpk_cu_launch_attribute){ .id = id };
	a->value.flag = 1;
}

/* A launch allocates nothing: the driver copies the arguments before it returns. */
enum mpk_code mpk_gpu_launch(struct mpk_device_kernel *base, const uint64_t *slots,
			     const struct mpk_launch_shape *shape, struct mpk_error *err)
{
	struct mpk_gpu_kernel *kernel = gpu_kernel_of(base);
	struct mpk_cu_launch_attribute attributes[4];
	struct mpk_cu_launch_config config = { .attributes = attributes };

	MPK_TRY(mpk_gpu_enter(mpk_gpu_kernel_device(kernel), err));

	/* Both attributes stay set: they only permit more, and setting one costs a driver call. */
	MPK_TRY(check_limits(kernel, shape, err));
	if (shape->shared_bytes + kernel->static_shared > kernel->dynamic_shared) {
		MPK_TRY(set_function_attribute(kernel, MPK_CU_FUNC_MAX_DYNAMIC_SHARED,
					       (int)shape->shared_bytes, err));
		kernel->dynamic_shared = (unsigned)shape->shared_bytes + kernel->static_shared;
	}
	if (!kernel->big_cluster && (cluster_size(shape->cluster) > CLUSTER_PORTABLE ||
				     cluster_size(shape->preferred_cluster) > CLUSTER_PORTABLE)) {
		MPK_TRY(set_function_attribute(kernel, MPK_CU_FUNC_NON_PORTABLE_CLUSTER, 1, err));
		kernel->big_cluster = true;
	}

	config.grid_x = (unsigned)shape->grid[0];
	config.grid_y = (unsigned)shape->grid[1];
	config.grid_z = (unsigned)shape->grid[2];
	config.block_x = (unsigned)shape->block[0];
	config.block_y = (unsigned)shape->block[1];
	config.block_z = (unsigned)shape->block[2];
	config.shared_bytes = (unsigned)shape->shared_bytes;
	config.stream = base->module->device->stream;
	/* TVM sets the attributes in this order. */
	add_cluster(&config, MPK_CU_LAUNCH_CLUSTER, shape->cluster);
	add_cluster(&config, MPK_CU_LAUNCH_PREFERRED_CLUSTER, shape->preferred_cluster);
	add_flag(&config, MPK_CU_LAUNCH_PROGRAMMATIC, base->plan.programmatic);
	add_flag(&config, MPK_CU_LAUNCH_COOPERATIVE, base->plan.cooperative);

	const struct mpk_launch_plan *plan = &kernel->base.plan;

	for (size_t i = 0; i < plan->arg_count; i++) {
		mpk_launch_pack(&plan->args[i], slots[i], &kernel->values[i]);
		/* A tensor map is passed by value: the driver reads it through this pointer. */
		kernel->params[i] = plan->args[i].form == MPK_PARAM_TENSOR_MAP
					    ? (void *)(uintptr_t)slots[i]
					    : &kernel->values[i];
	}

	if (config.attribute_count == 0) {
		/* The driver returns when the kernel is queued; an error may come from an earlier kernel. */
		const struct mpk_gpu_device *device = mpk_gpu_kernel_device(kernel);
		unsigned status = device->cu->cuLaunchKernel(
			kernel->function, config.grid_x, config.grid_y, config.grid_z,
			config.block_x, config.block_y, config.block_z, config.shared_bytes,
			config.stream, kernel->params, NULL);

		if (status != MPK_CU_SUCCESS)
			return mpk_gpu_fail(device->maker, err, status, "cannot launch kernel '%s'",
					    kernel->base.shown);
		return MPK_OK;
	}
	return mpk_gpu_kernel_device(kernel)->maker->launch_extended(kernel, &config, err);
}
