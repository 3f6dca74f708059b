/* SPDX-License-Identifier: Apache-2.0 */
/* param.c - the type of a kernel's parameter in a kernel table: a buffer's handle, or a number's
 * type; and the symbol of a CUDA C++ kernel, which contains the types of its parameters
 *
 * Types are recognised by their words only. A type from a typedef, a macro or a template is
 * unknown. */
#include <string.h>

#include "base/compiler.h"
#include "itanium/itanium.h"
#include "sourcecode/internal/sourcecode.h"
#include "sourcecode/sourcecode.h"

bool mpk_source_code_next_param(const struct mpk_source_code_kernel *kernel, size_t *at,
				struct mpk_span *out)
{
	struct mpk_span s = kernel->params;
	size_t from = *at, depth = 0;

	for (size_t i = from; i <= s.len; i++) {
		char c = i < s.len ? (char)s.data[i] : ',';

		depth += c == '(' || c == '<' || c == '[';
		if (depth && (c == ')' || c == '>' || c == ']'))
			depth--;
		if (c != ',' || (depth && i < s.len))
			continue;
		*out = mpk_span_of(s.data + from, i - from);
		*at = i + 1;
		return true;
	}
	return false;
}

struct mpk_span mpk_source_code_param(const struct mpk_source_code_kernel *kernel, size_t i)
{
	struct mpk_span text;
	size_t at = 0;

	while (mpk_source_code_next_param(kernel, &at, &text))
		if (!i--)
			return text;
	return (struct mpk_span){ 0 };
}

static bool sourcecode_has_word(struct mpk_span text, const char *const *words, size_t count)
{
	struct mpk_span word;
	size_t at = 0;

	while ((word = mpk_source_code_next_word(text, &at)).len)
		for (size_t i = 0; i < count; i++)
			if (mpk_span_is(word, words[i]))
				return true;
	return false;
}

static bool is_image(struct mpk_span text)
{
	struct mpk_span word;
	size_t at = 0;

	while ((word = mpk_source_code_next_word(text, &at)).len)
		if (mpk_span_starts(word, "image") && word.len > 7 &&
		    memmem(word.data, word.len, "d_", 2))
			return true;
	return false;
}

/* Reads "float", "uint32_t"; also "float4", whose elements are lanes. */
static bool type_of_word(struct mpk_span word, struct mpk_dtype *out)
{
	static const struct {
		const char *word;
		uint8_t code, bits;
		bool vectors;
	} types[] = {
		{ "bool", MPK_DTYPE_BOOL, 8, false },
		{ "char", MPK_DTYPE_INT, 8, true },
		{ "short", MPK_DTYPE_INT, 16, true },
		{ "int", MPK_DTYPE_INT, 32, true },
		{ "long", MPK_DTYPE_INT, 64, true },
		{ "longlong", MPK_DTYPE_INT, 64, true },
		{ "half", MPK_DTYPE_FLOAT, 16, true },
		{ "__half", MPK_DTYPE_FLOAT, 16, true },
		{ "float", MPK_DTYPE_FLOAT, 32, true },
		{ "double", MPK_DTYPE_FLOAT, 64, true },
		{ "uchar", MPK_DTYPE_UINT, 8, true },
		{ "ushort", MPK_DTYPE_UINT, 16, true },
		{ "uint", MPK_DTYPE_UINT, 32, true },
		{ "ulong", MPK_DTYPE_UINT, 64, true },
		{ "ulonglong", MPK_DTYPE_UINT, 64, true },
		{ "int8_t", MPK_DTYPE_INT, 8, false },
		{ "int16_t", MPK_DTYPE_INT, 16, false },
		{ "int32_t", MPK_DTYPE_INT, 32, false },
		{ "int64_t", MPK_DTYPE_INT, 64, false },
		{ "uint8_t", MPK_DTYPE_UINT, 8, false },
		{ "uint16_t", MPK_DTYPE_UINT, 16, false },
		{ "uint32_t", MPK_DTYPE_UINT, 32, false },
		{ "uint64_t", MPK_DTYPE_UINT, 64, false },
		{ "size_t", MPK_DTYPE_UINT, 64, false },
		{ "uintptr_t", MPK_DTYPE_UINT, 64, false },
		{ "intptr_t", MPK_DTYPE_INT, 64, false },
		{ "ptrdiff_t", MPK_DTYPE_INT, 64, false },
		{ "__nv_bfloat16", MPK_DTYPE_BFLOAT, 16, true },
	};
	static const struct {
		const char *suffix;
		uint16_t lanes;
	} vectors[] = { { "", 1 }, { "2", 2 }, { "3", 3 }, { "4", 4 }, { "8", 8 }, { "16", 16 } };

	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		size_t n = strlen(types[i].word);

		if (!mpk_span_starts(word, types[i].word))
			continue;
		for (size_t k = 0; k < (types[i].vectors ? sizeof vectors / sizeof *vectors : 1);
		     k++)
			if (mpk_span_is(mpk_span_from(word, n), vectors[k].suffix)) {
				*out = (struct mpk_dtype){ types[i].code, types[i].bits,
							   vectors[k].lanes };
				return true;
			}
	}
	return false;
}

