/* SPDX-License-Identifier: Apache-2.0 */
/* No parser of C: at file scope a name in front of parentheses and a body is a function, a name in
 * front of "=" or ";" is data, and that much is needed to find what a loader looks up by name. */
#include "csource/csource.h"

#include <stdlib.h>

#include "base/num.h"
#include "base/vec.h"
#include "lexer/lexer.h"

/* One declaration at file scope on its way. */
struct declaration {
	struct mpk_span name; /* the last word that can be one */
	uint64_t count;       /* elements, when the brackets begin with a number */
	bool is_static, is_extern, is_typedef, is_namespace;
	bool has_language; /* extern "C" */
	bool is_call;      /* the name was followed by parentheses */
	bool is_array;
};

struct reader {
	struct mpk_lexer lex;
	struct mpk_token t; /* the one that comes next */
	struct mpk_arena *arena;
	struct declaration d;
	size_t linkage; /* braces of extern "C" and namespaces that are open */
	struct mpk_object_symbol *symbols;
	size_t count, cap;
};

static enum mpk_code csource_next(struct reader *r, struct mpk_error *err)
{
	return mpk_lexer_next(&r->lex, &r->t, err);
}

static bool at(const struct reader *r, char c)
{
	return mpk_token_is_punct(&r->t, c);
}

static enum mpk_code no_end(const struct mpk_token *begin, struct mpk_error *err)
{
	return mpk_fail_line(err, MPK_E_SYNTAX, begin->line, begin->column,
			     "C: what '%c' begins has no end", begin->text.data[0]);
}

/* From a bracket to the one that closes it, which stays the next token. Brackets inside are
 * counted and not distinguished: what compiles has them in pairs.
 * @first   receives the token after the opening one; may be NULL */
static enum mpk_code skip_group(struct reader *r, struct mpk_token *first, struct mpk_error *err)
{
	struct mpk_token begin = r->t;
	size_t depth = 0;

	for (size_t i = 0;; i++) {
		if (i == 1 && first)
			*first = r->t;
		if (r->t.kind == MPK_TOKEN_END)
			return no_end(&begin, err);
		if (at(r, '(') || at(r, '[') || at(r, '{'))
			depth++;
		if ((at(r, ')') || at(r, ']') || at(r, '}')) && --depth == 0)
			return MPK_OK;
		MPK_TRY(csource_next(r, err));
	}
}

/* --- definitions ---------------------------------------------------------------------------- */

/* Names are copied, as tokens have no NUL. */
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
	MPK_TRY_ALLOC(
		s.name && mpk_vec_reserve(&r->symbols, &r->cap, r->count + 1, sizeof *r->symbols),
		err);
	if (initializer.len)
		s.content_off = (uint64_t)(initializer.data - r->lex.bytes.data);
	r->symbols[r->count++] = s;
	return MPK_OK;
}

/* After "=": all up to the ";" that ends the declaration, or the "," before the next name. */
static enum mpk_code read_initializer(struct reader *r, struct mpk_error *err)
{
	struct mpk_token begin = r->t;
	const uint8_t *from, *end;
	uint32_t line;

	MPK_TRY(csource_next(r, err));
	line = r->t.line;
	from = end = r->t.text.data;
	while (!at(r, ';') && !at(r, ',')) {
		if (r->t.kind == MPK_TOKEN_END)
			return no_end(&begin, err);
		if (at(r, '(') || at(r, '[') || at(r, '{'))
			MPK_TRY(skip_group(r, NULL, err));
		end = r->t.text.data + r->t.text.len;
		MPK_TRY(csource_next(r, err));
	}
	if (r->d.name.len && !r->d.is_typedef && !r->d.is_call)
		MPK_TRY(csource_add(r, false, mpk_span_of(from, (size_t)(end - from)), line, err));
	r->d.name = (struct mpk_span){ 0 };
	return MPK_OK;
}

/* "int x;" defines x, "extern int x;" does not. */
static enum mpk_code end_declaration(struct reader *r, struct mpk_error *err)
{
	const struct declaration d = r->d;

