/* SPDX-License-Identifier: Apache-2.0 */
/* ptx.c - digests of PTX: its words without comments, line directives and debug sections (FORMAT.md
 * 4)
 *
 * A module is a list of declarations. Each has a name and is a node; a declaration that names
 * another one has an edge to it. The text is read twice: for the names, then for the contents. */
#include "canon/internal/canon.h"

#include <stdlib.h>

#include "base/strmap.h"
#include "lexer/lexer.h"

enum {
	DIGEST = MPK_DIGEST_BYTES,
	SHORT_WORD = 12, /* names that compilers make unique are longer */
};

struct canon {
	struct mpk_lexer lex;
	struct mpk_strmap
		names; /* names of declarations: their node, from 1. Node 0 is the declarations
		        * without a name */
	size_t node_count;
	bool hashes; /* this is the second pass, which computes digests */
	struct mpk_canon_parts parts;
	struct mpk_canon_edges edges;
	uint8_t (*local)[DIGEST];
	uint8_t (*whole)[DIGEST];
	struct mpk_error *err;
};

/* A declaration that is being read. */
struct declaration {
	struct mpk_canon_hash hash;
	struct mpk_strmap labels; /* labels of a function, numbered in the order of the text */
	struct mpk_span name;
	bool is_function;
	size_t braces, parens;
	size_t node; /* its node; set in the second pass */
};

static void canon_ptx_canon_fini(struct canon *c)
{
	mpk_strmap_fini(&c->names);
	free(c->parts.items);
	free(c->edges.items);
	free(c->local);
	free(c->whole);
}

static void declaration_fini(struct declaration *d)
{
	mpk_canon_hash_fini(&d->hash);
	mpk_strmap_fini(&d->labels);
}

static bool begins(struct mpk_span word, const char *const *beginnings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (mpk_span_starts(word, beginnings[i]))
			return true;
	return false;
}

/* --- text that is skipped ----------------------------------------------------------------------- */

static enum mpk_code skip_line(struct canon *c)
{
	uint32_t line = c->lex.t.line;

	while (c->lex.t.kind != MPK_TOKEN_END && c->lex.t.line == line)
		MPK_TRY(mpk_lexer_next(&c->lex, c->err));
	return MPK_OK;
}

static bool is_line_directive(const struct mpk_token *t)
{
	return mpk_token_is_word(t, ".loc") || mpk_token_is_word(t, ".file");
}

/* ".target sm_90, debug": the last word says that there is debug information. */
static enum mpk_code read_header_line(struct canon *c)
{
	uint32_t line = c->lex.t.line;
	struct declaration d = { .node = 0 };
	uint8_t digest[DIGEST];

	mpk_canon_begin(&d.hash, "header");
	while (c->lex.t.kind != MPK_TOKEN_END && c->lex.t.line == line) {
		if (!mpk_lexer_at(&c->lex, ',') && !mpk_token_is_word(&c->lex.t, "debug"))
			mpk_canon_bytes(&d.hash, c->lex.t.text);
		if (mpk_lexer_next(&c->lex, c->err) != MPK_OK) {
			declaration_fini(&d);
			return MPK_E_SYNTAX;
		}
	}
	MPK_TRY(mpk_canon_end(&d.hash, digest, c->err));
	if (c->hashes)
		MPK_TRY_ALLOC(mpk_canon_part(&c->parts, 0, digest), c->err);
	return MPK_OK;
}

/* --- words of a declaration ------------------------------------------------------------------ */

static bool is_label(struct mpk_span word)
{
	static const char *const beginnings[] = { "$L", "BB", "LBB", "Ltmp", "Lfunc" };

	return begins(word, beginnings, MPK_ARRAY_COUNT(beginnings));
}

/* Whether a label is one that only debug sections refer to. */
static bool is_mark(struct mpk_span word)
{
	static const char *const beginnings[] = { "$L__tmp",    "$L__func_begin", "$L__func_end",
						  "$L__pc_sec", "Ltmp",           "Lfunc_" };

	return begins(word, beginnings, MPK_ARRAY_COUNT(beginnings));
}

