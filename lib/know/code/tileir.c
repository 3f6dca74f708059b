/* SPDX-License-Identifier: Apache-2.0 */
/* tileir.c - bytecode of CUDA Tile IR, which a driver compiles for its device. */
#include <inttypes.h>
#include <stdio.h>

#include "code/info.h"
#include "text/escape.h"
#include "text/facts.h"
#include "text/phrase.h"
#include "tileir/tileir.h"

struct content {
	struct mpk_tileir ir;
	const struct mpk_tileir_function **kernels; /* the functions that are kernels; as many as
						     * info has kernels */
};

static enum mpk_code read_tileir(struct mpk_code_info *info, void *content, struct mpk_arena *arena,
				 struct mpk_error *err)
{
	struct content *c = content;
	struct mpk_code_kernel *kernels;
	struct mpk_span *functions;
	size_t kernel = 0, function = 0;

	MPK_TRY(mpk_tileir_read(info->bytes, arena, &c->ir, err));
	kernels = mpk_code_info_add_kernels(info, c->ir.kernel_count, arena);
	functions = mpk_arena_array(arena, c->ir.function_count, sizeof *functions);
	c->kernels = mpk_arena_array(arena, c->ir.kernel_count, sizeof(void *));
	MPK_TRY_ALLOC(kernels && functions && c->kernels, err);
	for (size_t i = 0; i < c->ir.function_count; i++) {
		const struct mpk_tileir_function *f = &c->ir.functions[i];

		if (!f->is_kernel) {
			functions[function++] = f->name;
			continue;
		}
		c->kernels[kernel] = f;
		kernels[kernel++] = (struct mpk_code_kernel){ .name = f->name,
							      .param_count = f->param_count,
							      .hides_params = !f->has_params };
	}
	info->functions = functions;
	info->function_count = function;
	info->complete = true;
	return MPK_OK;
}

static enum mpk_code tileir_targets(struct mpk_span bytes, struct mpk_arena *arena,
				    struct mpk_code_target **out, size_t *count,
				    struct mpk_error *err)
{
	struct mpk_code_target *t = mpk_arena_alloc(arena, sizeof *t);

	struct mpk_tileir ir;

	MPK_TRY_ALLOC(t, err);
	MPK_TRY(mpk_tileir_read(bytes, arena, &ir, err));
	*t = (struct mpk_code_target){ .kind = MPK_TARGET_TILE,
				       .ptx_major = ir.major,
				       .ptx_minor = ir.minor,
				       .what = "Tile IR",
				       .packing = "stored",
				       .bytes = bytes.len,
				       .plain_bytes = bytes.len };
	*out = t;
	*count = 1;
	return MPK_OK;
}

static void tileir_param(const struct mpk_code_info *info, size_t kernel, size_t i,
			 struct mpk_code_param *out)
{
	const struct content *c = info->content;
	const struct mpk_tileir_param *p = &c->kernels[kernel]->params[i];

	out->dtype = p->dtype;
	out->kind = p->is_pointer   ? MPK_CODE_PARAM_BUFFER
		    : p->dtype.bits ? MPK_CODE_PARAM_NUMBER
				    : MPK_CODE_PARAM_VALUE;
}

static uint64_t tileir_param_bytes(const struct mpk_code_info *info, size_t kernel, size_t i)
{
	const struct content *c = info->content;
	const struct mpk_tileir_param *p = &c->kernels[kernel]->params[i];

	return p->is_pointer ? 8 : (p->dtype.bits + 7u) / 8;
}

static void tileir_put_text(const struct mpk_code_info *info, struct mpk_strbuf *out)
{
	const struct content *c = info->content;

	mpk_strbuf_printf(out, "Tile IR %u.%u", c->ir.major, c->ir.minor);
	mpk_put_also(out, c->ir.kernel_count, "kernel");
	if (info->function_count)
		mpk_put_also(out, info->function_count, "function");
	if (c->ir.global_count)
		mpk_put_also(out, c->ir.global_count, "global variable");
	mpk_strbuf_puts(out, c->ir.has_debug ? ", with debug information" : "");
}

static void tileir_put_lines(const struct mpk_code_info *info, const char *indent,
			     struct mpk_strbuf *out)
{
	const struct content *c = info->content;

