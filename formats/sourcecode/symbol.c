/* SPDX-License-Identifier: Apache-2.0 */
/* symbol.c - what a compiler of CUDA C++ calls a kernel
 *
 * Drivers look kernels up by their symbols. extern "C" leaves the name alone; else it carries the types of
 * the parameters, which are given here by their words. Where those do not tell, nothing is guessed: a
 * symbol that is wrong fails at run time only.
 */
#include <string.h>

#include "base/compiler.h"
#include "itanium/itanium.h"
#include "sourcecode/sourcecode.h"

enum { PARAMS_MAX = 64 };

/* Whether a class of this name is in the text, or CUDA brings it: a typedef has the symbol of what it
 * means. */
static bool is_class(struct mpk_span name, struct mpk_source_code_index *index)
{
	return mpk_span_is(name, "dim3") ||
	       (mpk_source_code_index_tells(index, MPK_SOURCE_CODE_CLASSES) &&
		mpk_source_code_index_has(index, MPK_SOURCE_CODE_CLASSES, name));
}

static bool has(struct mpk_span text, const char *word)
{
	return mpk_source_code_mentions(text, mpk_span_str(word));
}

/* The ABI's letters of what the language calls differently and yet has at one size. */
static char letter_of(struct mpk_span text, struct mpk_dtype t)
{
	bool is_long = has(text, "long");

	if (has(text, "void"))
		return 'v';
	if (t.code == MPK_DTYPE_BOOL)
		return 'b';
	if (t.code == MPK_DTYPE_FLOAT)
		return t.bits == 32 ? 'f' : t.bits == 64 ? 'd' : '\0';
	if (t.bits == 8 && t.code == MPK_DTYPE_INT)
		return has(text, "signed") || has(text, "int8_t") ? 'a' : 'c';
	if (t.bits == 64 && is_long) {
		const uint8_t *first = memmem(text.data, text.len, "long", 4);
		size_t rest = (size_t)(text.data + text.len - first) - 4;
		bool twice = memmem(first + 4, rest, "long", 4) != NULL;

		return t.code == MPK_DTYPE_INT ? (twice ? 'x' : 'l') : (twice ? 'y' : 'm');
	}
	switch (t.bits) {
	case 8:
		return 'h';
	case 16:
		return t.code == MPK_DTYPE_INT ? 's' : 't';
	case 32:
		return t.code == MPK_DTYPE_INT ? 'i' : 'j';
	default:
		return t.code == MPK_DTYPE_INT ? 'l' : 'm';
	}
}

/* The word of a type that is a class by the ABI: CUDA's vectors and half types. */
static struct mpk_span word_of_class(struct mpk_span text, const struct mpk_source_code_param *p)
{
	static const char *const words[] = {
		"__half",  "half",    "__nv_bfloat16", "char2",     "char3",      "char4",
		"uchar2",  "uchar3",  "uchar4",        "short2",    "short3",     "short4",
		"ushort2", "ushort3", "ushort4",       "int2",      "int3",       "int4",
		"uint2",   "uint3",   "uint4",         "long2",     "long3",      "long4",
		"ulong2",  "ulong3",  "ulong4",        "longlong2", "ulonglong2", "float2",
		"float3",  "float4",  "double2",       "double3",   "double4",
	};

	if (!p->dtype.bits)
		return p->class_name;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(words); i++)
		if (has(text, words[i]))
			return mpk_span_str(mpk_span_is(mpk_span_str(words[i]), "half") ? "__half"
											: words[i]);
	return (struct mpk_span){ 0 };
}

static bool type_of_param(struct mpk_span text, struct mpk_source_code_index *index,
			  struct mpk_itanium_type *out)
{
	struct mpk_source_code_param p;
	struct mpk_span name;

	if (!text.len)
		return false; /* nothing between two commas */
	mpk_source_code_param_read(text, &p);
	if (p.pointers > 1 || mpk_source_code_param_is_made(text, index) || has(text, "volatile") ||
	    memchr(text.data, '<', text.len) || memchr(text.data, ':', text.len))
		return false;
	*out = (struct mpk_itanium_type){ .lanes = 1,
					  .pointers = p.pointers,
					  .is_const = p.read_only && p.pointers };
	name = word_of_class(text, &p);
	if (p.dtype.bits ? !name.len : has(text, "void"))
		out->builtin = letter_of(text, p.dtype);
	else
		out->name = name;
	return out->builtin || (name.len && (p.dtype.bits || is_class(name, index)));
}

bool mpk_source_code_symbol(const struct mpk_source_code_kernel *kernel,
			    struct mpk_source_code_index *index, struct mpk_strbuf *out)
{
	struct mpk_itanium_type params[PARAMS_MAX];
	struct mpk_itanium_function f = { kernel->name, params, kernel->param_count };
	size_t at = 0;

	if (kernel->extern_c) {
		mpk_strbuf_put_span(out, kernel->name);
		return true;
	}
	if (kernel->is_template || kernel->is_static || kernel->param_count > PARAMS_MAX ||
	    kernel->scope_count > MPK_SOURCE_CODE_SCOPES)
		return false;
	for (size_t i = 0; i < kernel->param_count; i++) {
		struct mpk_span text = { 0 };

		(void)mpk_source_code_next_param(kernel, &at, &text);
		if (!type_of_param(text, index, &params[i]))
			return false;
		/* a class of a namespace has a symbol with that in it */
		if (!params[i].builtin && kernel->scope_count && is_class(params[i].name, index))
			return false;
	}
	mpk_itanium_write(kernel->scopes, kernel->scope_count, &f, out);
	return true;
}
