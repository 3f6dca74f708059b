/* SPDX-License-Identifier: Apache-2.0 */
/* cfunction.c - the functions in a C text
 *
 * C is neither preprocessed nor parsed: at the outermost level, and in blocks of extern "C" and
 * namespaces, a function is words, a name, parentheses, and a semicolon or braces. Anything else,
 * such as the call of a macro, is skipped. */
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "lexer/lexer.h"
#include "sourcecode/cfunction.h"
#include "sourcecode/internal/sourcecode.h"

/* --- What the body of a C function shows about its pointers and results.
 *
 * Only plain forms count, such as "for (int i = 0; i < n; i++) y[i] = x[i];". With a wrong extent,
 * callers pass tensors that are too short; a missing one only means that a person is asked. */

/* Each loop is read to its end, so their number is limited, too. */
enum { BODY_MAX = 256 * 1024, LOOPS_MAX = 64, PARAMS_MAX = 64 };

/* "for (i = 0; i < n; i++)": the tokens in which the variable is less than the parameter */
struct loop {
	struct mpk_span variable;
	size_t from, to;
	struct mpk_cfunction_extent bound;
};

struct body {
	struct mpk_source_code_index *index;
	const struct mpk_cfunction_value *params;
	size_t param_count;
	struct mpk_token *t; /* malloc'ed; the last is MPK_TOKEN_END */
	size_t count, cap;
	bool is_changed[PARAMS_MAX]; /* for each parameter: the body may change it */
	struct loop loops[LOOPS_MAX];
	size_t loop_count, tried;
};

static void body_fini(struct body *b)
{
	free(b->t);
}

/* --- tokens ------------------------------------------------------------------------------------- */

static const struct mpk_token *token_at(const struct body *b, size_t i)
{
	return &b->t[i < b->count ? i : b->count - 1];
}

static bool is_sign(const struct body *b, size_t i, char c)
{
	return mpk_token_is_punct(token_at(b, i), c);
}

static bool is_any_sign(const struct body *b, size_t i, const char *signs)
{
	const struct mpk_token *t = token_at(b, i);

	return t->kind == MPK_TOKEN_PUNCT && strchr(signs, t->text.data[0]);
}

static bool is_name(const struct body *b, size_t i, struct mpk_span name)
{
	return token_at(b, i)->kind == MPK_TOKEN_WORD && mpk_span_equal(token_at(b, i)->text, name);
}

/* Whether a name is a macro that is not a number: it may hide anything. */
static bool has_macros(const struct body *b)
{
	uint32_t number;

	for (size_t i = 0; i < b->count; i++) {
		struct mpk_span word = b->t[i].text;

		if (b->t[i].kind == MPK_TOKEN_WORD &&
		    mpk_source_code_index_has(b->index, MPK_SOURCE_CODE_MACROS, word) &&
		    !mpk_source_code_constant(b->index, word, &number))
			return true;
	}
	return false;
}

/* Returns the index after casts such as "(size_t)". */
static size_t skip_casts(const struct body *b, size_t i)
{
	for (;;) {
		size_t end = i + 1;

		while (token_at(b, end)->kind == MPK_TOKEN_WORD)
			end++;
		if (!is_sign(b, i, '(') || end == i + 1 || !is_sign(b, end, ')') ||
		    token_at(b, end + 1)->kind != MPK_TOKEN_WORD)
			return i;
		i = end + 1;
	}
}

/* Returns the end of the bracket that opens at i. */
static size_t closing(const struct body *b, size_t i)
{
	size_t depth = 0;

	for (; token_at(b, i)->kind != MPK_TOKEN_END; i++) {
		depth += is_any_sign(b, i, "([{");
		depth -= depth && is_any_sign(b, i, ")]}");
		if (!depth)
			break;
	}
	return i;
}