	mpk_strbuf_printf(out, "%s  sections   ", indent);
	for (size_t i = 0; i < c->ir.section_count; i++) {
		const char *name = mpk_tileir_section_name(c->ir.sections[i].id);

		mpk_strbuf_puts(out, i ? ", " : "");
		if (name)
			mpk_strbuf_puts(out, name);
		else
			mpk_strbuf_printf(out, "number %u", c->ir.sections[i].id);
		mpk_strbuf_printf(out, " %" PRIu64 " B", c->ir.sections[i].bytes);
	}
	mpk_strbuf_putc(out, '\n');
	if (c->ir.hint_count) {
		mpk_strbuf_printf(out, "%s  hints for  ", indent);
		mpk_put_names(out, c->ir.hints, c->ir.hint_count);
		mpk_strbuf_putc(out, '\n');
	}
}

static void tileir_put_kernel_text(const struct mpk_code_info *info, size_t kernel,
				   struct mpk_strbuf *out)
{
	const struct content *c = info->content;
	const struct mpk_tileir_function *f = c->kernels[kernel];

	mpk_strbuf_printf(out, "Tile IR: %" PRIu64 " B code", f->body_bytes);
	if (f->has_params)
		mpk_put_also(out, f->param_count, "parameter");
}

static const void *tileir_kernel_of(const struct mpk_code_info *info, size_t kernel)
{
	const struct content *c = info->content;

	return c->kernels[kernel];
}

static const struct mpk_fact tileir_kernel_facts[] = {
	{ MPK_FACT(COUNT, "code_bytes", struct mpk_tileir_function, body_bytes) },
};

static void tileir_put_json(const struct mpk_code_info *info, struct mpk_json *j,
			    struct mpk_json_at *at)
{
	const struct content *c = info->content;
	struct mpk_json_at *list, *o;

	mpk_json_printf(j, at, "version", "%u.%u", c->ir.major, c->ir.minor);
	mpk_json_u64(j, at, "globals", c->ir.global_count);
	mpk_json_u64(j, at, "constants", c->ir.constant_count);
	mpk_json_bool(j, at, "debug", c->ir.has_debug);
	list = mpk_json_array(j, at, "hints");
	for (size_t i = 0; i < c->ir.hint_count; i++)
		mpk_json_span(j, list, NULL, c->ir.hints[i]);
	list = mpk_json_array(j, at, "functions");
	for (size_t i = 0; i < info->function_count; i++)
		mpk_json_span(j, list, NULL, info->functions[i]);
	list = mpk_json_array(j, at, "sections");
	for (size_t i = 0; i < c->ir.section_count; i++) {
		const struct mpk_tileir_section *section = &c->ir.sections[i];

		o = mpk_json_object(j, list, NULL);
		mpk_json_u64(j, o, "id", section->id);
		mpk_json_text(j, o, "name", mpk_tileir_section_name(section->id));
		mpk_json_u64(j, o, "offset", info->off + section->off);
		mpk_json_u64(j, o, "bytes", section->bytes);
	}
}

static void tileir_verify(const struct mpk_code_info *info, const struct mpk_code_verify *v)
{
	const struct content *c = info->content;

	if (info->problem) {
		mpk_code_say_problem(v, info, "");
		return;
	}
	for (size_t i = 0; i < c->ir.section_count; i++)
		if (!mpk_tileir_section_name(c->ir.sections[i].id))
			mpk_code_say(v, MPK_NOTE, info->off + c->ir.sections[i].off,
				     "a section of number %u, which is not known here",
				     c->ir.sections[i].id);
	if (info->bytes.len > c->ir.used)
		mpk_code_say(v, MPK_NOTE, info->off + c->ir.used,
			     "%" PRIu64 " bytes follow the Tile IR", info->bytes.len - c->ir.used);
}

const struct mpk_code_format mpk_format_tileir = {
	.word = "tileir",
	.name = "Tile IR",
	.title = "Tile IR",
	.is = mpk_tileir_is,
	.is_file = true,
	.verifies_broken = true,
	.read = read_tileir,
	.targets = tileir_targets,
	.content_bytes = sizeof(struct content),
	.param_bytes = tileir_param_bytes,
	.param = tileir_param,
	.text = tileir_put_text,
	.lines = tileir_put_lines,
	.json = tileir_put_json,
	.kernel_text = tileir_put_kernel_text,
	.kernel_of = tileir_kernel_of,
	.kernel_facts = tileir_kernel_facts,
	.kernel_fact_count = MPK_ARRAY_COUNT(tileir_kernel_facts),
	.check = "tileir-module",
	.about = "sections and tables of Tile IR are whole, and each function within them",
	.verify = tileir_verify,
};
