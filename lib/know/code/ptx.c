/* SPDX-License-Identifier: Apache-2.0 */
/* ptx.c - PTX, CUDA's assembly text. Shared memory is declared variable by variable. A kernel uses
 * the sum of its own variables and of those outside of all kernels, so both sums are kept. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "code/cuda.h"
#include "code/info.h"
#include "code/show.h"
#include "ptx/ptx.h"
#include "text/escape.h"
#include "text/phrase.h"

struct shared {
	uint64_t bytes; /* static bytes */
	bool dynamic;   /* some memory gets its size at launch */
};

struct content {
	struct mpk_ptx ptx;
	struct shared *shared; /* one for each kernel, then one for variables outside of kernels */
};

static const void *ptx_kernel_of(const struct mpk_code_info *info, size_t kernel)
{
	const struct content *c = info->content;

	return &c->ptx.kernels[kernel];
}

static enum mpk_code read_ptx(struct mpk_code_info *info, void *content, struct mpk_arena *arena,
			      struct mpk_error *err)
{
	struct content *c = content;
	struct mpk_code_kernel *kernels;

	MPK_TRY(mpk_ptx_read(info->bytes, arena, &c->ptx, err));

	/* --- reading ------------------------------------------------------------------------ */
	const struct mpk_ptx *p = &c->ptx;

	MPK_TRY_ARRAY(c->shared, arena, p->kernel_count + 1, err);
	for (size_t i = 0; i < p->shared_count; i++) {
		const struct mpk_ptx_shared *v = &p->shared[i];
		struct shared *sum =
			&c->shared[v->kernel == MPK_PTX_MODULE ? p->kernel_count : v->kernel];

		sum->dynamic |= v->dynamic;
		if (!mpk_add_u64(sum->bytes, v->bytes, &sum->bytes))
			sum->bytes = UINT64_MAX;
	}

	kernels = mpk_code_info_add_kernels(info, c->ptx.kernel_count, arena);
	MPK_TRY_ALLOC(kernels, err);
	for (size_t i = 0; i < c->ptx.kernel_count; i++) {
		kernels[i].name = c->ptx.kernels[i].name;
		kernels[i].text = c->ptx.kernels[i].text;
		kernels[i].param_count = c->ptx.kernels[i].param_count;
		memcpy(kernels[i].block, c->ptx.kernels[i].block, sizeof kernels[i].block);
		memcpy(kernels[i].max_threads, c->ptx.kernels[i].max_threads,
		       sizeof kernels[i].max_threads);
	}
	info->functions = c->ptx.functions;
	info->function_count = c->ptx.function_count;
	info->complete = true;
	info->pointer_bytes = c->ptx.address_bits / 8;
	info->sm = c->ptx.sm;
	mpk_cuda_target_name(MPK_TARGET_PTX, c->ptx.sm, c->ptx.suffix, info->target,
			     sizeof info->target);
	return MPK_OK;
}

static uint64_t ptx_param_bytes(const struct mpk_code_info *info, size_t kernel, size_t i)
{
	const struct mpk_ptx_kernel *k = ptx_kernel_of(info, kernel);

	return k->params[i].bytes;
}

/* A pointer and a 64-bit number are both .u64; kernel tables have far more pointers. */
static bool ptx_param_dtype(const struct mpk_code_info *info, size_t kernel, size_t i,
			    struct mpk_dtype *out)
{
	static const struct {
		const char *type;
		struct mpk_dtype dtype;
	} types[] = {
		{ "u64", { MPK_DTYPE_HANDLE, 64, 1 } }, { "s64", { MPK_DTYPE_INT, 64, 1 } },
		{ "u32", { MPK_DTYPE_INT, 32, 1 } },    { "s32", { MPK_DTYPE_INT, 32, 1 } },
		{ "u16", { MPK_DTYPE_INT, 16, 1 } },    { "s16", { MPK_DTYPE_INT, 16, 1 } },
		{ "u8", { MPK_DTYPE_INT, 8, 1 } },      { "s8", { MPK_DTYPE_INT, 8, 1 } },
		{ "f16", { MPK_DTYPE_FLOAT, 16, 1 } },  { "f32", { MPK_DTYPE_FLOAT, 32, 1 } },
		{ "f64", { MPK_DTYPE_FLOAT, 64, 1 } },
	};
	const struct mpk_ptx_kernel *of = ptx_kernel_of(info, kernel);
	const struct mpk_ptx_param *p = &of->params[i];

