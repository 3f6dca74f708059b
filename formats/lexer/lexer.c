/* SPDX-License-Identifier: Apache-2.0 */
/* lexer.c - one lexer for PTX and the C family, which agree on comments, strings and names */
#include "lexer/lexer.h"

#include "text/escape.h"

static int lexer_peek(const struct mpk_lexer *lex, size_t ahead)
{
	return ahead < lex->bytes.len - lex->pos ? lex->bytes.data[lex->pos + ahead] : -1;
}

static void lexer_step(struct mpk_lexer *lex)
{
	if (lex->bytes.data[lex->pos++] == '\n') {
		lex->line++;
		lex->line_start = lex->pos;
	}
}

static uint32_t column(const struct mpk_lexer *lex)
{
	return (uint32_t)(lex->pos - lex->line_start) + 1;
}

static bool lexer_is_name(int c)
{
	return mpk_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '$' || c == '%';
}

static enum mpk_code skip_block_comment(struct mpk_lexer *lex, struct mpk_error *err)
{
	uint32_t line = lex->line + 1, at = column(lex);

	lex->pos += 2;
	while (lexer_peek(lex, 0) >= 0) {
		if (lexer_peek(lex, 0) == '*' && lexer_peek(lex, 1) == '/') {
			lex->pos += 2;
			return MPK_OK;
		}
		lexer_step(lex);
	}
	return mpk_fail_line(err, MPK_E_SYNTAX, line, at, "%s: this comment has no end",
			     lex->language);
}

/* Looks back from the '#', so that many '#' in one line do not read the beginning of the line
 * again. */
static bool begins_line(const struct mpk_lexer *lex)
{
	size_t i = lex->pos;

	while (i > lex->line_start &&
	       (lex->bytes.data[i - 1] == ' ' || lex->bytes.data[i - 1] == '\t'))
		i--;
	return i == lex->line_start;
}

static enum mpk_code lexer_skip_blanks(struct mpk_lexer *lex, struct mpk_error *err)
{
	for (;;) {
		int c = lexer_peek(lex, 0);

		if (c == ' ' || (c >= '\t' && c <= '\r')) {
			lexer_step(lex);
		} else if (c == '/' && lexer_peek(lex, 1) == '/') {
			while (lexer_peek(lex, 0) >= 0 && lexer_peek(lex, 0) != '\n')
				lex->pos++;
		} else if (c == '/' && lexer_peek(lex, 1) == '*') {
			MPK_TRY(skip_block_comment(lex, err));
		} else if (c == '#' && lex->c_like && begins_line(lex)) {
			/* A preprocessor line, with the lines that continue it. */
			while (lexer_peek(lex, 0) >= 0 && lexer_peek(lex, 0) != '\n') {
				if (lexer_peek(lex, 0) == '\\' && lexer_peek(lex, 1) == '\n')
					lexer_step(lex);
				lexer_step(lex);
			}
		} else {
			return MPK_OK;
		}
	}
}

/* A dot may be the first byte of a word, or stand between the digits of a number. */
static size_t word_length(const struct mpk_lexer *lex)
{
	bool number = mpk_is_digit(lexer_peek(lex, 0));
	size_t n = lexer_peek(lex, 0) == '.';

	for (;; n++) {
		if (number && lexer_peek(lex, n) == '.' && mpk_is_digit(lexer_peek(lex, n + 1)))
			continue;
		if (!lexer_is_name(lexer_peek(lex, n)))
			return n;
	}
}

static enum mpk_code string_length(const struct mpk_lexer *lex, size_t *out, struct mpk_error *err)
{
	int quote = lexer_peek(lex, 0);
	size_t n = 1;

	for (; lexer_peek(lex, n) >= 0 && lexer_peek(lex, n) != '\n'; n++) {
		if (lexer_peek(lex, n) == quote) {
			*out = n + 1;
			return MPK_OK;
		}
		if (lexer_peek(lex, n) == '\\' && lexer_peek(lex, n + 1) >= 0 &&
		    lexer_peek(lex, n + 1) != '\n')
			n++;
	}
	if (!lex->c_like)
		return mpk_fail_line(err, MPK_E_SYNTAX, lex->line + 1, column(lex),
				     "%s: this string has no end", lex->language);
	*out = n;
	return MPK_OK;
}

enum mpk_code mpk_lexer_next(struct mpk_lexer *lex, struct mpk_error *err)
{
	struct mpk_token t = { .kind = MPK_TOKEN_PUNCT };
	size_t len = 1;
	int c;

	MPK_TRY(lexer_skip_blanks(lex, err));
	t.line = lex->line + 1;
	t.column = column(lex);
	c = lexer_peek(lex, 0);
	if (c < 0) {
		t.kind = MPK_TOKEN_END;
		len = 0;
	} else if (c == '"' || (c == '\'' && lex->c_like)) {
		t.kind = MPK_TOKEN_STRING;
		MPK_TRY(string_length(lex, &len, err));
	} else if (lexer_is_name(c) || (c == '.' && lexer_is_name(lexer_peek(lex, 1)))) {
		t.kind = MPK_TOKEN_WORD;
		len = word_length(lex);
	}
	(void)mpk_span_sub(lex->bytes, lex->pos, len, &t.text); /* an empty span has no address */
	lex->pos += len;
	lex->t = t;
	return MPK_OK;
}

/* The token found instead is quoted, because it may contain anything. */
enum mpk_code mpk_lexer_wanted(const struct mpk_lexer *lex, const char *what, struct mpk_error *err)
{
	const struct mpk_token *t = &lex->t;

	if (t->kind == MPK_TOKEN_END)
		return mpk_fail_line(err, MPK_E_SYNTAX, t->line, t->column,
				     "%s: the text ends where %s is wanted", lex->language, what);
	return mpk_fail_line(err, MPK_E_SYNTAX, t->line, t->column, "%s: %s wanted, '%s' found",
			     lex->language, what, MPK_QUOTE(t->text));
}
