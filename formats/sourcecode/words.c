/* SPDX-License-Identifier: Apache-2.0 */
#include "sourcecode/internal/words.h"

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
