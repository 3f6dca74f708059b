/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - kernels as source text, with a row for each language. Texts are not preprocessed, so a
 * list of kernels is never complete: macros may define more kernels, and more parameters. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strmap.h"
#include "base/vec.h"
#include "code/info.h"
#include "code/show.h"
#include "sourcecode/sourcecode.h"
#include "text/escape.h"
#include "text/phrase.h"

static enum mpk_source_code_language language_of(const struct mpk_code_info *info)
{
	return (enum mpk_source_code_language)info->format->variant;
}

static const struct mpk_source_code_kernel *source_kernel_of(const struct mpk_code_info *info,
							     size_t kernel)
{
	const struct mpk_source_code *s = info->content;

	return &s->kernels[kernel];
}

static enum mpk_code source_read_source(struct mpk_code_info *info, void *content,
					struct mpk_arena *arena, struct mpk_error *err)
{
	struct mpk_source_code *s = content;
	struct mpk_code_kernel *kernels;

	MPK_TRY(mpk_source_code_read(info->bytes, language_of(info), arena, s, err));
	info->source->index.bytes = s->plain;

	/* Taken before copies are dropped: a comparison of two versions of a source uses all its texts. */
	struct mpk_span *texts = mpk_arena_array(arena, s->kernel_count, sizeof *texts);

	MPK_TRY_ALLOC(texts, err);
	for (size_t i = 0; i < s->kernel_count; i++)
		texts[i] = s->kernels[i].text;
	info->definitions = texts;
	info->definition_count = s->kernel_count;

	if (language_of(info) == MPK_SOURCE_CODE_OPENCL ||
	    language_of(info) == MPK_SOURCE_CODE_METAL)
		MPK_TRY(mpk_source_code_drop_copies(s, info->bytes, arena, err));
	kernels = mpk_code_info_add_kernels(info, s->kernel_count, arena);
	MPK_TRY_ALLOC(kernels, err);
	for (size_t i = 0; i < s->kernel_count; i++) {
		kernels[i].name = s->kernels[i].name;
		kernels[i].text = s->kernels[i].text;
		kernels[i].condition = s->kernels[i].condition;
		kernels[i].param_count = s->kernels[i].param_count;
		if (s->kernels[i].max_threads)
			memcpy(kernels[i].max_threads,
			       (uint32_t[3]){ s->kernels[i].max_threads, 1, 1 },
			       sizeof kernels[i].max_threads);
		memcpy(kernels[i].block, s->kernels[i].group, sizeof kernels[i].block);
	}

	/* "#ifdef A", a kernel, "#else", another kernel of its name: one of them always exists. */
	size_t count = s->kernel_count;
	MPK_CLEANUP(mpk_strmap_fini) struct mpk_strmap names = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct mpk_code_kernel *k = &kernels[i], *first;
		size_t found;
		int rc = mpk_strmap_put(&names, k->name, i, &found);

		MPK_TRY_ALLOC(rc >= 0, err);
		first = &kernels[found];
		if (rc || mpk_span_equal(first->condition, k->condition))
			continue;
		first->has_variants = k->has_variants = true;
	}
	return MPK_OK;
}

/* A macro may define a kernel of this name. */
static bool may_define(const struct mpk_code_info *info, struct mpk_span name)
{
	return mpk_source_code_may_define(&info->source->index, name);
}

/* As mpk_source_code_param. Parameters are read in order, so each search continues where the last
 * one ended. */
static struct mpk_span text_of_param(const struct mpk_code_info *info, size_t kernel, size_t i)
{
	struct mpk_code_source *s = info->source;

	if (kernel != s->kernel || i + 1 < s->param_count) {
		s->kernel = kernel;
		s->param_count = s->at = 0;
	}
	while (s->param_count <= i) {
		if (!mpk_source_code_next_param(source_kernel_of(info, kernel), &s->at, &s->param))
			return (struct mpk_span){ 0 };
		s->param_count++;
	}
	return s->param;
}

/* A parameter that cannot be resolved is unknown, which every caller must handle anyway. */
static struct mpk_source_code_resolved source_resolve(const struct mpk_code_info *info,
						      struct mpk_span text)
{
	struct mpk_source_code_resolved r;

	/* If memory is out, nothing is known of it. */
	(void)mpk_source_code_resolve(text, language_of(info), &info->source->index, &r);
	return r;
}

static bool source_param_dtype(const struct mpk_code_info *info, size_t kernel, size_t i,
			       struct mpk_dtype *out)
{
	struct mpk_source_code_resolved r = source_resolve(info, text_of_param(info, kernel, i));

	if (r.kind == MPK_SOURCE_CODE_BUFFER || r.kind == MPK_SOURCE_CODE_IMAGE)
		*out = (struct mpk_dtype){ MPK_DTYPE_HANDLE, 64, 1 };
	else if (r.kind == MPK_SOURCE_CODE_NUMBER)
		*out = r.dtype;
	else
		return false;
	return true;
}

