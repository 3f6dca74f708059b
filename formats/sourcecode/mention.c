/* SPDX-License-Identifier: Apache-2.0 */
/* Which words a text has, and whether its macros could make a kernel: the question behind "not in the
 * code". */
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

static bool is_pointer(struct mpk_span s, size_t i)
{
	while (i < s.len && (s.data[i] == ' ' || s.data[i] == '\t'))
		i++;
	return i < s.len && s.data[i] == '*';
}

/* The lexer would pass over the lines of macros, which matter here. */
static bool has_word(struct mpk_span s, struct mpk_span word, bool pointers)
{
	for (size_t i = 0, begin; i < s.len;) {
		begin = skip_comment(s, i);
		if (begin != i) {
			i = begin;
			continue;
		}
		while (i < s.len && is_word_char(s.data[i]))
			i++;
		if (mpk_span_equal(mpk_span_of(s.data + begin, i - begin), word) &&
		    (pointers || !is_pointer(s, i)))
			return true;
		i += i == begin;
	}
	return false;
}

bool mpk_source_code_mentions(struct mpk_span bytes, struct mpk_span word)
{
	return has_word(bytes, word, true);
}

bool mpk_source_code_has_values(struct mpk_span bytes, struct mpk_span type)
{
	return has_word(bytes, type, false);
}

bool mpk_source_code_may_hold(struct mpk_span bytes, struct mpk_span name)
{
	return mpk_span_starts(name, "_Z") || contains(bytes, "##") ||
	       contains(bytes, "#include \"") || has_word(bytes, name, true);
}

/* Without a macro a mention is a declaration, or a use: the reader finds definitions. */
bool mpk_source_code_may_define(struct mpk_span bytes, struct mpk_span name)
{
	bool macros = contains(bytes, "#define") || contains(bytes, "# define") ||
		      contains(bytes, "#include");

	return mpk_source_code_may_hold(bytes, name) &&
	       (macros || mpk_span_starts(name, "_Z") || contains(bytes, "##"));
}
