/* SPDX-License-Identifier: Apache-2.0 */
/* hsaco.c - code objects: machine code for one AMD GPU, with the figures that the compiler stored. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "amdgpu/amdgpu.h"
#include "code/format.h"
#include "code/info.h"
#include "code/show.h"
#include "sourcecode/sourcecode.h"
#include "text/phrase.h"

enum { TYPE_BYTES = 128 };

static const void *hsaco_kernel_of(const struct mpk_code_info *info, size_t kernel)
{
	const struct mpk_amdgpu *a = info->content;

	return &a->kernels[kernel];
}

/* The runtime sets hidden arguments, so only the visible ones are parameters. max_threads has one
 * dimension: the code object stores a product. */
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
						       .code = k->code,
						       .wavefront = k->wavefront,
						       .wgp_mode = k->wgp_mode };
		memcpy(kernels[i].block, k->block, sizeof k->block);
		kernels[i].max_threads[0] = k->max_threads;
		kernels[i].max_threads[1] = kernels[i].max_threads[2] = k->max_threads ? 1 : 0;
	}
	info->complete = a->has_metadata;
	(void)snprintf(info->target, sizeof info->target, "%s", a->target);
	return MPK_OK;
}

/* Reads only the header: the target does not depend on notes. */
static enum mpk_code hsaco_targets(struct mpk_span bytes, struct mpk_arena *arena,
				   struct mpk_code_target **out, size_t *count,
				   struct mpk_error *err)
{
	struct mpk_code_target *t = mpk_arena_alloc(arena, sizeof *t);
	struct mpk_amdgpu a;

	MPK_TRY_ALLOC(t, err);
	MPK_TRY(mpk_amdgpu_read_head(bytes, &a, err));
	*t = (struct mpk_code_target){ .kind = MPK_TARGET_BINARY,
				       .what = "code object",
				       .packing = "stored",
				       .bytes = bytes.len,
				       .plain_bytes = bytes.len,
				       .too_new = !a.version };
	(void)snprintf(t->name, sizeof t->name, "%s", a.target);
	*out = t;
	*count = 1;
	return MPK_OK;
}

static uint64_t hsaco_param_bytes(const struct mpk_code_info *info, size_t kernel, size_t i)
{
	const struct mpk_amdgpu_kernel *k = hsaco_kernel_of(info, kernel);

	return k->args[i].bytes;
}

/* Parses the type that OpenCL's compiler stores, "float*", like a declaration. */
static bool hsaco_read_type(const struct mpk_amdgpu_arg *a, struct mpk_source_code_param *out)
{
	char text[TYPE_BYTES];

	if (!a->type_name.len || a->type_name.len > sizeof text - 3)
		return false;
	(void)snprintf(text, sizeof text, MPK_SPAN_FMT " a", MPK_SPAN_ARG(a->type_name));
	mpk_source_code_param_read(mpk_span_str(text), out);
	out->name = out->class_name = (struct mpk_span){ 0 }; /* they are views of text, which ends
							       * here */
	return true;
}

/* Sets the type of an argument that is passed by value and is not a pointer. */
static void value_param(const struct mpk_amdgpu_arg *a, struct mpk_code_param *out)
{
	struct mpk_source_code_param type;

	if (hsaco_read_type(a, &type) && type.kind == MPK_SOURCE_CODE_NUMBER &&
	    mpk_dtype_bytes(type.dtype) == a->bytes) {
		out->kind = MPK_CODE_PARAM_NUMBER;
		out->dtype = type.dtype;
	} else if (a->type_name.len || a->bytes > 8) {
		out->kind = MPK_CODE_PARAM_VALUE;
	} else if (a->bytes == 8) {
		out->dtype = (struct mpk_dtype){ MPK_DTYPE_INT, 64, 1 };
	}
}

/* The values of .value_kind are in LLVM's AMDGPU documentation, "AMDHSA Code Object Kernel Argument
 * Metadata". */
