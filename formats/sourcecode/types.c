/* SPDX-License-Identifier: Apache-2.0 */
/* types.c - the types that a text defines, in one pass over it
 *
 * Scopes are not distinguished: a name with two meanings is open, and so is a type that only a
 * compiler can determine. */
#include "sourcecode/internal/sourcecode.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "lexer/lexer.h"

enum { TYPES_MAX = 65536, BRACES_MAX = 64 };

struct mpk_source_code_types {
	struct mpk_source_code_type *items; /* sorted by name */
	size_t count;
};

/* The words before a brace or a semicolon. */
struct head {
	enum { NOTHING, RECORD, ENUMERATION, USING } what;
	bool is_union, behind_colon;
	struct mpk_span name, words;
};

struct scan {
	struct mpk_lexer lex;
	struct mpk_source_code_type *items; /* malloc'ed */
	size_t count, cap;
	struct head head;
	bool is_template;
	size_t braces, parens;
	size_t open
		[BRACES_MAX]; /* for each brace: the record whose body it opens, from 1; 0: none */
	const uint8_t *body[BRACES_MAX];
	const uint8_t *typedef_text; /* beginning of the text after "typedef"; NULL: not in a
				      * typedef */
	size_t typedef_braces;
	bool failed;
};

static void scan_fini(struct scan *s)
{
	free(s->items);
}

/* A type without a name cannot be used by name. Beyond the limit the whole list is dropped, not a
 * part. */
static void sourcecode_types_add(struct scan *s, struct mpk_source_code_type type)
{
	if (!type.name.len || s->failed)
		return;
	if (s->count == TYPES_MAX || !MPK_VEC_ROOM(s->items, s->count, s->cap))
		s->failed = true;
	else
		s->items[s->count++] = type;
}

/* Signs of one character, because the lexer returns single bytes. */
static bool sourcecode_types_is_any(const struct mpk_token *t, const char *signs)
{
	return t->kind == MPK_TOKEN_PUNCT && strchr(signs, t->text.data[0]);
}

/* Whether a word is an attribute, which may be between the keyword of a record and its name. */
static bool is_attribute(const struct mpk_token *t)
{
	return mpk_token_is_word(t, "__attribute__") || mpk_token_is_word(t, "alignas") ||
	       mpk_token_is_word(t, "__align__") || mpk_token_is_word(t, "__declspec");
}

/* --- typedef ---------------------------------------------------------------------------- */

/* "struct { float x; } P, *Q": the type before the names, and one name. */
struct declaration {
	struct mpk_span base, braces;
	enum { PLAIN, IS_RECORD, IS_UNION, IS_ENUM } what;
	struct mpk_span name;
	bool star, bracket, paren, vector, based;
};

/* A pointer to a record without a name is treated as void *. */
static void add_declarator(struct scan *s, struct declaration *d)
{
	struct mpk_source_code_type type = { .name = d->name, .words = d->base };

	type.is_pointer = d->star || d->bracket;
	if (d->paren)
		type.kind = MPK_SOURCE_CODE_TYPE_OPEN;
	else if (d->vector)
		type.kind = MPK_SOURCE_CODE_TYPE_VECTOR;
	else if (d->braces.data && type.is_pointer)
		type.words = mpk_span_str("void");
	else if (d->braces.data && d->what == IS_ENUM)
		type = (struct mpk_source_code_type){
			.name = d->name,
			.kind = MPK_SOURCE_CODE_TYPE_ENUM,
		};
	else if (d->braces.data && d->what != PLAIN)
		type = (struct mpk_source_code_type){
			.name = d->name,
			.kind = MPK_SOURCE_CODE_TYPE_RECORD,
			.words = d->braces,
			.is_union = d->what == IS_UNION,
		};
	sourcecode_types_add(s, type);
	d->name = (struct mpk_span){ 0 };
	d->star = d->bracket = d->paren = d->vector = false;
}

/* Skips the parentheses after an attribute. Returns whether it makes a vector. */
static bool skip_attribute(struct mpk_lexer *lex)
{
	const struct mpk_token *t = &lex->t;
	size_t depth = 0;
	bool vector = false;

	do {
		if (mpk_lexer_next(lex, NULL) != MPK_OK || t->kind == MPK_TOKEN_END)
			return vector;
		depth += sourcecode_types_is_any(t, "(");
		depth -= depth && sourcecode_types_is_any(t, ")");
		vector |= mpk_token_is_word(t, "ext_vector_type") ||
			  mpk_token_is_word(t, "vector_size") ||
			  mpk_token_is_word(t, "__vector_size__") ||
			  mpk_token_is_word(t, "__ext_vector_type__");
	} while (depth);
	return vector;
}