/* Returns the end of the statement that begins at i: its semicolon or its brace. */
static size_t statement_end(const struct body *b, size_t i)
{
	for (; token_at(b, i)->kind != MPK_TOKEN_END; i++) {
		if (is_sign(b, i, '{'))
			return closing(b, i);
		if (is_any_sign(b, i, "(["))
			i = closing(b, i);
		else if (is_sign(b, i, ';'))
			break;
	}
	return i;
}

/* Whether the word at i is assigned, or its address is taken. */
static bool is_changed(const struct body *b, size_t i)
{
	bool twice_behind = is_any_sign(b, i + 1, "+-") && is_any_sign(b, i + 2, "+-") &&
			    token_at(b, i + 1)->text.data + 1 == token_at(b, i + 2)->text.data;
	bool twice_before = i > 1 && is_any_sign(b, i - 1, "+-") && is_any_sign(b, i - 2, "+-") &&
			    token_at(b, i - 2)->text.data + 1 == token_at(b, i - 1)->text.data;
	bool address = i > 1 && is_sign(b, i - 1, '&') && is_any_sign(b, i - 2, "(,=&;{}");

	if (is_sign(b, i + 1, '=') && !is_sign(b, i + 2, '='))
		return true;
	if (is_any_sign(b, i + 1, "+-*/%&|^") && is_sign(b, i + 2, '=') &&
	    token_at(b, i + 1)->text.data + 1 == token_at(b, i + 2)->text.data)
		return true;
	if (is_any_sign(b, i + 1, "<>") && is_any_sign(b, i + 2, "<>") && is_sign(b, i + 3, '='))
		return true;
	return twice_behind || twice_before || address;
}

static bool is_changed_within(const struct body *b, size_t from, size_t to, struct mpk_span name)
{
	for (size_t i = from; i < to; i++)
		if (is_name(b, i, name) && is_changed(b, i))
			return true;
	return false;
}

/* --- loops -------------------------------------------------------------------------------------- */

static size_t find_param(const struct body *b, size_t i)
{
	for (size_t p = 0; token_at(b, i)->kind == MPK_TOKEN_WORD && p < b->param_count; p++)
		if (b->params[p].name.len &&
		    mpk_span_equal(b->params[p].name, token_at(b, i)->text))
			return p;
	return SIZE_MAX;
}

/* Reads a bound: an integer parameter that never changes, or a number. */
static bool read_bound(const struct body *b, size_t i, struct mpk_cfunction_extent *out)
{
	size_t p = find_param(b, i);
	bool integer = p != SIZE_MAX && b->params[p].kind == MPK_CFUNCTION_NUMBER &&
		       (b->params[p].dtype.code == MPK_DTYPE_INT ||
			b->params[p].dtype.code == MPK_DTYPE_UINT);

	*out = (struct mpk_cfunction_extent){ p, 0 };
	if (p == SIZE_MAX)
		return token_at(b, i)->kind == MPK_TOKEN_WORD &&
		       mpk_source_code_constant(b->index, token_at(b, i)->text, &out->number) &&
		       out->number;
	return integer && !b->is_changed[p];
}

/* Whether i is a step of the loop: "i++", "++i", "i += 4". */
static bool is_step(const struct body *b, size_t i, struct mpk_span variable)
{
	uint32_t step;

	if (is_name(b, i, variable) && is_sign(b, i + 1, '+'))
		return (is_sign(b, i + 2, '+') && is_sign(b, i + 3, ')')) ||
		       (is_sign(b, i + 2, '=') && is_sign(b, i + 4, ')') &&
			mpk_source_code_constant(b->index, token_at(b, i + 3)->text, &step) &&
			step);
	return is_sign(b, i, '+') && is_sign(b, i + 1, '+') && is_name(b, i + 2, variable) &&
	       is_sign(b, i + 3, ')');
}

