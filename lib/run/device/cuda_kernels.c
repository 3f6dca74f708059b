/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_kernels.c - PTX, cubin, fatbin and CUDA C++ source on a CUDA device: loading, binding, launching
 *
 * Limits are checked here and not left to the driver, whose "invalid value" names neither the
 * dimension nor the limit. Clusters, cooperative and programmatic launches need attributes, which
 * cuLaunchKernel does not take; all other kernels go through it, as drivers before 11.6 have
 * nothing else.
 */
#include "device/internal/cuda.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"
#include "text/escape.h"

/* --- loading --------------------------------------------------------------------------------- */

enum { LOG_BYTES = 8192 };

/* What one load gets from the driver's compiler. */
struct jit_logs {
	char info[LOG_BYTES], error[LOG_BYTES];
};

static bool is_cuda_format(struct mpk_span fmt)
{
	static const char *const formats[] = { "ptx", "cubin", "fatbin", "cuda" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(formats); i++)
		if (mpk_span_is(fmt, formats[i]))
			return true;
	return false;
}

/* The formats that TVM stores (cuda_module.cc): text of PTX or CUDA C++, cubins and fatbins. */
static enum mpk_code check_cuda_format(const struct mpk_kernels *k, struct mpk_error *err)
{
	if (k->layout != MPK_KERNELS_PLAIN || !is_cuda_format(k->fmt))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"format '%s' is not one that CUDA runs (ptx, cubin, fatbin, cuda)",
				MPK_QUOTE(k->fmt));
	return MPK_OK;
}

static enum mpk_code cuda_check(const struct mpk_device_info *info, const struct mpk_kernels *k,
				struct mpk_error *err)
{
	MPK_TRY(check_cuda_format(k, err));
	return mpk_cuda_code_check(k->data, info, err);
}

static void *as_value(unsigned number)
{
	return (void *)(uintptr_t)number;
}

/* Two logs of the driver's compiler: what it did, and what was wrong. The sizes leave room for a
 * NUL. */
static unsigned load_image(const struct mpk_cuda_api *cu, const char *image, struct jit_logs *logs,
			   struct mpk_cu_module **out)
{
	unsigned options[] = { MPK_CU_JIT_INFO_LOG, MPK_CU_JIT_INFO_LOG_BYTES, MPK_CU_JIT_ERROR_LOG,
			       MPK_CU_JIT_ERROR_LOG_BYTES };
	void *values[] = { logs->info, as_value(LOG_BYTES - 1), logs->error,
			   as_value(LOG_BYTES - 1) };

	return cu->cuModuleLoadDataEx(out, image, MPK_ARRAY_COUNT(options), options, values);
}

/* The driver names its status, but not what the code is for; both architectures say at a glance
 * whether the code is for another GPU. */
static enum mpk_code fail_load(const struct mpk_cuda_device *device, const struct mpk_kernels *k,
			       unsigned status, const struct jit_logs *logs, struct mpk_error *err)
{
	const struct mpk_device_info *info = &device->base.info;
	struct mpk_error reason;
	char held[MPK_CUDA_CODE_TEXT];
	const char *log = logs->error[0] ? logs->error : logs->info;
	enum mpk_code code =
		mpk_cuda_fail(device->cu, &reason, status, "'%s' code does not load on %s",
			      MPK_QUOTE(k->fmt), info->name);
	size_t used = strlen(reason.text), left = sizeof reason.text - used;

	mpk_cuda_code_describe(k->data, held);
	(void)snprintf(reason.text + used, left, "; the device is %s, the code is %s", info->arch,
		       held[0] ? held : "neither cubin, fatbin nor PTX");
	return mpk_device_fail_log(err, code, reason.text, log);
}

/* A copy that ends in NUL: text of the module blob does not. */
static char *copy_image(struct mpk_span data)
{
	char *image = malloc(data.len + 1);

	if (!image)
		return NULL;
	memcpy(image, data.data, data.len);
	image[data.len] = '\0';
	return image;
}

/* What the driver loads: the payload itself, or what NVRTC makes of CUDA source. */
static enum mpk_code get_image(const struct mpk_cuda_device *device, const struct mpk_kernels *k,
			       char **out, struct mpk_error *err)
{
	size_t bytes;

	if (k->data.len == 0)
		return mpk_fail(err, MPK_E_CORRUPT, "the payload holds no code");
	if (mpk_span_is(k->fmt, "cuda"))
		return mpk_nvrtc_compile(&(struct mpk_nvrtc_source){ k->data, device->base.info.sm,
								     device->base.cuda_home },
					 out, &bytes, err);
	char *image = copy_image(k->data);

	MPK_TRY_ALLOC(image, err);
	*out = image;
	return MPK_OK;
}

