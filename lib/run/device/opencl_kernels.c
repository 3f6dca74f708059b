/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_kernels.c - OpenCL programs and kernels: building, arguments, launching
 *
 * A program is built when its first kernel is looked up: a build takes seconds, and a payload
 * may have hundreds of kernels, few of which are called.
 *
 * Unlike CUDA, OpenCL has no function that names a status. The names are those in cl.h. A likely
 * cause is added if the specification's own text ("failure to allocate resources") does not
 * help. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "device/internal/driver.h"
#include "device/internal/opencl.h"
#include "sourcecode/sourcecode.h"
#include "text/escape.h"

/* --- The contents of an OpenCL payload, checked and split without the driver.
 *
 * A payload is source text, either whole or with a delimiter line before each kernel; or SPIR-V
 * modules; or a binary for one device. It is checked before a driver sees it, for two reasons: the
 * listing of devices opens no driver, and drivers may abort the process or give no message. */

/* The formats of FPGA tools are the only device binaries that TVM stores. */
static bool is_binary(struct mpk_span fmt)
{
	return mpk_span_is(fmt, "xclbin") || mpk_span_is(fmt, "awsxclbin") ||
	       mpk_span_is(fmt, "aocx");
}

static enum mpk_code check_payload_form(const struct mpk_device_info *info,
					const struct mpk_kernels *k, struct mpk_error *err)
{
	if (k->layout == MPK_KERNELS_OPENCL_SPIRV) {
		if (!info->takes_spirv)
			return mpk_fail(
				err, MPK_E_UNSUPPORTED,
				"the kernels are SPIR-V, but '%s' (%s) takes none: that needs OpenCL 2.1 or cl_khr_il_program",
				info->name, info->platform);
		return MPK_OK;
	}
	if (k->layout != MPK_KERNELS_PLAIN)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"these kernels are not for OpenCL (no 'cl' source in them)");
	if (!mpk_span_is(k->fmt, "cl") && !is_binary(k->fmt))
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"format '%s' is not one that OpenCL runs (cl, aocx, xclbin, awsxclbin)",
			MPK_QUOTE(k->fmt));
	return MPK_OK;
}

/* Whether a source has values of a type (pointers to halves need no support) without testing first
 * whether the type is supported. TVM's own sources do test, but only to stop the compiler with a
 * message. */
static bool uses_types(struct mpk_span text, const char *const *types, const char *extension)
{
	char guard[64];
	bool asks;

	(void)snprintf(guard, sizeof guard, "#ifdef %s", extension);
	asks = memmem(text.data, text.len, guard, strlen(guard)) &&
	       !memmem(text.data, text.len, "#error", 6);
	for (size_t i = 0; types[i] && !asks; i++)
		if (mpk_source_code_mentions(text, types[i], true))
			return true;
	return false;
}

/* The operation of backend.h */
static enum mpk_code opencl_check(const struct mpk_device_info *info, const struct mpk_kernels *k,
				  struct mpk_error *err)
{
	MPK_TRY(check_payload_form(info, k, err));
	if (k->layout == MPK_KERNELS_PLAIN && mpk_span_is(k->fmt, "cl") && k->data.len) {
		/* Finds errors that a driver's compiler would report, so that the listing of
		 * devices can show them. */
		struct mpk_span text = k->data;
		static const struct {
			const char *what, *extension, *types[8];
		} needs[] = {
			{ "half",
			  "cl_khr_fp16",
			  { "half", "half2", "half3", "half4", "half8", "half16" } },
			{ "double",
			  "cl_khr_fp64",
			  { "double", "double2", "double3", "double4", "double8", "double16" } },
			{ "images",
			  "__IMAGE_SUPPORT__",
			  { "image1d_t", "image2d_t", "image2d_array_t", "image3d_t" } },
		};
		const bool has[] = { info->has_half, info->has_double, info->has_images };

		for (size_t i = 0; i < MPK_ARRAY_COUNT(needs); i++)
			if (!has[i] && uses_types(text, needs[i].types, needs[i].extension))
				return mpk_fail(err, MPK_E_UNSUPPORTED,
						"the kernels use %s, which '%s' does not have (%s)",
						needs[i].what, info->name, needs[i].extension);
		return MPK_OK;
	}
	return MPK_OK;
}