/* Notes the loop whose "for" is at i, if its variable counts from 0. */
static void note_loop(struct body *b, size_t i)
{
	size_t open = i + 1, at = open + 1;
	struct loop l = { 0 };

	if (!is_sign(b, open, '(') || b->tried++ >= LOOPS_MAX)
		return;
	while (token_at(b, at)->kind == MPK_TOKEN_WORD &&
	       token_at(b, at + 1)->kind == MPK_TOKEN_WORD)
		at++; /* "unsigned int" */
	l.variable = token_at(b, at)->text;
	if (token_at(b, at)->kind != MPK_TOKEN_WORD || find_param(b, at) != SIZE_MAX ||
	    !is_sign(b, at + 1, '=') || !mpk_token_is_word(token_at(b, at + 2), "0") ||
	    !is_sign(b, at + 3, ';'))
		return;
	at = skip_casts(b, at + 4);
	if (!is_name(b, at, l.variable) || !is_any_sign(b, at + 1, "<!"))
		return;
	at += is_sign(b, at + 1, '!') ? 3 : 2;
	if (is_sign(b, at, '=')) /* "<=" allows one more. */
		return;
	at = skip_casts(b, at);
	if (!is_sign(b, at + 1, ';') || !read_bound(b, at, &l.bound) ||
	    !is_step(b, at + 2, l.variable))
		return;
	l.from = closing(b, open) + 1;
	l.to = statement_end(b, l.from);
	if (!is_changed_within(b, l.from, l.to, l.variable))
		b->loops[b->loop_count++] = l;
}

/* Returns the innermost loop around i with this variable, or NULL. */
static const struct loop *loop_of(const struct body *b, size_t at, struct mpk_span variable)
{
	for (size_t k = b->loop_count; k-- > 0;)
		if (b->loops[k].from <= at && at <= b->loops[k].to &&
		    mpk_span_equal(b->loops[k].variable, variable))
			return &b->loops[k];
	return NULL;
}

/* --- uses of pointers --------------------------------------------------------------------------- */

struct dims {
	struct mpk_cfunction_extent at[2];
	size_t count;
};

static bool same_extent(struct mpk_cfunction_extent a, struct mpk_cfunction_extent b)
{
	return a.param == b.param && (a.param != SIZE_MAX || a.number == b.number);
}

/* Reads "i]", "i * m + j]", "(i * m) + j]" or "j + i * m]", with variables of the loops around it. */
static bool read_subscript(const struct body *b, size_t i, struct dims *out)
{
	const struct loop *first = loop_of(b, i, token_at(b, i)->text), *outer, *inner;
	size_t open = is_sign(b, i, '('), product = i + open, column = product + 4 + open;
	struct mpk_cfunction_extent width;

	if (token_at(b, i)->kind == MPK_TOKEN_WORD && first && is_sign(b, i + 1, ']')) {
		*out = (struct dims){ { first->bound }, 1 };
		return true;
	}
	if (token_at(b, i)->kind == MPK_TOKEN_WORD && is_sign(b, i + 1, '+')) {
		column = i;
		product = i + 2;
		open = 0;
	}
	outer = loop_of(b, product, token_at(b, product)->text);
	inner = loop_of(b, column, token_at(b, column)->text);
	if (!outer || !inner || !is_sign(b, product + 1, '*') ||
	    (open && !is_sign(b, product + 3, ')')) ||
	    (column != i && !is_sign(b, column - 1, '+')) ||
	    !is_sign(b, column == i ? product + 3 : column + 1, ']') ||
	    !read_bound(b, product + 2, &width) || !same_extent(inner->bound, width))
		return false;
	*out = (struct dims){ { outer->bound, width }, 2 };
	return true;
}

/* "*x" is one element, like "x[0]". */
static bool is_single(const struct body *b, size_t i)
{
	if (is_sign(b, i + 1, '['))
		return mpk_token_is_word(token_at(b, i + 2), "0") && is_sign(b, i + 3, ']');
	return i && is_sign(b, i - 1, '*') &&
	       (i < 2 || is_any_sign(b, i - 2, "(=;{}+-,<>|!?:)") ||
		mpk_token_is_word(token_at(b, i - 2), "return")) &&
	       !is_any_sign(b, i + 1, "+-.");
}