static void source_param(const struct mpk_code_info *info, size_t kernel, size_t i,
			 struct mpk_code_param *out)
{
	static const enum mpk_code_param_kind kinds[] = {
		[MPK_SOURCE_CODE_BUFFER] = MPK_CODE_PARAM_BUFFER,
		[MPK_SOURCE_CODE_IMAGE] = MPK_CODE_PARAM_IMAGE,
		[MPK_SOURCE_CODE_LOCAL] = MPK_CODE_PARAM_LOCAL,
		[MPK_SOURCE_CODE_NUMBER] = MPK_CODE_PARAM_NUMBER,
		[MPK_SOURCE_CODE_VALUE] = MPK_CODE_PARAM_VALUE,
		[MPK_SOURCE_CODE_UNKNOWN] = MPK_CODE_PARAM_UNKNOWN,
	};
	struct mpk_source_code_resolved r;
	struct mpk_source_code_param p;

	/* A declaration may extend over several lines. */
	out->text = mpk_span_trim(text_of_param(info, kernel, i));
	mpk_source_code_param_read(out->text, &p);
	r = source_resolve(info, out->text);
	out->name = p.name;
	out->kind = kinds[r.kind];
	out->dtype = r.dtype;
	out->read_only = r.read_only;
	out->least_bytes = r.least_bytes;
	out->holds_address = r.holds_address;
	out->refused = r.refused;
}

static void source_put_text(const struct mpk_code_info *info, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(out, "%s, ", mpk_source_code_language_name(language_of(info)));
	mpk_put_count(out, info->kernel_count, "kernel");
	if (language_of(info) == MPK_SOURCE_CODE_CUDA) {
		/* Only CUDA C++ has options for its compiler. */
		struct mpk_span words[MPK_SOURCE_CODE_NVRTC_MAX];
		size_t count;

		(void)mpk_source_code_nvrtc(info->bytes, words, &count);
		for (size_t i = 0; i < count; i++) {
			mpk_strbuf_puts(out, i ? " " : ", compiled with ");
			mpk_escape(out, words[i]);
		}
	}
}

static void source_put_kernel_text(const struct mpk_code_info *info, size_t kernel,
				   struct mpk_strbuf *out)
{
	const struct mpk_source_code_kernel *k = source_kernel_of(info, kernel);

	mpk_strbuf_printf(out, "%s: line %" PRIu32 ", ",
			  mpk_source_code_language_name(language_of(info)), k->line);
	mpk_put_count(out, k->param_count, "parameter");

	/* Appends " (A: float32*, n: int32)"; only the name of a parameter whose type is not known. */
	static const char *const kinds[] = {
		[MPK_CODE_PARAM_UNKNOWN] = "",      [MPK_CODE_PARAM_BUFFER] = "*",
		[MPK_CODE_PARAM_IMAGE] = "image",   [MPK_CODE_PARAM_NUMBER] = "",
		[MPK_CODE_PARAM_LOCAL] = "* local", [MPK_CODE_PARAM_VALUE] = "",
	};
	size_t count = source_kernel_of(info, kernel)->param_count;
	char type[MPK_DTYPE_TEXT];

	for (size_t i = 0; info->format->param && i < count; i++) {
		struct mpk_code_param p = { 0 };

		source_param(info, kernel, i, &p);
		mpk_strbuf_puts(out, i ? ", " : " (");
		mpk_escape(out, p.name);
		if (p.kind == MPK_CODE_PARAM_UNKNOWN || p.kind == MPK_CODE_PARAM_VALUE)
			continue;
		mpk_strbuf_printf(out, "%s%s%s", p.name.len ? ": " : "",
				  p.dtype.bits                     ? mpk_dtype_print(p.dtype, type)
				  : p.kind == MPK_CODE_PARAM_IMAGE ? ""
								   : "?",
				  kinds[p.kind]);
	}
	mpk_strbuf_puts(out, info->format->param && count ? ")" : "");

	mpk_code_put_shape("work-group", k->group, out);
}

static const void *source_kernel(const struct mpk_code_info *info, size_t kernel)
{
	return source_kernel_of(info, kernel);
}

static const struct mpk_fact source_kernel_facts[] = {
	{ MPK_FACT(COUNT, "line", struct mpk_source_code_kernel, line) },
	{ MPK_FACT(COUNT, "parameter_count", struct mpk_source_code_kernel, param_count) },
	{ MPK_FACT(XYZ, "workgroup", struct mpk_source_code_kernel, group) },
};

struct mpk_code_symbol {
	uint64_t hash;
	size_t kernel;
};

