/* SPDX-License-Identifier: Apache-2.0 */
/* Which words a text has, and whether its macros could make a kernel: the question behind "not in the
 * code". */
#include "sourcecode/sourcecode.h"

#include "base/num.h"

static bool is_word_char(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c >= 0x80;
}

static size_t skip_blanks(struct mpk_span s, size_t i)
{
	while (i < s.len && (s.data[i] == ' ' || s.data[i] == '\t'))
		i++;
	return i;
}

/* The end of the line at i, with the lines that backslashes join to it. */
static size_t line_end(struct mpk_span s, size_t i)
{
	for (; i < s.len; i++)
		if (s.data[i] == '\n' && (i == 0 || s.data[i - 1] != '\\') &&
		    (i < 2 || s.data[i - 1] != '\r' || s.data[i - 2] != '\\'))
			break;
	return i;
}

/* A line of the preprocessor: its directive, and what stands behind it. */
struct directive {
	struct mpk_span name, rest;
};

static struct mpk_span word_at(struct mpk_span s, size_t i, size_t end)
{
	size_t from = i;

	while (i < end && is_word_char(s.data[i]))
		i++;
	return mpk_span_of(s.data + from, i - from);
}

/* The next one from *at on, which is moved behind it.
 * Returns  false at the end */
static bool next_directive(struct mpk_span s, size_t *at, struct directive *out)
{
	while (*at < s.len) {
		size_t end = line_end(s, *at), i = skip_blanks(s, *at);

		*at = end + 1;
		if (i >= end || s.data[i] != '#')
			continue;
		i = skip_blanks(s, i + 1);
		out->name = word_at(s, i, end);
		i = skip_blanks(s, i + out->name.len);
		out->rest = mpk_span_of(s.data + (i < end ? i : end), i < end ? end - i : 0);
		return true;
	}
	return false;
}

/* Whether there is a line of the preprocessor with this directive, and text in the rest of it. In a page
 * of prose, which begins its headings with '#', there is none. */
static bool directive_has(struct mpk_span s, const char *name, const char *text)
{
	struct directive d;

	for (size_t at = 0; next_directive(s, &at, &d);)
		if (mpk_span_is(d.name, name) && mpk_span_has(d.rest, text))
			return true;
	return false;
}

static bool parse_constant(struct mpk_span text, uint32_t *out)
{
	uint64_t v;

	if (text.len > 1 && (text.data[text.len - 1] | 0x20) == 'u')
		text.len--;
	if (!text.len || !mpk_parse_u64(text, &v) || v > UINT32_MAX)
		return false;
	*out = (uint32_t)v;
	return true;
}

/* What is defined under a condition, or twice, depends on who compiles. */
bool mpk_source_code_constant(struct mpk_span bytes, struct mpk_span word, uint32_t *out)
{
	size_t at = 0, depth = 0, found = 0;
	struct directive d;
	bool known = false;

	if (!word.len || parse_constant(word, out))
		return word.len != 0;
	while (next_directive(bytes, &at, &d)) {
		struct mpk_span name = word_at(d.rest, 0, d.rest.len), value;
		size_t i = skip_blanks(d.rest, name.len);

		depth += mpk_span_starts(d.name, "if");
		depth -= depth && mpk_span_is(d.name, "endif");
		if ((!mpk_span_is(d.name, "define") && !mpk_span_is(d.name, "undef")) ||
		    !mpk_span_equal(name, word))
			continue;
		value = word_at(d.rest, i, d.rest.len);
		i = skip_blanks(d.rest, i + value.len);
		known = !depth && parse_constant(value, out) &&
			(i >= d.rest.len || d.rest.data[i] == '/' || d.rest.data[i] == '\r');
		found++;
	}
	return known && found == 1;
}

struct mpk_span mpk_source_code_includes(struct mpk_span bytes)
{
	struct directive d;
	const uint8_t *end;

	for (size_t at = 0; next_directive(bytes, &at, &d);) {
		if (!mpk_span_is(d.name, "include") || !d.rest.len || d.rest.data[0] != '"')
			continue;
		end = memchr(d.rest.data + 1, '"', d.rest.len - 1);
		if (end)
			return mpk_span_of(d.rest.data + 1, (size_t)(end - d.rest.data) - 1);
	}
	return (struct mpk_span){ 0 };
}

static bool pastes_names(struct mpk_span s)
{
	return directive_has(s, "define", "##");
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
	i = skip_blanks(s, i);
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
	return mpk_span_starts(name, "_Z") || pastes_names(bytes) ||
	       directive_has(bytes, "include", "\"") || has_word(bytes, name, true);
}

/* Without a macro a mention is a declaration, or a use: the reader finds definitions. */
bool mpk_source_code_may_define(struct mpk_span bytes, struct mpk_span name)
{
	bool macros = directive_has(bytes, "define", "") || directive_has(bytes, "include", "");

	return mpk_source_code_may_hold(bytes, name) && (macros || mpk_span_starts(name, "_Z"));
}
