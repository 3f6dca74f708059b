/* SPDX-License-Identifier: Apache-2.0 */
/* reach.c - which elements the threads of a kernel touch, as far as its text shows
 *
 * To launch a kernel one must know what its index is compared with. Only plain forms count, such as
 * "int i = get_global_id(0); if (i < n) x[i] = 0;". With a wrong answer, threads write outside of a
 * buffer; a missing one only means that a person is asked. */
#include <stdlib.h>

#include "base/compiler.h"
#include "base/num.h"
#include "base/vec.h"
#include "lexer/lexer.h"
#include "sourcecode/sourcecode.h"

enum { BODY_MAX = 256 * 1024, NAMES_MAX = 32, NESTING_MAX = 4 };

/* A variable that is the index of a thread, or computed from it. */
struct index {
	struct mpk_span name;
	unsigned dim;
	bool exact; /* it is the index, and never changes */
};

struct body {
	const struct mpk_source_code_kernel *kernel;
	struct mpk_source_code_index *index; /* words of the whole source */
	struct mpk_token *t;                 /* malloc'ed; the last is MPK_TOKEN_END */
	size_t count, cap;
	struct index indices[NAMES_MAX];
	size_t index_count;
	struct mpk_span *names; /* names of the parameters */
};

static void body_fini(struct body *b)
{
	free(b->t);
}

/* --- tokens ------------------------------------------------------------------------------ */

static const struct mpk_token *tok(const struct body *b, size_t i)
{
	return &b->t[i < b->count ? i : b->count - 1];
}

static bool is_punct(const struct body *b, size_t i, char c)
{
	return mpk_token_is_punct(tok(b, i), c);
}

static bool is_word(const struct body *b, size_t i, const char *word)
{
	return mpk_token_is_word(tok(b, i), word);
}

static bool sourcecode_is_any(const struct body *b, size_t i, const char *puncts)
{
	const struct mpk_token *t = tok(b, i);

	return t->kind == MPK_TOKEN_PUNCT && strchr(puncts, t->text.data[0]);
}

static bool is_joined(const struct body *b, size_t i)
{
	return tok(b, i)->text.data + 1 == tok(b, i + 1)->text.data;
}

/* "=", or the end of "+=". */
static bool is_assignment(const struct body *b, size_t i)
{
	return is_punct(b, i, '=') && !is_punct(b, i + 1, '=') &&
	       (!i || !sourcecode_is_any(b, i - 1, "=<>!") ||
		(i > 1 && sourcecode_is_any(b, i - 1, "<>") && sourcecode_is_any(b, i - 2, "<>")));
}

/* <, <=, > or >=, but not a shift or "->".
 * Returns  its number of tokens; 0: something else */
static size_t order_at(const struct body *b, size_t i)
{
	bool shift = sourcecode_is_any(b, i, "<>") &&
		     ((sourcecode_is_any(b, i + 1, "<>") && is_joined(b, i)) ||
		      (i && sourcecode_is_any(b, i - 1, "<>") && is_joined(b, i - 1)));

	if (!sourcecode_is_any(b, i, "<>") || shift ||
	    (i && is_punct(b, i - 1, '-') && is_joined(b, i - 1)))
		return 0;
	return is_punct(b, i + 1, '=') ? 2 : 1;
}

/* --- the index of a thread ---------------------------------------------------------------- */

/* Returns the index after casts such as "(int)" and "(unsigned int)". */
static size_t skip_casts(const struct body *b, size_t i)
{
	for (;;) {
		size_t end = i + 1;

		while (tok(b, end)->kind == MPK_TOKEN_WORD)
			end++;
		if (!is_punct(b, i, '(') || end == i + 1 || !is_punct(b, end, ')') ||
		    (tok(b, end + 1)->kind != MPK_TOKEN_WORD && !is_punct(b, end + 1, '(')))
			return i;
		i = end + 1;
	}
}

/* Reads one factor: get_group_id(0), blockIdx.x. dim: the required dimension; 3: any, which is then
 * set.
 * Returns  its end; i: there is none */
static size_t match_factor(const struct body *b, size_t i, const char *opencl, const char *cuda,
			   unsigned *dim)
{
	static const char *const axes[][2] = { { "0", ".x" }, { "1", ".y" }, { "2", ".z" } };
	size_t at = skip_casts(b, i);
	bool call = opencl && is_word(b, at, opencl) && is_punct(b, at + 1, '(') &&
		    is_punct(b, at + 3, ')');

	for (unsigned d = 0; d < 3; d++) {
		if ((*dim != 3 && *dim != d) ||
		    !(call ? is_word(b, at + 2, axes[d][0])
			   : cuda && is_word(b, at, cuda) && is_word(b, at + 1, axes[d][1])))
			continue;
		*dim = d;
		return at + (call ? 4 : 2);
	}
	return i;
}