static int by_hash(const void *left, const void *right)
{
	const struct mpk_code_symbol *a = left, *b = right;

	return a->hash != b->hash ? (a->hash > b->hash) - (a->hash < b->hash)
				  : (a->kernel > b->kernel) - (a->kernel < b->kernel);
}

/* Returns false if the words of the text do not determine the symbol that a compiler gives to the
 * kernel. */
static bool make_symbol(const struct mpk_code_info *info, size_t kernel, struct mpk_strbuf *out)
{
	return mpk_source_code_symbol(source_kernel_of(info, kernel), &info->source->index, out) &&
	       mpk_strbuf_status(out, NULL) == MPK_OK;
}

/* If memory is out, no symbol is known. */
static void make_symbols(const struct mpk_code_info *info)
{
	struct mpk_code_source *s = info->source;
	struct mpk_code_symbol *list =
		mpk_arena_array(s->index.arena, info->kernel_count, sizeof *list);
	size_t n = 0;

	s->has_symbols = true;
	for (size_t i = 0; list && i < info->kernel_count; i++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf own = { 0 };

		if (make_symbol(info, i, &own))
			list[n++] = (struct mpk_code_symbol){
				mpk_strmap_hash(mpk_span_of(own.data, own.len)), i
			};
	}
	if (n)
		qsort(list, n, sizeof *list, by_hash);
	s->symbols = list;
	s->symbol_count = n;
}

/* A kernel table has symbols, a text has the kernels' own names. */
static bool source_find_symbol(const struct mpk_code_info *info, struct mpk_span symbol,
			       size_t *kernel)
{
	const struct mpk_code_source *s = info->source;
	struct mpk_code_symbol key = { mpk_strmap_hash(symbol), 0 };
	size_t at;

	if (!mpk_span_starts(symbol, "_Z") || !info->kernel_count)
		return false;
	if (!s->has_symbols)
		make_symbols(info);
	at = mpk_lower_bound(s->symbols, s->symbol_count, sizeof key, &key, by_hash);
	for (; at < s->symbol_count && s->symbols[at].hash == key.hash; at++) {
		MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf own = { 0 };

		if (!make_symbol(info, s->symbols[at].kernel, &own) ||
		    !mpk_span_equal(mpk_span_of(own.data, own.len), symbol))
			continue;
		*kernel = s->symbols[at].kernel;
		return true;
	}
	return false;
}

/* Finds the first type for which OpenCL C refuses the whole text. */
static void verify_types(const struct mpk_code_info *info, const struct mpk_code_verify *v)
{
	for (size_t k = 0; k < info->kernel_count; k++)
		for (size_t i = 0; i < info->kernels[k].param_count; i++) {
			struct mpk_span p = text_of_param(info, k, i);
			const char *type = source_resolve(info, p).refused;

			if (!type)
				continue;
			mpk_code_say(
				v, MPK_WARNING,
				info->off + (uint64_t)(p.data - info->source->index.bytes.data),
				"a parameter of kernel '%s' is %s, which OpenCL C refuses, and with it the whole text",
				MPK_QUOTE(info->kernels[k].name), type);
			return;
		}
}

/* Reports why a compiler refuses the text at run time, the first of each kind only: TVM's texts
 * have a program for each kernel, and all may have the same fault. */
static void verify_opencl(const struct mpk_code_info *info, const struct mpk_code_verify *v)
{
	struct mpk_span text = info->source->index.bytes, header = mpk_source_code_includes(text);

	if (header.len)
		mpk_code_say(
			v, MPK_WARNING, info->off + (uint64_t)(header.data - text.data),
			"it includes \"%s\", which a runtime does not find, as it compiles the text alone: put the file's text in its place",
			MPK_QUOTE(header));
	verify_types(info, v);
}

#define SOURCE(language)                                                                           \
	.variant = (language), .is_text = true, .is_source = true, .read = source_read_source,     \
	.content_bytes = sizeof(struct mpk_source_code), .may_define = may_define,                 \
	.text = source_put_text, .kernel_text = source_put_kernel_text,                            \
	.kernel_of = source_kernel, .kernel_facts = source_kernel_facts,                           \
	.kernel_fact_count = MPK_ARRAY_COUNT(source_kernel_facts)

const struct mpk_code_format mpk_format_opencl = {
	SOURCE(MPK_SOURCE_CODE_OPENCL),
	.word = "opencl",
	.name = "OpenCL C source",
	.words = { "__kernel", "get_global_id(", "get_group_id(" },
	.counts_params = true,
	.claims = { { "opencl", "cl" } },
	.param_dtype = source_param_dtype,
	.param = source_param,
	/* A runtime's compiler gets only this text. */
	.check = "opencl-source",
	.about = "OpenCL source compiles by itself: no parameter of a kernel is of a type that "
		 "OpenCL C refuses, no file is included in quotes",
	.verify = verify_opencl,
};

