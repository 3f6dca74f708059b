/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_launch.c - kernels: limits, arguments, the two ways to launch */
#include <inttypes.h>

#include "device/internal/cuda.h"
#include "device/internal/cuda_code.h"

enum {
	SHARED_DEFAULT = 48 * 1024, /* what a block may use without asking */
	CLUSTER_PORTABLE = 8,       /* blocks in a cluster that every GPU with clusters runs */
};

static struct mpk_cuda_kernel *kernel_of(struct mpk_device_kernel *kernel)
{
	return (struct mpk_cuda_kernel *)kernel;
}

static struct mpk_cuda_device *device_of(const struct mpk_cuda_kernel *kernel)
{
	return mpk_cuda_device_of(kernel->base.module->device);
}

static size_t param_bytes(const struct mpk_kernel_param *arg)
{
	return arg->form == MPK_PARAM_TENSOR_MAP ? 128 : arg->bytes;
}

/* Compares the code's parameters with the function table, where the driver can tell. */
static enum mpk_code check_params(struct mpk_cuda_kernel *kernel, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = device_of(kernel)->cu;
	const struct mpk_launch_plan *plan = &kernel->base.plan;
	size_t off, bytes = 0;

	if (!cu->cuFuncGetParamInfo)
		return MPK_OK;
	for (size_t i = 0; i < plan->arg_count; i++) {
		unsigned status = cu->cuFuncGetParamInfo(kernel->function, i, &off, &bytes);

		if (status != MPK_CU_SUCCESS && status != MPK_CU_INVALID_VALUE)
			return MPK_OK; /* the driver does not know either */
		if (status == MPK_CU_INVALID_VALUE)
			return mpk_fail(
				err, MPK_E_CONFLICT,
				"kernel '%s' has %zu parameters in its code, but %zu in the function table",
				kernel->base.shown, i, plan->arg_count);
		if (bytes != param_bytes(&plan->args[i]))
			return mpk_fail(
				err, MPK_E_CONFLICT,
				"kernel '%s': parameter %zu has %zu bytes in the code, but %zu in the function table",
				kernel->base.shown, i, bytes, param_bytes(&plan->args[i]));
	}
	if (cu->cuFuncGetParamInfo(kernel->function, plan->arg_count, &off, &bytes) ==
	    MPK_CU_SUCCESS)
		return mpk_fail(
			err, MPK_E_CONFLICT,
			"kernel '%s' has more parameters in its code than the %zu of the function table",
			kernel->base.shown, plan->arg_count);
	return MPK_OK;
}

static unsigned attribute(const struct mpk_cuda_kernel *kernel, unsigned which)
{
	int value = 0;

	if (device_of(kernel)->cu->cuFuncGetAttribute(&value, which, kernel->function) !=
		    MPK_CU_SUCCESS ||
	    value < 0)
		return 0;
	return (unsigned)value;
}

enum mpk_code mpk_cuda_bind(struct mpk_device_kernel *base, struct mpk_error *err)
{
	struct mpk_cuda_kernel *kernel = kernel_of(base);
	struct mpk_cuda_module *module = (struct mpk_cuda_module *)base->module;
	struct mpk_cuda_device *device = device_of(kernel);
	size_t count = base->plan.arg_count;

	kernel->params = mpk_arena_array(&base->module->arena, count + 1, sizeof *kernel->params);
	kernel->values = mpk_arena_array(&base->module->arena, count + 1, sizeof *kernel->values);
	MPK_TRY_ALLOC(kernel->params && kernel->values, err);
	MPK_TRY(mpk_cuda_enter(device, err));
	unsigned status =
		device->cu->cuModuleGetFunction(&kernel->function, module->module, base->name);

	if (status == MPK_CU_NOT_FOUND &&
	    mpk_cuda_code_is_func(base->module->kernels.data, base->info->key))
		return mpk_fail(
			err, MPK_E_LOAD,
			"kernel '%s': the PTX defines it as .func, which is no kernel; the compiler must emit .entry for it",
			base->shown);
	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(device->cu, err, status, "kernel '%s'", base->shown);
	MPK_TRY(check_params(kernel, err));
	kernel->thread_limit = attribute(kernel, MPK_CU_FUNC_MAX_THREADS);
	kernel->static_shared = attribute(kernel, MPK_CU_FUNC_SHARED_BYTES);
	kernel->dynamic_shared = SHARED_DEFAULT;
	return MPK_OK;
}

void mpk_cuda_unbind(struct mpk_device_kernel *base)
{
	(void)base; /* functions belong to their module */
}

static enum mpk_code check_axis(const struct mpk_cuda_kernel *kernel, const char *what,
				const uint64_t dims[3], const unsigned limits[3],
				struct mpk_error *err)
{
	for (unsigned axis = 0; axis < 3; axis++)
		if (dims[axis] > (limits[axis] ? limits[axis] : UINT32_MAX))
			return mpk_fail(err, MPK_E_RAISED,
					"kernel '%s': %s dimension %c is %" PRIu64
					", but %s allows at most %u",
					kernel->base.shown, what, "xyz"[axis], dims[axis],
					device_of(kernel) -> base.info.name, limits[axis]);
	return MPK_OK;
}