static enum mpk_code make_programs(struct mpk_opencl_module *module, const struct mpk_kernels *k,
				   struct mpk_error *err)
{
	if (k->layout == MPK_KERNELS_OPENCL_SPIRV) {
		/* SPIR-V has one module for each kernel. */
		module->form = MPK_OPENCL_SPIRV;
		module->program_count = k->source_count;
		MPK_TRY_ARRAY(module->programs, &module->base.arena, k->source_count + 1, err);
		for (size_t i = 0; i < k->source_count; i++) {
			module->programs[i].name = k->sources[i].key;
			module->programs[i].code = k->sources[i].data;
		}
		return MPK_OK;
	}
	if (is_binary(k->fmt)) {
		/* One binary contains all kernels. */
		struct mpk_span code = k->data;

		module->form = MPK_OPENCL_BINARY;
		module->program_count = 1;
		module->programs =
			mpk_arena_array(&module->base.arena, 1, sizeof *module->programs);
		MPK_TRY_ALLOC(module->programs, err);
		module->programs[0].code = code;
		return MPK_OK;
	}

	/* Text without delimiters (TVM up to 0.7) is one program with all kernels. */
	struct mpk_arena *arena = &module->base.arena;
	const struct mpk_source_code_piece *pieces;
	struct mpk_span text = k->data;

	MPK_TRY(mpk_source_code_split(text, arena, &pieces, &module->program_count, err));

	/* Payloads that TVM's loader refuses are refused here, too; otherwise a test here would
	 * prove nothing about TVM. */
	size_t count = module->program_count;

	if (!count && k->gen != MPK_GEN_LEGACY)
		return mpk_fail(err, MPK_E_LOAD,
				"the OpenCL source has no '" MPK_SOURCE_CODE_DELIMITER
				"NAME' lines, without which TVM does not load it");
	if (count && count != k->function_count)
		return mpk_fail(
			err, MPK_E_LOAD,
			"the OpenCL source has %zu '" MPK_SOURCE_CODE_DELIMITER
			"NAME' lines for %zu kernels, which TVM does not load: it wants one for each",
			count, k->function_count);

	bool is_whole = module->program_count == 0;

	if (is_whole)
		module->program_count = 1;
	MPK_TRY_ARRAY(module->programs, arena, module->program_count, err);
	if (is_whole)
		module->programs[0].code = text;
	for (size_t i = 0; !is_whole && i < module->program_count; i++) {
		module->programs[i].name = pieces[i].name;
		module->programs[i].code = pieces[i].text;
	}
	return MPK_OK;
}

/* Splits a payload into programs, without building them
 * @module  zeroed; receives form, programs and program_count, in its arena
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: a form that the device does not support; MPK_E_LOAD: text
 *          that TVM does not load; MPK_E_CORRUPT; MPK_E_NOMEM */
static enum mpk_code opencl_split(struct mpk_opencl_module *module,
				  const struct mpk_device_info *info, const struct mpk_kernels *k,
				  struct mpk_error *err)
{
	MPK_TRY(check_payload_form(info, k, err));
	return make_programs(module, k, err);
}

/* --- errors and functions of the driver ------------------------------------------------------- */

static struct mpk_opencl_api api;

static const struct mpk_driver_symbol symbols[] = {
#define SYMBOL(member, name, need) MPK_DRIVER_SYMBOL(struct mpk_opencl_api, member, name, need)
	MPK_OPENCL_SYMBOLS(SYMBOL)
#undef SYMBOL
		{ 0 },
};

static const char *const names[] = { "libOpenCL.so.1", "libOpenCL.so", NULL };

static struct mpk_driver_result driver_result = { .lock = PTHREAD_MUTEX_INITIALIZER };
static const struct mpk_driver driver = {
	.names = names,
	.symbols = symbols,
	.table = &api,
	.without = "no OpenCL here: ",
	.install = "; install OpenCL's loader (Debian: ocl-icd-libopencl1)",
	.result = &driver_result
};

enum mpk_code mpk_opencl_api_get(const struct mpk_opencl_api **out, struct mpk_error *err)
{
	MPK_TRY(mpk_driver_get(&driver, err));
	*out = &api;
	return MPK_OK;
}

