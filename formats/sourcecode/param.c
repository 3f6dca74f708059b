/* SPDX-License-Identifier: Apache-2.0 */
/* The types of an OpenCL kernel's parameters: the language's own words. A word that the text makes
 * by a macro or a typedef may be anything. */
#include "base/compiler.h"
#include "lexer/lexer.h"
#include "sourcecode/sourcecode.h"

static const struct {
	const char *word;
	enum mpk_source_code_param_kind kind;
	unsigned bytes;
} numbers[] = {
	{ "char", MPK_SOURCE_CODE_PARAM_INT, 1 },     { "uchar", MPK_SOURCE_CODE_PARAM_INT, 1 },
	{ "short", MPK_SOURCE_CODE_PARAM_INT, 2 },    { "ushort", MPK_SOURCE_CODE_PARAM_INT, 2 },
	{ "int", MPK_SOURCE_CODE_PARAM_INT, 4 },      { "uint", MPK_SOURCE_CODE_PARAM_INT, 4 },
	{ "long", MPK_SOURCE_CODE_PARAM_INT, 8 },     { "ulong", MPK_SOURCE_CODE_PARAM_INT, 8 },
	{ "half", MPK_SOURCE_CODE_PARAM_FLOAT, 2 },   { "float", MPK_SOURCE_CODE_PARAM_FLOAT, 4 },
	{ "double", MPK_SOURCE_CODE_PARAM_FLOAT, 8 },
};

/* Parameter i of "a, b, c": commas count outside of brackets. */
static struct mpk_span param_text(struct mpk_span params, size_t i)
{
	size_t begin = 0, end = 0, depth = 0;

	for (; end < params.len; end++) {
		uint8_t c = params.data[end];

		depth += c == '(' || c == '[';
		depth -= (c == ')' || c == ']') && depth;
		if (c != ',' || depth)
			continue;
		if (!i--)
			break;
		begin = end + 1;
	}
	while (begin < end && params.data[begin] <= ' ')
		begin++;
	while (end > begin && params.data[end - 1] <= ' ')
		end--;
	return mpk_span_of(params.data + begin, end - begin);
}

static bool is_made(struct mpk_span bytes, struct mpk_span word)
{
	static const char *const makers[] = { "#define ", "# define ", "typedef " };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(makers); i++) {
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

static void see_word(struct mpk_span word, struct mpk_span bytes, struct mpk_source_code_param *p)
{
	if (mpk_span_starts(word, "image") && word.len > 7) /* image2d_t, image2d_array_t */
		*p = (struct mpk_source_code_param){ MPK_SOURCE_CODE_PARAM_HANDLE, 0, p->text };
	if (mpk_span_is(word, "unsigned") || mpk_span_is(word, "signed"))
		*p = (struct mpk_source_code_param){ MPK_SOURCE_CODE_PARAM_INT, 4, p->text };
	for (size_t i = 0; i < MPK_ARRAY_COUNT(numbers); i++)
		if (mpk_span_is(word, numbers[i].word) && !is_made(bytes, word))
			*p = (struct mpk_source_code_param){ numbers[i].kind, numbers[i].bytes,
							     p->text };
}

struct mpk_source_code_param mpk_source_code_param(const struct mpk_source_code_kernel *k, size_t i,
						   struct mpk_span bytes)
{
	struct mpk_source_code_param p = { .text = param_text(k->params, i) };
	struct mpk_lexer lex = { .bytes = p.text, .language = "OpenCL C", .c_like = true };
	bool local = false, pointer = false, first = true;
	struct mpk_token t, last = { 0 };

	while (mpk_lexer_next(&lex, &t, NULL) == MPK_OK && t.kind != MPK_TOKEN_END) {
		local |= mpk_token_is_word(&t, "__local") || mpk_token_is_word(&t, "local");
		pointer |= mpk_token_is_punct(&t, '*') || mpk_token_is_punct(&t, '[');
		if (mpk_token_is_punct(&t, '(')) /* an attribute, or a macro */
			return (struct mpk_source_code_param){ .text = p.text };
		/* the last word is the name, unless the type is all there is */
		if (!first && last.kind == MPK_TOKEN_WORD)
			see_word(last.text, bytes, &p);
		last = t;
		first = false;
	}
	if (!pointer)
		return p;
	return (struct mpk_source_code_param){
		.kind = local ? MPK_SOURCE_CODE_PARAM_LOCAL : MPK_SOURCE_CODE_PARAM_HANDLE,
		.text = p.text,
	};
}
