/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - the definitions in a C source, and the values of its literals: arrays of bytes, strings
 * among constants
 *
 * C is not parsed: at file scope a name before parentheses and a body is a function, and a name
 * before "=" or ";" is data. That is enough to find what a loader looks up by name. */
#include "object/object.h"

#include <stdlib.h>

#include "base/num.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "lexer/lexer.h"

/* --- numbers ------------------------------------------------------------------------------- */

static int digit(uint8_t c)
{
	return c >= '0' && c <= '9'                     ? c - '0'
	       : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
							: 16;
}

/* Reads an integer constant of C with its suffix. Returns false if the text is not one, or is
 * larger than a byte. */
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

/* Returns the byte of an escape whose backslash is at *at, and moves past it. */
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

/* Appends the bytes of a literal, which are fewer than its characters. */
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
	uint8_t *bytes; /* has space for as many bytes as the text has */
	size_t count;
};

static enum mpk_code unexpected(const struct array *a, struct mpk_error *err)
{
	return mpk_fail_line(
		err, MPK_E_SYNTAX, a->lex.t.line, a->lex.t.column,
		"C: an array of bytes is numbers up to 255 in braces, or string literals");
}

/* Reads after "{": numbers separated by commas, with or without a comma at the end. */
static enum mpk_code read_numbers(struct array *a, struct mpk_error *err)
{
	for (;;) {
		MPK_TRY(mpk_lexer_next(&a->lex, err));
		if (mpk_lexer_at(&a->lex, '}'))
			return mpk_lexer_next(&a->lex, err);
		if (a->lex.t.kind != MPK_TOKEN_WORD ||
		    !csource_read_number(a->lex.t.text, &a->bytes[a->count]))
			return unexpected(a, err);
		a->count++;
		MPK_TRY(mpk_lexer_next(&a->lex, err));
		if (mpk_lexer_at(&a->lex, '}'))
			return mpk_lexer_next(&a->lex, err);
		if (!mpk_lexer_at(&a->lex, ','))
			return unexpected(a, err);
	}
}

/* Whether the array has as many elements as declared. The NUL of a string need not fit. */
static bool is_count(const struct array *a, uint64_t declared, bool strings)
{
	return !declared || declared == a->count || (strings && declared - 1 == a->count);
}

static enum mpk_code csource_bytes(const struct mpk_object_symbol *symbol, struct mpk_arena *arena,
				   struct mpk_span *out, struct mpk_error *err)
{
	struct array a = { .lex = { .bytes = symbol->content,
				    .language = "C",
				    .c_like = true,
				    .line = symbol->line ? symbol->line - 1 : 0 } };
	bool strings;

	a.bytes = mpk_arena_alloc(arena, symbol->content.len + 1);
	MPK_TRY_ALLOC(a.bytes, err);
	MPK_TRY(mpk_lexer_next(&a.lex, err));
	strings = a.lex.t.kind == MPK_TOKEN_STRING;
	if (strings) {
		while (a.lex.t.kind == MPK_TOKEN_STRING) {
			if (!csource_read_string(a.lex.t.text, a.bytes, &a.count))
				return unexpected(&a, err);
			MPK_TRY(mpk_lexer_next(&a.lex, err));
		}
	} else if (mpk_lexer_at(&a.lex, '{'))
		MPK_TRY(read_numbers(&a, err));
	else
		return unexpected(&a, err);
	if (a.lex.t.kind != MPK_TOKEN_END)
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

	MPK_TRY_ALLOC(texts, err);
	while (mpk_lexer_next(&lex, NULL) == MPK_OK && lex.t.kind != MPK_TOKEN_END) {
		size_t before = count;
		bool string = lex.t.kind == MPK_TOKEN_STRING &&
			      csource_read_string(lex.t.text, texts, &count);

		if (!string)
			count = before;
		if (open && !string)
			texts[count++] = 0; /* always fits: the token between the strings took at
					     * least a byte */
		open = string;
	}
	if (open)
		texts[count++] = 0;
	*out = mpk_span_of(texts, count);
	return MPK_OK;
}

/* A declaration at file scope that is being read. */
struct declaration {
	struct mpk_span name; /* the last word that can be a name */
	uint64_t count;       /* number of elements, when the brackets begin with a number */
	bool is_static, is_extern, is_typedef, is_namespace;
	bool has_language; /* extern "C" */
	bool is_call;      /* the name was followed by parentheses */
	bool is_array;
};

struct reader {
	struct mpk_lexer lex;
	struct mpk_arena *arena;
	struct declaration d;
	size_t linkage; /* number of open braces of extern "C" and namespaces */
	struct mpk_object_symbol *symbols;
	size_t count, cap;
};

