/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_launch.c - kernels: limits, arguments, the launch */
#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "device/internal/opencl.h"
#include "sourcecode/sourcecode.h"

static struct mpk_opencl_kernel *kernel_of(struct mpk_device_kernel *kernel)
{
	return (struct mpk_opencl_kernel *)kernel;
}

static const struct mpk_opencl_device *device_of(const struct mpk_device_kernel *kernel)
{
	return mpk_opencl_device_of(kernel->module->device);
}

static enum mpk_code check_params(struct mpk_opencl_kernel *kernel, struct mpk_error *err)
{
	const struct mpk_opencl_api *cl = device_of(&kernel->base)->cl;
	cl_uint count = 0;
	cl_int status =
		cl->clGetKernelInfo(kernel->kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);

	if (status != CL_SUCCESS)
		return mpk_opencl_fail(err, status, "kernel '%s'", kernel->base.shown);
	if (count != kernel->base.plan.arg_count)
		return mpk_fail(
			err, MPK_E_CONFLICT,
			"kernel '%s' has %u parameters in its code, but %zu in the function table",
			kernel->base.shown, count, kernel->base.plan.arg_count);
	return MPK_OK;
}

static enum mpk_opencl_memory_form form_of(struct mpk_span param)
{
	if (param.len && memmem(param.data, param.len, "image2d_array_t", 15))
		return MPK_OPENCL_IMAGE_ARRAY;
	if (param.len && memmem(param.data, param.len, "image2d_t", 9))
		return MPK_OPENCL_IMAGE;
	return param.len && memchr(param.data, '*', param.len) ? MPK_OPENCL_BUFFER : MPK_OPENCL_ANY;
}

/* Reads the forms of the arguments out of the kernel's source; without it, or where macros make
 * the parameters, anything goes. */
static enum mpk_code read_forms(struct mpk_opencl_kernel *kernel, struct mpk_span source,
				struct mpk_error *err)
{
	struct mpk_device_module *module = kernel->base.module;
	size_t count = kernel->base.plan.arg_count;
	enum mpk_opencl_memory_form *forms =
		mpk_arena_array(&module->arena, count + 1, sizeof *forms);
	struct mpk_source_code code = { 0 };

	MPK_TRY_ALLOC(forms, err);
	kernel->forms = forms;
	if (mpk_source_code_read(source, MPK_SOURCE_CODE_OPENCL, &module->arena, &code, NULL) !=
	    MPK_OK)
		return MPK_OK;
	for (size_t k = 0; k < code.kernel_count; k++) {
		const struct mpk_source_code_kernel *found = &code.kernels[k];

		if (!mpk_span_is(found->name, kernel->base.name) || found->param_count != count)
			continue;
		for (size_t i = 0; i < count; i++)
			forms[i] = form_of(mpk_source_code_param(found, i));
	}
	return MPK_OK;
}

static enum mpk_code check_form(const struct mpk_opencl_kernel *kernel, size_t i,
				const struct mpk_opencl_memory *memory, struct mpk_error *err)
{
	enum mpk_opencl_memory_form form = kernel->forms[i];
	bool image = form == MPK_OPENCL_IMAGE || form == MPK_OPENCL_IMAGE_ARRAY;
	bool array = form == MPK_OPENCL_IMAGE_ARRAY;

	if (!memory || form == MPK_OPENCL_ANY ||
	    (image == memory->is_image && (!image || array == memory->is_array)))
		return MPK_OK;
	if (image && !memory->is_image)
		return mpk_fail(
			err, MPK_E_RAISED,
			"kernel '%s': argument %zu is an image (%s), but got a buffer: give its tensor a memory scope, as in 8x16x4xf32{texture}",
			kernel->base.shown, i, array ? "image2d_array_t" : "image2d_t");
	if (image)
		return mpk_fail(err, MPK_E_RAISED, "kernel '%s': argument %zu is %s, but got %s",
				kernel->base.shown, i,
				array ? "an image2d_array_t" : "an image2d_t",
				memory->is_array ? "an image with layers" : "one without layers");
	return mpk_fail(
		err, MPK_E_RAISED,
		"kernel '%s': argument %zu is a buffer, but got an image: its tensor has a memory scope",
		kernel->base.shown, i);
}

enum mpk_code mpk_opencl_bind(struct mpk_device_kernel *base, struct mpk_error *err)
{
	struct mpk_opencl_kernel *kernel = kernel_of(base);
	const struct mpk_opencl_device *device = device_of(base);
	struct mpk_span source;
	cl_program program;
	size_t limit = 0;
	cl_int status;

