/* lex.h - words, strings and punctuation of PTX (FORMAT.md 1) */
#ifndef MPK_FORMATS_PTX_LEX_H
#define MPK_FORMATS_PTX_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

enum mpk_ptx_token_kind {
	MPK_PTX_END,
	MPK_PTX_WORD,    /* name, number or ".directive": "ld.param" is two words */
	MPK_PTX_STRING,  /* with its quotes */
	MPK_PTX_PUNCT,   /* one byte */
};

struct mpk_ptx_token {
	enum mpk_ptx_token_kind kind;
	struct mpk_span text;
	uint32_t line, column;
};

struct mpk_ptx_lexer {
	struct mpk_span bytes;
	size_t pos;
	uint32_t line;      /* 0-based */
	size_t line_start;
};

/* mpk_ptx_next - the next token; MPK_PTX_END again and again at the end
 * Returns  MPK_OK; MPK_E_SYNTAX (unfinished comment or string) */
enum mpk_code mpk_ptx_next(struct mpk_ptx_lexer *lex, struct mpk_ptx_token *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

static inline bool mpk_ptx_is_word(const struct mpk_ptx_token *t, const char *text)
{
	return t->kind == MPK_PTX_WORD && mpk_span_is(t->text, text);
}

static inline bool mpk_ptx_is_punct(const struct mpk_ptx_token *t, char c)
{
	return t->kind == MPK_PTX_PUNCT && t->text.data[0] == (uint8_t)c;
}

#endif