static enum mpk_code no_end(const struct mpk_token *begin, struct mpk_error *err)
{
	return mpk_fail_line(err, MPK_E_SYNTAX, begin->line, begin->column,
			     "C: what '%c' begins has no end", begin->text.data[0]);
}

/* Skips from a bracket to the one that closes it, which becomes the current token. Brackets inside
 * are counted but not distinguished, since code that compiles has them in pairs.
 * @first   receives the token after the opening bracket; may be NULL */
static enum mpk_code skip_group(struct reader *r, struct mpk_token *first, struct mpk_error *err)
{
	struct mpk_token begin = r->lex.t;
	size_t depth = 0;

	for (size_t i = 0;; i++) {
		if (i == 1 && first)
			*first = r->lex.t;
		if (r->lex.t.kind == MPK_TOKEN_END)
			return no_end(&begin, err);
		if (mpk_lexer_at(&r->lex, '(') || mpk_lexer_at(&r->lex, '[') ||
		    mpk_lexer_at(&r->lex, '{'))
			depth++;
		if ((mpk_lexer_at(&r->lex, ')') || mpk_lexer_at(&r->lex, ']') ||
		     mpk_lexer_at(&r->lex, '}')) &&
		    --depth == 0)
			return MPK_OK;
		MPK_TRY(mpk_lexer_next(&r->lex, err));
	}
}

/* --- definitions ---------------------------------------------------------------------------- */

/* The name is copied, because tokens have no NUL. */
static enum mpk_code csource_add(struct reader *r, bool function, struct mpk_span initializer,
				 uint32_t line, struct mpk_error *err)
{
	struct mpk_object_symbol s = {
		.defined = true,
		.global = !r->d.is_static,
		.is_function = function,
		.bytes = r->d.is_array ? r->d.count : 0,
		.content = initializer,
		.line = line,
	};

	s.name = mpk_arena_text(r->arena, r->d.name);
	MPK_TRY_ALLOC(s.name && MPK_VEC_ROOM(r->symbols, r->count, r->cap), err);
	if (initializer.len)
		s.content_off = (uint64_t)(initializer.data - r->lex.bytes.data);
	r->symbols[r->count++] = s;
	return MPK_OK;
}

/* --- file scope ------------------------------------------------------------------------------ */

/* Skips attributes together with their arguments. The last of the other words is the name. */
static enum mpk_code read_word(struct reader *r, struct mpk_error *err)
{
	static const char *const with_arguments[] = { "__attribute__", "__declspec", "alignas",
						      "_Alignas",      "__asm__",    "asm" };
	struct declaration *d = &r->d;
	struct mpk_token word = r->lex.t;

	MPK_TRY(mpk_lexer_next(&r->lex, err));
	for (size_t i = 0; i < MPK_ARRAY_COUNT(with_arguments); i++)
		if (mpk_token_is_word(&word, with_arguments[i])) {
			if (!mpk_lexer_at(&r->lex, '('))
				return MPK_OK;
			MPK_TRY(skip_group(r, NULL, err));
			return mpk_lexer_next(&r->lex, err);
		}
	if (mpk_token_is_word(&word, "static"))
		d->is_static = true;
	else if (mpk_token_is_word(&word, "extern"))
		d->is_extern = true;
	else if (mpk_token_is_word(&word, "typedef") || mpk_token_is_word(&word, "using"))
		d->is_typedef = true;
	else if (mpk_token_is_word(&word, "namespace"))
		d->is_namespace = true;
	else if (!d->is_call && !d->is_array)
		d->name = word.text;
	return MPK_OK;
}

/* A string after extern is a language. A brace that closes no scope is ignored, because the text
 * may be anything. */