static bool read_use(const struct body *b, size_t i, struct dims *out)
{
	bool address = i && is_sign(b, i - 1, '&');

	if (address)
		return false;
	if (is_single(b, i)) {
		*out = (struct dims){ { { SIZE_MAX, 1 } }, 1 };
		return true;
	}
	return is_sign(b, i + 1, '[') && read_subscript(b, i + 2, out);
}

/* All uses of a pointer must give the same extents. */
static void cfunction_read_extents(const struct body *b, size_t p,
				   struct mpk_cfunction_value *param)
{
	struct dims dims = { .count = 0 }, one;

	for (size_t i = 0; i < b->count; i++) {
		if (!is_name(b, i, param->name))
			continue;
		if (!read_use(b, i, &one) || find_param(b, i) != p)
			return;
		if (dims.count && (dims.count != one.count || !same_extent(dims.at[0], one.at[0]) ||
				   !same_extent(dims.at[1], one.at[1])))
			return;
		dims = one;
	}
	memcpy(param->dims, dims.at, dims.count * sizeof *dims.at);
	param->dim_count = dims.count;
}

/* --- results ------------------------------------------------------------------------------------ */

/* Whether a return is "return 0;", "return -1;" or "return -EINVAL;". */
static bool cfunction_is_status(const struct body *b, size_t i, bool *zero)
{
	bool capitals = true;
	struct mpk_span word;

	i += is_sign(b, i, '-');
	word = token_at(b, i)->text;
	if (token_at(b, i)->kind != MPK_TOKEN_WORD || !is_sign(b, i + 1, ';'))
		return false;
	*zero |= mpk_span_is(word, "0") || mpk_span_is(word, "EXIT_SUCCESS");
	for (size_t k = 0; k < word.len; k++)
		capitals &= word.data[k] < 'a' || word.data[k] > 'z';
	return capitals || (word.data[0] >= '0' && word.data[0] <= '9');
}

/* Reads from a body what it returns, and the extents that the declaration does not give
 * Nothing is read from a body of more than 256 KiB, or with macros in it.
 * Returns  MPK_OK; MPK_E_NOMEM */
static enum mpk_code cfunction_body_read(struct mpk_span body, struct mpk_source_code_index *index,
					 struct mpk_cfunction *f,
					 struct mpk_cfunction_value *params, struct mpk_error *err)
{
	MPK_CLEANUP(body_fini)
	struct body b = { .index = index, .params = params, .param_count = f->param_count };

	if (body.len > BODY_MAX)
		return MPK_OK;

	struct mpk_lexer lex = { .bytes = body, .language = "C", .c_like = true };

	do {
		MPK_TRY_ALLOC(MPK_VEC_ROOM(b.t, b.count, b.cap), err);
		if (mpk_lexer_next(&lex, NULL) != MPK_OK)
			lex.t = (struct mpk_token){ .text = mpk_span_of(body.data, 0) };
		b.t[b.count] = lex.t;
	} while (b.t[b.count++].kind != MPK_TOKEN_END);

	bool zero = false, others = false;

	for (size_t i = 0; i < b.count; i++)
		if (mpk_token_is_word(&b.t[i], "return"))
			others |= !cfunction_is_status(&b, i + 1, &zero);
	f->returns_status = zero && !others;
	f->returns_value = others;

	if (f->param_count > PARAMS_MAX || has_macros(&b))
		return MPK_OK;
	for (size_t i = 0; i < b.count; i++) {
		size_t p = find_param(&b, i);

		if (p != SIZE_MAX)
			b.is_changed[p] |= is_changed(&b, i);
	}
	for (size_t i = 0; i < b.count; i++)
		if (mpk_token_is_word(&b.t[i], "for"))
			note_loop(&b, i);
	for (size_t p = 0; p < f->param_count; p++)
		if (params[p].kind == MPK_CFUNCTION_POINTER && params[p].name.len &&
		    !params[p].dim_count)
			cfunction_read_extents(&b, p, &params[p]);
	return MPK_OK;
}

