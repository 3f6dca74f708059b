/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - PTX: version, target, and the lists of declarations, which grow in malloc'ed arrays and
 * are copied to the arena at the end */
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/compiler.h"
#include "base/num.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "lexer/lexer.h"
#include "ptx/ptx.h"
#include "text/escape.h"

/* State of a read; lists are malloc'ed until the end. */
struct mpk_ptx_reader {
	struct mpk_lexer lex;
	struct mpk_arena *arena;
	struct mpk_ptx ptx;
	struct mpk_ptx_kernel *kernels;
	size_t kernel_cap;
	struct mpk_ptx_shared *shared;
	size_t shared_cap;
	struct mpk_span *functions;
	size_t function_cap;
	struct mpk_ptx_param *params;
	size_t param_cap;
	struct mpk_strmap names;
	struct mpk_token before; /* first token of the previous statement */
	const uint8_t *start; /* first byte of the statement, with linking directives before it */
	const uint8_t *end;   /* the byte after the brace of the last body */
	bool has_target;
};

/* --- PTX statements: declarations of variables, kernels and functions.
 *
 * A declaration is short and regular (PTX ISA, "State Spaces, Types, and Variables"), so a few
 * functions read it. Each function reads the part in its name and stops at the token after it, or
 * fails with line, column and what it expected. Instructions are skipped token by token, so new
 * instructions need no change. */

/* A variable or parameter in a declaration. */
struct variable {
	struct mpk_span name, type;
	uint64_t bytes, element_bytes;
	uint32_t align;
	bool pointer;
	bool open; /* an array without a size: "x[]" */
};

/* For a sign, the message quotes the sign. */
static enum mpk_code expect(struct mpk_lexer *r, char c, struct mpk_error *err)
{
	const char what[] = { '\'', c, '\'', '\0' };

	return mpk_lexer_at(r, c) ? mpk_lexer_next(r, err) : mpk_lexer_wanted(r, what, err);
}

/* Reads a name, not a directive or a number. */
static enum mpk_code ptx_take_name(struct mpk_lexer *r, struct mpk_span *out, struct mpk_error *err)
{
	uint8_t c = r->t.kind == MPK_TOKEN_WORD ? r->t.text.data[0] : '.';

	if (c == '.' || (c >= '0' && c <= '9'))
		return mpk_lexer_wanted(r, "a name", err);
	*out = r->t.text;
	return mpk_lexer_next(r, err);
}

/* PTX has decimal, 0x, 0b and octal numbers, with or without U at the end. */
static bool parse_number(struct mpk_span text, uint64_t *out)
{
	uint64_t base = 8, v = 0;

	if (text.len > 1 && (text.data[text.len - 1] | 0x20) == 'u')
		text.len--;
	if (text.len > 2 && text.data[0] == '0' && (text.data[1] | 0x20) == 'b') {
		base = 2;
		text = mpk_span_from(text, 2);
	} else if (text.len < 2 || text.data[0] != '0' || (text.data[1] | 0x20) == 'x') {
		return mpk_parse_u64(text, out);
	}
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] < '0' || text.data[i] >= '0' + base || !mpk_mul_u64(v, base, &v))
			return false;
		v += (uint64_t)(text.data[i] - '0'); /* The base is even, so the last digit fits. */
	}
	*out = v;
	return true;
}

/* A number above max is refused here, and not cut later. */
static enum mpk_code take_number(struct mpk_lexer *r, uint64_t max, uint64_t *out,
				 struct mpk_error *err)
{
	if (r->t.kind != MPK_TOKEN_WORD || !parse_number(r->t.text, out) || *out > max)
		return mpk_lexer_wanted(r, "a number in its range", err);
	return mpk_lexer_next(r, err);
}

/* Reads limits of blocks and registers: "128", "128, 1" or "128, 1, 1". */
static enum mpk_code ptx_take_numbers(struct mpk_lexer *r, uint32_t max, uint32_t *out,
				      size_t count, struct mpk_error *err)
{
	for (size_t i = 0; i < count; i++) {
		bool follows = !i || mpk_lexer_at(r, ',');
		uint64_t v = 1;

		if (i && follows)
			MPK_TRY(mpk_lexer_next(r, err));
		if (follows)
			MPK_TRY(take_number(r, max, &v, err));
		out[i] = (uint32_t)v;
	}
	return MPK_OK;
}

