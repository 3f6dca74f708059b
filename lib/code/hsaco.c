/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects: machine code for one AMD GPU, with the figures that the compiler noted. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "amdgpu/amdgpu.h"
#include "code/figure.h"
#include "code/param.h"
#include "code/show.h"
#include "code/target.h"
#include "text/phrase.h"

static const struct mpk_amdgpu_kernel *kernel_of(const struct mpk_code_info *info, size_t kernel)
{
	const struct mpk_amdgpu *a = info->content;

	return &a->kernels[kernel];
}

static enum mpk_code read_object(struct mpk_code_info *info, void *content, struct mpk_arena *arena,
				 struct mpk_error *err)
{
	struct mpk_amdgpu *a = content;
	struct mpk_code_kernel *kernels;

	MPK_TRY(mpk_amdgpu_read(info->bytes, arena, a, err));
	kernels = mpk_code_info_add_kernels(info, a->kernel_count, arena);
	MPK_TRY_ALLOC(kernels, err);
	for (size_t i = 0; i < a->kernel_count; i++) {
		const struct mpk_amdgpu_kernel *k = &a->kernels[i];

		kernels[i] = (struct mpk_code_kernel){ .name = k->name,
						       .param_count = k->visible_args,
						       .code_bytes = k->code.len,
						       .code = k->code };
		memcpy(kernels[i].block, k->block, sizeof k->block);
		kernels[i].max_threads[0] = k->max_threads;
		kernels[i].max_threads[1] = kernels[i].max_threads[2] = k->max_threads ? 1 : 0;
	}
	info->complete = a->has_metadata;
	(void)snprintf(info->target, sizeof info->target, "%s", a->target);
	return MPK_OK;
}

static enum mpk_code targets(struct mpk_span bytes, struct mpk_arena *arena,
			     struct mpk_code_target **out, size_t *count, struct mpk_error *err)
{
	struct mpk_code_target *t = mpk_arena_alloc(arena, sizeof *t);
	struct mpk_amdgpu a;

	MPK_TRY_ALLOC(t, err);
	MPK_TRY(mpk_amdgpu_read_head(bytes, &a, err));
	*t = (struct mpk_code_target){ .kind = MPK_TARGET_BINARY,
				       .what = "code object",
				       .packing = "stored",
				       .bytes = bytes.len,
				       .plain_bytes = bytes.len };
	(void)snprintf(t->name, sizeof t->name, "%s", a.target);
	*out = t;
	*count = 1;
	return MPK_OK;
}

static uint64_t param_bytes(const struct mpk_code_info *info, size_t kernel, size_t i)
{
	return kernel_of(info, kernel)->args[i].bytes;
}

static void param(const struct mpk_code_info *info, size_t kernel, size_t i,
		  struct mpk_code_param *out)
{
	const struct mpk_amdgpu_arg *a = &kernel_of(info, kernel)->args[i];

	if (a->bytes > 8)
		out->kind = MPK_CODE_PARAM_VALUE;
}

static void put_text(const struct mpk_code_info *info, struct mpk_strbuf *out)
{
	const struct mpk_amdgpu *a = info->content;

	mpk_strbuf_printf(out, "code object for %s", info->target);
	if (a->version)
		mpk_strbuf_printf(out, ", version %u", a->version);
	if (a->has_metadata)
		mpk_put_also(out, a->kernel_count, "kernel");
	else
		mpk_strbuf_puts(out, ", kernels not told");
}

static void put_kernel_text(const struct mpk_code_info *info, size_t kernel, struct mpk_strbuf *out)
{
	const struct mpk_amdgpu_kernel *k = kernel_of(info, kernel);

	mpk_strbuf_printf(out, "code object %s: ", info->target);
	mpk_put_count(out, k->sgprs, "SGPR");
	mpk_put_also(out, k->vgprs, "VGPR");
	if (k->agprs)
		mpk_put_also(out, k->agprs, "AGPR");
	mpk_strbuf_printf(out, ", %" PRIu64 " B LDS, %" PRIu64 " B scratch", k->lds_bytes,
			  k->scratch_bytes);
	mpk_strbuf_puts(out, k->dynamic_stack ? " and a dynamic stack" : "");
	if (k->sgpr_spills || k->vgpr_spills)
		mpk_strbuf_printf(out, ", spills %" PRIu32 " SGPRs and %" PRIu32 " VGPRs",
				  k->sgpr_spills, k->vgpr_spills);
	mpk_put_also(out, k->visible_args, "parameter");
	mpk_strbuf_printf(out, " (%" PRIu64 " B with hidden ones), %zu B code", k->kernarg_bytes,
			  k->code.len);
	if (k->wavefront)
		mpk_strbuf_printf(out, ", waves of %" PRIu32, k->wavefront);
	if (k->max_threads)
		mpk_strbuf_printf(out, ", at most %" PRIu32 " threads", k->max_threads);
	mpk_code_put_shape("block", k->block, out);
}