/* The statuses that the calls above can return, some with their usual cause. */
static const struct mpk_device_status statuses[] = {
#define STATUS(name) { name, #name, NULL, MPK_OK }
#define CAUSE(name, cause) { name, #name, cause, MPK_OK }
#define CODE(name, cause, code) { name, #name, cause, code }
	CODE(CL_DEVICE_NOT_FOUND, "this platform has no device", MPK_E_DEVICE),
	STATUS(CL_DEVICE_NOT_AVAILABLE),
	CODE(CL_COMPILER_NOT_AVAILABLE, "this driver takes binaries only, no source", MPK_E_LOAD),
	CAUSE(CL_MEM_OBJECT_ALLOCATION_FAILURE, "out of device memory"),
	CAUSE(CL_OUT_OF_RESOURCES, "out of device memory or registers, or a kernel faulted"),
	CAUSE(CL_OUT_OF_HOST_MEMORY, "the driver got no host memory"),
	STATUS(CL_MEM_COPY_OVERLAP),
	CAUSE(CL_IMAGE_FORMAT_NOT_SUPPORTED, "the device has no such image format"),
	CODE(CL_BUILD_PROGRAM_FAILURE, "the kernel's source does not compile", MPK_E_LOAD),
	CAUSE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "an earlier kernel faulted"),
	CODE(CL_COMPILE_PROGRAM_FAILURE, NULL, MPK_E_LOAD),
	CODE(CL_LINKER_NOT_AVAILABLE, NULL, MPK_E_LOAD),
	CODE(CL_LINK_PROGRAM_FAILURE, NULL, MPK_E_LOAD),
	CAUSE(CL_INVALID_VALUE, "an argument the driver refuses"),
	STATUS(CL_INVALID_DEVICE_TYPE),
	STATUS(CL_INVALID_PLATFORM),
	STATUS(CL_INVALID_DEVICE),
	STATUS(CL_INVALID_CONTEXT),
	STATUS(CL_INVALID_QUEUE_PROPERTIES),
	STATUS(CL_INVALID_COMMAND_QUEUE),
	CAUSE(CL_INVALID_MEM_OBJECT, "an argument is not memory of this device"),
	STATUS(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR),
	CAUSE(CL_INVALID_IMAGE_SIZE, "the image is larger than the device allows"),
	CODE(CL_INVALID_BINARY, "the code was built for another device or driver", MPK_E_LOAD),
	CODE(CL_INVALID_BUILD_OPTIONS, NULL, MPK_E_LOAD),
	STATUS(CL_INVALID_PROGRAM),
	CODE(CL_INVALID_PROGRAM_EXECUTABLE, NULL, MPK_E_LOAD),
	CODE(CL_INVALID_KERNEL_NAME, "the code has no kernel of this name", MPK_E_LOAD),
	CODE(CL_INVALID_KERNEL_DEFINITION, NULL, MPK_E_LOAD),
	STATUS(CL_INVALID_KERNEL),
	STATUS(CL_INVALID_ARG_INDEX),
	STATUS(CL_INVALID_ARG_VALUE),
	CAUSE(CL_INVALID_ARG_SIZE, "the parameter has another width in the kernel's code"),
	CAUSE(CL_INVALID_KERNEL_ARGS, "an argument is not set"),
	STATUS(CL_INVALID_WORK_DIMENSION),
	CAUSE(CL_INVALID_WORK_GROUP_SIZE,
	      "the kernel was compiled for another block size, or the block is too large"),
	CAUSE(CL_INVALID_WORK_ITEM_SIZE, "one block dimension is above the device's limit"),
	STATUS(CL_INVALID_GLOBAL_OFFSET),
	STATUS(CL_INVALID_EVENT_WAIT_LIST),
	STATUS(CL_INVALID_EVENT),
	STATUS(CL_INVALID_OPERATION),
	CAUSE(CL_INVALID_BUFFER_SIZE, "larger than one allocation of the device may be"),
	CAUSE(CL_INVALID_GLOBAL_WORK_SIZE, "the grid is larger than the device can address"),
	STATUS(CL_INVALID_PROPERTY),
	STATUS(CL_INVALID_IMAGE_DESCRIPTOR),
	/* This status comes from the ICD loader, which found no driver. */
	{ -1001, "CL_PLATFORM_NOT_FOUND_KHR",
	  "no OpenCL driver is installed: no .icd file in /etc/OpenCL/vendors; the GPU's maker has "
	  "one, and PoCL (Debian: pocl-opencl-icd) runs kernels on the CPU",
	  MPK_E_DEVICE },
#undef STATUS
#undef CAUSE
#undef CODE
};

static struct mpk_device_status find_status(cl_int status)
{
	struct mpk_device_status found =
		mpk_device_status_find(statuses, MPK_ARRAY_COUNT(statuses), status);

	if (!found.name)
		found.name = "unknown OpenCL error";
	return found;
}

/* Returns "CL_OUT_OF_RESOURCES", or "OpenCL error -N" for an unknown status. */
static const char *opencl_error_name(cl_int status)
{
	return find_status(status).name;
}

enum mpk_code(mpk_opencl_fail)(struct mpk_error *err, cl_int status, const char *fmt, ...)
{
	struct mpk_device_status as = find_status(status);
	va_list ap;

	va_start(ap, fmt);
	(void)mpk_device_fail_status(err, &as, fmt, ap);
	va_end(ap);
	return as.code;
}