	MPK_TRY(mpk_opencl_program_for(base, &program, &source, err));
	kernel->kernel = device->cl->clCreateKernel(program, base->name, &status);
	if (!kernel->kernel)
		return mpk_opencl_fail(err, status, "kernel '%s'", base->shown);
	enum mpk_code code = check_params(kernel, err);

	if (code == MPK_OK)
		code = read_forms(kernel, source, err);

	if (code != MPK_OK) {
		(void)device->cl->clReleaseKernel(kernel->kernel);
		return mpk_failed(code);
	}
	(void)device->cl->clGetKernelWorkGroupInfo(
		kernel->kernel, device->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof limit, &limit, NULL);
	kernel->group_limit = limit;
	return MPK_OK;
}

void mpk_opencl_unbind(struct mpk_device_kernel *base)
{
	(void)device_of(base)->cl->clReleaseKernel(kernel_of(base)->kernel);
}

static enum mpk_code check_limits(const struct mpk_opencl_kernel *kernel,
				  const struct mpk_launch_shape *shape, struct mpk_error *err)
{
	const struct mpk_opencl_device *device = device_of(&kernel->base);
	uint64_t items = mpk_launch_block_size(shape);

	for (unsigned axis = 0; axis < 3; axis++)
		if (device->item_limits[axis] && shape->block[axis] > device->item_limits[axis])
			return mpk_fail(err, MPK_E_RAISED,
					"kernel '%s': block dimension %c is %" PRIu64
					", but '%s' allows at most %" PRIu64,
					kernel->base.shown, "xyz"[axis], shape -> block[axis],
					device -> base.info.name, device->item_limits[axis]);
	if (kernel->group_limit && items > kernel->group_limit)
		return mpk_fail(
			err, MPK_E_RAISED,
			"kernel '%s': a block of %" PRIu64 "x%" PRIu64 "x%" PRIu64 " = %" PRIu64
			" work items, but '%s' allows at most %" PRIu64 " for this kernel",
			kernel->base.shown, shape->block[0], shape->block[1], shape->block[2],
			items, device->base.info.name, kernel->group_limit);
	return MPK_OK;
}

static enum mpk_code set_arg(const struct mpk_opencl_kernel *kernel, size_t i, uint64_t slot,
			     struct mpk_error *err)
{
	const struct mpk_opencl_api *cl = device_of(&kernel->base)->cl;
	const struct mpk_kernel_param *arg = &kernel->base.plan.args[i];
	const void *source;
	uint64_t value;
	void *data;
	size_t bytes = arg->bytes;

	if (arg->form == MPK_PARAM_HANDLE || arg->form == MPK_PARAM_TENSOR_MAP) {
		/* The driver reads the cl_mem from the descriptor's first field. */
		memcpy(&data, &slot, sizeof data);
		MPK_TRY(check_form(kernel, i, data, err));
		source = data;
		bytes = sizeof(cl_mem);
	} else {
		mpk_launch_pack(arg, slot, &value);
		source = &value;
	}
	cl_int status = cl->clSetKernelArg(kernel->kernel, (cl_uint)i, bytes, source);

	if (status != CL_SUCCESS)
		return mpk_opencl_fail(err, status, "kernel '%s': argument %zu of %zu bytes",
				       kernel->base.shown, i, bytes);
	return MPK_OK;
}

enum mpk_code mpk_opencl_launch(struct mpk_device_kernel *base, const uint64_t *slots,
				const struct mpk_launch_shape *shape, struct mpk_error *err)
{
	const struct mpk_opencl_kernel *kernel = kernel_of(base);
	const struct mpk_opencl_device *device = device_of(base);
	size_t local[3], global[3];

	MPK_TRY(check_limits(kernel, shape, err));
	for (unsigned axis = 0; axis < 3; axis++) {
		uint64_t total;

		if (!mpk_mul_u64(shape->grid[axis], shape->block[axis], &total))
			return mpk_fail(err, MPK_E_RAISED, "kernel '%s': the grid is too large",
					base->shown);
		local[axis] = (size_t)shape->block[axis];
		global[axis] = (size_t)total;
	}
	for (size_t i = 0; i < base->plan.arg_count; i++)
		MPK_TRY(set_arg(kernel, i, slots[i], err));
	cl_int status = device->cl->clEnqueueNDRangeKernel(device->queue, kernel->kernel,
							   base->plan.work_dim, NULL, global, local,
							   0, NULL, NULL);

	if (status != CL_SUCCESS)
		return mpk_opencl_fail(err, status, "cannot launch kernel '%s'", base->shown);
	/* Without it a driver may hold the kernel back until somebody waits. */
	(void)device->cl->clFlush(device->queue);
	return MPK_OK;
}