/* Two logs of 8 KiB: on the heap, as threads that module code made may have small stacks. */
static enum mpk_code load_module(struct mpk_cuda_device *device, const struct mpk_kernels *k,
				 const char *image, struct mpk_cu_module **out,
				 struct mpk_error *err)
{
	struct jit_logs *logs = calloc(1, sizeof *logs);
	struct mpk_cu_module *module = NULL;

	MPK_TRY_ALLOC(logs, err);
	unsigned status = load_image(device->cu, image, logs, &module);
	enum mpk_code code = MPK_OK;

	if (status != MPK_CU_SUCCESS)
		code = fail_load(device, k, status, logs, err);
	else
		*out = module;
	free(logs);
	return code;
}

static enum mpk_code cuda_load(struct mpk_device *base, const struct mpk_kernels *k,
			       struct mpk_device_module **out, struct mpk_error *err)
{
	struct mpk_cuda_device *device = mpk_cuda_device_of(base);
	char *image = NULL;

	MPK_TRY(check_cuda_format(k, err));
	MPK_TRY(mpk_cuda_enter(device, err));
	MPK_TRY(get_image(device, k, &image, err));
	struct mpk_cuda_module *module = calloc(1, sizeof *module);
	enum mpk_code code =
		module ? load_module(device, k, image, &module->module, err) : mpk_fail_nomem(err);

	free(image);
	if (code != MPK_OK) {
		free(module);
		return mpk_failed(code);
	}
	*out = &module->base;
	return MPK_OK;
}

static void cuda_unload(struct mpk_device_module *base)
{
	struct mpk_cuda_module *module = (struct mpk_cuda_module *)base;
	struct mpk_cuda_device *device = mpk_cuda_device_of(base->device);

	if (mpk_cuda_enter(device, NULL) == MPK_OK)
		(void)device->cu->cuModuleUnload(module->module);
	mpk_arena_fini(&base->arena);
	free(module);
}

/* --- kernels --------------------------------------------------------------------------------- */

enum {
	SHARED_DEFAULT = 48 * 1024, /* what a block may use without asking */
	CLUSTER_PORTABLE = 8,       /* blocks in a cluster that every GPU with clusters runs */
};

/* The base is the first member, so a pointer to it is one to the whole. */
static struct mpk_cuda_kernel *cuda_kernel_of(struct mpk_device_kernel *kernel)
{
	return (struct mpk_cuda_kernel *)kernel;
}

static struct mpk_cuda_device *cuda_device_of(const struct mpk_cuda_kernel *kernel)
{
	return mpk_cuda_device_of(kernel->base.module->device);
}

/* A CUtensorMap is passed by value and has 128 bytes (cuda.h). */
static size_t cuda_kernels_param_bytes(const struct mpk_kernel_param *arg)
{
	return arg->form == MPK_PARAM_TENSOR_MAP ? 128 : arg->bytes;
}

/* Compares the code's parameters with the function table. Drivers before 12.4 have no call for it, and
 * code of old toolkits has no table of parameters; then the launch is the first to find out. */
static enum mpk_code check_cuda_params(struct mpk_cuda_kernel *kernel, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = cuda_device_of(kernel)->cu;
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
		if (bytes != cuda_kernels_param_bytes(&plan->args[i]))
			return mpk_fail(
				err, MPK_E_CONFLICT,
				"kernel '%s': parameter %zu has %zu bytes in the code, but %zu in the function table",
				kernel->base.shown, i, bytes,
				cuda_kernels_param_bytes(&plan->args[i]));
	}
	if (cu->cuFuncGetParamInfo(kernel->function, plan->arg_count, &off, &bytes) ==
	    MPK_CU_SUCCESS)
		return mpk_fail(
			err, MPK_E_CONFLICT,
			"kernel '%s' has more parameters in its code than the %zu of the function table",
			kernel->base.shown, plan->arg_count);
	return MPK_OK;
}

static unsigned function_attribute(const struct mpk_cuda_kernel *kernel, unsigned which)
{
	int value = 0;

	if (cuda_device_of(kernel)->cu->cuFuncGetAttribute(&value, which, kernel->function) !=
		    MPK_CU_SUCCESS ||
	    value < 0)
		return 0;
	return (unsigned)value;
}

