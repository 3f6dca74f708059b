/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.c - what literals stand for: arrays of bytes, and texts among constants */
#include <stdlib.h>

#include "base/num.h"
#include "base/strbuf.h"
#include "csource/csource.h"
#include "lexer/lexer.h"

/* --- numbers ------------------------------------------------------------------------------- */

static int digit(uint8_t c)
{
	return c >= '0' && c <= '9'                     ? c - '0'
	       : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
							: 16;
}

/* An integer constant of C with its suffix; false when it is none, or more than a byte. */
static bool csource_read_number(struct mpk_span text, uint8_t *out)
{
	int base = 10;
	unsigned value = 0;
	size_t i = 0;

	while (text.len && strchr("uUlL", text.data[text.len - 1]))
		text.len--;
	if (text.len > 2 && text.data[0] == '0' && (text.data[1] | 0x20) == 'x') {
		base = 16;
		i = 2;
	} else if (text.len > 1 && text.data[0] == '0') {
		base = 8;
		i = 1;
	}
	if (i == text.len)
		return false;
	for (; i < text.len; i++) {
		int d = digit(text.data[i]);

		if (d >= base)
			return false;
		value = value * (unsigned)base + (unsigned)d;
		if (value > 255)
			return false;
	}
	*out = (uint8_t)value;
	return true;
}

/* --- strings -------------------------------------------------------------------------------- */

/* The byte of an escape whose backslash is at *at; moves past it. */
static bool read_escape(struct mpk_span s, size_t *at, uint8_t *out)
{
	static const char letters[] = "abfnrtv\\'\"?", bytes[] = "\a\b\f\n\r\t\v\\'\"?";
	size_t i = *at + 1, digits = 0;
	unsigned value = 0;
	const char *letter;

	if (i >= s.len)
		return false;
	letter = s.data[i] ? strchr(letters, s.data[i]) : NULL;
	if (letter) {
		*out = (uint8_t)bytes[letter - letters];
		*at = i + 1;
		return true;
	}
	if (s.data[i] == 'x') {
		for (i++; i < s.len && digit(s.data[i]) < 16 && value <= 255; i++, digits++)
			value = value * 16 + (unsigned)digit(s.data[i]);
	} else {
		for (; i < s.len && digit(s.data[i]) < 8 && digits < 3; i++, digits++)
			value = value * 8 + (unsigned)digit(s.data[i]);
	}
	if (!digits || value > 255)
		return false;
	*out = (uint8_t)value;
	*at = i;
	return true;
}

/* Appends the bytes of a literal, which are fewer than it has characters. */
static bool csource_read_string(struct mpk_span literal, uint8_t *out, size_t *count)
{
	size_t at = 1, end = literal.len - 1;

	if (literal.len < 2 || literal.data[0] != '"' || literal.data[end] != '"')
		return false;
	literal.len = end;
	while (at < end) {
		if (literal.data[at] != '\\')
			out[(*count)++] = literal.data[at++];
		else if (read_escape(literal, &at, &out[*count]))
			(*count)++;
		else
			return false;
	}
	return true;
}

/* --- arrays ------------------------------------------------------------------------------- */

struct array {
	struct mpk_lexer lex;
	struct mpk_token t;
	uint8_t *bytes; /* room for as many as the text has */
	size_t count;
};

static enum mpk_code unexpected(const struct array *a, struct mpk_error *err)
{
	return mpk_fail_line(
		err, MPK_E_SYNTAX, a->t.line, a->t.column,
		"C: an array of bytes is numbers up to 255 in braces, or string literals");
}

/* After "{": numbers with commas between them, and perhaps one at the end. */
static enum mpk_code read_numbers(struct array *a, struct mpk_error *err)
{
	for (;;) {
		MPK_TRY(mpk_lexer_next(&a->lex, &a->t, err));
		if (mpk_token_is_punct(&a->t, '}'))
			return mpk_lexer_next(&a->lex, &a->t, err);
		if (a->t.kind != MPK_TOKEN_WORD ||
		    !csource_read_number(a->t.text, &a->bytes[a->count]))
			return unexpected(a, err);
		a->count++;
		MPK_TRY(mpk_lexer_next(&a->lex, &a->t, err));
		if (mpk_token_is_punct(&a->t, '}'))
			return mpk_lexer_next(&a->lex, &a->t, err);
		if (!mpk_token_is_punct(&a->t, ','))
			return unexpected(a, err);
	}
}

static enum mpk_code read_strings(struct array *a, struct mpk_error *err)
{
	while (a->t.kind == MPK_TOKEN_STRING) {
		if (!csource_read_string(a->t.text, a->bytes, &a->count))
			return unexpected(a, err);
		MPK_TRY(mpk_lexer_next(&a->lex, &a->t, err));
	}
	return MPK_OK;
}

/* A string has a NUL that an array may have room for, or not. */
static bool is_count(const struct array *a, uint64_t declared, bool strings)
{
	return !declared || declared == a->count || (strings && declared - 1 == a->count);
}

enum mpk_code mpk_csource_bytes(const struct mpk_object_symbol *symbol, struct mpk_arena *arena,
				struct mpk_span *out, struct mpk_error *err)
{
	struct array a = { .lex = { .bytes = symbol->content,
				    .language = "C",
				    .c_like = true,
				    .line = symbol->line ? symbol->line - 1 : 0 } };
	bool strings;

	a.bytes = mpk_arena_alloc(arena, symbol->content.len + 1);
	MPK_TRY_ALLOC(a.bytes, err);
	MPK_TRY(mpk_lexer_next(&a.lex, &a.t, err));
	strings = a.t.kind == MPK_TOKEN_STRING;
	if (strings)
		MPK_TRY(read_strings(&a, err));
	else if (mpk_token_is_punct(&a.t, '{'))
		MPK_TRY(read_numbers(&a, err));
	else
		return unexpected(&a, err);
	if (a.t.kind != MPK_TOKEN_END)
		return unexpected(&a, err);
	if (!is_count(&a, symbol->bytes, strings))
		return mpk_fail_line(err, MPK_E_SYNTAX, symbol->line, 1,
				     "C: the array is declared to have %llu bytes, and has %zu",
				     (unsigned long long)symbol->bytes, a.count);
	*out = mpk_span_of(a.bytes, a.count);
	return MPK_OK;
}

/* --- texts ---------------------------------------------------------------------------------- */

enum mpk_code mpk_csource_strings(struct mpk_span bytes, struct mpk_arena *arena,
				  struct mpk_span *out, struct mpk_error *err)
{
	struct mpk_lexer lex = { .bytes = bytes, .language = "C", .c_like = true };
	uint8_t *texts = mpk_arena_alloc(arena, bytes.len + 1);
	size_t count = 0;
	bool open = false;
	struct mpk_token t;

	MPK_TRY_ALLOC(texts, err);
	while (mpk_lexer_next(&lex, &t, NULL) == MPK_OK && t.kind != MPK_TOKEN_END) {
		size_t before = count;
		bool string =
			t.kind == MPK_TOKEN_STRING && csource_read_string(t.text, texts, &count);

		if (!string)
			count = before;
		if (open && !string)
			texts[count++] = 0; /* the token in between left room for it */
		open = string;
	}
	if (open)
		texts[count++] = 0;
	*out = mpk_span_of(texts, count);
	return MPK_OK;
}