	/* a tentative definition */
	if (d.name.len && !d.is_extern && !d.is_typedef && !d.is_call)
		MPK_TRY(csource_add(r, false, (struct mpk_span){ 0 }, 0, err));
	r->d = (struct declaration){ 0 };
	if (at(r, ',')) { /* the names of a list share its specifiers */
		r->d.is_static = d.is_static;
		r->d.is_extern = d.is_extern;
		r->d.is_typedef = d.is_typedef;
	}
	return csource_next(r, err);
}

/* "[852]", "[852 MPK_NUL]": the first number of the first brackets counts. */
static enum mpk_code csource_read_extent(struct reader *r, struct mpk_error *err)
{
	struct mpk_token first = { 0 };

	MPK_TRY(skip_group(r, &first, err));
	if (!r->d.is_array && first.kind == MPK_TOKEN_WORD)
		(void)mpk_parse_u64(first.text, &r->d.count);
	r->d.is_array = true;
	return csource_next(r, err);
}

/* --- file scope ------------------------------------------------------------------------------ */

/* "int f(int)" makes f a function; "int (*f)(int)" has its name in the first pair, which is
 * passed over. */
static enum mpk_code read_parentheses(struct reader *r, struct mpk_error *err)
{
	if (r->d.is_call) /* a pointer to a function: its name is in the parentheses before */
		r->d.name = (struct mpk_span){ 0 };
	r->d.is_call |= r->d.name.len != 0;
	MPK_TRY(skip_group(r, NULL, err));
	return csource_next(r, err);
}

/* A body, a list of members, or what extern "C" and namespaces hold, which is file scope, too. */
static enum mpk_code read_brace(struct reader *r, struct mpk_error *err)
{
	bool scope = r->d.is_namespace || (r->d.has_language && !r->d.name.len);

	if (scope) {
		r->linkage++;
		r->d = (struct declaration){ 0 };
		return csource_next(r, err);
	}
	MPK_TRY(skip_group(r, NULL, err));
	if (r->d.is_call && r->d.name.len) {
		MPK_TRY(csource_add(r, true, (struct mpk_span){ 0 }, 0, err));
		r->d = (struct declaration){ 0 };
	}
	r->d.name = (struct mpk_span){ 0 }; /* the tag of a struct; a name may follow */
	return csource_next(r, err);
}

/* Attributes with arguments are passed over as a whole, wherever they are; of the other words
 * the last is the name. */
static enum mpk_code read_word(struct reader *r, struct mpk_error *err)
{
	static const char *const with_arguments[] = { "__attribute__", "__declspec", "alignas",
						      "_Alignas",      "__asm__",    "asm" };
	struct declaration *d = &r->d;
	struct mpk_token word = r->t;

	MPK_TRY(csource_next(r, err));
	for (size_t i = 0; i < MPK_ARRAY_COUNT(with_arguments); i++)
		if (mpk_token_is_word(&word, with_arguments[i])) {
			if (!at(r, '('))
				return MPK_OK;
			MPK_TRY(skip_group(r, NULL, err));
			return csource_next(r, err);
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

/* A string after extern is a language. A brace that closes no scope is passed over: the text may
 * be anything. */
static enum mpk_code read_token(struct reader *r, struct mpk_error *err)
{
	if (r->t.kind == MPK_TOKEN_WORD)
		return read_word(r, err);
	if (r->t.kind == MPK_TOKEN_STRING)
		r->d.has_language |= r->d.is_extern;
	else if (at(r, '('))
		return read_parentheses(r, err);
	else if (at(r, '['))
		return csource_read_extent(r, err);
	else if (at(r, '{'))
		return read_brace(r, err);
	else if (at(r, '='))
		return read_initializer(r, err);
	else if (at(r, ';') || at(r, ','))
		return end_declaration(r, err);
	else if (at(r, '}') && r->linkage) {
		r->linkage--;
		r->d = (struct declaration){ 0 };
	}
	return csource_next(r, err);
}

static enum mpk_code csource_read_all(struct reader *r, struct mpk_error *err)
{
	MPK_TRY(csource_next(r, err));
	while (r->t.kind != MPK_TOKEN_END)
		MPK_TRY(read_token(r, err));
	return MPK_OK;
}

/* NULs at the end are padding; one within the text would hide what follows from a compiler. */
enum mpk_code mpk_csource_read(struct mpk_span bytes, struct mpk_arena *arena,
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