/* Reads the product of block index and block size, in either order, with or without parentheses. */
static size_t match_product(const struct body *b, size_t i, unsigned *dim)
{
	static const char *const words[2][2] = { { "get_group_id", "blockIdx" },
						 { "get_local_size", "blockDim" } };
	size_t open = skip_casts(b, i), from = open + is_punct(b, open, '(');

	for (unsigned k = 0; k < 2; k++) {
		unsigned d = *dim;
		size_t a = match_factor(b, from, words[k][0], words[k][1], &d), end;

		if (a == from || !is_punct(b, a, '*'))
			continue;
		end = match_factor(b, a + 1, words[1 - k][0], words[1 - k][1], &d);
		if (end == a + 1 || (from != open && !is_punct(b, end, ')')))
			continue;
		*dim = d;
		return end + (from != open);
	}
	return i;
}

/* Reads get_global_id(0), or block * size + thread.
 * Returns  its end; i: there is none */
static size_t match_formula(const struct body *b, size_t i, unsigned *dim)
{
	size_t end, at;

	*dim = 3;
	end = match_factor(b, i, "get_global_id", NULL, dim);
	if (end != i)
		return end;
	at = match_product(b, i, dim);
	if (at != i && is_punct(b, at, '+')) {
		end = match_factor(b, at + 1, "get_local_id", "threadIdx", dim);
		if (end != at + 1)
			return end;
	}
	*dim = 3;
	at = match_factor(b, i, "get_local_id", "threadIdx", dim);
	if (at != i && is_punct(b, at, '+')) {
		end = match_product(b, at + 1, dim);
		if (end != at + 1)
			return end;
	}
	return i;
}

static const struct index *find_index(const struct body *b, struct mpk_span name)
{
	for (size_t i = 0; i < b->index_count; i++)
		if (mpk_span_equal(b->indices[i].name, name))
			return &b->indices[i];
	return NULL;
}

/* Reads the index, with casts and parentheses.
 * @names   variables that hold the index count, too
 * Returns  its end; i: there is none */
static size_t match_index(const struct body *b, size_t i, bool names, unsigned *dim)
{
	size_t at = skip_casts(b, i), open = 0, end;
	const struct index *found;

	while (open < NESTING_MAX && is_punct(b, at, '(') && match_formula(b, at, dim) == at) {
		at = skip_casts(b, at + 1);
		open++;
	}
	found = names && tok(b, at)->kind == MPK_TOKEN_WORD ? find_index(b, tok(b, at)->text)
							    : NULL;
	if (found && found->exact) {
		*dim = found->dim;
		end = at + 1;
	} else {
		end = match_formula(b, at, dim);
		if (end == at)
			return i;
	}
	for (; open; open--, end++)
		if (!is_punct(b, end, ')'))
			return i;
	return end;
}

/* Whether the value of a word depends on the thread; words for a thread within its block do not
 * count. */
static bool is_tainted(const struct body *b, size_t i)
{
	static const char *const words[] = { "get_global_id", "get_group_id", "blockIdx",
					     "get_global_linear_id" };

	if (tok(b, i)->kind != MPK_TOKEN_WORD)
		return false;
	for (size_t k = 0; k < MPK_ARRAY_COUNT(words); k++)
		if (is_word(b, i, words[k]))
			return true;
	return find_index(b, tok(b, i)->text) != NULL;
}

/* Notes the variable of the assignment at i, if its value depends on the thread. */
static void note_variable(struct body *b, size_t i)
{
	struct index v = { .name = tok(b, i - 1)->text };
	size_t depth = 0, end = match_index(b, i + 1, false, &v.dim);
	bool tainted = false;

	v.exact = end != i + 1 && sourcecode_is_any(b, end, ";,");
	for (size_t k = i + 1; !is_punct(b, k, ';') && tok(b, k)->kind != MPK_TOKEN_END; k++) {
		depth += sourcecode_is_any(b, k, "([{");
		depth -= depth && sourcecode_is_any(b, k, ")]}");
		if (!depth && is_punct(b, k, ','))
			break;
		tainted |= is_tainted(b, k);
	}
	if (tainted && b->index_count < NAMES_MAX && !find_index(b, v.name))
		b->indices[b->index_count++] = v;
}

/* Whether a loop tests before each step: "i < n; i += stride" */
static bool is_step_of_loop(const struct body *b, size_t name)
{
	return name >= 4 && is_punct(b, name - 1, ';') &&
	       mpk_span_equal(tok(b, name - 4)->text, tok(b, name)->text) &&
	       is_punct(b, name - 3, '<');
}

