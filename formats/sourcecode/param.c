/* SPDX-License-Identifier: Apache-2.0 */
/* param.c - a kernel's parameter as a kernel table lists it: a buffer's handle, or a number's type
 *
 * Types are told by their words alone. What a typedef, a macro or a template makes is unknown.
 */
#include <ctype.h>
#include <string.h>

#include "sourcecode/sourcecode.h"

static bool is_word_byte(uint8_t c)
{
	return isalnum(c) || c == '_';
}

/* The next word; empty at the end. Everything else between words is passed over. */
static struct mpk_span next_word(struct mpk_span text, size_t *at)
{
	size_t from;

	while (*at < text.len && !is_word_byte(text.data[*at]))
		++*at;
	for (from = *at; *at < text.len && is_word_byte(text.data[*at]);)
		++*at;
	return mpk_span_of(text.data + from, *at - from);
}

struct mpk_span mpk_source_code_param(const struct mpk_source_code_kernel *kernel, size_t i)
{
	struct mpk_span s = kernel->params;
	size_t from = 0, depth = 0, seen = 0;

	for (size_t at = 0; at <= s.len; at++) {
		char c = at < s.len ? (char)s.data[at] : ',';

		depth += c == '(' || c == '<' || c == '[';
		if (depth && (c == ')' || c == '>' || c == ']'))
			depth--;
		if (c != ',' || (depth && at < s.len))
			continue;
		if (seen++ == i)
			return mpk_span_of(s.data + from, at - from);
		from = at + 1;
	}
	return (struct mpk_span){ 0 };
}

static bool has_word(struct mpk_span text, const char *const *words, size_t count)
{
	struct mpk_span word;
	size_t at = 0;

	while ((word = next_word(text, &at)).len)
		for (size_t i = 0; i < count; i++)
			if (mpk_span_is(word, words[i]))
				return true;
	return false;
}

static bool is_image(struct mpk_span text)
{
	struct mpk_span word;
	size_t at = 0;

	while ((word = next_word(text, &at)).len)
		if (mpk_span_starts(word, "image") && word.len > 7 &&
		    memmem(word.data, word.len, "d_", 2))
			return true;
	return false;
}

/* A number's type; the word behind it is its name. */
static bool find_number(struct mpk_span text, struct mpk_dtype *out)
{
	static const struct {
		const char *word;
		uint8_t code, bits;
	} types[] = {
		{ "bool", MPK_DTYPE_BOOL, 8 },      { "char", MPK_DTYPE_INT, 8 },
		{ "short", MPK_DTYPE_INT, 16 },     { "int", MPK_DTYPE_INT, 32 },
		{ "half", MPK_DTYPE_FLOAT, 16 },    { "__half", MPK_DTYPE_FLOAT, 16 },
		{ "float", MPK_DTYPE_FLOAT, 32 },   { "double", MPK_DTYPE_FLOAT, 64 },
		{ "uchar", MPK_DTYPE_UINT, 8 },     { "ushort", MPK_DTYPE_UINT, 16 },
		{ "uint", MPK_DTYPE_UINT, 32 },     { "ulong", MPK_DTYPE_UINT, 64 },
		{ "int8_t", MPK_DTYPE_INT, 8 },     { "int16_t", MPK_DTYPE_INT, 16 },
		{ "int32_t", MPK_DTYPE_INT, 32 },   { "int64_t", MPK_DTYPE_INT, 64 },
		{ "uint8_t", MPK_DTYPE_UINT, 8 },   { "uint16_t", MPK_DTYPE_UINT, 16 },
		{ "uint32_t", MPK_DTYPE_UINT, 32 }, { "uint64_t", MPK_DTYPE_UINT, 64 },
		{ "size_t", MPK_DTYPE_UINT, 64 },   { "__nv_bfloat16", MPK_DTYPE_BFLOAT, 16 },
	};
	struct mpk_dtype t = { 0, 0, 1 };
	bool is_unsigned = false, is_long = false, found = false;
	struct mpk_span word;
	size_t at = 0;

	while ((word = next_word(text, &at)).len) {
		is_unsigned |= mpk_span_is(word, "unsigned");
		is_long |=
			mpk_span_is(word, "long"); /* 64 bits in OpenCL, and on devices of CUDA */
		for (size_t i = 0; i < sizeof types / sizeof *types && !found; i++) {
			if (!mpk_span_is(word, types[i].word))
				continue;
			t = (struct mpk_dtype){ types[i].code, types[i].bits, 1 };
			found = true;
		}
	}
	if (is_long && (!found || t.code == MPK_DTYPE_INT)) {
		t = (struct mpk_dtype){ MPK_DTYPE_INT, 64, 1 };
		found = true;
	}
	if (!found && is_unsigned)
		t = (struct mpk_dtype){ MPK_DTYPE_INT, 32, 1 };
	if (is_unsigned && t.code == MPK_DTYPE_INT)
		t.code = MPK_DTYPE_UINT;
	*out = t;
	return found || is_unsigned;
}

static bool is_pointer(struct mpk_span param)
{
	return param.len &&
	       (memchr(param.data, '*', param.len) || memchr(param.data, '[', param.len));
}

bool mpk_source_code_param_is_local(struct mpk_span param)
{
	static const char *const local[] = { "__local", "local", "__shared__" };

	return is_pointer(param) && has_word(param, local, sizeof local / sizeof *local);
}

/* Whether a line that begins with one of these names the word. */
static bool is_made(struct mpk_span bytes, struct mpk_span word)
{
	static const char *const makers[] = { "#define ", "# define ", "typedef " };

	for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
		const uint8_t *at = bytes.data, *end = bytes.data + bytes.len;

		while ((at = memmem(at, (size_t)(end - at), makers[i], strlen(makers[i])))) {
			const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));
			size_t line = (size_t)((newline ? newline : end) - at);

			if (memmem(at, line, word.data, word.len))
				return true;
			at += line;
		}
	}
	return false;
}

bool mpk_source_code_param_is_made(struct mpk_span param, struct mpk_span bytes)
{
	struct mpk_span word, next;
	size_t at = 0;

	/* the last word is the parameter's own name */
	for (word = next_word(param, &at); word.len; word = next) {
		next = next_word(param, &at);
		if (next.len && is_made(bytes, word))
			return true;
	}
	return false;
}

bool mpk_source_code_param_dtype(struct mpk_span param, struct mpk_dtype *out)
{
	bool pointer = is_pointer(param);

	/* memory of a work-group is no argument that a table can name */
	if (mpk_source_code_param_is_local(param))
		return false;
	if (pointer || is_image(param)) {
		*out = (struct mpk_dtype){ MPK_DTYPE_HANDLE, 64, 1 };
		return true;
	}
	return find_number(param, out);
}