enum { BLOCKS_MAX = 32, CFUNCTION_PARAMS_MAX = 256 };

/* The words of the declaration that is being read. */
struct head {
	const uint8_t *start;
	struct mpk_token last; /* the previous word, which may be the name */
	size_t words;
	bool extern_c, is_extern, is_static, is_inline, is_template, is_namespace, is_typedef,
		is_record;
};

/* A function. The texts of all functions are read after the last one was found. */
struct found {
	struct mpk_span name, result, params, body;
	uint32_t line;
	bool extern_c, is_local, is_template, is_asm, is_inline;
	struct mpk_span condition;
};

struct reader {
	struct mpk_lexer lex;
	bool is_cxx;
	struct mpk_source_code_groups groups;
	struct head head;
	bool extern_c[BLOCKS_MAX]; /* for each block around: it is extern "C" */
	size_t depth;
	struct found *found; /* malloc'ed */
	size_t count, cap;
	struct mpk_strmap names; /* index into found, by name */
};

static void reader_fini(struct reader *r)
{
	free(r->found);
	mpk_strmap_fini(&r->names);
}

static bool at_end(const struct reader *r)
{
	return r->lex.t.kind == MPK_TOKEN_END;
}

static void new_declaration(struct reader *r)
{
	r->head = (struct head){ 0 };
}

/* Words before parentheses that are not the name of a function. */
static bool is_keyword(struct mpk_span word)
{
	static const char *const words[] = {
		"__attribute__", "__declspec", "alignas",        "_Alignas",      "__asm__",
		"asm",           "if",         "while",          "for",           "switch",
		"return",        "sizeof",     "_Static_assert", "static_assert", "decltype",
		"typeof",        "__typeof__", "operator",       "int",           "void",
		"float",         "double",     "char",           "long",          "short",
		"unsigned",      "signed",     "bool",           "_Bool",         "const",
		"__asm",         "noexcept",   "throw",          "explicit",      "requires",
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(words); i++)
		if (mpk_span_is(word, words[i]))
			return true;
	return word.data[0] == '.' || (word.data[0] >= '0' && word.data[0] <= '9');
}

/* Skips from an opening bracket to the token after its end.
 * @inside  may be NULL; receives the text in between */
static enum mpk_code skip_group(struct reader *r, struct mpk_span *inside, struct mpk_error *err)
{
	const uint8_t *from = r->lex.t.text.data + 1;
	size_t depth = 0;

	do {
		if (at_end(r))
			return MPK_OK;
		if (r->lex.t.kind == MPK_TOKEN_PUNCT) {
			depth += strchr("([{", r->lex.t.text.data[0]) != NULL;
			depth -= strchr(")]}", r->lex.t.text.data[0]) != NULL;
		}
		if (inside)
			*inside = mpk_span_of(from, (size_t)(r->lex.t.text.data - from));
		MPK_TRY(mpk_lexer_next(&r->lex, err));
	} while (depth);
	return MPK_OK;
}

/* Skips to the semicolon of a declaration that is not a function, past brackets. */
static enum mpk_code skip_rest(struct reader *r, struct mpk_error *err)
{
	while (!at_end(r) && !mpk_lexer_at(&r->lex, ';') && !mpk_lexer_at(&r->lex, '}')) {
		if (r->lex.t.kind == MPK_TOKEN_PUNCT && strchr("([{", r->lex.t.text.data[0]))
			MPK_TRY(skip_group(r, NULL, err));
		else
			MPK_TRY(mpk_lexer_next(&r->lex, err));
	}
	return MPK_OK;
}

/* Merges a declaration with its definition, which has more information. */
static enum mpk_code cfunction_add(struct reader *r, struct found *f, struct mpk_error *err)
{
	const struct mpk_source_code_group *group =
		mpk_source_code_group_at(&r->groups, (size_t)(f->name.data - r->lex.bytes.data));
	size_t at = r->count;
	int put = mpk_strmap_put(&r->names, f->name, r->count, &at);

