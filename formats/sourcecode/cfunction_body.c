/* SPDX-License-Identifier: Apache-2.0 */
/* cfunction_body.c - what the body of a C function tells of its pointers and results
 *
 * Only plain forms count, as in "for (int i = 0; i < n; i++) y[i] = x[i];"; a full parser would
 * understand every text. A wrong extent makes callers pass tensors that are too short, a missing
 * one costs a question to a person. */
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "lexer/lexer.h"
#include "sourcecode/internal/sourcecode.h"

/* Each loop is read to its end, so that their number is bounded, too. */
enum { BODY_MAX = 256 * 1024, LOOPS_MAX = 64, PARAMS_MAX = 64 };

/* "for (i = 0; i < n; i++)": the tokens in which its variable is below the parameter */
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
	bool is_changed[PARAMS_MAX]; /* for each parameter: it may have changed */
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

/* A macro may hide anything, except one that is a number. */
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

/* After casts such as "(size_t)". */
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

/* Accepts an integer parameter that never changes, or a number. */
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

/* The step: "i++", "++i", "i += 4". */
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

/* The parentheses of a "for" at i, whose variable counts from 0. */
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

/* Returns the innermost loop around i that has the variable, or NULL. */
static const struct loop *loop_of(const struct body *b, size_t at, struct mpk_span variable)
{
	for (size_t k = b->loop_count; k-- > 0;)
		if (b->loops[k].from <= at && at <= b->loops[k].to &&
		    mpk_span_equal(b->loops[k].variable, variable))
			return &b->loops[k];
	return NULL;
}

/* --- uses --------------------------------------------------------------------------------------- */

struct dims {
	struct mpk_cfunction_extent at[2];
	size_t count;
};

static bool same_extent(struct mpk_cfunction_extent a, struct mpk_cfunction_extent b)
{
	return a.param == b.param && (a.param != SIZE_MAX || a.number == b.number);
}

/* "i]", "i * m + j]", "(i * m) + j]" and "j + i * m]" with variables of loops around it. */
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

/* "*x" is one element, as "x[0]" is. */
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

/* "return 0;", "return -1;", "return -EINVAL;" */
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

enum mpk_code mpk_cfunction_body_read(struct mpk_span body, struct mpk_source_code_index *index,
				      struct mpk_cfunction *f, struct mpk_cfunction_value *params,
				      struct mpk_error *err)
{
	MPK_CLEANUP(body_fini)
	struct body b = { .index = index, .params = params, .param_count = f->param_count };

	if (body.len > BODY_MAX)
		return MPK_OK;

	struct mpk_lexer lex = { .bytes = body, .language = "C", .c_like = true };

	do {
		MPK_TRY_ALLOC(mpk_vec_reserve(&b.t, &b.cap, b.count + 1, sizeof *b.t), err);
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
