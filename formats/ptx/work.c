/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - the statements of PTX, counted by kind, and their source lines (FORMAT.md 5, 6)
 *
 * A statement is an optional predicate, an opcode with modifiers, operands and a semicolon. Opcode
 * and modifiers decide how it is counted. How a driver compiles it shows only in machine code. */
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/num.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "lexer/lexer.h"

/* --- one statement: FORMAT.md 5 -------------------------------------------------------------------- */

enum { WORDS_MOST = 24 };

/* The words before the operands: "ld", ".global", ".v4", ".f32". */
struct statement {
	struct mpk_span words[WORDS_MOST];
	size_t count;
};

static bool has_word(const struct statement *s, const char *word)
{
	for (size_t i = 1; i < s->count; i++)
		if (mpk_span_is(s->words[i], word))
			return true;
	return false;
}

/* Whether the statement names a state space, ".shared". The lexer may return "::cta" after it as
 * another word. */
static bool has_space(const struct statement *s, const char *space, size_t *at)
{
	for (size_t i = 1; i < s->count; i++)
		if (mpk_span_starts(s->words[i], space)) {
			*at = i;
			return true;
		}
	return false;
}

/* Sets the space of an access; false: constants, parameters, or no memory of these spaces. */
static bool space_of(const struct statement *s, enum mpk_space *out)
{
	static const struct {
		const char *word;
		enum mpk_space space;
	} rows[] = {
		{ ".global", MPK_SPACE_GLOBAL },
		{ ".shared", MPK_SPACE_SHARED },
		{ ".local", MPK_SPACE_LOCAL },
	};
	size_t at;

	if (has_space(s, ".param", &at) || has_space(s, ".const", &at))
		return false;
	*out = MPK_SPACE_GENERIC;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		if (has_space(s, rows[i].word, &at)) {
			*out = rows[i].space;
			break;
		}
	return true;
}

/* Returns the bits of ".f32", ".bf16x2" or ".b128"; 0: the word is not a type. */
static unsigned type_bits(struct mpk_span word)
{
	bool is_bfloat = mpk_span_starts(word, ".bf"), is_pair;
	size_t skip = is_bfloat ? 3 : 2;
	uint64_t bits;

	if (word.len <= skip || word.data[0] != '.' || !memchr("bsuf", word.data[1], 4))
		return 0;
	word = mpk_span_from(word, skip);
	is_pair = word.len > 2 && memcmp(word.data + word.len - 2, "x2", 2) == 0;
	word.len -= is_pair ? 2 : 0;
	if (!mpk_parse_u64(word, &bits) || bits > 128)
		return 0;
	return (unsigned)bits << is_pair;
}

static enum mpk_width width_of(const struct statement *s)
{
	unsigned lanes = has_word(s, ".v2")   ? 2
			 : has_word(s, ".v4") ? 4
			 : has_word(s, ".v8") ? 8
					      : 1;

	for (size_t i = s->count; i-- > 1;) {
		switch (type_bits(s->words[i]) * lanes) {
		case 0:
			continue;
		case 8:
			return MPK_WIDTH_1B;
		case 16:
			return MPK_WIDTH_2B;
		case 32:
			return MPK_WIDTH_4B;
		case 64:
			return MPK_WIDTH_8B;
		case 128:
			return MPK_WIDTH_16B;
		case 256:
			return MPK_WIDTH_32B;
		default:
			return MPK_WIDTH_OTHER;
		}
	}
	return MPK_WIDTH_OTHER;
}

/* Whether the statement begins an asynchronous copy; waiting for one, and reductions, do not count. */
static bool is_async(const struct statement *s)
{
	if (mpk_span_is(s->words[0], "cp"))
		return has_word(s, ".async") && !has_word(s, ".commit_group") &&
		       !has_word(s, ".wait_group") && !has_word(s, ".wait_all") &&
		       !has_word(s, ".arrive") && !has_word(s, ".prefetch") &&
		       !has_word(s, ".reduce");
	return mpk_span_is(s->words[0], "st") && has_word(s, ".async");
}