/* --- programs --------------------------------------------------------------------------------- */

static struct mpk_opencl_module *module_of(struct mpk_device_module *module)
{
	return (struct mpk_opencl_module *)module;
}

static enum mpk_code opencl_load(struct mpk_device *device, const struct mpk_kernels *k,
				 struct mpk_device_module **out, struct mpk_error *err)
{
	struct mpk_opencl_module *module = calloc(1, sizeof *module);

	MPK_TRY_ALLOC(module, err);
	module->form = MPK_OPENCL_SOURCE;
	enum mpk_code code = opencl_split(module, &device->info, k, err);

	if (code != MPK_OK) {
		mpk_arena_fini(&module->base.arena);
		free(module);
		return mpk_failed(code);
	}
	*out = &module->base;
	return MPK_OK;
}

static void opencl_unload(struct mpk_device_module *base)
{
	struct mpk_opencl_module *module = module_of(base);
	const struct mpk_opencl_api *cl = mpk_opencl_device_of(base->device)->cl;

	for (size_t i = 0; i < module->program_count; i++)
		if (module->programs[i].program)
			(void)cl->clReleaseProgram(module->programs[i].program);
	mpk_arena_fini(&base->arena);
	free(module);
}

/* Creates a program from the payload's form; building is the same for all forms. */
static cl_program create_program(struct mpk_opencl_module *module, struct mpk_span code,
				 cl_int *status)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(module->base.device);
	const struct mpk_opencl_api *cl = device->cl;
	const unsigned char *bytes = code.data;
	const char *text = (const char *)code.data;
	cl_int loaded;

	switch (module->form) {
	case MPK_OPENCL_SOURCE:
		return cl->clCreateProgramWithSource(device->context, 1, &text, &code.len, status);
	case MPK_OPENCL_SPIRV:
		return cl->clCreateProgramWithIL(device->context, code.data, code.len, status);
	case MPK_OPENCL_BINARY:
		return cl->clCreateProgramWithBinary(device->context, 1, &device->id, &code.len,
						     &bytes, &loaded, status);
	}
	return NULL;
}

/* Reports the build log, which users need most; without a log, the driver's status. */
static enum mpk_code fail_build(const struct mpk_device_kernel *kernel, cl_program program,
				cl_int status, struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(kernel->module->device);
	char what[400];
	size_t len = 0;
	char *log = NULL;

	(void)snprintf(what, sizeof what, "kernel '%s' does not build on '%s': %s", kernel->shown,
		       device->base.info.name, opencl_error_name(status));
	if (!device->cl->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL,
					       &len))
		log = calloc(len + 1, 1);
	if (log && device->cl->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, len,
						     log, NULL))
		log[0] = '\0';
	enum mpk_code code = mpk_device_fail_log(err, MPK_E_LOAD, what, log ? log : "");

	free(log);
	return mpk_failed(code);
}

static enum mpk_code build_program(struct mpk_opencl_program *program,
				   const struct mpk_device_kernel *kernel, struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(kernel->module->device);
	cl_int status = CL_SUCCESS;
	cl_program made = create_program(module_of(kernel->module), program->code, &status);

	if (!made)
		return mpk_opencl_fail(err, status, "kernel '%s'", kernel->shown);
	status = device->cl->clBuildProgram(made, 1, &device->id, NULL, NULL, NULL);
	if (status != CL_SUCCESS) {
		enum mpk_code code = fail_build(kernel, made, status, err);

		(void)device->cl->clReleaseProgram(made);
		return mpk_failed(code);
	}
	program->program = made;
	return MPK_OK;
}

enum mpk_code mpk_opencl_program_for(const struct mpk_device_kernel *kernel, cl_program *out,
				     struct mpk_span *source, struct mpk_error *err)
{
	struct mpk_opencl_module *module = module_of(kernel->module);
	struct mpk_opencl_program *program = NULL;

	/* If several pieces have the same name, the first is used, as in TVM. */
	for (size_t i = 0; i < module->program_count && !program; i++) {
		struct mpk_span name = module->programs[i].name;

		if (!name.data || mpk_span_equal(name, kernel->info->key))
			program = &module->programs[i];
	}
	if (!program)
		return mpk_fail(
			err, MPK_E_LOAD,
			"kernel '%s' is in the function table, but the payload has no code for it",
			kernel->shown);
	if (!program->program)
		MPK_TRY(build_program(program, kernel, err));
	*out = program->program;
	*source = module->form == MPK_OPENCL_SOURCE ? program->code : (struct mpk_span){ 0 };
	return MPK_OK;
}