const struct mpk_code_format mpk_format_cuda = {
	SOURCE(MPK_SOURCE_CODE_CUDA),      .word = "cuda",        .name = "CUDA C++ source",
	.words = { "__global__" },         .counts_params = true, .claims = { { "cuda", "cuda" } },
	.param_dtype = source_param_dtype, .param = source_param, .find_symbol = source_find_symbol,
};

static bool source_has_word(struct mpk_span text, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (mpk_source_code_mentions(text, words[i], false))
			return true;
	return false;
}

/* "[[buffer(0)]]" is a binding; most other attributes name built-in values of a thread. */
static bool binds(struct mpk_span attribute, struct mpk_span text)
{
	static const char *const never[] = { "texture", "sampler", "threadgroup" };
	static const char *const memory[] = { "device", "constant", "threadgroup" };
	bool address = memchr(text.data, '*', text.len) || memchr(text.data, '&', text.len) ||
		       memchr(text.data, '[', text.len);

	if (source_has_word(attribute, never, MPK_ARRAY_COUNT(never)) ||
	    mpk_source_code_mentions(text, "threadgroup", false))
		return false;
	if (attribute.len && !mpk_source_code_mentions(attribute, "buffer", false))
		return true;
	return address || source_has_word(text, memory, MPK_ARRAY_COUNT(memory));
}

/* Runtimes pass only buffers to Metal; other parameters are built-in values. */
static struct mpk_span metal_unpassable(const struct mpk_code_info *info, size_t kernel, size_t i)
{
	struct mpk_span text = mpk_span_trim(text_of_param(info, kernel, i)), attribute = { 0 };
	const uint8_t *at = text.len ? memmem(text.data, text.len, "[[", 2) : NULL;
	struct mpk_span own = text;
	struct mpk_source_code_resolved r;

	if (at) {
		own.len = (size_t)(at - text.data);
		attribute = mpk_span_of(at, text.len - own.len);
	}
	r = source_resolve(info, own);
	if (!own.len || binds(attribute, own) || (!attribute.len && r.holds_address) ||
	    (r.kind == MPK_SOURCE_CODE_UNKNOWN && !mpk_span_has(attribute, "texture")))
		return (struct mpk_span){ 0 };
	return text;
}

/* Entry points of WGSL have only built-in values, or structs of them. */
static struct mpk_span wgsl_unpassable(const struct mpk_code_info *info, size_t kernel, size_t i)
{
	static const char *const types[] = { "f16",   "f32",   "i32",   "u32",   "bool",  "array",
					     "vec2",  "vec3",  "vec4",  "vec2f", "vec3f", "vec4f",
					     "vec2i", "vec3i", "vec4i", "vec2u", "vec3u", "vec4u",
					     "vec2h", "vec3h", "vec4h" };
	struct mpk_span text = mpk_span_trim(text_of_param(info, kernel, i));
	const uint8_t *colon = text.len ? memchr(text.data, ':', text.len) : NULL;

	if (!colon || memchr(text.data, '@', text.len) ||
	    !source_has_word(mpk_span_of(colon, text.len - (size_t)(colon - text.data)), types,
			     MPK_ARRAY_COUNT(types)))
		return (struct mpk_span){ 0 };
	return text;
}

/* Metal and WGSL declare parameters that TVM's tables do not list: bindings and built-in values. */
const struct mpk_code_format mpk_format_metal = {
	SOURCE(MPK_SOURCE_CODE_METAL),
	.word = "metal",
	.name = "Metal source",
	.words = { "metal_stdlib", "using namespace metal", "[[buffer(" },
	.claims = { { "metal", "metal" } },
	.unpassable = metal_unpassable,
};

static bool is_wgsl(struct mpk_span bytes)
{
	return mpk_code_has_word(bytes, "@compute") ||
	       (mpk_code_has_word(bytes, "@group(") && mpk_code_has_word(bytes, "@binding("));
}

const struct mpk_code_format mpk_format_wgsl = {
	SOURCE(MPK_SOURCE_CODE_WGSL),
	.word = "wgsl",
	.name = "WGSL source",
	.is = is_wgsl,
	.claims = { { "webgpu", "wgsl" } },
	.unpassable = wgsl_unpassable,
};

static bool source_is_any(struct mpk_span bytes)
{
	(void)bytes;
	return true;
}

static bool may_hold(const struct mpk_code_info *info, struct mpk_span name)
{
	return mpk_source_code_may_hold(&info->source->index, name);
}

/* The text may be in any of these languages, or in none. */
const struct mpk_code_format mpk_format_text = {
	.name = "text of an unknown language",
	.is_text = true,
	.is_source = true,
	.is = source_is_any,
	.may_define = may_hold,
};