/* Whether the variable at i is assigned again: then it is not an index. */
static bool is_changed(const struct body *b, size_t i)
{
	bool compound = sourcecode_is_any(b, i + 1, "+-*/%&|^<>") && is_assignment(b, i + 2);
	bool counted = (sourcecode_is_any(b, i + 1, "+-") && sourcecode_is_any(b, i + 2, "+-") &&
			is_joined(b, i + 1)) ||
		       (i > 1 && sourcecode_is_any(b, i - 1, "+-") &&
			sourcecode_is_any(b, i - 2, "+-") && is_joined(b, i - 2));

	/* "i < n" and "i >= n" are comparisons, "i <<= 1" is not */
	if (sourcecode_is_any(b, i + 1, "<>"))
		compound = sourcecode_is_any(b, i + 2, "<>") && is_punct(b, i + 3, '=');
	return compound || counted || is_assignment(b, i + 1) ||
	       (is_punct(b, i - 1, '&') && i > 1 &&
		sourcecode_is_any(b, i - 2, "(,=")); /* its address is taken */
}

/* --- comparisons -------------------------------------------------------------------------- */

static size_t find_param(const struct body *b, size_t i)
{
	for (size_t p = 0; tok(b, i)->kind == MPK_TOKEN_WORD && p < b->kernel->param_count; p++)
		if (mpk_span_equal(b->names[p], tok(b, i)->text))
			return p;
	return SIZE_MAX;
}

static bool begins_clause(const struct body *b, size_t i)
{
	return !i || sourcecode_is_any(b, i - 1, "(&|;,{}!?:") || is_word(b, i - 1, "return");
}

static bool ends_clause(const struct body *b, size_t i)
{
	return sourcecode_is_any(b, i, ")&|;,?:");
}

/* Reads "n", "(int)n" or "(n)".
 * Returns  its end; i: there is none */
static size_t match_param(const struct body *b, size_t i, size_t *param)
{
	size_t at = skip_casts(b, i), open = 0;

	for (; open < NESTING_MAX && is_punct(b, at, '('); open++)
		at = skip_casts(b, at + 1);
	*param = find_param(b, at++);
	for (; open; open--, at++)
		if (!is_punct(b, at, ')'))
			return i;
	return *param == SIZE_MAX ? i : at;
}

/* "i < n", "i >= n", "n > i", "n <= i". A comparison that accepts index n is not a bound. */
static bool match_guard(const struct body *b, size_t i, unsigned *dim, size_t *param)
{
	bool index_first;
	size_t at = match_index(b, i, true, dim), end, order;

	index_first = at != i;
	if (!index_first)
		at = match_param(b, i, param);
	order = order_at(b, at);
	if (at == i || !begins_clause(b, i) || !order)
		return false;
	if (is_punct(b, at, index_first ? '<' : '>') != (order == 1))
		return false;
	end = index_first ? match_param(b, at + order, param)
			  : match_index(b, at + order, true, dim);
	return end != at + order && ends_clause(b, end);
}

/* Reads both sides of a comparison, within its clause. */
static void read_clause(const struct body *b, size_t order, bool *tainted, bool *limited)
{
	size_t depth = 0, i = order;

	while (i > 1 && (depth || !sourcecode_is_any(b, i - 1, "(&|;,{}?:"))) {
		i--;
		depth += sourcecode_is_any(b, i, ")]");
		depth -= depth && sourcecode_is_any(b, i, "([");
	}
	for (depth = 0; depth || !sourcecode_is_any(b, i, ")&|;,{}?:"); i++) {
		if (tok(b, i)->kind == MPK_TOKEN_END)
			break;
		depth += sourcecode_is_any(b, i, "([");
		depth -= depth && sourcecode_is_any(b, i, ")]");
		*tainted |= is_tainted(b, i);
		*limited |= find_param(b, i) != SIZE_MAX;
	}
}

/* --- parameters --------------------------------------------------------------------------- */

/* "x[i]" whose address is not taken. */
static bool is_plain_use(const struct body *b, size_t i)
{
	unsigned dim = 3;
	size_t end = is_punct(b, i + 1, '[') ? match_index(b, i + 2, true, &dim) : i + 2;
	bool address = is_punct(b, i - 1, '&') && i > 1 && !is_punct(b, i - 2, '&');

	return end != i + 2 && dim == 0 && is_punct(b, end, ']') && !address;
}

static void find_uses(const struct body *b, struct mpk_source_code_reach *out)
{
	size_t depth = 0;

	for (size_t i = 1; i + 1 < b->count; i++) {
		size_t param = find_param(b, i);
		bool compared = order_at(b, i + 1) || (i && order_at(b, i - 1)) ||
				(i > 1 && order_at(b, i - 2) == 2);

		depth += is_punct(b, i, '[');
		depth -= depth && is_punct(b, i, ']');
		if (order_at(b, i)) {
			bool tainted = false, limited = false;

			read_clause(b, i, &tainted, &limited);
			out->guarded |= tainted && limited;
		}
		if (param == SIZE_MAX)
			continue;
		out->used[param] = true;
		out->otherwise[param] |= !is_plain_use(b, i);
		out->reaches[param] |= depth || compared;
	}
}