	MPK_TRY_ALLOC(put >= 0, err);
	f->condition = group ? group->condition : (struct mpk_span){ 0 };
	if (put) {
		MPK_TRY_ALLOC(mpk_vec_reserve(&r->found, &r->cap, r->count + 1, sizeof *f), err);
		r->found[r->count++] = *f;
		return MPK_OK;
	}
	f->extern_c |= r->found[at].extern_c;
	f->is_local |= r->found[at].is_local;
	/* "extern int f(int);" beside an inline definition makes it a symbol */
	f->is_inline &= r->found[at].is_inline || !f->body.len;
	if (f->body.len && !r->found[at].body.len)
		r->found[at] = *f;
	r->found[at].extern_c = f->extern_c;
	r->found[at].is_local = f->is_local;
	r->found[at].is_inline = f->is_inline;
	return MPK_OK;
}

/* Reads after the parameters: attributes, then a semicolon, a comma or the body. If something else
 * follows, this was the call of a macro, and a declaration begins there.
 * @is_one  receives whether it is a function */
static enum mpk_code finish(struct reader *r, struct found *f, bool *is_one, struct mpk_error *err)
{
	*is_one = true;
	while (r->lex.t.kind == MPK_TOKEN_WORD) {
		struct mpk_span word = r->lex.t.text;

		if (!is_keyword(word) && !mpk_span_is(word, "override"))
			break;
		f->is_asm |= mpk_span_is(word, "asm") || mpk_span_is(word, "__asm__") ||
			     mpk_span_is(word, "__asm");
		if (mpk_span_is(word, "int") || mpk_span_is(word, "void") ||
		    mpk_span_is(word, "float") || mpk_span_is(word, "double") ||
		    mpk_span_is(word, "unsigned") || mpk_span_is(word, "long") ||
		    mpk_span_is(word, "char") || mpk_span_is(word, "short"))
			break; /* the call of a macro before a declaration, or parameters in the
			        * style before 1989 */
		MPK_TRY(mpk_lexer_next(&r->lex, err));
		if (mpk_lexer_at(&r->lex, '('))
			MPK_TRY(skip_group(r, NULL, err));
	}
	if (mpk_lexer_at(&r->lex, '{')) {
		MPK_TRY(skip_group(r, &f->body, err));
		if (!f->body.len) /* "{}" is a body, too. */
			f->body = mpk_span_str(" ");
		new_declaration(r);
		return MPK_OK;
	}
	if (mpk_lexer_at(&r->lex, ';') || mpk_lexer_at(&r->lex, ','))
		return skip_rest(r, err);
	*is_one = false;
	new_declaration(r);
	return MPK_OK;
}

static bool is_in_c(const struct reader *r)
{
	for (size_t i = 0; i < r->depth && i < BLOCKS_MAX; i++)
		if (r->extern_c[i])
			return true;
	return false;
}

static enum mpk_code read_function(struct reader *r, struct mpk_error *err)
{
	const struct head *h = &r->head;
	struct found f = { .name = h->last.text,
			   .line = h->last.line,
			   .result = mpk_span_of(h->start, (size_t)(h->last.text.data - h->start)),
			   .extern_c = h->extern_c || is_in_c(r) || !r->is_cxx,
			   .is_local = h->is_static,
			   .is_inline = h->is_inline && !h->is_extern,
			   .is_template = h->is_template };
	bool is_one, is_typedef = h->is_typedef;

	MPK_TRY(skip_group(r, &f.params, err));
	MPK_TRY(finish(r, &f, &is_one, err));
	return is_one && !is_typedef ? cfunction_add(r, &f, err) : MPK_OK;
}

static enum mpk_code open_brace(struct reader *r, struct mpk_error *err)
{
	const struct head *h = &r->head;