/* "enum class E" is an enumeration. */
static void note_word(struct declaration *d, const struct mpk_token *t, size_t *braces)
{
	if (mpk_token_is_word(t, "struct") || mpk_token_is_word(t, "class"))
		d->what = d->what == IS_ENUM ? IS_ENUM : IS_RECORD;
	else if (mpk_token_is_word(t, "union"))
		d->what = IS_UNION;
	else if (mpk_token_is_word(t, "enum"))
		d->what = IS_ENUM;
	if (!d->based && !*braces) /* all words but the last, which is the name */
		d->base.len = (size_t)(t->text.data - d->base.data);
	d->name = t->text;
}

/* --- records, unions and enumerations --------------------------------------------------- */

static void close_brace(struct scan *s)
{
	if (!s->braces)
		return;
	s->braces--;
	if (s->braces < BRACES_MAX && s->open[s->braces])
		s->items[s->open[s->braces] - 1].words = mpk_span_of(
			s->body[s->braces], (size_t)(s->lex.t.text.data - s->body[s->braces]));
	s->head = (struct head){ 0 };
}

/* Adds a typedef or an alias, which is complete only here. */
static void end_statement(struct scan *s)
{
	if (s->typedef_text && s->typedef_braces == s->braces) {
		struct mpk_span text = mpk_span_of(s->typedef_text,
						   (size_t)(s->lex.t.text.data - s->typedef_text));
		struct mpk_lexer lex = { .bytes = text, .language = "source", .c_like = true };
		struct declaration d = { .base = mpk_span_of(text.data, 0) };
		const struct mpk_token *t = &lex.t;
		size_t braces = 0, others = 0;

		while (mpk_lexer_next(&lex, NULL) == MPK_OK && t->kind != MPK_TOKEN_END) {
			bool top = !braces && !others;

			if (top && is_attribute(t))
				d.vector |= skip_attribute(&lex);
			else if (top && t->kind == MPK_TOKEN_WORD)
				note_word(&d, t, &braces);
			d.star |= top && sourcecode_types_is_any(t, "*");
			d.bracket |= top && sourcecode_types_is_any(t, "[");
			d.paren |= top && sourcecode_types_is_any(t, "(");
			if (top && sourcecode_types_is_any(t, "*") && !d.based) {
				d.base.len = (size_t)(t->text.data - d.base.data);
				d.based = true;
			}
			if (top && sourcecode_types_is_any(t, "{"))
				d.braces = mpk_span_of(t->text.data + 1, 0);
			braces += sourcecode_types_is_any(t, "{");
			braces -= braces && sourcecode_types_is_any(t, "}");
			if (d.braces.data && !braces && sourcecode_types_is_any(t, "}"))
				d.braces.len = (size_t)(t->text.data - d.braces.data);
			others += sourcecode_types_is_any(t, "([<");
			others -= others && sourcecode_types_is_any(t, ")]>");
			if (top && sourcecode_types_is_any(t, ",")) {
				add_declarator(s, &d);
				d.based = true;
			}
		}
		add_declarator(s, &d);

		s->typedef_text = NULL;
	}
	if (s->head.what == USING && s->head.words.data) {
		struct mpk_source_code_type type = { .name = s->head.name, .words = s->head.words };

		type.words.len = (size_t)(s->lex.t.text.data - type.words.data);
		if (s->is_template || memchr(type.words.data, '(', type.words.len))
			type.kind = MPK_SOURCE_CODE_TYPE_OPEN;
		type.is_pointer = memchr(type.words.data, '[', type.words.len) != NULL;
		if (type.is_pointer) /* "float[4]" */
			type.words.len = (size_t)((const uint8_t *)memchr(type.words.data, '[',
									  type.words.len) -
						  type.words.data);
		sourcecode_types_add(s, type);
	}
	s->head = (struct head){ 0 };
	s->is_template = false;
}