static void put_json(const struct mpk_code_info *info, struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_amdgpu *a = info->content;

	mpk_json_text(j, at, "target", info->target);
	mpk_json_u64(j, at, "code_object_version", a->version);
	mpk_json_bool(j, at, "has_metadata", a->has_metadata);
}

static void add_args(const struct mpk_amdgpu_kernel *k, struct mpk_json *j, struct mpk_json_at *at)
{
	struct mpk_json_at *list = mpk_json_array(j, at, "parameters"), *o;

	for (size_t i = 0; i < k->arg_count; i++) {
		const struct mpk_amdgpu_arg *a = &k->args[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_u64(j, o, "offset", a->offset);
		mpk_json_u64(j, o, "bytes", a->bytes);
		mpk_json_span(j, o, "value_kind", a->value_kind);
		if (a->name.len)
			mpk_json_span(j, o, "name", a->name);
		if (a->type_name.len)
			mpk_json_span(j, o, "type_name", a->type_name);
		if (a->address_space.len)
			mpk_json_span(j, o, "address_space", a->address_space);
	}
}

static void put_kernel_json(const struct mpk_code_info *info, size_t kernel, struct mpk_json *j,
			    struct mpk_json_at *at)
{
	const struct mpk_amdgpu_kernel *k = kernel_of(info, kernel);

	mpk_json_text(j, at, "target", info->target);
	add_args(k, j, at);
	mpk_json_u64(j, at, "parameter_bytes", k->kernarg_bytes);
	mpk_json_u64(j, at, "sgprs", k->sgprs);
	mpk_json_u64(j, at, "vgprs", k->vgprs);
	mpk_json_u64(j, at, "agprs", k->agprs);
	mpk_json_u64(j, at, "sgpr_spills", k->sgpr_spills);
	mpk_json_u64(j, at, "vgpr_spills", k->vgpr_spills);
	mpk_json_u64(j, at, "lds_bytes", k->lds_bytes);
	mpk_json_u64(j, at, "scratch_bytes", k->scratch_bytes);
	mpk_json_bool(j, at, "dynamic_stack", k->dynamic_stack);
	mpk_json_u64(j, at, "wavefront", k->wavefront);
	mpk_json_u64(j, at, "code_bytes", k->code.len);
	mpk_code_json_shape(j, at, "max_threads", info->kernels[kernel].max_threads);
	mpk_code_json_shape(j, at, "block", k->block);
}

/* The compiler's number of vector registers has the accumulators in it: it is what a wave is given. */
static void figures(const struct mpk_code_info *info, size_t kernel, struct mpk_figures *out)
{
	const struct mpk_amdgpu_kernel *k = kernel_of(info, kernel);

	mpk_figures_set(out, MPK_FIGURE_REGISTERS, k->vgprs);
	mpk_figures_set(out, MPK_FIGURE_SCALAR_REGISTERS, k->sgprs);
	mpk_figures_set(out, MPK_FIGURE_SPILLED_REGISTERS,
			(uint64_t)k->sgpr_spills + k->vgpr_spills);
	mpk_figures_set(out, MPK_FIGURE_STACK, k->scratch_bytes);
	mpk_figures_set(out, MPK_FIGURE_SHARED, k->lds_bytes);
	if (k->code.len)
		mpk_figures_set(out, MPK_FIGURE_CODE, k->code.len);
}

const struct mpk_code_format mpk_format_hsaco = {
	.word = "hsaco",
	.name = "an AMD GPU code object",
	.is = mpk_amdgpu_is,
	.has_code_bytes = true,
	.claims = { { "hip", "hsaco" },
		    { "hip", "hip" },
		    { "hsaco", "hsaco" },
		    { "hsaco", "hip" },
		    { "rocm", "hsaco" } },
	.read = read_object,
	.targets = targets,
	.content_bytes = sizeof(struct mpk_amdgpu),
	.param_bytes = param_bytes,
	.param = param,
	.text = put_text,
	.json = put_json,
	.kernel_text = put_kernel_text,
	.kernel_json = put_kernel_json,
	.figures = figures,
};
