/* SPDX-License-Identifier: Apache-2.0 */
/* codec.c - kernels of GPUs: writes a payload of any layout, and lists the files that it consists of */
#include "kernels/kernels.h"

#include <inttypes.h>

#include "payload.h"
#include "text/escape.h"
#include "wire.h"

/* The tags of arguments are a list of their own since 0.21. */
static void kernels_put_function(const struct mpk_function_info *f, enum mpk_generation gen,
				 struct mpk_rope *rope)
{
	mpk_rope_put_str(rope, f->key);
	mpk_rope_put_str(rope, f->name);
	mpk_rope_put_u64(rope, f->arg_count);
	for (size_t i = 0; i < f->arg_count; i++)
		mpk_dtype_write(rope, f->arg_types[i]);
	mpk_rope_put_strs(rope, (struct mpk_strs){ f->launch_tags, f->launch_tag_count });
	if (gen == MPK_GEN_LEGACY)
		return;
	mpk_rope_put_u64(rope, f->extra_tag_count);
	for (size_t i = 0; i < f->extra_tag_count; i++)
		mpk_rope_put_u32(rope, (uint32_t)f->extra_tags[i]);
}

/* The order is that of read_functions. */
static void kernels_put_functions(const struct mpk_kernels *k, struct mpk_rope *rope)
{
	mpk_rope_put_u64(rope, k->function_count);
	for (size_t i = 0; i < k->function_count; i++)
		kernels_put_function(&k->functions[i], k->gen, rope);
}

/* Code that is still in a file is appended as spans of the file, not read into memory. */
static void put_data(const struct mpk_kernels *k, struct mpk_rope *rope)
{
	if (!k->content) {
		mpk_rope_put_blob(rope, k->data);
		return;
	}
	mpk_rope_put_u64(rope, k->content->len);
	mpk_rope_put_rope(rope, k->content);
}

/* Appends a map: the number of texts, then name and text of each. */
static void put_texts(const struct mpk_kernels *k, struct mpk_rope *rope)
{
	mpk_rope_put_u64(rope, k->source_count);
	for (size_t i = 0; i < k->source_count; i++) {
		mpk_rope_put_str(rope, k->sources[i].key);
		mpk_rope_put_blob(rope, k->sources[i].data);
	}
}

static void put_shaders(const struct mpk_kernels *k, struct mpk_rope *rope)
{
	mpk_rope_put_u64(rope, k->source_count);
	for (size_t i = 0; i < k->source_count; i++) {
		const struct mpk_kernel_source *s = &k->sources[i];

		mpk_rope_put_str(rope, s->key);
		if (k->layout == MPK_KERNELS_SHADERS_024)
			mpk_rope_put_u64(rope, 4 + 8 + (uint64_t)s->data.len);
		mpk_rope_put_u32(rope, s->flag);
		mpk_rope_put_words(rope, s->data, 4);
	}
}

void mpk_kernels_write(const struct mpk_kernels *k, struct mpk_rope *rope)
{
	switch (k->layout) {
	case MPK_KERNELS_METAL_013:
		mpk_rope_put_str(rope, mpk_span_str(MPK_METAL_013_VERSION));
		put_texts(k, rope);
		kernels_put_functions(k, rope);
		mpk_rope_put_str(rope, k->fmt);
		return;
	case MPK_KERNELS_WEBGPU:
		kernels_put_functions(k, rope);
		put_texts(k, rope);
		return;
	case MPK_KERNELS_OPENCL_SPIRV:
		kernels_put_functions(k, rope);
		put_shaders(k, rope);
		return;
	case MPK_KERNELS_PLAIN:
		mpk_rope_put_str(rope, k->fmt);
		kernels_put_functions(k, rope);
		put_data(k, rope);
		return;
	case MPK_KERNELS_SOURCES:
		mpk_rope_put_str(rope, k->fmt);
		kernels_put_functions(k, rope);
		put_texts(k, rope);
		return;
	case MPK_KERNELS_SHADERS:
	case MPK_KERNELS_SHADERS_024:
		mpk_rope_put_str(rope, k->fmt);
		kernels_put_functions(k, rope);
		put_shaders(k, rope);
		return;
	}
}

/* --- as a payload (payload.h) ---------------------------------------------------------------- */

static void put_json_string(struct mpk_strbuf *out, struct mpk_span s)
{
	mpk_escape_json(out, s, "\\ufffd");
}

static void put_function_json(const struct mpk_function_info *f, bool extra_tags,
			      struct mpk_strbuf *out)
{
	char text[MPK_DTYPE_TEXT];

