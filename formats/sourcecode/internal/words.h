/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - words, comments and lines of the preprocessor in a text that no lexer reads (internal)
 *
 * A lexer passes over the lines of macros, which matter here.
 */
#ifndef MPK_SOURCECODE_INTERNAL_WORDS_H
#define MPK_SOURCECODE_INTERNAL_WORDS_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

/* Of names as compilers take them; those of types and parameters have ASCII letters alone. */
static inline bool mpk_source_code_is_name(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c >= 0x80;
}

static inline bool mpk_source_code_is_word(uint8_t c)
{
	return isalnum(c) || c == '_';
}

/* mpk_source_code_next_word - the next word; empty at the end. Everything else between words is passed over. */
static inline struct mpk_span mpk_source_code_next_word(struct mpk_span text, size_t *at)
{
	size_t from;

	while (*at < text.len && !mpk_source_code_is_word(text.data[*at]))
		++*at;
	for (from = *at; *at < text.len && mpk_source_code_is_word(text.data[*at]);)
		++*at;
	return from < text.len ? mpk_span_of(text.data + from, *at - from) : (struct mpk_span){ 0 };
}

/* mpk_source_code_next_name - the next name outside of comments; *at is moved past it */
struct mpk_span mpk_source_code_next_name(struct mpk_span text, size_t *at);

/* mpk_source_code_skip_blanks - the first offset from i on that is no blank of a line
 * mpk_source_code_name_at - the name that begins at i, before end; may be empty */
size_t mpk_source_code_skip_blanks(struct mpk_span s, size_t i);
struct mpk_span mpk_source_code_name_at(struct mpk_span s, size_t i, size_t end);

/* A line of the preprocessor: its directive, and what follows it. */
struct mpk_source_code_directive {
	struct mpk_span name, rest;
};

/* mpk_source_code_next_directive - the next one from *at on, which is moved past it
 * Returns  false at the end */
bool mpk_source_code_next_directive(struct mpk_span s, size_t *at,
				    struct mpk_source_code_directive *out);

#endif