/* Skips tokens up to and including stop, and whole brackets of any kind. */
static enum mpk_code ptx_skip_past(struct mpk_lexer *r, char stop, struct mpk_error *err)
{
	size_t depth = 0;

	for (;;) {
		if (r->t.kind == MPK_TOKEN_END)
			return mpk_lexer_wanted(r, stop == ';' ? "';'" : "the closing bracket",
						err);
		if (!depth && mpk_lexer_at(r, stop))
			return mpk_lexer_next(r, err);
		if (mpk_lexer_at(r, '{') || mpk_lexer_at(r, '(') || mpk_lexer_at(r, '['))
			depth++;
		else if ((mpk_lexer_at(r, '}') || mpk_lexer_at(r, ')') || mpk_lexer_at(r, ']')) &&
			 depth-- == 0)
			return mpk_lexer_wanted(r, "';'", err);
		MPK_TRY(mpk_lexer_next(r, err));
	}
}

/* --- variables: FORMAT.md 2 ------------------------------------------------------- */

static const struct {
	const char *name;
	uint32_t bytes;
} types[] = {
	{ ".b8", 1 },         { ".u8", 1 },      { ".s8", 1 },    { ".b16", 2 },
	{ ".u16", 2 },        { ".s16", 2 },     { ".f16", 2 },   { ".bf16", 2 },
	{ ".b32", 4 },        { ".u32", 4 },     { ".s32", 4 },   { ".f32", 4 },
	{ ".f16x2", 4 },      { ".bf16x2", 4 },  { ".b64", 8 },   { ".u64", 8 },
	{ ".s64", 8 },        { ".f64", 8 },     { ".b128", 16 }, { ".texref", 8 },
	{ ".samplerref", 8 }, { ".surfref", 8 },
};

/* Returns 0 for a word that is not the name of a type. */
static uint32_t type_bytes(const struct mpk_token *t)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(types); i++)
		if (mpk_token_is_word(t, types[i].name))
			return types[i].bytes;
	return 0;
}

/* The alignment after .ptr is that of the memory that it points to. */
static enum mpk_code take_modifiers(struct mpk_lexer *r, struct variable *v, struct mpk_error *err)
{
	uint32_t lanes = 1, align = 0, ignored;

	while (r->t.kind == MPK_TOKEN_WORD && r->t.text.data[0] == '.') {
		struct mpk_token t = r->t;

		MPK_TRY(mpk_lexer_next(r, err));
		if (mpk_token_is_word(&t, ".align")) {
			MPK_TRY(ptx_take_numbers(r, UINT32_MAX, v->pointer ? &ignored : &align, 1,
						 err));
		} else if (mpk_token_is_word(&t, ".v2") || mpk_token_is_word(&t, ".v4") ||
			   mpk_token_is_word(&t, ".v8")) {
			lanes = (uint32_t)(t.text.data[2] - '0');
		} else if (mpk_token_is_word(&t, ".ptr")) {
			v->pointer = true;
		} else if (mpk_token_is_word(&t, ".attribute")) {
			MPK_TRY(expect(r, '(', err));
			MPK_TRY(ptx_skip_past(r, ')', err));
		} else if (type_bytes(&t)) {
			v->type = mpk_span_from(t.text, 1);
			v->bytes = type_bytes(&t);
		}
	}
	if (!v->bytes)
		return mpk_lexer_wanted(r, "a type such as .u32", err);
	v->bytes *= lanes;
	v->align = align ? align : (uint32_t)v->bytes;
	return MPK_OK;
}

/* goes_on: reads the next name of a list, which shares the type of the first. */
static enum mpk_code ptx_take_variable(struct mpk_lexer *r, bool goes_on, struct variable *v,
				       struct mpk_error *err)
{
	if (goes_on) {
		v->bytes = v->element_bytes;
		v->open = false;
	} else {
		*v = (struct variable){ 0 };
		MPK_TRY(take_modifiers(r, v, err));
		v->element_bytes = v->bytes;
	}
	MPK_TRY(ptx_take_name(r, &v->name, err));

	/* Each step is checked, because products of numbers from a file may wrap. */
	uint64_t n = 0;