static void sourcecode_types_follow(struct scan *s)
{
	if (s->lex.t.kind == MPK_TOKEN_WORD && !s->parens) {
		/* The word after a keyword is the name, unless it is another keyword. */
		bool record = mpk_token_is_word(&s->lex.t, "struct") ||
			      mpk_token_is_word(&s->lex.t, "class") ||
			      mpk_token_is_word(&s->lex.t, "union");

		if (mpk_token_is_word(&s->lex.t, "typedef")) {
			s->typedef_text = s->lex.t.text.data + s->lex.t.text.len;
			s->typedef_braces = s->braces;
		} else if (mpk_token_is_word(&s->lex.t, "template")) {
			s->is_template = true;
		} else if (mpk_token_is_word(&s->lex.t, "enum")) {
			s->head = (struct head){ .what = ENUMERATION };
		} else if (mpk_token_is_word(&s->lex.t, "using")) {
			s->head = (struct head){ .what = USING };
		} else if (record && s->head.what != ENUMERATION) {
			s->head =
				(struct head){ .what = RECORD,
					       .is_union = mpk_token_is_word(&s->lex.t, "union") };
		} else if (s->head.what && !record && !s->head.behind_colon &&
			   !s->head.words.data && !mpk_token_is_word(&s->lex.t, "final")) {
			s->head.name = s->lex.t.text;
		} else if (s->head.what == ENUMERATION && s->head.behind_colon) {
			if (!s->head.words.data)
				s->head.words = s->lex.t.text;
			s->head.words.len = (size_t)(s->lex.t.text.data + s->lex.t.text.len -
						     s->head.words.data);
		}
	} else if (sourcecode_types_is_any(&s->lex.t, "{")) {
		/* The words of a record are set when its brace closes. */
		size_t opened = 0;
		struct mpk_source_code_type type = { .name = s->head.name,
						     .is_union = s->head.is_union };

		if (s->head.what == RECORD) {
			type.kind = MPK_SOURCE_CODE_TYPE_RECORD;
			sourcecode_types_add(s, type);
			/* members of a template vary, and those of base classes are elsewhere */
			if (type.name.len && !s->failed && !s->is_template && !s->head.behind_colon)
				opened = s->count;
		} else if (s->head.what == ENUMERATION) {
			type.kind = MPK_SOURCE_CODE_TYPE_ENUM;
			type.words = s->head.words;
			sourcecode_types_add(s, type);
		}
		if (s->braces < BRACES_MAX) {
			s->open[s->braces] = opened;
			s->body[s->braces] = s->lex.t.text.data + 1;
		}
		s->braces++;
		s->head = (struct head){ 0 };
		s->is_template = false;
	} else if (sourcecode_types_is_any(&s->lex.t, "}"))
		close_brace(s);
	else if (sourcecode_types_is_any(&s->lex.t, ";") && !s->parens)
		end_statement(s);
	else if (sourcecode_types_is_any(&s->lex.t, ":"))
		s->head.behind_colon = s->head.what != NOTHING;
	else if (sourcecode_types_is_any(&s->lex.t, "=") && s->head.what == USING &&
		 !s->head.words.data)
		s->head.words = mpk_span_of(s->lex.t.text.data + 1, 0);
	else if (s->head.what != USING && sourcecode_types_is_any(&s->lex.t, "*&,=>)"))
		s->head = (struct head){ 0 }; /* the type is used, not defined */
}

/* --- macros ----------------------------------------------------------------------------- */

/* Whether a text has only words and stars, as a type may. */
static bool is_words(struct mpk_span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!mpk_source_code_is_word(s.data[i]) && !strchr(" \t\r*", s.data[i]))
			return false;
	return true;
}

/* A macro with arguments has a parenthesis right after its name, so it is never only words. */
static void scan_macros(struct scan *s)
{
	struct mpk_source_code_directive d;
	size_t depth = 0;

	for (size_t at = 0; !s->failed && mpk_source_code_next_directive(s->lex.bytes, &at, &d);) {
		struct mpk_source_code_type type = { .kind = MPK_SOURCE_CODE_TYPE_OPEN,
						     .is_macro = true };
		bool define = mpk_span_is(d.name, "define");

		depth += mpk_span_starts(d.name, "if");
		depth -= depth && mpk_span_is(d.name, "endif");
		if (!define && !mpk_span_is(d.name, "undef"))
			continue;
		type.name = mpk_source_code_name_at(d.rest, 0, d.rest.len);
		type.words = mpk_span_of(d.rest.data + type.name.len, d.rest.len - type.name.len);
		/* under a condition an option may give it another value */
		if (define && !depth && is_words(type.words))
			type.kind = MPK_SOURCE_CODE_TYPE_ALIAS;
		sourcecode_types_add(s, type);
	}
}