static void hsaco_param(const struct mpk_code_info *info, size_t kernel, size_t i,
			struct mpk_code_param *out)
{
	const struct mpk_amdgpu_kernel *k = hsaco_kernel_of(info, kernel);
	const struct mpk_amdgpu_arg *a = &k->args[i];
	struct mpk_source_code_param type;

	out->name = a->name;
	out->read_only = a->read_only;
	if (mpk_span_is(a->value_kind, "by_value")) {
		value_param(a, out);
	} else if (mpk_span_is(a->value_kind, "global_buffer")) {
		out->kind = MPK_CODE_PARAM_BUFFER;
		if (hsaco_read_type(a, &type) && type.pointers == 1)
			out->dtype = type.dtype;
	} else if (mpk_span_is(a->value_kind, "dynamic_shared_pointer")) {
		out->kind = MPK_CODE_PARAM_LOCAL;
	} else if (mpk_span_is(a->value_kind, "image")) {
		out->kind = MPK_CODE_PARAM_IMAGE;
	} else if (a->value_kind.len || a->bytes > 8) { /* samplers, pipes, queues */
		out->kind = MPK_CODE_PARAM_VALUE;
	}
}

/* Used by the checks of a manifest. A size alone implies no type. */
static bool hsaco_param_dtype(const struct mpk_code_info *info, size_t kernel, size_t i,
			      struct mpk_dtype *out)
{
	struct mpk_code_param p = { .bytes = hsaco_param_bytes(info, kernel, i) };

	hsaco_param(info, kernel, i, &p);
	return p.kind != MPK_CODE_PARAM_UNKNOWN && mpk_code_info_argument(&p, out);
}

static void hsaco_put_text(const struct mpk_code_info *info, struct mpk_strbuf *out)
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

static struct mpk_figure_value count_of(uint32_t n)
{
	return mpk_figure_told(n != MPK_AMDGPU_UNTOLD, n);
}

static struct mpk_figure_value hsaco_bytes_of(uint64_t n)
{
	return mpk_figure_told(n != MPK_AMDGPU_UNTOLD_BYTES, n);
}

/* Adds spills of both kinds of registers, because other GPUs have one kind. */
static struct mpk_figure_value spills_of(const void *kernel)
{
	const struct mpk_amdgpu_kernel *k = kernel;
	bool told = k->sgpr_spills != MPK_AMDGPU_UNTOLD && k->vgpr_spills != MPK_AMDGPU_UNTOLD;

	return mpk_figure_told(told, (uint64_t)k->sgpr_spills + k->vgpr_spills);
}

/* The figure does not include what calls add at run time. */
static struct mpk_figure_value stack_of(const void *kernel)
{
	const struct mpk_amdgpu_kernel *k = kernel;

	return mpk_figure_told(!k->dynamic_stack && k->scratch_bytes != MPK_AMDGPU_UNTOLD_BYTES,
			       k->scratch_bytes);
}

static void hsaco_put_kernel_text(const struct mpk_code_info *info, size_t kernel,
				  struct mpk_strbuf *out)
{
	const struct mpk_amdgpu_kernel *k = hsaco_kernel_of(info, kernel);

	mpk_strbuf_printf(out, "code object %s: ", info->target);

	struct mpk_figure_value spills = spills_of(k);

	mpk_code_put_registers(count_of(k->sgprs), "SGPR", out);
	mpk_strbuf_puts(out, ", ");
	mpk_code_put_registers(count_of(k->vgprs), "VGPR", out);
	if (k->agprs)
		mpk_put_also(out, k->agprs, "AGPR");
	mpk_code_put_bytes(hsaco_bytes_of(k->lds_bytes), "LDS", out);
	mpk_code_put_bytes(hsaco_bytes_of(k->scratch_bytes), "scratch", out);
	mpk_strbuf_puts(out, k->dynamic_stack ? " and a dynamic stack" : "");
	if (spills.number)
		mpk_strbuf_printf(out, ", spills %" PRIu32 " SGPRs and %" PRIu32 " VGPRs",
				  k->sgpr_spills, k->vgpr_spills);
	else if (spills.state == MPK_FIGURE_UNKNOWN)
		mpk_strbuf_puts(out, ", spills unknown");