	while (mpk_lexer_at(r, '[')) {
		MPK_TRY(mpk_lexer_next(r, err));
		if (mpk_lexer_at(r, ']')) {
			v->open = true;
		} else {
			MPK_TRY(take_number(r, UINT64_MAX, &n, err));
			if (!mpk_mul_u64(v->bytes, n, &v->bytes))
				return mpk_lexer_wanted(r, "an array of less than 2^64 bytes", err);
		}
		MPK_TRY(expect(r, ']', err));
	}
	return MPK_OK;
}

/* --- registers: FORMAT.md 3 ------------------------------------------------------- */

static enum mpk_code ptx_take_registers(struct mpk_lexer *r, uint64_t *count, struct mpk_error *err)
{
	bool is_predicate = false;

	for (; r->t.kind == MPK_TOKEN_WORD && r->t.text.data[0] == '.';) {
		is_predicate |= mpk_token_is_word(&r->t, ".pred");
		MPK_TRY(mpk_lexer_next(r, err));
	}
	while (r->t.kind == MPK_TOKEN_WORD) {
		uint64_t n = 1;

		MPK_TRY(mpk_lexer_next(r, err));
		if (mpk_lexer_at(r, '<')) {
			MPK_TRY(mpk_lexer_next(r, err));
			if (r->t.kind != MPK_TOKEN_WORD || !parse_number(r->t.text, &n))
				return MPK_OK;
			MPK_TRY(mpk_lexer_next(r, err));
			if (!mpk_lexer_at(r, '>'))
				return MPK_OK;
			MPK_TRY(mpk_lexer_next(r, err));
		}
		if (!is_predicate && !mpk_add_u64(*count, n, count))
			*count = UINT64_MAX;
		if (!mpk_lexer_at(r, ','))
			return MPK_OK;
		MPK_TRY(mpk_lexer_next(r, err));
	}
	return MPK_OK;
}

/* --- shared memory: FORMAT.md 2 --------------------------------------------------- */

/* Reads after ".shared": modifiers and a list of names. */
static enum mpk_code read_shared(struct mpk_ptx_reader *r, bool is_extern, size_t kernel,
				 struct mpk_error *err)
{
	struct variable v = { 0 };

	for (bool goes_on = false;; goes_on = true) {
		MPK_TRY(ptx_take_variable(&r->lex, goes_on, &v, err));
		MPK_TRY_ALLOC(MPK_VEC_ROOM(r->shared, r->ptx.shared_count, r->shared_cap), err);
		r->shared[r->ptx.shared_count++] = (struct mpk_ptx_shared){
			.name = v.name,
			.bytes = v.open ? 0 : v.bytes,
			.align = v.align,
			.dynamic = is_extern && v.open,
			.kernel = kernel,
		};
		if (!mpk_lexer_at(&r->lex, ','))
			return ptx_skip_past(&r->lex, ';', err);
		MPK_TRY(mpk_lexer_next(&r->lex, err));
	}
}

/* --- kernels: FORMAT.md 3 --------------------------------------------------------- */

/* A kernel without parameters may have no parentheses. */
static enum mpk_code ptx_read_params(struct mpk_ptx_reader *r, struct mpk_ptx_kernel *k,
				     struct mpk_error *err)
{
	size_t n = 0;

	if (!mpk_lexer_at(&r->lex, '('))
		return MPK_OK;
	MPK_TRY(mpk_lexer_next(&r->lex, err));
	while (!mpk_lexer_at(&r->lex, ')')) {
		struct variable v = { 0 };

		if (!mpk_token_is_word(&r->lex.t, ".param"))
			return mpk_lexer_wanted(&r->lex, "'.param'", err);
		MPK_TRY(mpk_lexer_next(&r->lex, err));
		MPK_TRY(ptx_take_variable(&r->lex, false, &v, err));
		MPK_TRY_ALLOC(MPK_VEC_ROOM(r->params, n, r->param_cap), err);
		r->params[n++] = (struct mpk_ptx_param){ .name = v.name,
							 .type = v.type,
							 .bytes = v.bytes,
							 .align = v.align,
							 .pointer = v.pointer };
		if (mpk_lexer_at(&r->lex, ','))
			MPK_TRY(mpk_lexer_next(&r->lex, err));
		else if (!mpk_lexer_at(&r->lex, ')'))
			return mpk_lexer_wanted(&r->lex, "',' or ')'", err);
	}
	k->params = mpk_arena_keep(r->arena, r->params, n, sizeof *r->params);
	MPK_TRY_ALLOC(k->params, err);
	k->param_count = n;
	return mpk_lexer_next(&r->lex, err);
}