static bool is_tensor(const struct statement *s)
{
	struct mpk_span op = s->words[0];

	if (mpk_span_is(op, "wmma") || mpk_span_is(op, "wgmma"))
		return has_word(s, ".mma") || has_word(s, ".mma_async");
	if (mpk_span_is(op, "tcgen05"))
		return has_word(s, ".mma");
	return mpk_span_is(op, "mma");
}

static void count_statement(const struct statement *s, struct mpk_work *n)
{
	struct mpk_span op = s->words[0];
	enum mpk_space space;
	bool is_load = mpk_span_is(op, "ld") || mpk_span_is(op, "ldu");
	bool is_store = mpk_span_is(op, "st");

	n->all++;
	if (is_tensor(s)) {
		n->tensor++;
	} else if (is_async(s)) {
		n->async++;
	} else if (mpk_span_is(op, "atom") || mpk_span_is(op, "red")) {
		n->atomic++;
	} else if (is_load || is_store) {
		if (space_of(s, &space))
			(is_load ? n->loads : n->stores)[space][width_of(s)]++;
	} else if (mpk_span_is(op, "ldmatrix")) {
		n->loads[MPK_SPACE_SHARED][MPK_WIDTH_OTHER]++;
	} else if (mpk_span_is(op, "stmatrix")) {
		n->stores[MPK_SPACE_SHARED][MPK_WIDTH_OTHER]++;
	} else if (mpk_span_is(op, "wmma") && space_of(s, &space)) {
		if (has_word(s, ".load"))
			n->loads[space][MPK_WIDTH_OTHER]++;
		else if (has_word(s, ".store"))
			n->stores[space][MPK_WIDTH_OTHER]++;
	}
}

/* --- statements -------------------------------------------------------------------------------------- */

/* A walk over a text or a piece of a body. */
struct walk {
	struct mpk_lexer lex;
	size_t depth; /* number of open blocks */
	/* Called with .loc and .file, for source lines; NULL: not wanted. */
	enum mpk_code (*loc)(struct walk *w, const struct mpk_token *file,
			     const struct mpk_token *line, struct mpk_error *err);
	enum mpk_code (*file)(struct walk *w, const struct mpk_token *number,
			      const struct mpk_token *name, struct mpk_error *err);
	size_t at; /* offset of the current directive or brace in the text */
	struct mpk_work work;
};

static bool is_directive(const struct mpk_token *t)
{
	return t->kind == MPK_TOKEN_WORD && t->text.data[0] == '.';
}

/* .loc and .file have no semicolon: they end with the line. */
static enum mpk_code take_line(struct walk *w, struct mpk_error *err)
{
	struct mpk_token directive = w->lex.t, first, second;

	MPK_TRY(mpk_lexer_next(&w->lex, err));
	first = w->lex.t;
	if (first.kind != MPK_TOKEN_END)
		MPK_TRY(mpk_lexer_next(&w->lex, err));
	second = w->lex.t;
	while (w->lex.t.kind != MPK_TOKEN_END && w->lex.t.line == directive.line)
		MPK_TRY(mpk_lexer_next(&w->lex, err));
	if (first.kind != MPK_TOKEN_WORD || second.line != directive.line)
		return MPK_OK;
	if (mpk_token_is_word(&directive, ".loc") && w->loc && second.kind == MPK_TOKEN_WORD)
		return w->loc(w, &first, &second, err);
	if (mpk_token_is_word(&directive, ".file") && w->file && second.kind == MPK_TOKEN_STRING)
		return w->file(w, &first, &second, err);
	return MPK_OK;
}

/* Skips past the semicolon, or up to the brace that closes the block. */
static enum mpk_code skip_statement(struct mpk_lexer *lex, struct mpk_error *err)
{
	size_t depth = 0; /* of braces around vectors */

