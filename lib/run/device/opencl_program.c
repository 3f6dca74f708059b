/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_program.c - payloads to programs: source whole or by kernel, SPIR-V, binaries */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/internal/opencl.h"
#include "sourcecode/sourcecode.h"
#include "text/escape.h"

static struct mpk_opencl_module *module_of(struct mpk_device_module *module)
{
	return (struct mpk_opencl_module *)module;
}

static bool is_binary(struct mpk_span fmt)
{
	return mpk_span_is(fmt, "xclbin") || mpk_span_is(fmt, "awsxclbin") ||
	       mpk_span_is(fmt, "aocx");
}

static enum mpk_code check_form(const struct mpk_device_info *info, const struct mpk_kernels *k,
				struct mpk_error *err)
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

/* Whether a source uses a type: has values of it (addresses of halves need nothing), and does not ask first whether there is such. TVM's own
 * sources ask, too, but only to stop the compiler with a message. */
static bool uses(struct mpk_span text, const char *const *types, const char *extension)
{
	char guard[64];
	bool asks;

	(void)snprintf(guard, sizeof guard, "#ifdef %s", extension);
	asks = memmem(text.data, text.len, guard, strlen(guard)) &&
	       !memmem(text.data, text.len, "#error", 6);
	for (size_t i = 0; types[i] && !asks; i++)
		if (mpk_source_code_has_values(text, mpk_span_str(types[i])))
			return true;
	return false;
}

/* What a driver's compiler would stop at: the listing of devices says it before. */
static enum mpk_code check_types(const struct mpk_device_info *info, struct mpk_span text,
				 struct mpk_error *err)
{
	static const struct {
		const char *what, *extension, *types[8];
	} needs[] = {
		{ "half", "cl_khr_fp16", { "half", "half2", "half3", "half4", "half8", "half16" } },
		{ "double",
		  "cl_khr_fp64",
		  { "double", "double2", "double3", "double4", "double8", "double16" } },
		{ "images",
		  "__IMAGE_SUPPORT__",
		  { "image1d_t", "image2d_t", "image2d_array_t", "image3d_t" } },
	};
	const bool has[] = { info->has_half, info->has_double, info->has_images };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(needs); i++)
		if (!has[i] && uses(text, needs[i].types, needs[i].extension))
			return mpk_fail(err, MPK_E_UNSUPPORTED,
					"the kernels use %s, which '%s' does not have (%s)",
					needs[i].what, info->name, needs[i].extension);
	return MPK_OK;
}

enum mpk_code mpk_opencl_check(const struct mpk_device_info *info, const struct mpk_kernels *k,
			       struct mpk_error *err)
{
	MPK_TRY(check_form(info, k, err));
	if (k->layout == MPK_KERNELS_PLAIN && mpk_span_is(k->fmt, "cl") && k->data.len)
		return check_types(info, k->data, err);
	return MPK_OK;
}

/* What TVM's loader does not take does not run here either, or a test here would pass that proves
 * nothing. --verify says the same. */
static enum mpk_code check_pieces(const struct mpk_kernels *k, size_t count, struct mpk_error *err)
{
	if (!count && k->gen != MPK_GEN_LEGACY)
		return mpk_fail(
			err, MPK_E_LOAD,
			"the OpenCL source has no '" MPK_SOURCE_CODE_DELIMITER
			"NAME' lines, without which TVM does not load it: give the source to 'mpack build', or to 'mpack edit --replace', which add them");
	if (count && count != k->function_count)
		return mpk_fail(
			err, MPK_E_LOAD,
			"the OpenCL source has %zu '" MPK_SOURCE_CODE_DELIMITER
			"NAME' lines for %zu kernels, which TVM does not load: it wants one for each",
			count, k->function_count);
	return MPK_OK;
}