static enum mpk_code canon_ptx_put_word(struct canon *c, struct declaration *d,
					struct mpk_span word)
{
	uint8_t first = word.data[0];
	size_t found = 0;

	if (d->braces && d->is_function && is_label(word)) {
		MPK_TRY_ALLOC(mpk_strmap_put(&d->labels, word, d->labels.count, &found) >= 0,
			      c->err);
		mpk_canon_bytes(&d->hash, mpk_span_str("label"));
		mpk_canon_u64(&d->hash, found);
		return MPK_OK;
	}
	if (word.len < SHORT_WORD || first == '.' || first == '%')
		mpk_canon_bytes(&d->hash, word);
	else
		mpk_canon_symbol(&d->hash, word);
	if (first != '.' && first != '%' && mpk_strmap_find(&c->names, word, &found))
		MPK_TRY_ALLOC(mpk_canon_edge(&c->edges, d->node, found), c->err);
	return MPK_OK;
}

/* Sets the name: the first word outside of parentheses that is neither a directive nor a number. */
static void note_name(struct declaration *d, const struct mpk_token *t)
{
	uint8_t first = t->text.data[0];

	if (mpk_token_is_word(t, ".entry") || mpk_token_is_word(t, ".func"))
		d->is_function = true;
	if (t->kind == MPK_TOKEN_WORD && !d->name.len && !d->parens && first != '.' &&
	    !(first >= '0' && first <= '9'))
		d->name = t->text;
}

static void note_depth(struct declaration *d, const struct mpk_token *t)
{
	d->braces += mpk_token_is_punct(t, '{');
	d->braces -= d->braces && mpk_token_is_punct(t, '}');
	d->parens += mpk_token_is_punct(t, '(');
	d->parens -= d->parens && mpk_token_is_punct(t, ')');
}

static bool ends(const struct declaration *d, const struct mpk_token *t)
{
	return !d->braces &&
	       (mpk_token_is_punct(t, ';') || (d->is_function && mpk_token_is_punct(t, '}')));
}

static enum mpk_code read_words(struct canon *c, struct declaration *d)
{
	for (;;) {
		struct mpk_token t = c->lex.t;

		if (t.kind == MPK_TOKEN_END)
			return MPK_OK;
		if (is_line_directive(&t)) {
			MPK_TRY(skip_line(c));
			continue;
		}
		note_name(d, &t);
		note_depth(d, &t);
		MPK_TRY(mpk_lexer_next(&c->lex, c->err));
		if (t.kind == MPK_TOKEN_WORD && mpk_lexer_at(&c->lex, ':') && is_mark(t.text)) {
			MPK_TRY(mpk_lexer_next(&c->lex, c->err));
			continue;
		}
		if (c->hashes && t.kind == MPK_TOKEN_WORD)
			MPK_TRY(canon_ptx_put_word(c, d, t.text));
		else if (c->hashes)
			mpk_canon_bytes(&d->hash, t.text);
		if (ends(d, &t))
			return MPK_OK;
	}
}

/* Finds the node of the declaration that begins here, by reading ahead to its name. */
static enum mpk_code canon_ptx_find_node(struct canon *c, size_t *node)
{
	MPK_CLEANUP(declaration_fini) struct declaration d = { .node = 0 };
	struct mpk_lexer back = c->lex;

	while (!d.name.len && c->lex.t.kind != MPK_TOKEN_END && !ends(&d, &c->lex.t)) {
		note_name(&d, &c->lex.t);
		note_depth(&d, &c->lex.t);
		MPK_TRY(mpk_lexer_next(&c->lex, c->err));
	}
	c->lex = back;
	*node = 0;
	if (d.name.len)
		(void)mpk_strmap_find(&c->names, d.name, node);
	return MPK_OK;
}

static enum mpk_code read_declaration(struct canon *c)
{
	MPK_CLEANUP(declaration_fini) struct declaration d = { .node = 0 };
	uint8_t digest[DIGEST];