	while (lex->t.kind != MPK_TOKEN_END && !(mpk_lexer_at(lex, ';') && !depth)) {
		if (mpk_lexer_at(lex, '}') && !depth)
			return MPK_OK;
		depth += mpk_lexer_at(lex, '{');
		depth -= mpk_lexer_at(lex, '}');
		MPK_TRY(mpk_lexer_next(lex, err));
	}
	return lex->t.kind == MPK_TOKEN_END ? MPK_OK : mpk_lexer_next(lex, err);
}

/* Reads an instruction, or a label. */
static enum mpk_code take_instruction(struct walk *w, struct mpk_error *err)
{
	struct mpk_lexer *lex = &w->lex;
	struct statement s = { .count = 1 };

	s.words[0] = lex->t.text;
	MPK_TRY(mpk_lexer_next(lex, err));
	if (mpk_lexer_at(lex, ':'))
		return mpk_lexer_next(lex, err);
	while (is_directive(&lex->t)) {
		if (s.count < WORDS_MOST)
			s.words[s.count++] = lex->t.text;
		MPK_TRY(mpk_lexer_next(lex, err));
		/* ".shared::cta", ".L2::128B" */
		while (mpk_lexer_at(lex, ':')) {
			MPK_TRY(mpk_lexer_next(lex, err));
			if (lex->t.kind == MPK_TOKEN_WORD && !is_directive(&lex->t))
				MPK_TRY(mpk_lexer_next(lex, err));
		}
	}
	count_statement(&s, &w->work);
	return skip_statement(lex, err);
}

static enum mpk_code take_directive(struct walk *w, struct mpk_error *err)
{
	static const char *const heads[] = { ".visible", ".weak", ".extern", ".entry", ".func" };
	struct mpk_lexer *lex = &w->lex;

	if (mpk_token_is_word(&lex->t, ".loc") || mpk_token_is_word(&lex->t, ".file"))
		return take_line(w, err);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(heads) && !w->depth; i++) {
		if (!mpk_token_is_word(&lex->t, heads[i]))
			continue;
		/* a declaration ends with a semicolon, a definition has a body */
		while (lex->t.kind != MPK_TOKEN_END && !mpk_lexer_at(lex, '{') &&
		       !mpk_lexer_at(lex, ';'))
			MPK_TRY(mpk_lexer_next(lex, err));
		return MPK_OK;
	}
	/* these have no semicolon */
	if (mpk_token_is_word(&lex->t, ".section")) {
		while (lex->t.kind != MPK_TOKEN_END && !mpk_lexer_at(lex, '}'))
			MPK_TRY(mpk_lexer_next(lex, err));
		return lex->t.kind == MPK_TOKEN_END ? MPK_OK : mpk_lexer_next(lex, err);
	}
	if (mpk_token_is_word(&lex->t, ".version") || mpk_token_is_word(&lex->t, ".target") ||
	    mpk_token_is_word(&lex->t, ".address_size")) {
		do {
			MPK_TRY(mpk_lexer_next(lex, err));
		} while (mpk_lexer_at(lex, ',') ||
			 (lex->t.kind == MPK_TOKEN_WORD && !is_directive(&lex->t)));
		return MPK_OK;
	}
	return skip_statement(lex, err);
}

static enum mpk_code walk_text(struct walk *w, struct mpk_error *err)
{
	struct mpk_lexer *lex = &w->lex;

	MPK_TRY(mpk_lexer_next(lex, err));
	while (lex->t.kind != MPK_TOKEN_END) {
		w->at = (size_t)(lex->t.text.data - lex->bytes.data);
		if (is_directive(&lex->t)) {
			MPK_TRY(take_directive(w, err));
		} else if (lex->t.kind == MPK_TOKEN_WORD) {
			MPK_TRY(take_instruction(w, err));
		} else if (mpk_lexer_at(lex, '@')) { /* @!%p1 */
			do {
				MPK_TRY(mpk_lexer_next(lex, err));
			} while (mpk_lexer_at(lex, '!'));
			if (lex->t.kind == MPK_TOKEN_WORD)
				MPK_TRY(mpk_lexer_next(lex, err));
		} else {
			bool closes = mpk_lexer_at(lex, '}') && w->depth;

			w->depth += mpk_lexer_at(lex, '{');
			w->depth -= closes;
			MPK_TRY(mpk_lexer_next(lex, err));
			/* the last row of a body ends with it */
			if (closes && !w->depth && w->loc)
				MPK_TRY(w->loc(w, NULL, NULL, err));
		}
	}
	return MPK_OK;
}

