/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/meta.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "text/escape.h"

static void put_string(struct mpk_strbuf *out, struct mpk_span s)
{
	mpk_escape_json(out, s, "\\ufffd");
}

static void put_function(const struct mpk_function_info *f, bool extra_tags, struct mpk_strbuf *out)
{
	char text[MPK_DTYPE_TEXT];

	mpk_strbuf_puts(out, "    ");
	put_string(out, f->key);
	mpk_strbuf_puts(out, ": {\n      \"name\": ");
	put_string(out, f->name);
	mpk_strbuf_puts(out, ",\n      \"arg_types\": [");
	for (size_t i = 0; i < f->arg_count; i++)
		mpk_strbuf_printf(out, "%s\"%s\"", i ? ", " : "",
				  mpk_dtype_print(f->arg_types[i], text));
	mpk_strbuf_puts(out, "],\n      \"launch_param_tags\": [");
	for (size_t i = 0; i < f->launch_tag_count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		put_string(out, f->launch_tags[i]);
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

void mpk_kernels_meta(const struct mpk_kernels *k, struct mpk_strbuf *out)
{
	mpk_strbuf_puts(out, "{\n  \"tvm_version\": \"0.1.0\",\n  \"func_info\": {");
	for (size_t i = 0; i < k->function_count && !out->failed; i++) {
		mpk_strbuf_puts(out, i ? ",\n" : "\n");
		put_function(&k->functions[i], k->gen != MPK_GEN_LEGACY, out);
	}
	mpk_strbuf_puts(out, k->function_count ? "\n  }\n}\n" : "}\n}\n");
}

const char *mpk_kernels_suffix(const struct mpk_kernels *k, struct mpk_span kind)
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