	mpk_put_also(out, k->visible_args, "parameter");
	if (k->kernarg_bytes != MPK_AMDGPU_UNTOLD_BYTES)
		mpk_strbuf_printf(out, " (%" PRIu64 " B with hidden ones)", k->kernarg_bytes);
	mpk_strbuf_printf(out, ", %zu B code", k->code.len);
	if (k->wavefront)
		mpk_strbuf_printf(out, ", waves of %" PRIu32, k->wavefront);
	if (k->max_threads)
		mpk_strbuf_printf(out, ", at most %" PRIu32 " threads", k->max_threads);
	mpk_code_put_shape("block", k->block, out);
}

/* Kernels that share code are not counted: each would be read as a whole. */
static bool hsaco_count_work(const struct mpk_code_info *info, struct mpk_span piece,
			     struct mpk_work *out)
{
	const struct mpk_amdgpu *a = info->content;

	return !a->shares_code && mpk_amdgpu_count_instructions(info->target, piece, out);
}

static enum mpk_code hsaco_source_rows(const struct mpk_code_info *info, struct mpk_arena *arena,
				       const struct mpk_dwarf_row **out, size_t *count,
				       struct mpk_error *err)
{
	return mpk_amdgpu_lines(info->bytes, arena, out, count, err);
}

/* ROCm's loader compares the version with those that it knows, and refuses all others
 * (hsa_executable_load_agent_code_object: HSA_STATUS_ERROR_INVALID_CODE_OBJECT). */
static void hsaco_verify(const struct mpk_code_info *info, const struct mpk_code_verify *v)
{
	const struct mpk_amdgpu *a = info->content;

	if (!a->version)
		mpk_code_say(v, MPK_WARNING, info->off + MPK_AMDGPU_ABI_AT,
			     "its ABI version is %u; the releases of ROCm that are known here load "
			     "0 to 4, which are code object versions 2 to 6",
			     info->bytes.data[MPK_AMDGPU_ABI_AT]);
}

static void hsaco_put_json(const struct mpk_code_info *info, struct mpk_json *j,
			   struct mpk_json_at *at)
{
	const struct mpk_amdgpu *a = info->content;

	mpk_json_text(j, at, "target", info->target);
	mpk_json_u64(j, at, "code_object_version", a->version);
	mpk_json_bool(j, at, "has_metadata", a->has_metadata);
}

static const struct mpk_fact hsaco_arg_facts[] = {
	{ MPK_FACT(COUNT, "offset", struct mpk_amdgpu_arg, offset) },
	{ MPK_FACT(COUNT, "bytes", struct mpk_amdgpu_arg, bytes) },
	{ MPK_FACT(SPAN, "value_kind", struct mpk_amdgpu_arg, value_kind,
		   "AMD: global_buffer, by_value, hidden_block_count_x") },
	{ MPK_FACT(SPAN_IF, "name", struct mpk_amdgpu_arg, name) },
	{ MPK_FACT(SPAN_IF, "type_name", struct mpk_amdgpu_arg, type_name) },
	{ MPK_FACT(SPAN_IF, "address_space", struct mpk_amdgpu_arg, address_space) },
};

static void hsaco_put_params_json(const struct mpk_code_info *info, size_t kernel,
				  struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_amdgpu_kernel *k = hsaco_kernel_of(info, kernel);

	mpk_facts_json_list(MPK_FACTS(hsaco_arg_facts), "parameters", k->args, k->arg_count,
			    sizeof *k->args, j, at);
}

static void hsaco_put_kernel_json(const struct mpk_code_info *info, size_t kernel,
				  struct mpk_json *j, struct mpk_json_at *at)
{
	(void)kernel;
	mpk_json_text(j, at, "target", info->target);
}

