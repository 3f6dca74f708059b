/* SPDX-License-Identifier: Apache-2.0 */
/* spirv.c - SPIR-V modules. Each of TVM's runtimes looks for entry points of one execution model. */
#include <inttypes.h>
#include <string.h>

#include "code/info.h"
#include "code/show.h"
#include "spirv/spirv.h"
#include "text/escape.h"
#include "text/phrase.h"

enum { GL_COMPUTE = 5, KERNEL = 6 };

struct content {
	struct mpk_spirv spirv;
	const struct mpk_spirv_param **params; /* for each entry point the list of its parameters */
};

static const struct mpk_spirv *spirv_of(const struct mpk_code_info *info)
{
	const struct content *c = info->content;

	return &c->spirv;
}

static enum mpk_code read_spirv(struct mpk_code_info *info, void *content, struct mpk_arena *arena,
				struct mpk_error *err)
{
	struct content *c = content;
	struct mpk_spirv *s = &c->spirv;
	struct mpk_code_kernel *kernels;

	MPK_TRY(mpk_spirv_read(info->bytes, arena, s, err));
	kernels = mpk_code_info_add_kernels(info, s->entry_count, arena);
	c->params = mpk_arena_array(arena, s->entry_count, sizeof *c->params);
	MPK_TRY_ALLOC(kernels && c->params, err);
	for (size_t i = 0; i < s->entry_count; i++) {
		kernels[i].name = mpk_span_str(s->entries[i].name);
		memcpy(kernels[i].block, s->entries[i].local_size, sizeof kernels[i].block);

		/* Only compute shaders have parameters here; those of OpenCL kernels are not read. */
		struct mpk_code_kernel *kernel = &kernels[i];
		bool known = false;

		if (c->spirv.entries[i].model == GL_COMPUTE)
			MPK_TRY(mpk_spirv_params(info->bytes, &c->spirv, i, arena, &c->params[i],
						 &kernel->param_count, &known, err));
		kernel->hides_params = !known;
	}
	info->complete = true;
	return MPK_OK;
}

static void spirv_param(const struct mpk_code_info *info, size_t kernel, size_t i,
			struct mpk_code_param *out)
{
	const struct content *c = info->content;
	const struct mpk_spirv_param *p = &c->params[kernel][i];

	out->dtype = p->dtype;
	out->read_only = p->read_only;
	out->kind = p->is_buffer                           ? MPK_CODE_PARAM_BUFFER
		    : p->dtype.bits && p->dtype.lanes == 1 ? MPK_CODE_PARAM_NUMBER
							   : MPK_CODE_PARAM_VALUE;
}

/* Runtimes bind buffers, and pass each push constant as a number: other push constants are refused. */
static struct mpk_span unpassable(const struct mpk_code_info *info, size_t kernel, size_t i)
{
	struct mpk_code_param p = { 0 };

	spirv_param(info, kernel, i, &p);
	return p.kind == MPK_CODE_PARAM_VALUE
		       ? mpk_span_str("a push constant that is a vector or a struct")
		       : (struct mpk_span){ 0 };
}

static void spirv_put_text(const struct mpk_code_info *info, struct mpk_strbuf *out)
{
	const struct mpk_spirv *s = spirv_of(info);
	const char *addressing = mpk_spirv_name(MPK_SPIRV_ADDRESSING, s->addressing);
	const char *memory = mpk_spirv_name(MPK_SPIRV_MEMORY, s->memory);

	mpk_strbuf_printf(out, "SPIR-V %u.%u, %s %s%s, capabilities ", s->major, s->minor,
			  addressing ? addressing : "unknown addressing",
			  memory ? memory : "unknown memory model",
			  s->big_endian ? ", big-endian" : "");
	for (size_t i = 0; i < s->capability_count && i < MPK_NAMES_SHOWN; i++) {
		const char *name = mpk_spirv_name(MPK_SPIRV_CAPABILITY, s->capabilities[i]);

		mpk_strbuf_puts(out, i ? " " : "");
		if (name)
			mpk_strbuf_puts(out, name);
		else
			mpk_strbuf_printf(out, "%" PRIu32, s->capabilities[i]);
	}
	mpk_put_more(out, s->capability_count);
	mpk_strbuf_puts(out, s->capability_count ? "" : "none");
}

static void spirv_put_kernel_text(const struct mpk_code_info *info, size_t kernel,
				  struct mpk_strbuf *out)
{
	const struct mpk_spirv *s = spirv_of(info);
	const char *model = mpk_spirv_name(MPK_SPIRV_MODEL, s->entries[kernel].model);