/* Text without delimiters (TVM up to 0.7) is one program for all kernels. */
static enum mpk_code programs_of_source(struct mpk_opencl_module *module,
					const struct mpk_kernels *k, struct mpk_error *err)
{
	struct mpk_arena *arena = &module->base.arena;
	const struct mpk_source_code_piece *pieces;
	struct mpk_span text = k->data;

	MPK_TRY(mpk_source_code_split(text, arena, &pieces, &module->program_count, err));
	MPK_TRY(check_pieces(k, module->program_count, err));
	bool is_whole = module->program_count == 0;

	if (is_whole)
		module->program_count = 1;
	module->programs = mpk_arena_array(arena, module->program_count, sizeof *module->programs);
	MPK_TRY_ALLOC(module->programs, err);
	if (is_whole)
		module->programs[0].code = text;
	for (size_t i = 0; !is_whole && i < module->program_count; i++) {
		module->programs[i].name = pieces[i].name;
		module->programs[i].code = pieces[i].text;
	}
	return MPK_OK;
}

static enum mpk_code programs_of_spirv(struct mpk_opencl_module *module,
				       const struct mpk_kernels *k, struct mpk_error *err)
{
	module->form = MPK_OPENCL_SPIRV;
	module->program_count = k->source_count;
	module->programs =
		mpk_arena_array(&module->base.arena, k->source_count + 1, sizeof *module->programs);
	MPK_TRY_ALLOC(module->programs, err);
	for (size_t i = 0; i < k->source_count; i++) {
		module->programs[i].name = k->sources[i].key;
		module->programs[i].code = k->sources[i].data;
	}
	return MPK_OK;
}

static enum mpk_code programs_of_binary(struct mpk_opencl_module *module, struct mpk_span code,
					struct mpk_error *err)
{
	module->form = MPK_OPENCL_BINARY;
	module->program_count = 1;
	module->programs = mpk_arena_array(&module->base.arena, 1, sizeof *module->programs);
	MPK_TRY_ALLOC(module->programs, err);
	module->programs[0].code = code;
	return MPK_OK;
}

static enum mpk_code make_programs(struct mpk_opencl_module *module, const struct mpk_kernels *k,
				   struct mpk_error *err)
{
	if (k->layout == MPK_KERNELS_OPENCL_SPIRV)
		return programs_of_spirv(module, k, err);
	if (is_binary(k->fmt))
		return programs_of_binary(module, k->data, err);
	return programs_of_source(module, k, err);
}

enum mpk_code mpk_opencl_load(struct mpk_device *device, const struct mpk_kernels *k,
			      struct mpk_device_module **out, struct mpk_error *err)
{
	MPK_TRY(check_form(&device->info, k, err));
	struct mpk_opencl_module *module = calloc(1, sizeof *module);

	MPK_TRY_ALLOC(module, err);
	module->form = MPK_OPENCL_SOURCE;
	enum mpk_code code = make_programs(module, k, err);

	if (code != MPK_OK) {
		mpk_arena_fini(&module->base.arena);
		free(module);
		return mpk_failed(code);
	}
	*out = &module->base;
	return MPK_OK;
}

void mpk_opencl_unload(struct mpk_device_module *base)
{
	struct mpk_opencl_module *module = module_of(base);
	const struct mpk_opencl_api *cl = mpk_opencl_device_of(base->device)->cl;

	for (size_t i = 0; i < module->program_count; i++)
		if (module->programs[i].program)
			(void)cl->clReleaseProgram(module->programs[i].program);
	mpk_arena_fini(&base->arena);
	free(module);
}

static cl_program create(struct mpk_opencl_module *module, struct mpk_span code, cl_int *status)
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

static enum mpk_code fail_build(const struct mpk_device_kernel *kernel, cl_program program,
				cl_int status, struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(kernel->module->device);
	char what[400];
	size_t len = 0;
	char *log = NULL;

	(void)snprintf(what, sizeof what, "kernel '%s' does not build on '%s': %s", kernel->shown,
		       device->base.info.name, mpk_opencl_error_name(status));
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

static enum mpk_code build(struct mpk_opencl_program *program,
			   const struct mpk_device_kernel *kernel, struct mpk_error *err)
{
	struct mpk_opencl_device *device = mpk_opencl_device_of(kernel->module->device);
	cl_int status = CL_SUCCESS;
	cl_program made = create(module_of(kernel->module), program->code, &status);

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

	/* Of several pieces with one name the first wins, as in TVM. */
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
		MPK_TRY(build(program, kernel, err));
	*out = program->program;
	*source = module->form == MPK_OPENCL_SOURCE ? program->code : (struct mpk_span){ 0 };
	return MPK_OK;
}