/* Without a symbol the size is not known. */
static struct mpk_figure_value code_of(const void *kernel)
{
	const struct mpk_amdgpu_kernel *k = kernel;

	return k->code.len ? mpk_figure_of(k->code.len) : (struct mpk_figure_value){ 0 };
}

/* The compiler's number of vector registers includes accumulators: it is what a wave is allocated. */
static const struct mpk_fact hsaco_kernel_facts[] = {
	{ MPK_FACT(TOLD, "parameter_bytes", struct mpk_amdgpu_kernel, kernarg_bytes) },
	{ MPK_FACT(TOLD, "sgprs", struct mpk_amdgpu_kernel, sgprs,
		   "AMD: scalar registers of a wave"),
	  MPK_CODE_IS(SCALAR_REGISTERS) },
	{ MPK_FACT(TOLD, "vgprs", struct mpk_amdgpu_kernel, vgprs,
		   "AMD: vector registers of a lane"),
	  MPK_CODE_IS(REGISTERS) },
	{ MPK_FACT(COUNT, "agprs", struct mpk_amdgpu_kernel, agprs,
		   "AMD: accumulation registers") },
	{ MPK_FACT(TOLD, "sgpr_spills", struct mpk_amdgpu_kernel, sgpr_spills) },
	{ MPK_FACT(TOLD, "vgpr_spills", struct mpk_amdgpu_kernel, vgpr_spills) },
	{ MPK_FACT_GET(NULL, spills_of), MPK_CODE_IS(SPILLED_REGISTERS) },
	{ MPK_FACT(TOLD, "lds_bytes", struct mpk_amdgpu_kernel, lds_bytes,
		   "static, of a work group"),
	  MPK_CODE_IS(SHARED) },
	{ MPK_FACT(TOLD, "scratch_bytes", struct mpk_amdgpu_kernel, scratch_bytes, "of a lane") },
	{ MPK_FACT_GET(NULL, stack_of), MPK_CODE_IS(STACK) },
	{ MPK_FACT(BOOL, "dynamic_stack", struct mpk_amdgpu_kernel, dynamic_stack) },
	{ MPK_FACT(COUNT, "wavefront", struct mpk_amdgpu_kernel, wavefront,
		   "lanes; 0: not given") },
	{ MPK_FACT(COUNT, "code_bytes", struct mpk_amdgpu_kernel, code.len) },
	{ MPK_FACT_GET(NULL, code_of), MPK_CODE_IS(CODE) },
	{ MPK_FACT(X, "max_threads", struct mpk_amdgpu_kernel, max_threads) },
	{ MPK_FACT(XYZ, "block", struct mpk_amdgpu_kernel, block) },
};

const struct mpk_code_format mpk_format_hsaco = {
	.word = "hsaco",
	.name = "an AMD GPU code object",
	.is = mpk_amdgpu_is,
	.is_file = true,
	.has_code_bytes = true,
	.claims = { { "hip", "hsaco" },
		    { "hip", "hip" },
		    { "hsaco", "hsaco" },
		    { "hsaco", "hip" },
		    { "rocm", "hsaco" } },
	.read = read_object,
	.targets = hsaco_targets,
	.content_bytes = sizeof(struct mpk_amdgpu),
	.param_bytes = hsaco_param_bytes,
	.param_dtype = hsaco_param_dtype,
	.param = hsaco_param,
	.text = hsaco_put_text,
	.json = hsaco_put_json,
	.kernel_text = hsaco_put_kernel_text,
	.params_json = hsaco_put_params_json,
	.kernel_json = hsaco_put_kernel_json,
	.count_work = hsaco_count_work,
	.source_rows = hsaco_source_rows,
	.kernel_of = hsaco_kernel_of,
	.kernel_facts = hsaco_kernel_facts,
	.kernel_fact_count = MPK_ARRAY_COUNT(hsaco_kernel_facts),
	.verify = hsaco_verify,
};