	if (!c->hashes) {
		MPK_TRY(read_words(c, &d));
		if (!d.name.len)
			return MPK_OK;
		int rc = mpk_strmap_put(&c->names, d.name, c->node_count, NULL);
		MPK_TRY_ALLOC(rc >= 0, c->err);
		c->node_count += rc == 1;
		return MPK_OK;
	}
	MPK_TRY(canon_ptx_find_node(c, &d.node));
	mpk_canon_begin(&d.hash, "declaration");
	MPK_TRY(read_words(c, &d));
	MPK_TRY(mpk_canon_end(&d.hash, digest, c->err));
	MPK_TRY_ALLOC(mpk_canon_part(&c->parts, d.node, digest), c->err);
	return MPK_OK;
}

static enum mpk_code read_all(struct canon *c, struct mpk_span text)
{
	static const char *const headers[] = { ".version", ".target", ".address_size" };

	c->lex = (struct mpk_lexer){ .bytes = text, .language = "PTX" };
	MPK_TRY(mpk_lexer_next(&c->lex, c->err));
	while (c->lex.t.kind != MPK_TOKEN_END) {
		const struct mpk_token *t = &c->lex.t;

		if (is_line_directive(t))
			MPK_TRY(skip_line(c));
		else if (mpk_token_is_word(t, ".section")) {
			/* ".section .debug_str { ... }" */
			size_t depth = 0;

			while (c->lex.t.kind != MPK_TOKEN_END) {
				bool ends = depth == 1 && mpk_lexer_at(&c->lex, '}');

				depth += mpk_lexer_at(&c->lex, '{');
				depth -= depth && mpk_lexer_at(&c->lex, '}');
				MPK_TRY(mpk_lexer_next(&c->lex, c->err));
				if (ends)
					break;
			}
		} else if (t->kind == MPK_TOKEN_WORD &&
			   begins(t->text, headers, MPK_ARRAY_COUNT(headers)))
			MPK_TRY(read_header_line(c));
		else
			MPK_TRY(read_declaration(c));
	}
	return MPK_OK;
}

static enum mpk_code canon_ptx(const struct mpk_code_info *info, struct mpk_arena *arena,
			       struct mpk_canon_row *rows, struct mpk_error *err)
{
	MPK_CLEANUP(canon_ptx_canon_fini) struct canon c = { .node_count = 1, .err = err };
	struct mpk_span text = info->bytes;
	bool *is_kernel;

	while (text.len && !text.data[text.len - 1])
		text.len--;
	MPK_TRY(read_all(&c, text));
	c.hashes = true;
	MPK_TRY(read_all(&c, text));
	c.local = calloc(c.node_count, sizeof *c.local);
	c.whole = calloc(c.node_count, sizeof *c.whole);
	is_kernel = mpk_arena_array(arena, c.node_count, sizeof *is_kernel);
	MPK_TRY_ALLOC(c.local && c.whole && is_kernel, err);
	for (size_t i = 1; i < c.node_count; i++)
		MPK_TRY_ALLOC(mpk_canon_edge(&c.edges, i, 0), err);
	MPK_TRY(mpk_canon_sum(&c.parts, c.node_count, NULL, c.local, err));
	MPK_TRY(mpk_canon_reach(&c.edges, c.node_count, (const uint8_t(*)[DIGEST])c.local, c.whole,
				err));

	/* --- rows ----------------------------------------------------------------------------- --- */
	struct mpk_canon_row *image = &rows[info->kernel_count];

	for (size_t i = 0; i < info->kernel_count; i++) {
		size_t node;

		if (!mpk_strmap_find(&c.names, info->kernels[i].name, &node))
			return mpk_fail(c.err, MPK_E_CORRUPT, "PTX: a kernel without declaration");
		is_kernel[node] = true;
		MPK_TRY(mpk_canon_kernel(info->kernels[i].name, c.whole[node], &rows[i], c.err));
	}
	c.parts.count = 0;
	for (size_t i = 0; i < c.node_count; i++)
		if (!is_kernel[i])
			MPK_TRY_ALLOC(mpk_canon_part(&c.parts, 0, c.whole[i]), c.err);
	return mpk_canon_sum(&c.parts, 1, NULL, &image->digest, c.err);
}

const struct mpk_canon_reader mpk_canon_ptx = { &mpk_format_ptx, canon_ptx };