	spirv_put_text(info, out);
	mpk_strbuf_printf(out, ": %s", model ? model : "unknown execution model");
	mpk_code_put_shape("workgroup", s->entries[kernel].local_size, out);
	mpk_code_put_shape("workgroup hint", s->entries[kernel].size_hint, out);
	if (s->entry_count > 1)
		mpk_strbuf_printf(out, ", one of %zu entry points", s->entry_count);
}

static void spirv_put_json(const struct mpk_code_info *info, struct mpk_json *j,
			   struct mpk_json_at *at)
{
	const struct mpk_spirv *s = spirv_of(info);
	struct mpk_json_at *list;

	mpk_json_printf(j, at, "version", "%u.%u", s->major, s->minor);
	mpk_json_text(j, at, "byte_order", s->big_endian ? "big" : "little");
	mpk_json_text(j, at, "addressing", mpk_spirv_name(MPK_SPIRV_ADDRESSING, s->addressing));
	mpk_json_text(j, at, "memory", mpk_spirv_name(MPK_SPIRV_MEMORY, s->memory));
	list = mpk_json_array(j, at, "capabilities");
	for (size_t i = 0; i < s->capability_count; i++) {
		const char *name = mpk_spirv_name(MPK_SPIRV_CAPABILITY, s->capabilities[i]);

		if (name)
			mpk_json_text(j, list, NULL, name);
		else
			mpk_json_printf(j, list, NULL, "%" PRIu32, s->capabilities[i]);
	}
}

static void spirv_put_kernel_json(const struct mpk_code_info *info, size_t kernel,
				  struct mpk_json *j, struct mpk_json_at *at)
{
	const struct mpk_spirv *s = spirv_of(info);

	mpk_json_text(j, at, "model", mpk_spirv_name(MPK_SPIRV_MODEL, s->entries[kernel].model));
}

static const void *spirv_entry_of(const struct mpk_code_info *info, size_t kernel)
{
	return &spirv_of(info)->entries[kernel];
}

static const struct mpk_fact spirv_entry_facts[] = {
	{ MPK_FACT(XYZ, "workgroup", struct mpk_spirv_entry, local_size) },
	{ MPK_FACT(XYZ, "workgroup_hint", struct mpk_spirv_entry, size_hint) },
};

static void spirv_verify(const struct mpk_code_info *info, const struct mpk_code_verify *v)
{
	const struct mpk_spirv *s = spirv_of(info);
	uint32_t wanted = mpk_span_is(v->kind, "opencl") ? KERNEL : GL_COMPUTE;
	bool is_ours = v->kind.len; /* A module without a kind is launched by another runtime, which
				     * has its own rules. */

	if (s->major != 1 || s->minor > 6)
		mpk_code_say(v, MPK_WARNING, info->off,
			     "SPIR-V %u.%u is not a version that drivers are known to take",
			     s->major, s->minor);
	if (s->big_endian)
		mpk_code_say(v, MPK_WARNING, info->off, "the words of the SPIR-V are big-endian");
	for (size_t i = 0; i < s->entry_count; i++) {
		const char *is = mpk_spirv_name(MPK_SPIRV_MODEL, s->entries[i].model);

		if (is_ours && s->entries[i].model != wanted)
			mpk_code_say(v, MPK_WARNING, info->off,
				     "entry point '%s' is of execution model %s, not %s",
				     MPK_QUOTE(info->kernels[i].name), is ? is : "unknown",
				     mpk_spirv_name(MPK_SPIRV_MODEL, wanted));
	}
}

const struct mpk_code_format mpk_format_spirv = {
	.word = "spirv",
	.name = "SPIR-V",
	.is = mpk_spirv_is,
	.is_file = true,
	.claims = { { "vulkan", "vulkan" }, { "vulkan", "spirv" } },
	.read = read_spirv,
	.content_bytes = sizeof(struct content),
	.param = spirv_param,
	.unpassable = unpassable,
	.text = spirv_put_text,
	.json = spirv_put_json,
	.kernel_text = spirv_put_kernel_text,
	.kernel_json = spirv_put_kernel_json,
	.kernel_of = spirv_entry_of,
	.kernel_facts = spirv_entry_facts,
	.kernel_fact_count = MPK_ARRAY_COUNT(spirv_entry_facts),
	.check = "spirv-module",
	.about = "SPIR-V is of a version and model that drivers take",
	.verify = spirv_verify,
};
