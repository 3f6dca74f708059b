/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - the kernels in a source
 *
 * The four languages are neither preprocessed nor parsed: in all of them a kernel is a marker word,
 * a name, parentheses and a body. Kernels that macros define are not found, so callers treat the
 * list as incomplete. */
#include "sourcecode/sourcecode.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "lexer/lexer.h"
#include "sourcecode/internal/sourcecode.h"

struct language {
	const char *name;
	const char *markers[2]; /* words that mark a function as a kernel */
};

static const struct language languages[] = {
	[MPK_SOURCE_CODE_OPENCL] = { "OpenCL C", { "__kernel", "kernel" } },
	[MPK_SOURCE_CODE_METAL] = { "Metal", { "kernel", NULL } },
	[MPK_SOURCE_CODE_WGSL] = { "WGSL", { "compute", NULL } },
	[MPK_SOURCE_CODE_CUDA] = { "CUDA C++", { "__global__", NULL } },
};

enum { BLOCKS_MAX = 16 };

/* Zero-initialise; lex.t is the current token. */
struct reader {
	const struct language *language;
	struct mpk_lexer lex;
	struct mpk_arena arena;             /* of the index */
	struct mpk_source_code_index index; /* for macros that are numbers */
	struct mpk_span bytes;              /* the text as it is; lex reads the plain one, which is
					     * as long */
	struct mpk_source_code_groups groups;
	uint32_t group[3];    /* attributes since the end of the last declaration */
	bool grouped;         /* group is given, even if not by numbers */
	uint32_t max_threads; /* from __launch_bounds__ */
	bool bounded;         /* __launch_bounds__ is given, even if not by a number */
	bool is_template, is_static, extern_c; /* attributes of the declaration */
	struct block {
		struct mpk_span name; /* of a namespace */
		bool is_namespace, is_path, extern_c;
	} blocks[BLOCKS_MAX];
	size_t depth;                           /* number of open braces; blocks has the first
						 * BLOCKS_MAX */
	struct block opening;                   /* the block that the next brace opens */
	const uint8_t *declaration;             /* first token of the declaration; NULL: none yet */
	const uint8_t *start;                   /* beginning of the last kernel */
	const uint8_t *body;                    /* beginning of its body */
	size_t body_depth;                      /* number of braces open around its body */
	struct mpk_source_code_kernel *kernels; /* malloc'ed until the end */
	size_t count, cap;
};

static void sourcecode_reader_fini(struct reader *r)
{
	free(r->kernels);
	mpk_arena_fini(&r->arena);
}

const char *mpk_source_code_language_name(enum mpk_source_code_language language)
{
	return languages[language].name;
}

static bool sourcecode_is_name(const struct mpk_token *t)
{
	return t->kind == MPK_TOKEN_WORD && t->text.data[0] != '.' &&
	       (t->text.data[0] < '0' || t->text.data[0] > '9');
}

static bool is_marker(const struct reader *r)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(r->language->markers); i++)
		if (r->language->markers[i] &&
		    mpk_token_is_word(&r->lex.t, r->language->markers[i]))
			return true;
	return false;
}

