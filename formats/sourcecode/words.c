/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - the words of a source, without reading it: names, directives, options
 *
 * Which includes a text has, whether it mentions a name, and which options its first line hands to
 * NVRTC. These are asked of any text, whether or not it can be read as a source; so they pass over comments and
 * nothing else, and never fail. */
#include "sourcecode/sourcecode.h"

#include <string.h>

#include "sourcecode/internal/sourcecode.h"

size_t mpk_source_code_skip_blanks(struct mpk_span s, size_t i)
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

struct mpk_span mpk_source_code_name_at(struct mpk_span s, size_t i, size_t end)
{
	size_t from = i;

	while (i < end && mpk_source_code_is_name(s.data[i]))
		i++;
	return mpk_span_of(s.data + from, i - from);
}

bool mpk_source_code_next_directive(struct mpk_span s, size_t *at,
				    struct mpk_source_code_directive *out)
{
	while (*at < s.len) {
		size_t end = line_end(s, *at), i = mpk_source_code_skip_blanks(s, *at);

		*at = end + 1;
		if (i >= end || s.data[i] != '#')
			continue;
		i = mpk_source_code_skip_blanks(s, i + 1);
		out->name = mpk_source_code_name_at(s, i, end);
		i = mpk_source_code_skip_blanks(s, i + out->name.len);
		out->rest = mpk_span_of(s.data + (i < end ? i : end), i < end ? end - i : 0);
		return true;
	}
	return false;
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

struct mpk_span mpk_source_code_next_name(struct mpk_span text, size_t *at)
{
	while (*at < text.len) {
		size_t behind = skip_comment(text, *at);
		struct mpk_span name;

		if (behind != *at) {
			*at = behind;
			continue;
		}
		name = mpk_source_code_name_at(text, *at, text.len);
		*at += name.len + !name.len;
		if (name.len)
			return name;
	}
	return (struct mpk_span){ 0 };
}

/* --- Questions that are asked of a text once, or of a short one --- */

struct mpk_span mpk_source_code_includes(struct mpk_span bytes)
{
	struct mpk_source_code_directive d;
	const uint8_t *end;

	for (size_t at = 0; mpk_source_code_next_directive(bytes, &at, &d);) {
		if (!mpk_span_is(d.name, "include") || !d.rest.len || d.rest.data[0] != '"')
			continue;
		end = memchr(d.rest.data + 1, '"', d.rest.len - 1);
		if (end)
			return mpk_span_of(d.rest.data + 1, (size_t)(end - d.rest.data) - 1);
	}
	return (struct mpk_span){ 0 };
}

/* A star right after a type makes a parameter an address of it. */
static bool is_pointer(struct mpk_span s, size_t i)
{
	i = mpk_source_code_skip_blanks(s, i);
	return i < s.len && s.data[i] == '*';
}

/* Whole words: "float2" is not in "float2x2". */
static bool sourcecode_words_has_word(struct mpk_span s, struct mpk_span word, bool pointers)
{
	struct mpk_span name;

	for (size_t at = 0; (name = mpk_source_code_next_name(s, &at)).len;)
		if (mpk_span_equal(name, word) && (pointers || !is_pointer(s, at)))
			return true;
	return false;
}

bool mpk_source_code_mentions(struct mpk_span bytes, struct mpk_span word)
{
	return sourcecode_words_has_word(bytes, word, true);
}

/* One pass over the text, however many words there are. */
bool mpk_source_code_mentions_any(struct mpk_span bytes, const struct mpk_strmap *words)
{
	struct mpk_span name;
	size_t ignored;

	for (size_t at = 0; words->count && (name = mpk_source_code_next_name(bytes, &at)).len;)
		if (mpk_strmap_find(words, name, &ignored))
			return true;
	return false;
}

bool mpk_source_code_has_values(struct mpk_span bytes, struct mpk_span type)
{
	return sourcecode_words_has_word(bytes, type, false);
}

/* --- Options of the run-time compiler, which a kernel module has no other place for --- */

/* Of one line: a newline ends the options. */
static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

bool mpk_source_code_nvrtc(struct mpk_span bytes, struct mpk_span words[MPK_SOURCE_CODE_NVRTC_MAX],
			   size_t *count)
{
	const uint8_t *end;
	size_t at = strlen(MPK_SOURCE_CODE_NVRTC), len;

	*count = 0;
	if (!mpk_span_starts(bytes, MPK_SOURCE_CODE_NVRTC))
		return true;
	end = memchr(bytes.data, '\n', bytes.len);
	len = end ? (size_t)(end - bytes.data) : bytes.len;
	for (;;) {
		while (at < len && is_blank(bytes.data[at]))
			at++;
		if (at == len)
			return true;

		size_t start = at;
		while (at < len && !is_blank(bytes.data[at]))
			at++;
		if (bytes.data[start] != '-' || *count == MPK_SOURCE_CODE_NVRTC_MAX)
			return false;
		words[(*count)++] = mpk_span_of(bytes.data + start, at - start);
	}
}
