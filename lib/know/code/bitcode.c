/* SPDX-License-Identifier: Apache-2.0 */
/* bitcode.c - LLVM bitcode for any target. Linkers and compilers read it; drivers do not. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bitcode/bitcode.h"
#include "code/cuda.h"
#include "code/info.h"
#include "text/escape.h"
#include "text/phrase.h"

/* Returns the processor of GPU code, if there is only one; else the triple. */
static struct mpk_span target_of(const struct mpk_bitcode *b)
{
	bool is_gpu = mpk_span_starts(b->triple, "nvptx") || mpk_span_starts(b->triple, "amdgcn");

	return is_gpu && b->cpu.len ? b->cpu : b->triple;
}

static enum mpk_code read_bitcode(struct mpk_code_info *info, void *content,
				  struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_bitcode *b = content;
	struct mpk_code_kernel *kernels;
	struct mpk_span *functions;
	size_t kernel = 0, function = 0;

	MPK_TRY(mpk_bitcode_read(info->bytes, arena, b, err));
	kernels = mpk_code_info_add_kernels(info, b->kernel_count, arena);
	functions = mpk_arena_array(arena, b->defined_count, sizeof *functions);
	MPK_TRY_ALLOC(kernels && functions, err);
	for (size_t i = 0; i < b->function_count; i++) {
		const struct mpk_bitcode_function *f = &b->functions[i];

		if (f->is_kernel)
			kernels[kernel++] =
				(struct mpk_code_kernel){ .name = f->name, .hides_params = true };
		else if (!f->is_declared)
			functions[function++] = f->name;
	}
	info->functions = functions;
	info->function_count = function;
	info->complete = true;
	(void)mpk_escape_to(target_of(b), info->target, sizeof info->target);
	return MPK_OK;
}

/* Bitcode is code for a linker, whatever its target. */
static enum mpk_code bitcode_targets(struct mpk_span bytes, struct mpk_arena *arena,
				     struct mpk_code_target **out, size_t *count,
				     struct mpk_error *err)
{
	struct mpk_code_target *t = mpk_arena_alloc(arena, sizeof *t);
	struct mpk_bitcode b;

	MPK_TRY_ALLOC(t, err);
	MPK_TRY(mpk_bitcode_head(bytes, arena, &b, err));
	*t = (struct mpk_code_target){ .kind = MPK_TARGET_LTO,
				       .what = "LLVM bitcode",
				       .packing = "stored",
				       .bytes = bytes.len,
				       .plain_bytes = bytes.len };
	(void)mpk_escape_to(target_of(&b), t->name, sizeof t->name);
	if (mpk_span_starts(b.triple, "nvptx"))
		t->sm = mpk_cuda_device_parse(t->name);
	*out = t;
	*count = 1;
	return MPK_OK;
}

/* --- text and JSON --------------------------------------------------------------------------- */

static void bitcode_put_text(const struct mpk_code_info *info, struct mpk_strbuf *out)
{
	const struct mpk_bitcode *b = info->content;

	mpk_strbuf_puts(out, "LLVM bitcode for ");
	mpk_escape(out, b->triple.len ? b->triple : mpk_span_str("no target in particular"));
	if (b->cpu.len) {
		mpk_strbuf_puts(out, ", ");
		mpk_escape(out, b->cpu);
	}
	mpk_strbuf_puts(out, b->has_cpus ? ", several processors" : "");
	if (b->kernel_count)
		mpk_put_also(out, b->kernel_count, "kernel");
	mpk_put_also(out, b->defined_count - b->kernel_count, "function");
	if (b->function_count > b->defined_count)
		mpk_strbuf_printf(out, ", %zu declared", b->function_count - b->defined_count);
	if (b->module_count > 1)
		mpk_put_also(out, b->module_count, "module");
	if (b->producer.len) {
		mpk_strbuf_puts(out, ", by ");
		mpk_escape(out, b->producer);
	}
}

static void put_line(const char *indent, const char *what, struct mpk_span text,
		     struct mpk_strbuf *out)
{
	if (!text.len)
		return;
	mpk_strbuf_printf(out, "%s  %s", indent, what);
	mpk_escape(out, text);
	mpk_strbuf_putc(out, '\n');
}

static void bitcode_put_lines(const struct mpk_code_info *info, const char *indent,
			      struct mpk_strbuf *out)
{
	const struct mpk_bitcode *b = info->content;

	put_line(indent, "data layout  ", b->layout, out);
	put_line(indent, "source       ", b->source, out);
	put_line(indent, "compiler     ", b->compiler, out);
	if (info->function_count) {
		mpk_strbuf_printf(out, "%s  functions    ", indent);
		mpk_put_names(out, info->functions, info->function_count);
		mpk_strbuf_putc(out, '\n');
	}
}

static void bitcode_put_json(const struct mpk_code_info *info, struct mpk_json *j,
			     struct mpk_json_at *at)
{
	const struct mpk_bitcode *b = info->content;
	struct mpk_json_at *list;

	mpk_json_span(j, at, "triple", b->triple);
	mpk_json_span(j, at, "cpu", b->cpu);
	mpk_json_span(j, at, "data_layout", b->layout);
	mpk_json_span(j, at, "source", b->source);
	mpk_json_span(j, at, "producer", b->producer);
	mpk_json_span(j, at, "compiler", b->compiler);
	mpk_json_u64(j, at, "modules", b->module_count);
	mpk_json_u64(j, at, "globals", b->global_count);
	list = mpk_json_array(j, at, "functions");
	for (size_t i = 0; i < info->function_count; i++)
		mpk_json_span(j, list, NULL, info->functions[i]);
	list = mpk_json_array(j, at, "declared");
	for (size_t i = 0; i < b->function_count; i++)
		if (b->functions[i].is_declared)
			mpk_json_span(j, list, NULL, b->functions[i].name);
}

/* --- verification ------------------------------------------------------------------------------ */

/* Also reads the bodies of functions, which a listing skips. */
static void bitcode_verify(const struct mpk_code_info *info, const struct mpk_code_verify *v)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_error err = { 0 };
	struct mpk_bitcode b;
	enum mpk_code code;

	if (info->problem) {
		mpk_code_say_problem(v, info, "");
		return;
	}
	code = mpk_bitcode_verify(info->bytes, &scratch, &b, &err);
	v->report->failed |= code == MPK_E_NOMEM;
	if (code != MPK_OK && code != MPK_E_NOMEM) {
		mpk_code_say(v, MPK_ERROR, info->off + (err.at.has_offset ? err.at.offset : 0),
			     "%s", err.text);
		return;
	}
	if (code == MPK_OK && !b.triple.len)
		mpk_code_say(v, MPK_NOTE, info->off, "the bitcode names no target triple");
}

const struct mpk_code_format mpk_format_bitcode = {
	.word = "bitcode",
	.name = "LLVM bitcode",
	.title = "LLVM bitcode",
	.is = mpk_bitcode_is,
	.is_file = true,
	.verifies_broken = true,
	.read = read_bitcode,
	.targets = bitcode_targets,
	.content_bytes = sizeof(struct mpk_bitcode),
	.text = bitcode_put_text,
	.lines = bitcode_put_lines,
	.json = bitcode_put_json,
	.check = "bitcode-module",
	.about =
		"blocks, records and abbreviations of LLVM bitcode read, bodies of functions included",
	.verify = bitcode_verify,
};