/* Reads the operands of a directive before a body; those of an unknown directive look like no
 * directive. */
static enum mpk_code read_directive(struct mpk_ptx_reader *r, const struct mpk_token *directive,
				    struct mpk_ptx_kernel *k, struct mpk_error *err)
{
	const struct {
		const char *name;
		uint32_t *numbers;
		size_t count;
	} rows[] = {
		{ ".maxntid", k->max_threads, 3 },       { ".reqntid", k->block, 3 },
		{ ".reqnctapercluster", k->cluster, 3 }, { ".minnctapersm", &k->min_blocks, 1 },
		{ ".maxnreg", &k->max_registers, 1 },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		if (mpk_token_is_word(directive, rows[i].name))
			return ptx_take_numbers(&r->lex, UINT32_MAX, rows[i].numbers, rows[i].count,
						err);
	if (mpk_token_is_word(directive, ".pragma")) /* its ';' does not end the declaration */
		return ptx_skip_past(&r->lex, ';', err);
	return MPK_OK;
}

/* Reads the directives between parameters and body. */
static enum mpk_code read_performance(struct mpk_ptx_reader *r, struct mpk_ptx_kernel *k,
				      struct mpk_error *err)
{
	while (!mpk_lexer_at(&r->lex, '{') && !mpk_lexer_at(&r->lex, ';')) {
		struct mpk_token t = r->lex.t;

		if (t.kind == MPK_TOKEN_END)
			return mpk_lexer_wanted(&r->lex, "'{' or ';'", err);
		MPK_TRY(mpk_lexer_next(&r->lex, err));
		MPK_TRY(read_directive(r, &t, k, err));
	}
	return MPK_OK;
}

/* Reads ".local" and the variable after it. Text that does not parse as a variable is skipped. */
static enum mpk_code read_local(struct mpk_ptx_reader *r, uint64_t *bytes, struct mpk_error *err)
{
	struct variable v = { 0 };

	for (bool goes_on = false;; goes_on = true) {
		enum mpk_code code = ptx_take_variable(&r->lex, goes_on, &v, err);

		if (code != MPK_OK)
			return code == MPK_E_SYNTAX && r->lex.t.kind != MPK_TOKEN_END ? MPK_OK
										      : code;
		if (!mpk_add_u64(*bytes, v.bytes, bytes))
			*bytes = UINT64_MAX;
		if (!mpk_lexer_at(&r->lex, ','))
			return MPK_OK;
		MPK_TRY(mpk_lexer_next(&r->lex, err));
	}
}

/* Reads a declaration at the beginning of a statement, if it declares memory or registers. */
static enum mpk_code read_declaration(struct mpk_ptx_reader *r, size_t kernel, bool *is,
				      struct mpk_error *err)
{
	struct mpk_ptx_kernel ignored = { 0 };
	struct mpk_ptx_kernel *k = kernel == MPK_PTX_MODULE ? &ignored : &r->kernels[kernel];
	bool is_shared = mpk_token_is_word(&r->lex.t, ".shared");
	bool is_local = mpk_token_is_word(&r->lex.t, ".local");

	*is = is_shared || is_local || mpk_token_is_word(&r->lex.t, ".reg");
	if (!*is)
		return MPK_OK;
	MPK_TRY(mpk_lexer_next(&r->lex, err));
	if (is_shared)
		return read_shared(r, false, kernel, err);
	return is_local ? read_local(r, &k->local_bytes, err)
			: ptx_take_registers(&r->lex, &k->registers, err);
}

/* Reads from '{' to its '}'; only declarations at the beginning of a statement count. */
static enum mpk_code ptx_read_body(struct mpk_ptx_reader *r, size_t kernel, struct mpk_error *err)
{
	size_t depth = 0;
	bool start, is;