/* Names before parentheses that are attributes, not the kernel. */
static bool is_attribute(struct mpk_span name)
{
	static const char *const names[] = {
		"__attribute__",
		"__launch_bounds__",
		"__cluster_dims__",
		"__block_size__",
		"__declspec",
		"__align__",
		"alignas",
		"workgroup_size",
		"reqd_work_group_size",
		"work_group_size_hint",
		"vec_type_hint",
		"maxnreg",
		"__maxnreg__",
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		if (mpk_span_is(name, names[i]))
			return true;
	return false;
}

static enum mpk_code no_end(const struct reader *r, const struct mpk_token *open,
			    struct mpk_error *err)
{
	return mpk_fail_line(err, MPK_E_SYNTAX, open->line, open->column,
			     "%s: this parenthesis is not closed", r->language->name);
}

/* Reads a number, or a macro that is one; WGSL also writes 64u. */
static bool parse_size(struct reader *r, const struct mpk_token *t, uint32_t *out)
{
	return t->kind == MPK_TOKEN_WORD && mpk_source_code_constant(&r->index, t->text, out);
}

/* Reads "(64, 1, 1)"; zeros if one is not a number. */
static enum mpk_code read_group(struct reader *r, struct mpk_error *err)
{
	struct mpk_token open = r->lex.t;
	uint32_t group[3] = { 1, 1, 1 };
	bool numbers = true;
	size_t n = 0;

	MPK_TRY(mpk_lexer_next(&r->lex, err));
	while (!mpk_lexer_at(&r->lex, ')')) {
		if (r->lex.t.kind == MPK_TOKEN_END)
			return no_end(r, &open, err);
		if (mpk_lexer_at(&r->lex, ','))
			n++;
		else if (n >= 3 || !parse_size(r, &r->lex.t, &group[n]))
			numbers = false;
		MPK_TRY(mpk_lexer_next(&r->lex, err));
	}
	memcpy(r->group, numbers ? group : (uint32_t[3]){ 0 }, sizeof group);
	r->grouped = true;
	return mpk_lexer_next(&r->lex, err);
}

/* Reads "(256, 2)": the first is the most threads of a block; the others are hints. */
static enum mpk_code read_bounds(struct reader *r, struct mpk_error *err)
{
	struct mpk_token open = r->lex.t, first = { 0 };
	size_t depth = 0, words = 0;
	bool hints = false;

	do {
		if (r->lex.t.kind == MPK_TOKEN_END)
			return no_end(r, &open, err);
		depth += mpk_lexer_at(&r->lex, '(');
		depth -= mpk_lexer_at(&r->lex, ')');
		hints |= depth == 1 && mpk_lexer_at(&r->lex, ',');
		if (!hints && depth && r->lex.t.text.data != open.text.data) {
			first = r->lex.t;
			words++;
		}
		MPK_TRY(mpk_lexer_next(&r->lex, err));
	} while (depth);
	r->max_threads = 0;
	r->bounded = words > 0;
	if (words == 1 && !parse_size(r, &first, &r->max_threads))
		r->max_threads = 0;
	return MPK_OK;
}

/* Skips from '(' past its ')'. */
static enum mpk_code skip_parens(struct reader *r, struct mpk_error *err)
{
	struct mpk_token open = r->lex.t, before = r->lex.t;
	size_t depth = 0;

	do {
		bool group = mpk_token_is_word(&before, "reqd_work_group_size") &&
			     mpk_lexer_at(&r->lex, '(');

		if (r->lex.t.kind == MPK_TOKEN_END)
			return no_end(r, &open, err);
		if (group) {
			MPK_TRY(read_group(r, err));
			continue;
		}
		depth += mpk_lexer_at(&r->lex, '(');
		depth -= mpk_lexer_at(&r->lex, ')');
		before = r->lex.t;
		MPK_TRY(mpk_lexer_next(&r->lex, err));
	} while (depth);
	return MPK_OK;
}

static enum mpk_code sourcecode_add(struct reader *r, struct mpk_source_code_kernel *k,
				    struct mpk_error *err)
{
	const struct mpk_source_code_group *group =
		mpk_source_code_group_at(&r->groups, (size_t)(k->name.data - r->lex.bytes.data));

	/* The blocks around it decide its symbol. */
	k->is_template = r->is_template;
	k->is_static = r->is_static;
	k->extern_c = r->extern_c;
	for (size_t i = 0; i < r->depth; i++) {
		const struct block *b = &r->blocks[i < BLOCKS_MAX ? i : BLOCKS_MAX - 1];

		k->extern_c |= b->extern_c;
		if (b->extern_c)
			continue;
		if (!b->is_namespace || !b->name.len || k->scope_count >= MPK_SOURCE_CODE_SCOPES)
			k->scope_count = MPK_SOURCE_CODE_SCOPES + 1;
		else
			k->scopes[k->scope_count++] = b->name;
	}

	k->condition = group ? group->condition : (struct mpk_span){ 0 };
	MPK_TRY_ALLOC(mpk_vec_reserve(&r->kernels, &r->cap, r->count + 1, sizeof *k), err);
	memcpy(k->group, r->group, sizeof k->group);
	k->hides_group = r->grouped && !r->group[0];
	k->max_threads = r->max_threads;
	k->hides_max_threads = r->bounded && !r->max_threads;
	r->kernels[r->count++] = *k;
	return MPK_OK;
}

/* Reads after the marker. The name is the word before the first parenthesis that does not belong to
 * an attribute; a ';' or '{' before that means that this is not a function. */
static enum mpk_code sourcecode_read_kernel(struct reader *r, struct mpk_error *err)
{
	struct mpk_source_code_kernel k = { 0 };
	struct mpk_token last = { 0 };

	while (!mpk_lexer_at(&r->lex, '(') || is_attribute(last.text) ||
	       !sourcecode_is_name(&last)) {
		if (r->lex.t.kind == MPK_TOKEN_END || mpk_lexer_at(&r->lex, ';') ||
		    mpk_lexer_at(&r->lex, '{'))
			return MPK_OK;
		if (mpk_lexer_at(&r->lex, '(') && mpk_token_is_word(&last, "__launch_bounds__")) {
			MPK_TRY(read_bounds(r, err));
		} else if (mpk_lexer_at(&r->lex, '(') &&
			   mpk_token_is_word(&last, "workgroup_size")) {
			MPK_TRY(read_group(r, err));
		} else if (mpk_lexer_at(&r->lex, '(')) {
			MPK_TRY(skip_parens(r, err));
		} else {
			last = r->lex.t;
			MPK_TRY(mpk_lexer_next(&r->lex, err));
			continue;
		}
		last = (struct mpk_token){ 0 };
	}
	r->start = r->declaration;
	k.name = last.text;
	k.line = last.line;

	/* Counts parameters: commas outside of brackets of any kind. */
	struct mpk_token open = r->lex.t;
	size_t depth = 0, words = 0;

	do {
		if (r->lex.t.kind == MPK_TOKEN_END)
			return no_end(r, &open, err);
		if (r->lex.t.kind == MPK_TOKEN_PUNCT && strchr("([{<", r->lex.t.text.data[0]))
			depth++;
		else if (r->lex.t.kind == MPK_TOKEN_PUNCT && strchr(")]}>", r->lex.t.text.data[0]))
			depth--;
		else if (depth == 1 && mpk_lexer_at(&r->lex, ','))
			k.param_count++;
		else if (depth == 1)
			words++;
		k.params = mpk_span_of(open.text.data + 1,
				       (size_t)(r->lex.t.text.data - open.text.data) - 1);
		MPK_TRY(mpk_lexer_next(&r->lex, err));
	} while (depth);
	/* "(void)" and "()" have no parameters; WGSL allows a comma after the last one */
	if (words && !(words == 1 && mpk_span_is(k.params, "void")))
		k.param_count++;

	r->body = k.params.data + k.params.len;
	r->body_depth = r->depth;
	while (!mpk_lexer_at(&r->lex, '{')) { /* "-> type", "__attribute__((...))" */
		if (r->lex.t.kind == MPK_TOKEN_END || mpk_lexer_at(&r->lex, ';'))
			return MPK_OK;
		MPK_TRY(mpk_lexer_next(&r->lex, err));
	}
	return sourcecode_add(r, &k, err);
}

static void end_declaration(struct reader *r)
{
	memset(r->group, 0, sizeof r->group);
	r->max_threads = 0;
	r->grouped = r->bounded = false;
	r->is_template = r->is_static = r->extern_c = false;
	r->declaration = NULL;
	r->opening = (struct block){ 0 };
}

/* "namespace a::b {" is treated as one block without a name. */
static void note_namespace(struct reader *r)
{
	if (r->lex.t.kind == MPK_TOKEN_WORD && !r->opening.is_path)
		r->opening.name = r->lex.t.text;
	if (!mpk_lexer_at(&r->lex, ':'))
		return;
	r->opening.is_path = true;
	r->opening.name = (struct mpk_span){ 0 };
}

static enum mpk_code sourcecode_read_all(struct reader *r, struct mpk_error *err)
{
	MPK_TRY(mpk_lexer_next(&r->lex, err));
	while (r->lex.t.kind != MPK_TOKEN_END) {
		bool marker = is_marker(r);
		bool group = mpk_token_is_word(&r->lex.t, "workgroup_size") ||
			     mpk_token_is_word(&r->lex.t, "reqd_work_group_size");
		bool bounds = mpk_token_is_word(&r->lex.t, "__launch_bounds__");

		if (!r->declaration && !mpk_lexer_at(&r->lex, '}') && !mpk_lexer_at(&r->lex, ';'))
			r->declaration = r->lex.t.text.data;

		/* Words before a kernel, and blocks around it, that change its symbol. */
		if (mpk_lexer_at(&r->lex, ';')) {
			end_declaration(r);
		} else if (mpk_lexer_at(&r->lex, '}')) {
			/* A definition ends with its brace; a namespace goes on. */
			struct mpk_source_code_kernel *last =
				r->count ? &r->kernels[r->count - 1] : NULL;

			r->depth -= r->depth > 0;
			if (last && r->depth <= r->body_depth && !last->body.len) {
				last->body = mpk_span_of(
					r->body, (size_t)(r->lex.t.text.data + 1 - r->body));
				last->text =
					mpk_span_of(r->bytes.data + (r->start - r->lex.bytes.data),
						    (size_t)(r->lex.t.text.data + 1 - r->start));
			}
			end_declaration(r);
		} else if (mpk_lexer_at(&r->lex, '{')) {
			if (r->depth < BLOCKS_MAX)
				r->blocks[r->depth] = r->opening;
			r->depth++;
			end_declaration(r);
		} else if (mpk_token_is_word(&r->lex.t, "namespace")) {
			r->opening = (struct block){ .is_namespace = true };
		} else if (r->opening.is_namespace) {
			note_namespace(r);
		} else if (r->lex.t.kind == MPK_TOKEN_STRING &&
			   mpk_span_is(r->lex.t.text, "\"C\"")) {
			r->opening.extern_c = r->extern_c = true;
		}
		r->is_template |= mpk_token_is_word(&r->lex.t, "template");
		r->is_static |= mpk_token_is_word(&r->lex.t, "static");

		MPK_TRY(mpk_lexer_next(&r->lex, err));
		if (marker)
			MPK_TRY(sourcecode_read_kernel(r, err));
		else if (group && mpk_lexer_at(&r->lex, '('))
			MPK_TRY(read_group(r, err));
		else if (bounds && mpk_lexer_at(&r->lex, '('))
			MPK_TRY(read_bounds(r, err));
	}
	return MPK_OK;
}

enum mpk_code mpk_source_code_read(struct mpk_span bytes, enum mpk_source_code_language language,
				   struct mpk_arena *arena, struct mpk_source_code *out,
				   struct mpk_error *err)
{
	MPK_CLEANUP(sourcecode_reader_fini)
	struct reader r = {
		.language = &languages[language],
		.lex = { .language = languages[language].name, .c_like = true },
		.bytes = bytes,
	};
	struct mpk_source_code_kernel *kernels;
	const uint8_t *nul;

	while (bytes.len && bytes.data[bytes.len - 1] == '\0')
		bytes.len--;
	nul = bytes.len ? memchr(bytes.data, 0, bytes.len) : NULL;
	if (nul)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", (size_t)(nul - bytes.data),
				       "%s: a NUL inside the text", r.language->name);
	MPK_TRY(mpk_source_code_plain(bytes, language == MPK_SOURCE_CODE_WGSL, arena, &r.lex.bytes,
				      err));
	if (language != MPK_SOURCE_CODE_WGSL)
		MPK_TRY(mpk_source_code_conditions(r.lex.bytes, arena, &r.lex.bytes, &r.groups,
						   err));
	r.index = (struct mpk_source_code_index){ .bytes = r.lex.bytes, .arena = &r.arena };
	MPK_TRY(sourcecode_read_all(&r, err));
	kernels = mpk_arena_keep(arena, r.kernels, r.count, sizeof *kernels);
	MPK_TRY_ALLOC(kernels, err);
	*out = (struct mpk_source_code){ .kernels = kernels,
					 .kernel_count = r.count,
					 .plain = r.lex.bytes };
	return MPK_OK;
}
