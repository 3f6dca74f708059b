/* SPDX-License-Identifier: Apache-2.0 */
/* mention.c - questions that are asked of a text once, or of a short one */
#include "sourcecode/internal/words.h"
#include "sourcecode/sourcecode.h"

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

static bool is_pointer(struct mpk_span s, size_t i)
{
	i = mpk_source_code_skip_blanks(s, i);
	return i < s.len && s.data[i] == '*';
}

static bool has_word(struct mpk_span s, struct mpk_span word, bool pointers)
{
	struct mpk_span name;

	for (size_t at = 0; (name = mpk_source_code_next_name(s, &at)).len;)
		if (mpk_span_equal(name, word) && (pointers || !is_pointer(s, at)))
			return true;
	return false;
}

bool mpk_source_code_mentions(struct mpk_span bytes, struct mpk_span word)
{
	return has_word(bytes, word, true);
}

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
	return has_word(bytes, type, false);
}