	do {
		start = r->lex.t.kind == MPK_TOKEN_PUNCT && strchr("{};:", r->lex.t.text.data[0]);
		if (mpk_lexer_at(&r->lex, '{'))
			depth++;
		else if (mpk_lexer_at(&r->lex, '}'))
			depth--;
		else if (r->lex.t.kind == MPK_TOKEN_END)
			return mpk_lexer_wanted(&r->lex, "'}'", err);
		r->end = r->lex.t.text.data + r->lex.t.text.len;
		MPK_TRY(mpk_lexer_next(&r->lex, err));
		for (is = start && depth; is;)
			MPK_TRY(read_declaration(r, kernel, &is, err));
	} while (depth);
	return MPK_OK;
}

/* A kernel may be declared repeatedly, but defined only once; a declaration and its definition are
 * one kernel. */
static enum mpk_code ptx_add_kernel(struct mpk_ptx_reader *r, const struct mpk_ptx_kernel *k,
				    const struct mpk_token *where, size_t *index,
				    struct mpk_error *err)
{
	size_t n = r->ptx.kernel_count;
	int rc = mpk_strmap_put(&r->names, k->name, n, index);

	if (rc < 0 || !mpk_vec_reserve(&r->kernels, &r->kernel_cap, n + 1, sizeof *k))
		return mpk_fail_nomem(err);
	if (rc == 0 && r->kernels[*index].has_body && k->has_body)
		return mpk_fail_line(err, MPK_E_CONFLICT, where->line, where->column,
				     "PTX: a second kernel is called '%s'", MPK_QUOTE(k->name));
	if (rc > 0)
		*index = r->ptx.kernel_count++;
	if (rc > 0 || k->has_body)
		r->kernels[*index] = *k;
	return MPK_OK;
}

/* The tokens before a definition that are part of it. */
static bool is_linking(const struct mpk_token *t)
{
	return mpk_token_is_word(t, ".visible") || mpk_token_is_word(t, ".weak") ||
	       mpk_token_is_word(t, ".extern");
}

/* Reads a statement other than .version and .target; what it declares is added to r
 * Returns  MPK_OK; MPK_E_SYNTAX at the unexpected token, MPK_E_CONFLICT, MPK_E_NOMEM
 *
 * The first token decides; other statements are skipped. */
static enum mpk_code ptx_read_statement(struct mpk_ptx_reader *r, struct mpk_error *err)
{
	static const char *const variables[] = { ".global", ".const", ".tex",   ".local",
						 ".param",  ".reg",   ".alias", ".pragma" };
	const struct mpk_token t = r->lex.t;

	if (!is_linking(&r->before))
		r->start = t.text.data;
	MPK_TRY(mpk_lexer_next(&r->lex, err));
	if (mpk_token_is_word(&t, ".address_size")) {
		uint32_t *bits = &r->ptx.address_bits;

		MPK_TRY(ptx_take_numbers(&r->lex, 64, bits, 1, err));
		if (*bits == 32 || *bits == 64)
			return MPK_OK;
		return mpk_fail_line(err, MPK_E_SYNTAX, r->lex.t.line, r->lex.t.column,
				     "PTX: .address_size must be 32 or 64");
	}
	if (mpk_token_is_word(&t, ".entry")) {
		struct mpk_token where = r->lex.t;
		struct mpk_ptx_kernel k = { 0 };
		const uint8_t *start = r->start;
		size_t index;

		MPK_TRY(ptx_take_name(&r->lex, &k.name, err));
		MPK_TRY(ptx_read_params(r, &k, err));
		MPK_TRY(read_performance(r, &k, err));
		k.has_body = mpk_lexer_at(&r->lex, '{');
		MPK_TRY(ptx_add_kernel(r, &k, &where, &index, err));
		if (!k.has_body)
			return mpk_lexer_next(&r->lex, err);
		MPK_TRY(ptx_read_body(r, index, err));
		r->kernels[index].text = mpk_span_of(start, (size_t)(r->end - start));
		return MPK_OK;
	}
	if (mpk_token_is_word(&t, ".func")) {
		/* ".func (RESULT) NAME (PARAMETERS)". Any kernel may use the variables in its body. */
		size_t n = r->ptx.function_count;
		struct mpk_span name;

		if (mpk_lexer_at(&r->lex, '(')) {
			MPK_TRY(mpk_lexer_next(&r->lex, err));
			MPK_TRY(ptx_skip_past(&r->lex, ')', err));
		}
		MPK_TRY(ptx_take_name(&r->lex, &name, err));
		while (!mpk_lexer_at(&r->lex, '{') && !mpk_lexer_at(&r->lex, ';')) {
			if (r->lex.t.kind == MPK_TOKEN_END)
				return mpk_lexer_wanted(&r->lex, "'{' or ';'", err);
			MPK_TRY(mpk_lexer_next(&r->lex, err));
		}
		if (mpk_lexer_at(&r->lex, ';'))
			return mpk_lexer_next(&r->lex, err);
		MPK_TRY_ALLOC(mpk_vec_reserve(&r->functions, &r->function_cap, n + 1, sizeof name),
			      err);
		r->functions[r->ptx.function_count++] = name;
		return ptx_read_body(r, MPK_PTX_MODULE, err);
	}
	if (mpk_token_is_word(&t, ".shared"))
		return read_shared(r, mpk_token_is_word(&r->before, ".extern"), MPK_PTX_MODULE,
				   err);
	if (mpk_token_is_punct(&t, '{')) /* .section NAME { ... } */
		return ptx_skip_past(&r->lex, '}', err);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(variables); i++)
		if (mpk_token_is_word(&t, variables[i]))
			return ptx_skip_past(&r->lex, ';', err);
	return MPK_OK; /* .visible, .weak, .file 1 "x.cu", ... */
}