	for (size_t k = 0; k < MPK_ARRAY_COUNT(types); k++) {
		if (!mpk_span_is(p->type, types[k].type) || p->bytes * 8 != types[k].dtype.bits)
			continue;
		*out = types[k].dtype;
		return true;
	}
	return false;
}

/* "vadd_param_0" is a name that a compiler made. */
static bool is_numbered(struct mpk_span name, struct mpk_span kernel)
{
	static const char middle[] = "_param_";

	return name.len > kernel.len + sizeof middle - 1 &&
	       memcmp(name.data, kernel.data, kernel.len) == 0 &&
	       memcmp(name.data + kernel.len, middle, sizeof middle - 1) == 0;
}

static void ptx_param(const struct mpk_code_info *info, size_t kernel, size_t i,
		      struct mpk_code_param *out)
{
	const struct mpk_ptx_kernel *k = ptx_kernel_of(info, kernel);
	const struct mpk_ptx_param *p = &k->params[i];
	struct mpk_dtype t;

	if (!is_numbered(p->name, k->name))
		out->name = p->name;
	if (p->pointer) {
		out->kind = MPK_CODE_PARAM_BUFFER;
	} else if (!ptx_param_dtype(info, kernel, i, &t)) {
		/* An array of bytes is a struct; types like .b32 do not show a number's type. */
		bool is_struct = p->bytes > 8 || (mpk_span_is(p->type, "b8") && p->bytes > 1);

		out->kind = is_struct ? MPK_CODE_PARAM_VALUE : MPK_CODE_PARAM_UNKNOWN;
	} else if (t.code != MPK_DTYPE_HANDLE) {
		out->kind = MPK_CODE_PARAM_NUMBER;
		out->dtype = t;
	}
}

static bool ptx_count_work(const struct mpk_code_info *info, struct mpk_span piece,
			   struct mpk_work *out)
{
	(void)info;
	return mpk_ptx_count_instructions(piece, out);
}

static enum mpk_code ptx_source_rows(const struct mpk_code_info *info, struct mpk_arena *arena,
				     const struct mpk_dwarf_row **out, size_t *count,
				     struct mpk_error *err)
{
	return mpk_ptx_lines(info->bytes, arena, out, count, err);
}

/* --- text --------------------------------------------------------------------------- */

static void ptx_put_text(const struct mpk_code_info *info, struct mpk_strbuf *out)
{
	const struct content *c = info->content;
	const struct shared *shared = &c->shared[c->ptx.kernel_count];

	mpk_strbuf_printf(out, "PTX %u.%u for %s, %u-bit, ", c->ptx.major, c->ptx.minor,
			  info->target, c->ptx.address_bits);
	mpk_put_count(out, c->ptx.kernel_count, "kernel");
	if (shared->bytes)
		mpk_strbuf_printf(out, ", %" PRIu64 " B shared by its kernels", shared->bytes);
	mpk_strbuf_puts(out, shared->dynamic ? ", shared memory of a size given at launch" : "");
	mpk_strbuf_puts(out, c->ptx.debug ? ", with debug information" : "");
}

static void ptx_put_kernel_text(const struct mpk_code_info *info, size_t kernel,
				struct mpk_strbuf *out)
{
	const struct content *c = info->content;
	const struct mpk_ptx_kernel *k = &c->ptx.kernels[kernel];

	mpk_strbuf_printf(out, "PTX %s: ", info->target);
	mpk_put_count(out, k->param_count, "parameter");
	for (size_t i = 0; i < k->param_count; i++) {
		mpk_strbuf_puts(out, i ? " " : " (");
		mpk_escape(out, k->params[i].type);
		if (mpk_span_is(k->params[i].type, "b8"))
			mpk_strbuf_printf(out, "[%" PRIu64 "]", k->params[i].bytes);
	}
	mpk_strbuf_puts(out, k->param_count ? ")" : "");
	mpk_strbuf_printf(out, ", %" PRIu64 " B shared%s", c->shared[kernel].bytes,
			  c->shared[kernel].dynamic ? " and more" : "");
	if (k->local_bytes)
		mpk_strbuf_printf(out, ", %" PRIu64 " B local", k->local_bytes);
	if (k->has_body) {
		mpk_strbuf_puts(out, ", declares ");
		mpk_put_count(out, k->registers, "register");
	}
	mpk_code_put_shape("at most", k->max_threads, out);
	mpk_code_put_shape("block", k->block, out);
	mpk_code_put_shape("cluster", k->cluster, out);
	if (k->min_blocks)
		mpk_strbuf_printf(out, ", %" PRIu32 " blocks a processor", k->min_blocks);
	if (k->max_registers)
		mpk_strbuf_printf(out, ", at most %" PRIu32 " registers", k->max_registers);
	mpk_strbuf_puts(out, k->has_body ? "" : ", declared only");
}

