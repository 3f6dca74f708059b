/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_source.c - what an OpenCL payload holds, judged and split without the driver
 *
 * A payload is source text, whole or with a delimiter line before each kernel, SPIR-V modules or a
 * binary for one device. It is judged before a driver sees it: for the listing of devices, which
 * opens none, and because drivers end the process, or say nothing, where a message is due.
 */
#include "device/internal/opencl.h"

#include <stdio.h>
#include <string.h>

#include "sourcecode/sourcecode.h"
#include "text/escape.h"

/* The formats of FPGA tools, the only ones that TVM stores as device binaries. */
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

/* Whether a source uses a type: has values of it (addresses of halves need nothing), and does not ask first whether there is such. TVM's own
 * sources ask, too, but only to stop the compiler with a message. */
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

enum mpk_code mpk_opencl_check(const struct mpk_device_info *info, const struct mpk_kernels *k,
			       struct mpk_error *err)
{
	MPK_TRY(check_payload_form(info, k, err));
	if (k->layout == MPK_KERNELS_PLAIN && mpk_span_is(k->fmt, "cl") && k->data.len) {
		/* What a driver's compiler would stop at: the listing of devices says it before. */
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
		/* SPIR-V has one module a kernel. */
		module->form = MPK_OPENCL_SPIRV;
		module->program_count = k->source_count;
		module->programs = mpk_arena_array(&module->base.arena, k->source_count + 1,
						   sizeof *module->programs);
		MPK_TRY_ALLOC(module->programs, err);
		for (size_t i = 0; i < k->source_count; i++) {
			module->programs[i].name = k->sources[i].key;
			module->programs[i].code = k->sources[i].data;
		}
		return MPK_OK;
	}
	if (is_binary(k->fmt)) {
		/* One binary has all kernels. */
		struct mpk_span code = k->data;

		module->form = MPK_OPENCL_BINARY;
		module->program_count = 1;
		module->programs =
			mpk_arena_array(&module->base.arena, 1, sizeof *module->programs);
		MPK_TRY_ALLOC(module->programs, err);
		module->programs[0].code = code;
		return MPK_OK;
	}

	/* Text without delimiters (TVM up to 0.7) is one program for all kernels. */
	struct mpk_arena *arena = &module->base.arena;
	const struct mpk_source_code_piece *pieces;
	struct mpk_span text = k->data;

	MPK_TRY(mpk_source_code_split(text, arena, &pieces, &module->program_count, err));

	/* What TVM's loader does not take does not run here either, or a test here would pass
	 * that proves nothing. */
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

enum mpk_code mpk_opencl_split(struct mpk_opencl_module *module, const struct mpk_device_info *info,
			       const struct mpk_kernels *k, struct mpk_error *err)
{
	MPK_TRY(check_payload_form(info, k, err));
	return make_programs(module, k, err);
}