static void ptx_reader_fini(struct mpk_ptx_reader *r)
{
	free(r->kernels);
	free(r->shared);
	free(r->functions);
	free(r->params);
	mpk_strmap_fini(&r->names);
}

/* --- the module: FORMAT.md 3 ------------------------------------------------------ */

/* Both parts have limits, so that a version is two small numbers. */
static enum mpk_code read_version(struct mpk_ptx_reader *r, struct mpk_error *err)
{
	struct mpk_span text;
	const uint8_t *dot;
	uint64_t major, minor;
	size_t head;

	MPK_TRY(mpk_lexer_next(&r->lex, err));
	text = r->lex.t.text;
	dot = r->lex.t.kind == MPK_TOKEN_WORD ? memchr(text.data, '.', text.len) : NULL;
	head = dot ? (size_t)(dot - text.data) : 0;
	if (!head || !mpk_parse_u64(mpk_span_of(text.data, head), &major) ||
	    !mpk_parse_u64(mpk_span_of(dot + 1, text.len - head - 1), &minor) || major > 999 ||
	    minor > 999)
		return mpk_lexer_wanted(&r->lex, "a version such as 8.4", err);
	r->ptx.major = (unsigned)major;
	r->ptx.minor = (unsigned)minor;
	return mpk_lexer_next(&r->lex, err);
}

/* "sm_90", "sm_90a", "sm_100f" */
static bool parse_target(struct mpk_span text, unsigned *sm, char *suffix)
{
	uint64_t n;

	if (!mpk_span_starts(text, "sm_") || text.len < 4)
		return false;
	text = mpk_span_from(text, 3);
	*suffix = '\0';
	if (text.data[text.len - 1] == 'a' || text.data[text.len - 1] == 'f')
		*suffix = (char)text.data[--text.len];
	if (!mpk_parse_u64(text, &n) || n > 9999)
		return false;
	*sm = (unsigned)n;
	return true;
}

/* The list has one sm_ target, and words such as debug or texmode_independent. */
static enum mpk_code read_target(struct mpk_ptx_reader *r, struct mpk_error *err)
{
	do {
		struct mpk_span text;

		MPK_TRY(mpk_lexer_next(&r->lex, err));
		text = r->lex.t.text;
		if (r->lex.t.kind != MPK_TOKEN_WORD)
			return mpk_lexer_wanted(&r->lex, "a target such as sm_90", err);
		if (mpk_span_starts(text, "sm_")) {
			if (!parse_target(text, &r->ptx.sm, &r->ptx.suffix))
				return mpk_lexer_wanted(&r->lex, "a target such as sm_90", err);
			r->has_target = true;
		} else if (mpk_span_is(text, "debug")) {
			r->ptx.debug = true;
		}
		MPK_TRY(mpk_lexer_next(&r->lex, err));
	} while (mpk_lexer_at(&r->lex, ','));
	return MPK_OK;
}