static enum mpk_code check_limits(const struct mpk_cuda_kernel *kernel,
				  const struct mpk_launch_shape *shape, struct mpk_error *err)
{
	const struct mpk_cuda_device *device = device_of(kernel);
	uint64_t threads = mpk_launch_block_size(shape);

	MPK_TRY(check_axis(kernel, "grid", shape->grid, device->grid_limits, err));
	MPK_TRY(check_axis(kernel, "block", shape->block, device->block_limits, err));
	MPK_TRY(check_axis(kernel, "cluster", shape->cluster, device->block_limits, err));
	MPK_TRY(check_axis(kernel, "preferred cluster", shape->preferred_cluster,
			   device->block_limits, err));
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

static enum mpk_code set_attribute(struct mpk_cuda_kernel *kernel, unsigned which, int value,
				   struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = device_of(kernel)->cu;
	unsigned status = cu->cuFuncSetAttribute(kernel->function, which, value);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(cu, err, status, "kernel '%s': attribute %u = %d",
				     kernel->base.shown, which, value);
	return MPK_OK;
}

static uint64_t cluster_size(const uint64_t dims[3])
{
	return dims[0] * dims[1] * dims[2]; /* each at most a block dimension: cannot wrap */
}

static enum mpk_code prepare(struct mpk_cuda_kernel *kernel, const struct mpk_launch_shape *shape,
			     struct mpk_error *err)
{
	MPK_TRY(check_limits(kernel, shape, err));
	if (shape->shared_bytes + kernel->static_shared > kernel->dynamic_shared) {
		MPK_TRY(set_attribute(kernel, MPK_CU_FUNC_MAX_DYNAMIC_SHARED,
				      (int)shape->shared_bytes, err));
		kernel->dynamic_shared = (unsigned)shape->shared_bytes + kernel->static_shared;
	}
	if (!kernel->big_cluster && (cluster_size(shape->cluster) > CLUSTER_PORTABLE ||
				     cluster_size(shape->preferred_cluster) > CLUSTER_PORTABLE)) {
		MPK_TRY(set_attribute(kernel, MPK_CU_FUNC_NON_PORTABLE_CLUSTER, 1, err));
		kernel->big_cluster = true;
	}
	return MPK_OK;
}

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

static enum mpk_code launch_plain(const struct mpk_cuda_kernel *kernel,
				  const struct mpk_cu_launch_config *c, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = device_of(kernel)->cu;
	unsigned status = cu->cuLaunchKernel(kernel->function, c->grid_x, c->grid_y, c->grid_z,
					     c->block_x, c->block_y, c->block_z, c->shared_bytes,
					     c->stream, kernel->params, NULL);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(cu, err, status, "cannot launch kernel '%s'",
				     kernel->base.shown);
	return MPK_OK;
}

static enum mpk_code launch_extended(const struct mpk_cuda_kernel *kernel,
				     const struct mpk_cu_launch_config *config,
				     struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = device_of(kernel)->cu;

	if (!cu->cuLaunchKernelEx)
		return mpk_fail(
			err, MPK_E_RAISED,
			"kernel '%s' needs launch attributes (cluster, cooperative or programmatic), which this driver does not have: it must be 11.6 or later",
			kernel->base.shown);
	unsigned status = cu->cuLaunchKernelEx(config, kernel->function, kernel->params, NULL);

	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(cu, err, status, "cannot launch kernel '%s'",
				     kernel->base.shown);
	return MPK_OK;
}

static void pack_params(struct mpk_cuda_kernel *kernel, const uint64_t *slots)
{
	const struct mpk_launch_plan *plan = &kernel->base.plan;

	for (size_t i = 0; i < plan->arg_count; i++) {
		mpk_launch_pack(&plan->args[i], slots[i], &kernel->values[i]);
		/* A tensor map is passed by value: the driver reads it where it lies. */
		kernel->params[i] = plan->args[i].form == MPK_PARAM_TENSOR_MAP
					    ? (void *)(uintptr_t)slots[i]
					    : &kernel->values[i];
	}
}

enum mpk_code mpk_cuda_launch(struct mpk_device_kernel *base, const uint64_t *slots,
			      const struct mpk_launch_shape *shape, struct mpk_error *err)
{
	struct mpk_cuda_kernel *kernel = kernel_of(base);
	struct mpk_cu_launch_attribute attributes[4];
	struct mpk_cu_launch_config config = { .attributes = attributes };

	MPK_TRY(mpk_cuda_enter(device_of(kernel), err));
	MPK_TRY(prepare(kernel, shape, err));
	config.grid_x = (unsigned)shape->grid[0];
	config.grid_y = (unsigned)shape->grid[1];
	config.grid_z = (unsigned)shape->grid[2];
	config.block_x = (unsigned)shape->block[0];
	config.block_y = (unsigned)shape->block[1];
	config.block_z = (unsigned)shape->block[2];
	config.shared_bytes = (unsigned)shape->shared_bytes;
	config.stream = base->module->device->stream;
	/* The order in which TVM gives them. */
	add_cluster(&config, MPK_CU_LAUNCH_CLUSTER, shape->cluster);
	add_cluster(&config, MPK_CU_LAUNCH_PREFERRED_CLUSTER, shape->preferred_cluster);
	add_flag(&config, MPK_CU_LAUNCH_PROGRAMMATIC, base->plan.programmatic);
	add_flag(&config, MPK_CU_LAUNCH_COOPERATIVE, base->plan.cooperative);
	pack_params(kernel, slots);
	if (config.attribute_count == 0)
		return launch_plain(kernel, &config, err);
	return launch_extended(kernel, &config, err);
}