	mpk_strbuf_puts(out, "    ");
	put_json_string(out, f->key);
	mpk_strbuf_puts(out, ": {\n      \"name\": ");
	put_json_string(out, f->name);
	mpk_strbuf_puts(out, ",\n      \"arg_types\": [");
	for (size_t i = 0; i < f->arg_count; i++)
		mpk_strbuf_printf(out, "%s\"%s\"", i ? ", " : "",
				  mpk_dtype_print(f->arg_types[i], text));
	mpk_strbuf_puts(out, "],\n      \"launch_param_tags\": [");
	for (size_t i = 0; i < f->launch_tag_count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		put_json_string(out, f->launch_tags[i]);
	}
	mpk_strbuf_putc(out, ']');
	if (extra_tags) {
		mpk_strbuf_puts(out, ",\n      \"arg_extra_tags\": [");
		for (size_t i = 0; i < f->extra_tag_count; i++)
			mpk_strbuf_printf(out, "%s%" PRId32, i ? ", " : "", f->extra_tags[i]);
		mpk_strbuf_putc(out, ']');
	}
	mpk_strbuf_puts(out, "\n    }");
}

/* Returns the suffix of a file with this code: ".ptx", ".cubin", ".cl", ...
 * @kind    the module kind, for layouts that store no format
 * Returns  static text; ".bin" for formats without a usual suffix */
static const char *kernels_suffix(const struct mpk_kernels *k, struct mpk_span kind)
{
	static const char *const suffixes[][2] = {
		{ "ptx", ".ptx" },
		{ "cubin", ".cubin" },
		{ "fatbin", ".fatbin" },
		{ "cuda", ".cu" },
		{ "cl", ".cl" },
		{ "xclbin", ".xclbin" },
		{ "aocx", ".aocx" },
		{ "awsxclbin", ".awsxclbin" },
		{ "metal", ".metal" },
		{ "hsaco", ".hsaco" },
		{ "metallib", ".metallib" },
		{ "hip", ".hip" },
		{ "so", ".so" },
		{ "gl", ".gl.json" },
		{ "vulkan", ".spv" },
	};

	if (k->layout == MPK_KERNELS_WEBGPU || mpk_span_is(kind, "webgpu"))
		return ".wgsl";
	if (k->layout == MPK_KERNELS_OPENCL_SPIRV || k->layout == MPK_KERNELS_SHADERS ||
	    k->layout == MPK_KERNELS_SHADERS_024)
		return ".spv";
	for (size_t i = 0; i < MPK_ARRAY_COUNT(suffixes); i++) {
		if (mpk_span_is(k->fmt, suffixes[i][0]))
			return suffixes[i][1];
	}
	return ".bin";
}

/* Adds the code as one file, or one for each kernel, with the suffix of its format, and the
 * function table as TVM writes it beside device code. */
static enum mpk_code kernels_list_files(const struct mpk_payload *p, struct mpk_files *files)
{
	const struct mpk_kernels *k = &p->u.kernels;
	const char *suffix = kernels_suffix(k, mpk_span_str(p->kind->name));
	struct mpk_strbuf json = { 0 };

	if (k->layout == MPK_KERNELS_PLAIN)
		MPK_TRY(mpk_files_add_bytes(
			files, mpk_arena_printf(files->arena, "kernels%s", suffix), k->data));
	for (size_t i = 0; i < k->source_count; i++) {
		const struct mpk_kernel_source *s = &k->sources[i];
		struct mpk_extracted_file file = { .data = s->data,
						   .stored = true,
						   .title = s->key };

		MPK_TRY(mpk_files_add(files, mpk_files_name(files, "kernels/", s->key, suffix),
				      file));
	}
	if (!files->with_tables)
		return MPK_OK;
	/* The function table is the text of a .tvm_meta.json. arg_extra_tags are left out if the generation
	 * has none. Bytes that are not UTF-8 become U+FFFD. */
	mpk_strbuf_puts(&json, "{\n  \"tvm_version\": \"0.1.0\",\n  \"func_info\": {");
	for (size_t i = 0; i < k->function_count && !json.failed; i++) {
		mpk_strbuf_puts(&json, i ? ",\n" : "\n");
		put_function_json(&k->functions[i], k->gen != MPK_GEN_LEGACY, &json);
	}
	mpk_strbuf_puts(&json, k->function_count ? "\n  }\n}\n" : "}\n}\n");
	return mpk_files_add_text(files, "functions.json", &json);
}

const struct mpk_codec mpk_codec_kernels = { &mpk_reader_kernels, kernels_list_files };