	if (!h->is_namespace && !(h->extern_c && !h->words)) {
		if (!h->is_record) /* but not in "struct s { int x; } f(int);" */
			new_declaration(r);
		return skip_group(r, NULL, err);
	}
	if (r->depth < BLOCKS_MAX)
		r->extern_c[r->depth] = h->extern_c;
	r->depth++;
	new_declaration(r);
	return mpk_lexer_next(&r->lex, err);
}

static void note_word(struct reader *r)
{
	struct head *h = &r->head;
	const struct mpk_token *t = &r->lex.t;

	h->is_typedef |= mpk_token_is_word(t, "typedef");
	h->is_static |= mpk_token_is_word(t, "static");
	h->is_inline |= mpk_token_is_word(t, "inline") || mpk_token_is_word(t, "__inline") ||
			mpk_token_is_word(t, "__inline__");
	h->is_template |= mpk_token_is_word(t, "template");
	h->is_namespace |= mpk_token_is_word(t, "namespace");
	h->is_record |= mpk_token_is_word(t, "struct") || mpk_token_is_word(t, "union") ||
			mpk_token_is_word(t, "enum") || mpk_token_is_word(t, "class");
	h->is_extern |= mpk_token_is_word(t, "extern");
	if (!mpk_token_is_word(t, "extern"))
		h->words++;
	h->last = *t;
}

/* Reads one token of a declaration at the outermost level. */
static enum mpk_code cfunction_follow(struct reader *r, struct mpk_error *err)
{
	struct head *h = &r->head;
	bool named = h->last.text.len && !is_keyword(h->last.text) && h->words > 1;

	if (!h->start)
		h->start = r->lex.t.text.data;
	if (mpk_lexer_at(&r->lex, '(')) {
		if (named)
			return read_function(r, err);
		if (h->words == 1 && h->last.text.len && !is_keyword(h->last.text))
			new_declaration(r); /* it was the call of a macro */
		h->last = (struct mpk_token){ 0 };
		return skip_group(r, NULL, err);
	}
	if (mpk_lexer_at(&r->lex, '{'))
		return open_brace(r, err);
	if (mpk_lexer_at(&r->lex, '='))
		return skip_rest(r, err);
	if (r->lex.t.kind == MPK_TOKEN_WORD) {
		note_word(r);
	} else if (r->lex.t.kind == MPK_TOKEN_STRING) {
		h->extern_c |= mpk_span_is(r->lex.t.text, "\"C\"");
	} else {
		h->last = (struct mpk_token){ 0 };
	}
	return mpk_lexer_next(&r->lex, err);
}

/* --- the list of functions ---------------------------------------------------------------------- */

/* Returns the text up to the next comma outside of brackets; false: there is none. */
static bool next_param(struct mpk_span s, size_t *at, struct mpk_span *out)
{
	size_t depth = 0, i = *at;

	if (i > s.len)
		return false;
	for (; i < s.len && (depth || s.data[i] != ','); i++) {
		depth += strchr("([{<", s.data[i]) != NULL;
		depth -= depth && strchr(")]}>", s.data[i]);
	}
	*out = mpk_span_of(s.data + *at, i - *at);
	*at = i + 1;
	return true;
}

static bool cfunction_is_blank(struct mpk_span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.data[i] > ' ')
			return false;
	return true;
}

static const char *cfunction_refusal(const struct found *f, struct mpk_span params)
{
	if (f->is_template)
		return "is a template, which has no symbol until something instantiates it";
	if (f->is_local)
		return "is static, and nothing outside of its file can call it";
	if (f->is_inline)
		return "is inline, and its file need not have a symbol of it";
	if (!f->extern_c)
		return "is C++ without extern \"C\", and its symbol is another than its name";
	if (f->is_asm)
		return "has a symbol of its own choice";
	if (params.len && memmem(params.data, params.len, "...", 3))
		return "takes any number of arguments";
	return NULL;
}

/* Reads the parameters twice, because an extent may name a later parameter: "void f(float x[n], int
 * n)" is not valid C, but bodies do so. */