static enum mpk_code read_token(struct reader *r, struct mpk_error *err)
{
	if (r->lex.t.kind == MPK_TOKEN_WORD)
		return read_word(r, err);
	if (r->lex.t.kind == MPK_TOKEN_STRING)
		r->d.has_language |= r->d.is_extern;
	else if (mpk_lexer_at(&r->lex, '(')) {
		/* "int f(int)" is a function; in "int (*f)(int)" the name is in the first pair of parentheses,
		 * which is skipped. */
		if (r->d.is_call) /* a pointer to a function: its name is in the parentheses before */
			r->d.name = (struct mpk_span){ 0 };
		r->d.is_call |= r->d.name.len != 0;
		MPK_TRY(skip_group(r, NULL, err));
		return mpk_lexer_next(&r->lex, err);
	} else if (mpk_lexer_at(&r->lex, '[')) {
		/* "[852]", "[852 MPK_NUL]": the first number of the first brackets counts. */
		struct mpk_token first = { 0 };

		MPK_TRY(skip_group(r, &first, err));
		if (!r->d.is_array && first.kind == MPK_TOKEN_WORD)
			(void)mpk_parse_u64(first.text, &r->d.count);
		r->d.is_array = true;
		return mpk_lexer_next(&r->lex, err);
	} else if (mpk_lexer_at(&r->lex, '{')) {
		/* The brace begins a body, a list of members, or a block of extern "C" or a namespace, which is
		 * file scope, too. */
		bool scope = r->d.is_namespace || (r->d.has_language && !r->d.name.len);

		if (scope) {
			r->linkage++;
			r->d = (struct declaration){ 0 };
			return mpk_lexer_next(&r->lex, err);
		}
		MPK_TRY(skip_group(r, NULL, err));
		if (r->d.is_call && r->d.name.len) {
			MPK_TRY(csource_add(r, true, (struct mpk_span){ 0 }, 0, err));
			r->d = (struct declaration){ 0 };
		}
		r->d.name = (struct mpk_span){ 0 }; /* this was the tag of a struct; a name may
						     * follow */
		return mpk_lexer_next(&r->lex, err);
	} else if (mpk_lexer_at(&r->lex, '=')) {
		/* The initializer is everything up to the ";" of the declaration, or the "," before the next name. */
		struct mpk_token begin = r->lex.t;
		const uint8_t *from, *end;
		uint32_t line;

		MPK_TRY(mpk_lexer_next(&r->lex, err));
		line = r->lex.t.line;
		from = end = r->lex.t.text.data;
		while (!mpk_lexer_at(&r->lex, ';') && !mpk_lexer_at(&r->lex, ',')) {
			if (r->lex.t.kind == MPK_TOKEN_END)
				return no_end(&begin, err);
			if (mpk_lexer_at(&r->lex, '(') || mpk_lexer_at(&r->lex, '[') ||
			    mpk_lexer_at(&r->lex, '{'))
				MPK_TRY(skip_group(r, NULL, err));
			end = r->lex.t.text.data + r->lex.t.text.len;
			MPK_TRY(mpk_lexer_next(&r->lex, err));
		}
		if (r->d.name.len && !r->d.is_typedef && !r->d.is_call)
			MPK_TRY(csource_add(r, false, mpk_span_of(from, (size_t)(end - from)), line,
					    err));
		r->d.name = (struct mpk_span){ 0 };
		return MPK_OK;
	} else if (mpk_lexer_at(&r->lex, ';') || mpk_lexer_at(&r->lex, ',')) {
		/* "int x;" defines x, "extern int x;" does not. */
		const struct declaration d = r->d;

		/* a tentative definition */
		if (d.name.len && !d.is_extern && !d.is_typedef && !d.is_call)
			MPK_TRY(csource_add(r, false, (struct mpk_span){ 0 }, 0, err));
		r->d = (struct declaration){ 0 };
		if (mpk_lexer_at(&r->lex, ',')) { /* the names of a list share its specifiers */
			r->d.is_static = d.is_static;
			r->d.is_extern = d.is_extern;
			r->d.is_typedef = d.is_typedef;
		}
		return mpk_lexer_next(&r->lex, err);
	} else if (mpk_lexer_at(&r->lex, '}') && r->linkage) {
		r->linkage--;
		r->d = (struct declaration){ 0 };
	}
	return mpk_lexer_next(&r->lex, err);
}

static enum mpk_code csource_read_all(struct reader *r, struct mpk_error *err)
{
	MPK_TRY(mpk_lexer_next(&r->lex, err));
	while (r->lex.t.kind != MPK_TOKEN_END)
		MPK_TRY(read_token(r, err));
	return MPK_OK;
}

/* NULs at the end are padding. A NUL inside the text would hide the rest from a compiler. */
static enum mpk_code csource_read(struct mpk_span bytes, struct mpk_arena *arena,
				  struct mpk_object *out, struct mpk_error *err)
{
	struct reader r = { .arena = arena };
	struct mpk_object object = { .kind = MPK_OBJECT_SOURCE };
	const uint8_t *nul;

	while (bytes.len && bytes.data[bytes.len - 1] == 0)
		bytes.len--;
	nul = bytes.len ? memchr(bytes.data, 0, bytes.len) : NULL;
	if (nul)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", (uint64_t)(nul - bytes.data),
				       "C: a NUL in the text");
	r.lex = (struct mpk_lexer){ .bytes = bytes, .language = "C", .c_like = true };
	enum mpk_code code = csource_read_all(&r, err);
	if (code == MPK_OK) {
		object.symbols = mpk_arena_keep(arena, r.symbols, r.count, sizeof *r.symbols);
		object.symbol_count = r.count;
		if (!object.symbols)
			code = mpk_fail_nomem(err);
	}
	free(r.symbols);
	if (code == MPK_OK)
		*out = object;
	return code;
}

const struct mpk_object_reader mpk_csource_reader = { NULL, csource_read, csource_bytes };