/* --- the list ------------------------------------------------------------------------------ */

static int sourcecode_by_name(const void *a, const void *b)
{
	const struct mpk_source_code_type *x = a, *y = b;

	return mpk_span_compare(x->name, y->name);
}

/* "typedef struct P P;": the alias of a tag is that tag. */
static bool is_tag(const struct mpk_source_code_type *alias,
		   const struct mpk_source_code_type *made)
{
	struct mpk_span word, last = { 0 };

	for (size_t at = 0; (word = mpk_source_code_next_word(alias->words, &at)).len;)
		last = word;
	return alias->kind == MPK_SOURCE_CODE_TYPE_ALIAS && !alias->is_pointer &&
	       mpk_span_equal(last, alias->name) &&
	       (made->kind == MPK_SOURCE_CODE_TYPE_RECORD ||
		made->kind == MPK_SOURCE_CODE_TYPE_ENUM);
}

/* A text may define a type twice in the same way. A name with two meanings is open. */
static void join(struct mpk_source_code_type *a, const struct mpk_source_code_type *b)
{
	bool same = a->kind == b->kind && a->is_pointer == b->is_pointer &&
		    a->is_union == b->is_union && mpk_span_equal(a->words, b->words);

	if (same || is_tag(b, a))
		return;
	a->is_macro |= b->is_macro;
	if (is_tag(a, b))
		*a = *b;
	else if (a->kind == MPK_SOURCE_CODE_TYPE_RECORD && b->kind == MPK_SOURCE_CODE_TYPE_RECORD)
		a->words = (struct mpk_span){ 0 };
	else
		a->kind = MPK_SOURCE_CODE_TYPE_OPEN;
}

/* The list is made at its first use. */
static const struct mpk_source_code_types *
sourcecode_types_make(struct mpk_source_code_index *index)
{
	static const struct mpk_source_code_types nothing;
	MPK_CLEANUP(scan_fini)
	struct scan s = { .lex = { .bytes = index->bytes, .language = "source", .c_like = true } };
	struct mpk_source_code_types *types = mpk_arena_alloc(index->arena, sizeof *types);

	if (index->bytes.len) {
		/* If the lexer fails, the types that were found so far count. */
		while (!s.failed && mpk_lexer_next(&s.lex, NULL) == MPK_OK &&
		       s.lex.t.kind != MPK_TOKEN_END) {
			if (s.head.what && is_attribute(&s.lex.t)) {
				(void)skip_attribute(&s.lex);
				continue;
			}
			s.parens += sourcecode_types_is_any(&s.lex.t, "(");
			sourcecode_types_follow(&s);
			s.parens -= s.parens && sourcecode_types_is_any(&s.lex.t, ")");
			if (sourcecode_types_is_any(&s.lex.t, "{}"))
				s.parens = 0; /* the text may not balance them */
		}
		scan_macros(&s);
	}
	if (!types || s.failed || !s.count)
		return &nothing;
	qsort(s.items, s.count, sizeof *s.items, sourcecode_by_name);
	for (size_t i = 0; i < s.count; i++) {
		if (types->count && mpk_span_equal(s.items[types->count - 1].name, s.items[i].name))
			join(&s.items[types->count - 1], &s.items[i]);
		else
			s.items[types->count++] = s.items[i];
	}
	types->items = mpk_arena_keep(index->arena, s.items, types->count, sizeof *s.items);
	return types->items ? types : &nothing;
}

struct mpk_source_code_type *mpk_source_code_find_type(struct mpk_source_code_index *index,
						       struct mpk_span name)
{
	const struct mpk_source_code_type key = { .name = name };
	const struct mpk_source_code_types *t;
	size_t i;

	if (!index->types)
		index->types = sourcecode_types_make(index);
	t = index->types;
	i = mpk_lower_bound(t->items, t->count, sizeof key, &key, sourcecode_by_name);
	return i < t->count && mpk_span_equal(t->items[i].name, name) ? &t->items[i] : NULL;
}