bool mpk_ptx_count_instructions(struct mpk_span piece, struct mpk_work *out)
{
	struct walk w = { .lex = { .bytes = piece, .language = "PTX" } };

	if (walk_text(&w, NULL) != MPK_OK)
		return false;
	*out = w.work;
	return true;
}

/* --- source lines: FORMAT.md 6 ----------------------------------------------------------------------------- */

struct lines {
	struct walk walk; /* first member: callbacks convert its address */
	struct mpk_arena *arena;
	struct mpk_strmap numbers; /* names by file number */
	const char **names;        /* malloc'ed, as rows is */
	size_t name_cap;
	struct row {
		uint64_t from, to;
		uint32_t line;
		struct mpk_span file; /* number of the current file */
	} *rows;
	size_t count, cap;
	bool is_open; /* the last row has no end yet */
};

static void lines_fini(struct lines *l)
{
	mpk_strmap_fini(&l->numbers);
	free(l->names);
	free(l->rows);
}

static enum mpk_code lines_loc(struct walk *w, const struct mpk_token *file,
			       const struct mpk_token *line, struct mpk_error *err)
{
	struct lines *l = (struct lines *)w;
	uint64_t number;

	if (l->is_open)
		l->rows[l->count - 1].to = w->at;
	l->is_open = false;
	if (!file || !mpk_parse_u64(line->text, &number) || !number || number > UINT32_MAX)
		return MPK_OK;
	MPK_TRY_ALLOC(mpk_vec_reserve(&l->rows, &l->cap, l->count + 1, sizeof *l->rows), err);
	l->rows[l->count++] = (struct row){
		.from = (uint64_t)(w->lex.t.text.data - w->lex.bytes.data),
		.line = (uint32_t)number,
		.file = file->text,
	};
	l->is_open = true;
	return MPK_OK;
}

static enum mpk_code lines_file(struct walk *w, const struct mpk_token *number,
				const struct mpk_token *name, struct mpk_error *err)
{
	struct lines *l = (struct lines *)w;
	size_t n = l->numbers.count;
	int rc = mpk_strmap_put(&l->numbers, number->text, n, NULL);

	if (rc == 0)
		return MPK_OK;
	MPK_TRY_ALLOC(rc > 0 && mpk_vec_reserve(&l->names, &l->name_cap, n + 1, sizeof *l->names),
		      err);
	l->names[n] = mpk_arena_copy(l->arena, name->text.data + 1,
				     name->text.len > 2 ? name->text.len - 2 : 0);
	MPK_TRY_ALLOC(l->names[n], err);
	return MPK_OK;
}

enum mpk_code mpk_ptx_lines(struct mpk_span text, struct mpk_arena *arena,
			    const struct mpk_dwarf_row **out, size_t *count, struct mpk_error *err)
{
	MPK_CLEANUP(lines_fini) struct lines l = { .arena = arena };
	struct mpk_dwarf_row *rows;
	size_t n = 0, at;

	while (text.len && !text.data[text.len - 1])
		text.len--;
	l.walk = (struct walk){ .lex = { .bytes = text, .language = "PTX" },
				.loc = lines_loc,
				.file = lines_file };
	MPK_TRY(walk_text(&l.walk, err));
	rows = mpk_arena_array(arena, l.count, sizeof *rows);
	MPK_TRY_ALLOC(rows, err);
	for (size_t i = 0; i < l.count; i++) {
		const struct row *r = &l.rows[i];

		if (r->from < r->to && mpk_strmap_find(&l.numbers, r->file, &at))
			rows[n++] = (struct mpk_dwarf_row){ r->from, r->to, r->line, l.names[at] };
	}
	*out = rows;
	*count = n;
	return MPK_OK;
}