/* "__local float s[64]": space for how many threads. */
static void find_group_memory(const struct body *b, struct mpk_source_code_reach *out)
{
	static const char *const words[] = { "__local", "local", "__shared__" };

	for (size_t i = 1; i < b->count; i++) {
		bool declared = false, pointer = false;
		uint32_t size;

		for (size_t k = 0; k < MPK_ARRAY_COUNT(words); k++)
			declared |= is_word(b, i, words[k]);
		if (!declared || is_word(b, i - 1, "extern"))
			continue;
		for (; !sourcecode_is_any(b, i, ";={") && tok(b, i)->kind != MPK_TOKEN_END; i++) {
			pointer |= sourcecode_is_any(b, i, "*(");
			if (pointer || !is_punct(b, i, '['))
				continue;
			out->group_memory = true;
			if (!is_punct(b, i + 2, ']') ||
			    !mpk_source_code_constant(b->index, tok(b, i + 1)->text, &size))
				out->hides_group_memory = true;
			else if (!out->group_extent || size < out->group_extent)
				out->group_extent = size;
		}
	}
}

enum mpk_code mpk_source_code_reach_read(const struct mpk_source_code_kernel *kernel,
					 struct mpk_source_code_index *index,
					 struct mpk_arena *arena, struct mpk_source_code_reach *out,
					 struct mpk_error *err)
{
	MPK_CLEANUP(body_fini) struct body b = { .kernel = kernel, .index = index };
	size_t count = kernel->param_count, at = 0;

	*out = (struct mpk_source_code_reach){ .bound = { SIZE_MAX, SIZE_MAX, SIZE_MAX } };
	out->used = mpk_arena_array(arena, count, sizeof *out->used);
	out->otherwise = mpk_arena_array(arena, count, sizeof *out->otherwise);
	out->reaches = mpk_arena_array(arena, count, sizeof *out->reaches);
	b.names = mpk_arena_array(arena, count, sizeof *b.names);
	MPK_TRY_ALLOC(out->used && out->otherwise && out->reaches && b.names, err);
	for (size_t i = 0; i < count; i++) {
		struct mpk_source_code_param p;
		struct mpk_span text = { 0 };

		(void)mpk_source_code_next_param(kernel, &at, &text);
		mpk_source_code_param_read(text, &p);
		b.names[i] = p.name;
		/* A text that is too long to read may use them in any way. */
		out->used[i] = out->otherwise[i] = out->reaches[i] = kernel->body.len > BODY_MAX;
	}
	if (kernel->body.len > BODY_MAX)
		return MPK_OK;

	struct mpk_span text = b.kernel->body;
	struct mpk_lexer lex = { .bytes = text, .language = "source", .c_like = true };

	do {
		MPK_TRY_ALLOC(MPK_VEC_ROOM(b.t, b.count, b.cap), err);
		if (mpk_lexer_next(&lex, NULL) != MPK_OK)
			lex.t = (struct mpk_token){ .text = mpk_span_of(text.data, 0) };
		b.t[b.count] = lex.t;
	} while (b.t[b.count++].kind != MPK_TOKEN_END);

	for (size_t i = 1; i < b.count; i++)
		if (is_assignment(&b, i) && tok(&b, i - 1)->kind == MPK_TOKEN_WORD)
			note_variable(&b, i);
	for (size_t k = 0; k < b.index_count; k++) {
		size_t changes = 0;

		for (size_t i = 1; i + 1 < b.count; i++)
			changes += tok(&b, i)->kind == MPK_TOKEN_WORD &&
				   mpk_span_equal(tok(&b, i)->text, b.indices[k].name) &&
				   is_changed(&b, i) && !is_step_of_loop(&b, i);
		if (changes > 1)
			b.indices[k].exact = false;
	}

	bool several[3] = { false };

	for (size_t i = 1; i < b.count; i++) {
		unsigned dim = 0;
		size_t param = SIZE_MAX;

		if (!match_guard(&b, i, &dim, &param))
			continue;
		several[dim] |= out->bound[dim] != SIZE_MAX && out->bound[dim] != param;
		out->bound[dim] = param;
	}
	for (size_t i = 1; i < b.count; i++) {
		size_t param = find_param(&b, i);

		for (unsigned d = 0; d < 3 && param != SIZE_MAX; d++)
			several[d] |= out->bound[d] == param && is_changed(&b, i);
	}
	for (unsigned d = 0; d < 3; d++)
		if (several[d])
			out->bound[d] = SIZE_MAX;

	find_uses(&b, out);
	find_group_memory(&b, out);
	return MPK_OK;
}
