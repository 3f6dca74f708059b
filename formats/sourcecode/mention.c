/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a text could make a kernel by its macros: the question behind "not in the code". */
#include "sourcecode/sourcecode.h"

static bool is_word_char(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c >= 0x80;
}

static bool contains(struct mpk_span s, const char *text)
{
	return s.len && memmem(s.data, s.len, text, strlen(text));
}

/* Where the comment that begins at i ends, or i when none does. */
static size_t skip_comment(struct mpk_span s, size_t i)
{
	const uint8_t *end;

	if (s.len - i < 2 || s.data[i] != '/')
		return i;
	if (s.data[i + 1] == '/') {
		end = memchr(s.data + i, '\n', s.len - i);
		return end ? (size_t)(end - s.data) : s.len;
	}
	if (s.data[i + 1] != '*')
		return i;
	end = memmem(s.data + i + 2, s.len - i - 2, "*/", 2);
	return end ? (size_t)(end - s.data) + 2 : s.len;
}

/* The lexer would pass over the lines of macros, which matter here. */
static bool has_word(struct mpk_span s, struct mpk_span word)
{
	for (size_t i = 0, begin; i < s.len;) {
		begin = skip_comment(s, i);
		if (begin != i) {
			i = begin;
			continue;
		}
		while (i < s.len && is_word_char(s.data[i]))
			i++;
		if (mpk_span_equal(mpk_span_of(s.data + begin, i - begin), word))
			return true;
		i += i == begin;
	}
	return false;
}

bool mpk_source_code_mentions(struct mpk_span bytes, struct mpk_span name)
{
	return mpk_span_starts(name, "_Z") || contains(bytes, "##") ||
	       contains(bytes, "#include \"") || has_word(bytes, name);
}

/* Without a macro a mention is a declaration, or a use: the reader finds definitions. */
bool mpk_source_code_may_define(struct mpk_span bytes, struct mpk_span name)
{
	bool macros = contains(bytes, "#define") || contains(bytes, "# define") ||
		      contains(bytes, "#include");

	return mpk_source_code_mentions(bytes, name) &&
	       (macros || mpk_span_starts(name, "_Z") || contains(bytes, "##"));
}
