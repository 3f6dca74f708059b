/* SPDX-License-Identifier: Apache-2.0 */
/* cubin.c - cubins: CUDA machine code for one architecture. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "code/cuda.h"
#include "code/info.h"
#include "code/show.h"
#include "cubin/cubin.h"
#include "text/escape.h"
#include "text/phrase.h"

static const void *code_cubin_kernel_of(const struct mpk_code_info *info, size_t kernel)
{
	const struct mpk_cubin *c = info->content;

	return &c->kernels[kernel];
}

static enum mpk_code read_cubin(struct mpk_code_info *info, void *content, struct mpk_arena *arena,
				struct mpk_error *err)
{
	struct mpk_cubin *c = content;
	struct mpk_code_kernel *kernels;

	MPK_TRY(mpk_cubin_read(info->bytes, arena, c, err));
	kernels = mpk_code_info_add_kernels(info, c->kernel_count, arena);
	MPK_TRY_ALLOC(kernels, err);
	for (size_t i = 0; i < c->kernel_count; i++) {
		const struct mpk_cubin_kernel *k = &c->kernels[i];

		kernels[i] = (struct mpk_code_kernel){ .name = k->name,
						       .param_count = k->param_count,
						       .code_bytes = k->code_bytes,
						       .barriers = k->barriers };
		(void)mpk_span_sub(info->bytes, k->code_off, k->code_bytes, &kernels[i].code);
		memcpy(kernels[i].block, k->block, sizeof k->block);
		memcpy(kernels[i].max_threads, k->max_threads, sizeof k->max_threads);
	}
	info->complete = true;
	info->debug_ptx = c->debug_ptx;
	info->sm = c->sm;
	mpk_cuda_target_name(MPK_TARGET_BINARY, c->sm, mpk_cuda_suffix(c), info->target,
			     sizeof info->target);
	return MPK_OK;
}

static uint64_t cubin_param_bytes(const struct mpk_code_info *info, size_t kernel, size_t i)
{
	const struct mpk_cubin_kernel *k = code_cubin_kernel_of(info, kernel);

	return k->params[i].bytes;
}

static void cubin_param(const struct mpk_code_info *info, size_t kernel, size_t i,
			struct mpk_code_param *out)
{
	if (cubin_param_bytes(info, kernel, i) > 8)
		out->kind = MPK_CODE_PARAM_VALUE;
}

static void cubin_put_text(const struct mpk_code_info *info, struct mpk_strbuf *out)
{
	const struct mpk_cubin *c = info->content;

	mpk_strbuf_printf(out, "cubin for %s, ", info->target);
	mpk_put_count(out, c->kernel_count, "kernel");
	if (c->constant_bytes)
		mpk_strbuf_printf(out, ", %" PRIu64 " B constant", c->constant_bytes);
	if (c->global_bytes)
		mpk_strbuf_printf(out, ", %" PRIu64 " B global", c->global_bytes);
	mpk_strbuf_puts(out, c->relocatable ? ", relocatable: cannot be loaded before a link" : "");
	if (c->debug_ptx.len)
		mpk_strbuf_printf(out, ", with its PTX (%zu B)", c->debug_ptx.len);
	if (c->tool.len) {
		mpk_strbuf_puts(out, ", by ");
		mpk_escape(out, c->tool);
	}
}

static struct mpk_figure_value cubin_registers(const void *kernel)
{
	const struct mpk_cubin_kernel *k = kernel;

	return mpk_figure_told(k->registers, k->registers);
}

static struct mpk_figure_value cubin_stack(const void *kernel)
{
	const struct mpk_cubin_kernel *k = kernel;

	return mpk_figure_told(k->has_stack, k->stack_bytes);
}

static void cubin_put_kernel_text(const struct mpk_code_info *info, size_t kernel,
				  struct mpk_strbuf *out)
{
	const struct mpk_cubin_kernel *k = code_cubin_kernel_of(info, kernel);

	mpk_strbuf_printf(out, "cubin %s: ", info->target);
	mpk_code_put_registers(cubin_registers(k), "register", out);
	mpk_code_put_bytes(mpk_figure_of(k->shared_bytes), "shared", out);
	mpk_code_put_bytes(cubin_stack(k), "stack", out);
	mpk_code_put_bytes(mpk_figure_of(k->bank0_bytes), "constant bank 0", out);
	mpk_strbuf_puts(out, ", ");
	mpk_put_count(out, k->barriers, "barrier");
	mpk_put_also(out, k->param_count, "parameter");
	mpk_strbuf_printf(out, " (%" PRIu32 " B), %" PRIu64 " B code", k->param_bytes,
			  k->code_bytes);
	mpk_code_put_shape("at most", k->max_threads, out);
	mpk_code_put_shape("block", k->block, out);
	mpk_code_put_shape("cluster", k->cluster, out);
}

static bool cubin_count_work(const struct mpk_code_info *info, struct mpk_span piece,
			     struct mpk_work *out)
{
	return mpk_cubin_count_instructions(info->sm, piece, out);
}

static enum mpk_code cubin_source_rows(const struct mpk_code_info *info, struct mpk_arena *arena,
				       const struct mpk_dwarf_row **out, size_t *count,
				       struct mpk_error *err)
{
	return mpk_cubin_lines(info->bytes, arena, out, count, err);
}

static void cubin_put_json(const struct mpk_code_info *info, struct mpk_json *j,
			   struct mpk_json_at *at)
{
	const struct mpk_cubin *c = info->content;

	mpk_json_text(j, at, "target", info->target);
	mpk_json_bool(j, at, "relocatable", c->relocatable);
	mpk_json_u64(j, at, "constant_bytes", c->constant_bytes);
	mpk_json_u64(j, at, "global_bytes", c->global_bytes);
	mpk_json_span(j, at, "tool", c->tool);
	mpk_json_span(j, at, "options", c->options);
}

static const struct mpk_fact cubin_param_facts[] = {
	{ MPK_FACT(COUNT, "offset", struct mpk_cubin_param, offset) },
	{ MPK_FACT(COUNT, "bytes", struct mpk_cubin_param, bytes) },
};

static void cubin_put_params_json(const struct mpk_code_info *info, size_t kernel,
				  struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_cubin_kernel *k = code_cubin_kernel_of(info, kernel);

	mpk_facts_json_list(MPK_FACTS(cubin_param_facts), "parameters", k->params, k->param_count,
			    sizeof *k->params, j, at);
}

static void cubin_put_kernel_json(const struct mpk_code_info *info, size_t kernel,
				  struct mpk_json *j, struct mpk_json_at *at)
{
	(void)kernel;
	mpk_json_text(j, at, "target", info->target);
}

static const struct mpk_fact cubin_kernel_facts[] = {
	{ MPK_FACT(COUNT, "parameter_bytes", struct mpk_cubin_kernel, param_bytes) },
	{ MPK_FACT_GET("registers", cubin_registers), MPK_CODE_IS(REGISTERS) },
	{ MPK_FACT(COUNT, "shared_bytes", struct mpk_cubin_kernel, shared_bytes,
		   "static, of a block"),
	  MPK_CODE_IS(SHARED) },
	{ MPK_FACT_GET("stack_bytes", cubin_stack), MPK_CODE_IS(STACK) },
	{ MPK_FACT(COUNT, "bank0_bytes", struct mpk_cubin_kernel, bank0_bytes, "constant bank 0"),
	  MPK_CODE_IS(CONSTANT) },
	{ MPK_FACT(COUNT, "barriers", struct mpk_cubin_kernel, barriers) },
	{ MPK_FACT(COUNT, "code_bytes", struct mpk_cubin_kernel, code_bytes), MPK_CODE_IS(CODE) },
	{ MPK_FACT(XYZ, "max_threads", struct mpk_cubin_kernel, max_threads) },
	{ MPK_FACT(XYZ, "block", struct mpk_cubin_kernel, block) },
	{ MPK_FACT(XYZ, "cluster", struct mpk_cubin_kernel, cluster) },
};

static void cubin_verify(const struct mpk_code_info *info, const struct mpk_code_verify *v)
{
	const struct mpk_cubin *c = info->content;

	if (c->relocatable)
		mpk_code_say(v, MPK_WARNING, info->off,
			     "the cubin was made for a link (-rdc=true): no driver loads it");
}

const struct mpk_code_format mpk_format_cubin = {
	.word = "cubin",
	.name = "a cubin",
	.is = mpk_cubin_is,
	.is_file = true,
	.has_code_bytes = true,
	.claims = { { "cuda", "cubin" } },
	.read = read_cubin,
	.targets = mpk_cuda_images,
	.content_bytes = sizeof(struct mpk_cubin),
	.param_bytes = cubin_param_bytes,
	.param = cubin_param,
	.text = cubin_put_text,
	.json = cubin_put_json,
	.kernel_text = cubin_put_kernel_text,
	.params_json = cubin_put_params_json,
	.kernel_json = cubin_put_kernel_json,
	.count_work = cubin_count_work,
	.source_rows = cubin_source_rows,
	.kernel_of = code_cubin_kernel_of,
	.kernel_facts = cubin_kernel_facts,
	.kernel_fact_count = MPK_ARRAY_COUNT(cubin_kernel_facts),
	.verify = cubin_verify,
};