/* --- JSON --------------------------------------------------------------------------- */

static void ptx_put_json(const struct mpk_code_info *info, struct mpk_json *j,
			 struct mpk_json_at *at)
{
	const struct content *c = info->content;
	const struct shared *shared = &c->shared[c->ptx.kernel_count];

	mpk_json_printf(j, at, "version", "%u.%u", c->ptx.major, c->ptx.minor);
	mpk_json_text(j, at, "target", info->target);
	mpk_json_u64(j, at, "address_bits", c->ptx.address_bits);
	mpk_json_bool(j, at, "debug", c->ptx.debug);
	mpk_json_u64(j, at, "shared_bytes", shared->bytes);
	mpk_json_bool(j, at, "dynamic_shared", shared->dynamic);
	mpk_json_spans(j, at, "functions", c->ptx.functions, c->ptx.function_count);
}

static const struct mpk_fact ptx_param_facts[] = {
	{ MPK_FACT(SPAN, "type", struct mpk_ptx_param, type) },
	{ MPK_FACT(COUNT, "bytes", struct mpk_ptx_param, bytes) },
};

static void ptx_put_params_json(const struct mpk_code_info *info, size_t kernel, struct mpk_json *j,
				struct mpk_json_at *at)
{
	const struct content *c = info->content;
	const struct mpk_ptx_kernel *k = &c->ptx.kernels[kernel];

	mpk_facts_json_list(MPK_FACTS(ptx_param_facts), "parameters", k->params, k->param_count,
			    sizeof *k->params, j, at);
}

static void ptx_put_kernel_json(const struct mpk_code_info *info, size_t kernel, struct mpk_json *j,
				struct mpk_json_at *at)
{
	const struct content *c = info->content;

	mpk_json_text(j, at, "target", info->target);
	mpk_json_u64(j, at, "shared_bytes", c->shared[kernel].bytes);
	mpk_json_bool(j, at, "dynamic_shared", c->shared[kernel].dynamic);
}

static const struct mpk_fact ptx_kernel_facts[] = {
	{ MPK_FACT(XYZ, "max_threads", struct mpk_ptx_kernel, max_threads) },
	{ MPK_FACT(XYZ, "block", struct mpk_ptx_kernel, block) },
	{ MPK_FACT(XYZ, "cluster", struct mpk_ptx_kernel, cluster) },
	{ MPK_FACT(COUNT, "min_blocks", struct mpk_ptx_kernel, min_blocks, "0: not given") },
	{ MPK_FACT(COUNT, "max_registers", struct mpk_ptx_kernel, max_registers, "0: not given") },
	{ MPK_FACT(COUNT, "declared_registers", struct mpk_ptx_kernel, registers,
		   "of PTX: virtual ones, predicates aside") },
	{ MPK_FACT(COUNT, "local_bytes", struct mpk_ptx_kernel, local_bytes,
		   "of PTX: of variables") },
};

const struct mpk_code_format mpk_format_ptx = {
	.word = "ptx",
	.name = "PTX text",
	.is = mpk_ptx_is,
	.is_file = true,
	.is_text = true,
	.claims = { { "cuda", "ptx" } },
	.read = read_ptx,
	.targets = mpk_cuda_images,
	.content_bytes = sizeof(struct content),
	.param_bytes = ptx_param_bytes,
	.param_dtype = ptx_param_dtype,
	.param = ptx_param,
	.text = ptx_put_text,
	.json = ptx_put_json,
	.kernel_text = ptx_put_kernel_text,
	.params_json = ptx_put_params_json,
	.kernel_json = ptx_put_kernel_json,
	.count_work = ptx_count_work,
	.source_rows = ptx_source_rows,
	.kernel_of = ptx_kernel_of,
	.kernel_facts = ptx_kernel_facts,
	.kernel_fact_count = MPK_ARRAY_COUNT(ptx_kernel_facts),
};