/* Finds the type of a number or a vector; the word after it is the name. */
static bool find_type(struct mpk_span text, struct mpk_dtype *out)
{
	struct mpk_dtype t = { 0, 0, 1 }, own;
	bool is_unsigned = false, is_signed = false, is_long = false, found = false;
	struct mpk_span word;
	size_t at = 0;

	while ((word = mpk_source_code_next_word(text, &at)).len) {
		is_unsigned |= mpk_span_is(word, "unsigned");
		is_signed |= mpk_span_is(word, "signed");
		if (mpk_span_is(word, "long")) { /* 64 bits in OpenCL, and on CUDA devices */
			is_long = true;
		} else if (!found && type_of_word(word, &own)) {
			t = own;
			found = true;
		}
	}
	if (is_long && (!found || t.code == MPK_DTYPE_INT)) {
		t = (struct mpk_dtype){ MPK_DTYPE_INT, 64, 1 };
		found = true;
	}
	if (!found && (is_unsigned || is_signed))
		t = (struct mpk_dtype){ MPK_DTYPE_INT, 32, 1 };
	if (is_unsigned && t.code == MPK_DTYPE_INT)
		t.code = MPK_DTYPE_UINT;
	*out = t;
	return found || is_unsigned || is_signed;
}

/* Words of a declaration that are neither a type that the program defines nor a name. */
static bool is_qualifier(struct mpk_span word)
{
	static const char *const words[] = {
		"const",        "volatile",   "restrict",     "__restrict__", "__restrict",
		"__global",     "global",     "__constant",   "constant",     "__local",
		"local",        "__private",  "private",      "__read_only",  "read_only",
		"__write_only", "write_only", "__read_write", "read_write",   "struct",
		"unsigned",     "signed",     "long",         "void",         "__grid_constant__",
		"register",
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (mpk_span_is(word, words[i]))
			return true;
	return false;
}

static bool is_pointer(struct mpk_span param)
{
	return param.len &&
	       (memchr(param.data, '*', param.len) || memchr(param.data, '[', param.len));
}

static bool is_local(struct mpk_span param)
{
	static const char *const local[] = { "__local", "local", "__shared__" };

	return is_pointer(param) && sourcecode_has_word(param, local, sizeof local / sizeof *local);
}

/* "(&a)[4]" is one array. */
static size_t count_stars(struct mpk_span param)
{
	size_t stars = 0, brackets = 0, references = 0;

	for (size_t i = 0; i < param.len; i++) {
		stars += param.data[i] == '*';
		brackets += param.data[i] == '[';
		references += param.data[i] == '&';
	}
	return stars + (brackets ? brackets : references);
}

/* The size of these types on the device is not known to the caller. OpenCL 2.0 accepts pointers to
 * pointers, but runtimes do not ask for that version. */
static const char *refused_type(struct mpk_span param)
{
	static const char *const words[] = { "size_t",    "ptrdiff_t", "intptr_t",
					     "uintptr_t", "bool",      "event_t" };

	if (is_pointer(param))
		return count_stars(param) > 1 ? "a pointer to pointers" : NULL;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (sourcecode_has_word(param, &words[i], 1))
			return words[i];
	return NULL;
}

/* A word of the language is not a typedef. */
static bool is_made(struct mpk_source_code_index *index, struct mpk_span word)
{
	struct mpk_dtype ignored;

	return mpk_source_code_index_has(index, MPK_SOURCE_CODE_MACROS, word) ||
	       (!is_qualifier(word) && !type_of_word(word, &ignored) &&
		mpk_source_code_index_has(index, MPK_SOURCE_CODE_TYPEDEFS, word));
}

bool mpk_source_code_param_is_made(struct mpk_span param, struct mpk_source_code_index *index)
{
	struct mpk_span word, next;
	size_t at = 0;

	/* the last word is the name of the parameter */
	for (word = mpk_source_code_next_word(param, &at); word.len; word = next) {
		next = mpk_source_code_next_word(param, &at);
		if (next.len && is_made(index, word))
			return true;
	}
	return false;
}

/* --- the declaration --------------------------------------------------------------------------- */

static bool is_number_word(struct mpk_span word)
{
	return word.data[0] >= '0' && word.data[0] <= '9';
}

/* Returns the last word before the brackets of an array, if a type is before it. */
static struct mpk_span sourcecode_name_of(struct mpk_span param)
{
	struct mpk_span word, last = { 0 };
	const uint8_t *bracket = param.len ? memchr(param.data, '[', param.len) : NULL;
	struct mpk_dtype ignored;
	bool typed = false;
	size_t at = 0;

	if (bracket)
		param.len = (size_t)(bracket - param.data);
	while ((word = mpk_source_code_next_word(param, &at)).len) {
		typed |= last.len && (!is_qualifier(last) || mpk_span_is(last, "unsigned") ||
				      mpk_span_is(last, "long") || mpk_span_is(last, "void") ||
				      mpk_span_is(last, "signed"));
		last = word;
	}
	if (!typed || is_qualifier(last) || type_of_word(last, &ignored) || is_number_word(last))
		return (struct mpk_span){ 0 };
	return last;
}

/* Returns the word of a type that is not the language's: a struct, a typedef. */
static struct mpk_span sourcecode_class_of(struct mpk_span param, struct mpk_span name)
{
	struct mpk_span word;
	struct mpk_dtype ignored;
	size_t at = 0;

	while ((word = mpk_source_code_next_word(param, &at)).len)
		if (word.data != name.data && !is_qualifier(word) &&
		    !type_of_word(word, &ignored) && !is_number_word(word))
			return word;
	return (struct mpk_span){ 0 };
}

/* Whether the memory behind a pointer is only read: "const" before the '*', or constant memory. */
static bool is_read_only(struct mpk_span param)
{
	static const char *const words[] = { "const", "__constant", "constant", "__read_only",
					     "read_only" };
	const uint8_t *star = param.len ? memchr(param.data, '*', param.len) : NULL;

	if (star)
		param.len = (size_t)(star - param.data);
	return sourcecode_has_word(param, words, sizeof words / sizeof *words);
}

void mpk_source_code_param_read(struct mpk_span param, struct mpk_source_code_param *out)
{
	static const char *const global[] = { "__global", "global", "__constant", "constant" };
	struct mpk_source_code_param p = { .name = sourcecode_name_of(param),
					   .pointers = (unsigned)count_stars(param),
					   .is_global = sourcecode_has_word(param, global, 4),
					   .read_only = is_read_only(param),
					   .refused = refused_type(param) };
	bool known = find_type(param, &p.dtype);

	p.class_name = known ? mpk_span_of(NULL, 0) : sourcecode_class_of(param, p.name);
	if (is_image(param))
		p.kind = MPK_SOURCE_CODE_IMAGE;
	else if (is_local(param))
		p.kind = MPK_SOURCE_CODE_LOCAL;
	else if (is_pointer(param))
		p.kind = MPK_SOURCE_CODE_BUFFER;
	else if (known && p.dtype.lanes == 1)
		p.kind = MPK_SOURCE_CODE_NUMBER;
	else
		p.kind = MPK_SOURCE_CODE_VALUE;
	if (p.kind == MPK_SOURCE_CODE_IMAGE || !known || p.pointers > 1)
		p.dtype = (struct mpk_dtype){ 0 };
	*out = p;
}

/* --- the symbol of a kernel --------------------------------------------------------------------
 *
 * Drivers find kernels by their symbols. With extern "C" the symbol is the name; else it contains
 * the types of the parameters, which are taken from their words. If the words do not determine
 * them, no symbol is returned, because a wrong symbol fails only at run time. */

enum { PARAMS_MAX = 64 };

/* Whether the text, or CUDA, defines a class of this name. A typedef is not one: the symbol
 * contains the type that it means. */
static bool is_class(struct mpk_span name, struct mpk_source_code_index *index)
{
	return mpk_span_is(name, "dim3") ||
	       mpk_source_code_index_has(index, MPK_SOURCE_CODE_CLASSES, name);
}

static bool has(struct mpk_span text, const char *word)
{
	return mpk_source_code_mentions(text, word, false);
}

/* Returns the ABI's letter of a type that has several names with one size. */
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

/* Returns the name of a type that is a class in the ABI: CUDA's vectors and half types. */
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
		/* the symbol contains the namespace of the class */
		if (!params[i].builtin && kernel->scope_count && is_class(params[i].name, index))
			return false;
	}
	mpk_itanium_write(kernel->scopes, kernel->scope_count, &f, out);
	return true;
}