/* head: read up to the target, before which only the version may be */
static enum mpk_code read_module(struct mpk_ptx_reader *r, bool head, struct mpk_error *err)
{
	MPK_TRY(mpk_lexer_next(&r->lex, err));
	if (!mpk_token_is_word(&r->lex.t, ".version"))
		return mpk_lexer_wanted(&r->lex, "'.version'", err);
	while (r->lex.t.kind != MPK_TOKEN_END && !(head && r->has_target)) {
		const struct mpk_token t = r->lex.t;

		if (mpk_token_is_word(&t, ".version"))
			MPK_TRY(read_version(r, err));
		else if (mpk_token_is_word(&t, ".target"))
			MPK_TRY(read_target(r, err));
		else if (head)
			return mpk_lexer_wanted(&r->lex, "'.target sm_NN'", err);
		else
			MPK_TRY(ptx_read_statement(r, err));
		r->before = t;
	}
	if (!r->has_target)
		return mpk_lexer_wanted(&r->lex, "'.target sm_NN'", err);
	return MPK_OK;
}

/* NULs at the end belong to no token. */
static struct mpk_span without_end(struct mpk_span bytes)
{
	while (bytes.len && bytes.data[bytes.len - 1] == '\0')
		bytes.len--;
	return bytes;
}

/* The first token decides; the lexer skips comments before it. */
bool mpk_ptx_is(struct mpk_span bytes)
{
	struct mpk_lexer lex = { .bytes = bytes, .language = "PTX" };

	/* Assemblers for CPUs have a .version, too, which takes a string. */
	return mpk_lexer_next(&lex, NULL) == MPK_OK && mpk_token_is_word(&lex.t, ".version") &&
	       mpk_lexer_next(&lex, NULL) == MPK_OK && lex.t.kind == MPK_TOKEN_WORD &&
	       lex.t.text.data[0] >= '0' && lex.t.text.data[0] <= '9';
}

enum mpk_code mpk_ptx_read(struct mpk_span bytes, struct mpk_arena *arena, struct mpk_ptx *out,
			   struct mpk_error *err)
{
	struct mpk_span text = without_end(bytes);
	MPK_CLEANUP(ptx_reader_fini)
	struct mpk_ptx_reader r = {
		.lex = { .bytes = text, .language = "PTX" },
		.arena = arena,
		.ptx = { .address_bits = 32 },
	};
	const uint8_t *nul = text.len ? memchr(text.data, 0, text.len) : NULL;

	if (nul)
		return mpk_fail_offset(
			err, MPK_E_CORRUPT, "payload", (size_t)(nul - text.data),
			"PTX: a NUL inside the text; a driver would stop reading here");
	/* splitting a text into words takes some times longer than decompressing it */
	MPK_TRY(mpk_account_take(2 * (uint64_t)text.len, err));
	MPK_TRY(read_module(&r, false, err));

	/* *out is set only after all lists were copied. */
	struct mpk_ptx ptx = r.ptx;

	ptx.kernels = mpk_arena_keep(r.arena, r.kernels, ptx.kernel_count, sizeof *r.kernels);
	ptx.shared = mpk_arena_keep(r.arena, r.shared, ptx.shared_count, sizeof *r.shared);
	ptx.functions =
		mpk_arena_keep(r.arena, r.functions, ptx.function_count, sizeof *r.functions);
	MPK_TRY_ALLOC(ptx.kernels && ptx.shared && ptx.functions, err);
	*out = ptx;
	return MPK_OK;
}

/* Stops at the target, because the kernels may be megabytes of text. */
enum mpk_code mpk_ptx_read_head(struct mpk_span bytes, struct mpk_ptx *out, struct mpk_error *err)
{
	MPK_CLEANUP(ptx_reader_fini)
	struct mpk_ptx_reader r = { .lex = { .bytes = without_end(bytes), .language = "PTX" } };

	MPK_TRY(read_module(&r, true, err));
	*out = (struct mpk_ptx){
		.major = r.ptx.major, .minor = r.ptx.minor, .sm = r.ptx.sm, .suffix = r.ptx.suffix
	};
	return MPK_OK;
}