/* Whether PTX defines that name as .func, which no driver launches. */
static bool is_ptx_func(struct mpk_span code, struct mpk_span name)
{
	struct mpk_arena arena = { 0 };
	struct mpk_ptx ptx;
	bool found = false;

	if (mpk_ptx_is(code) && mpk_ptx_read(code, &arena, &ptx, NULL) == MPK_OK)
		for (size_t i = 0; i < ptx.function_count && !found; i++)
			found = mpk_span_equal(ptx.functions[i], name);
	mpk_arena_fini(&arena);
	return found;
}

/* Arrays of arguments are made once and filled at each launch; the kernel's lock keeps launches
 * apart. */
static enum mpk_code cuda_bind(struct mpk_device_kernel *base, struct mpk_error *err)
{
	struct mpk_cuda_kernel *kernel = cuda_kernel_of(base);
	struct mpk_cuda_module *module = (struct mpk_cuda_module *)base->module;
	struct mpk_cuda_device *device = cuda_device_of(kernel);
	size_t count = base->plan.arg_count;

	kernel->params = mpk_arena_array(&base->module->arena, count + 1, sizeof *kernel->params);
	kernel->values = mpk_arena_array(&base->module->arena, count + 1, sizeof *kernel->values);
	MPK_TRY_ALLOC(kernel->params && kernel->values, err);
	MPK_TRY(mpk_cuda_enter(device, err));
	unsigned status =
		device->cu->cuModuleGetFunction(&kernel->function, module->module, base->name);

	if (status == MPK_CU_NOT_FOUND && is_ptx_func(base->module->kernels.data, base->info->key))
		return mpk_fail(
			err, MPK_E_LOAD,
			"kernel '%s': the PTX defines it as .func, which is no kernel; the compiler must emit .entry for it",
			base->shown);
	if (status != MPK_CU_SUCCESS)
		return mpk_cuda_fail(device->cu, err, status, "kernel '%s'", base->shown);
	MPK_TRY(check_cuda_params(kernel, err));
	kernel->thread_limit = function_attribute(kernel, MPK_CU_FUNC_MAX_THREADS);
	kernel->static_shared = function_attribute(kernel, MPK_CU_FUNC_SHARED_BYTES);
	kernel->dynamic_shared = SHARED_DEFAULT;
	return MPK_OK;
}

/* A limit of 0 is one that the driver did not say; then what its interface can hold is the
 * limit. */
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
					cuda_device_of(kernel) -> base.info.name, limits[axis]);
	return MPK_OK;
}

static enum mpk_code check_cuda_limits(const struct mpk_cuda_kernel *kernel,
				       const struct mpk_launch_shape *shape, struct mpk_error *err)
{
	const struct mpk_cuda_device *device = cuda_device_of(kernel);
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

static enum mpk_code set_function_attribute(struct mpk_cuda_kernel *kernel, unsigned which,
					    int value, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = cuda_device_of(kernel)->cu;
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

/* Both attributes stay set: they only allow more, and setting one costs a call of the driver. */
static enum mpk_code cuda_kernels_prepare(struct mpk_cuda_kernel *kernel,
					  const struct mpk_launch_shape *shape,
					  struct mpk_error *err)
{
	MPK_TRY(check_cuda_limits(kernel, shape, err));
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
	return MPK_OK;
}

/* An attribute for a cluster of one block would keep the kernel from the plain launch. */
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

/* cuLaunchKernel returns when the kernel is queued; errors that it reports may be of an earlier
 * one. */
static enum mpk_code launch_plain(const struct mpk_cuda_kernel *kernel,
				  const struct mpk_cu_launch_config *c, struct mpk_error *err)
{
	const struct mpk_cuda_api *cu = cuda_device_of(kernel)->cu;
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
	const struct mpk_cuda_api *cu = cuda_device_of(kernel)->cu;

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

/* Nothing is allocated here, and the driver copies the arguments before it returns. */
static enum mpk_code cuda_launch(struct mpk_device_kernel *base, const uint64_t *slots,
				 const struct mpk_launch_shape *shape, struct mpk_error *err)
{
	struct mpk_cuda_kernel *kernel = cuda_kernel_of(base);
	struct mpk_cu_launch_attribute attributes[4];
	struct mpk_cu_launch_config config = { .attributes = attributes };

	MPK_TRY(mpk_cuda_enter(cuda_device_of(kernel), err));
	MPK_TRY(cuda_kernels_prepare(kernel, shape, err));
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

/* Functions belong to their module: nothing to unbind. */
const struct mpk_device_code_ops mpk_cuda_code_ops = {
	.load = cuda_load,
	.unload = cuda_unload,
	.bind = cuda_bind,
	.kernel_bytes = sizeof(struct mpk_cuda_kernel),
	.launch = cuda_launch,
	.check = cuda_check,
};