/* --- kernels ---------------------------------------------------------------------------------- */

static struct mpk_opencl_kernel *opencl_kernel_of(struct mpk_device_kernel *kernel)
{
	return (struct mpk_opencl_kernel *)kernel;
}

static const struct mpk_opencl_device *opencl_device_of(const struct mpk_device_kernel *kernel)
{
	return mpk_opencl_device_of(kernel->module->device);
}

/* If a kernel has more arguments than the table, some would not be set, which some drivers do not
 * notice. */
static enum mpk_code check_opencl_params(struct mpk_opencl_kernel *kernel, struct mpk_error *err)
{
	const struct mpk_opencl_api *cl = opencl_device_of(&kernel->base)->cl;
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

/* Finds the form of a parameter in its declaration. */
static enum mpk_opencl_memory_form opencl_kernels_form_of(struct mpk_span param)
{
	if (param.len && memmem(param.data, param.len, "image2d_array_t", 15))
		return MPK_OPENCL_IMAGE_ARRAY;
	if (param.len && memmem(param.data, param.len, "image2d_t", 9))
		return MPK_OPENCL_IMAGE;
	return param.len && memchr(param.data, '*', param.len) ? MPK_OPENCL_BUFFER : MPK_OPENCL_ANY;
}

/* Reads the forms of the arguments from the kernel's source. Without a source, or if macros declare
 * the parameters, any form is accepted. */
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
			forms[i] = opencl_kernels_form_of(mpk_source_code_param(found, i));
	}
	return MPK_OK;
}

/* If an image is passed for a buffer or the reverse, several drivers crash instead of reporting an
 * error. */
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

static enum mpk_code opencl_bind(struct mpk_device_kernel *base, struct mpk_error *err)
{
	struct mpk_opencl_kernel *kernel = opencl_kernel_of(base);
	const struct mpk_opencl_device *device = opencl_device_of(base);
	struct mpk_span source;
	cl_program program;
	size_t limit = 0;
	cl_int status;

	MPK_TRY(mpk_opencl_program_for(base, &program, &source, err));
	kernel->kernel = device->cl->clCreateKernel(program, base->name, &status);
	if (!kernel->kernel)
		return mpk_opencl_fail(err, status, "kernel '%s'", base->shown);
	enum mpk_code code = check_opencl_params(kernel, err);

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

static void opencl_unbind(struct mpk_device_kernel *base)
{
	(void)opencl_device_of(base)->cl->clReleaseKernel(opencl_kernel_of(base)->kernel);
}

/* clEnqueueNDRangeKernel reports both limits as CL_INVALID_WORK_GROUP_SIZE or _ITEM_SIZE, without
 * the requested size and the limit. */
static enum mpk_code check_opencl_limits(const struct mpk_opencl_kernel *kernel,
					 const struct mpk_launch_shape *shape,
					 struct mpk_error *err)
{
	const struct mpk_opencl_device *device = opencl_device_of(&kernel->base);
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

/* The driver copies what it is given. */
static enum mpk_code set_arg(const struct mpk_opencl_kernel *kernel, size_t i, uint64_t slot,
			     struct mpk_error *err)
{
	const struct mpk_opencl_api *cl = opencl_device_of(&kernel->base)->cl;
	const struct mpk_kernel_param *arg = &kernel->base.plan.args[i];
	const void *source;
	uint64_t value;
	void *data;
	size_t bytes = arg->bytes;

	if (arg->form == MPK_PARAM_HANDLE || arg->form == MPK_PARAM_TENSOR_MAP) {
		/* the driver reads the cl_mem from the descriptor's first field */
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

/* OpenCL counts work items, not groups, so the global size is grid times block. */
static enum mpk_code opencl_launch(struct mpk_device_kernel *base, const uint64_t *slots,
				   const struct mpk_launch_shape *shape, struct mpk_error *err)
{
	const struct mpk_opencl_kernel *kernel = opencl_kernel_of(base);
	const struct mpk_opencl_device *device = opencl_device_of(base);
	size_t local[3], global[3];

	MPK_TRY(check_opencl_limits(kernel, shape, err));
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
	/* without a flush, a driver may delay the kernel until the queue is waited for */
	(void)device->cl->clFlush(device->queue);
	return MPK_OK;
}

const struct mpk_device_code_ops mpk_opencl_code_ops = {
	.load = opencl_load,
	.unload = opencl_unload,
	.bind = opencl_bind,
	.unbind = opencl_unbind,
	.kernel_bytes = sizeof(struct mpk_opencl_kernel),
	.launch = opencl_launch,
	.check = opencl_check,
};
