/* SPDX-License-Identifier: Apache-2.0 */
/* lexer.h - words, strings and punctuation of PTX and of languages like C */
#ifndef MPK_FORMATS_LEXER_LEXER_H
#define MPK_FORMATS_LEXER_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

enum mpk_token_kind {
	MPK_TOKEN_END,
	MPK_TOKEN_WORD,   /* name, number or ".name": "ld.param" is two words */
	MPK_TOKEN_STRING, /* with its quotes */
	MPK_TOKEN_PUNCT,  /* one byte */
};

struct mpk_token {
	enum mpk_token_kind kind;
	struct mpk_span text;
	uint32_t line, column;
};

/* Set bytes, and language, the name of the language in messages: "PTX". */
struct mpk_lexer {
	struct mpk_span bytes;
	const char *language;
	bool c_like; /* 'c' is a string, too; lines that begin with '#' are skipped; a string
		      * without an end stops at the end of its line */
	size_t pos;
	uint32_t line; /* 0-based */
	size_t line_start;
	struct mpk_token t; /* the current token, set by mpk_lexer_next */
};

/* mpk_lexer_next - read the next token into t; at the end always MPK_TOKEN_END
 * Returns  MPK_OK; MPK_E_SYNTAX with line and column (unfinished comment or string) */
enum mpk_code mpk_lexer_next(struct mpk_lexer *lex, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_lexer_wanted - fail with MPK_E_SYNTAX: the text needs @what where it has t, which is quoted */
enum mpk_code mpk_lexer_wanted(const struct mpk_lexer *lex, const char *what,
			       struct mpk_error *err) MPK_MUST_CHECK;

static inline bool mpk_token_is_word(const struct mpk_token *t, const char *text)
{
	return t->kind == MPK_TOKEN_WORD && mpk_span_is(t->text, text);
}

static inline bool mpk_token_is_punct(const struct mpk_token *t, char c)
{
	return t->kind == MPK_TOKEN_PUNCT && t->text.data[0] == (uint8_t)c;
}

static inline bool mpk_lexer_at(const struct mpk_lexer *lex, char c)
{
	return mpk_token_is_punct(&lex->t, c);
}

#endif