static enum mpk_code read_params(struct mpk_span text, struct mpk_source_code_index *index,
				 struct mpk_arena *arena, struct mpk_cfunction_value **out,
				 size_t *count, struct mpk_error *err)
{
	size_t most = 0, at = 0, used = 0;
	struct mpk_span one;

	*count = 0;
	text = mpk_span_trim(text);
	if (!text.len || mpk_span_is(text, "void"))
		return MPK_OK;
	while (next_param(text, &at, &one))
		most++;
	if (most > CFUNCTION_PARAMS_MAX)
		return MPK_OK;
	MPK_TRY_ARRAY(*out, arena, most, err);
	for (at = 0; next_param(text, &at, &one);)
		if (!cfunction_is_blank(one) && !mpk_span_is(mpk_span_trim(one), "..."))
			mpk_cfunction_value_read(mpk_span_trim(one), index, *out, used,
						 &(*out)[used]),
				used++;
	*count = used;
	return MPK_OK;
}

static enum mpk_code cfunction_take(const struct found *f, struct mpk_source_code_index *index,
				    struct mpk_arena *arena, struct mpk_cfunction *out,
				    struct mpk_error *err)
{
	struct mpk_cfunction_value *params = NULL;

	*out = (struct mpk_cfunction){ .name = f->name,
				       .line = f->line,
				       .is_defined = f->body.len > 0,
				       .is_local = f->is_local || f->is_inline,
				       .refusal = cfunction_refusal(f, f->params),
				       .condition = f->condition };
	mpk_cfunction_value_read(mpk_span_trim(f->result), index, NULL, 0, &out->result);
	out->result.name = (struct mpk_span){ 0 };
	if (out->refusal)
		return MPK_OK;
	MPK_TRY(read_params(f->params, index, arena, &params, &out->param_count, err));
	if (!params && !cfunction_is_blank(f->params) &&
	    !mpk_span_is(mpk_span_trim(f->params), "void"))
		out->refusal = "takes more than 256 arguments";
	if (out->is_defined)
		MPK_TRY(cfunction_body_read(f->body, index, out, params, err));
	out->params = params;
	return MPK_OK;
}

enum mpk_code mpk_cfunctions_read(struct mpk_span bytes, bool is_cxx, struct mpk_arena *arena,
				  const struct mpk_cfunction **out, size_t *count,
				  struct mpk_error *err)
{
	MPK_CLEANUP(reader_fini)
	struct reader r = { .lex = { .language = "C", .c_like = true }, .is_cxx = is_cxx };
	struct mpk_source_code_index index = { .arena = arena };
	struct mpk_cfunction *functions;
	const uint8_t *nul;

	while (bytes.len && bytes.data[bytes.len - 1] == '\0')
		bytes.len--;
	nul = bytes.len ? memchr(bytes.data, 0, bytes.len) : NULL;
	if (nul)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", (size_t)(nul - bytes.data),
				       "C: a NUL inside the text");
	MPK_TRY(mpk_source_code_plain(bytes, false, arena, &r.lex.bytes, err));
	MPK_TRY(mpk_source_code_conditions(r.lex.bytes, arena, &r.lex.bytes, &r.groups, err));
	index.bytes = r.lex.bytes;
	MPK_TRY(mpk_lexer_next(&r.lex, err));
	while (!at_end(&r)) {
		bool brace = mpk_lexer_at(&r.lex, '}');

		if (!brace && !mpk_lexer_at(&r.lex, ';')) {
			MPK_TRY(cfunction_follow(&r, err));
			continue;
		}
		r.depth -= brace && r.depth;
		new_declaration(&r);
		MPK_TRY(mpk_lexer_next(&r.lex, err));
	}
	MPK_TRY_ARRAY(functions, arena, r.count, err);
	for (size_t i = 0; i < r.count; i++)
		MPK_TRY(cfunction_take(&r.found[i], &index, arena, &functions[i], err));
	*out = functions;
	*count = r.count;
	return MPK_OK;
}
