/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c - the phrases of PTX declarations: names, numbers, types, arrays
 *
 * A declaration is short and regular (PTX ISA, "State Spaces, Types, and Variables"), so it is read
 * by these few functions, each of which takes what it names and leaves the next token in the
 * parser, or says at which line and column something else was wanted.
 */
#include "ptx/internal/parse.h"

#include "base/compiler.h"
#include "base/num.h"
#include "text/escape.h"

/* What is there instead is quoted, as it may hold anything. */
enum mpk_code mpk_ptx_wanted(const struct mpk_lexer *r, const char *what, struct mpk_error *err)
{
	if (r->t.kind == MPK_TOKEN_END)
		return mpk_fail_line(err, MPK_E_SYNTAX, r->t.line, r->t.column,
				     "PTX: the text ends where %s is wanted", what);
	return mpk_fail_line(err, MPK_E_SYNTAX, r->t.line, r->t.column,
			     "PTX: %s wanted, '%s' found", what, MPK_QUOTE(r->t.text));
}

/* The sign itself, in quotes, is what the message wants. */
static enum mpk_code expect(struct mpk_lexer *r, char c, struct mpk_error *err)
{
	const char what[] = { '\'', c, '\'', '\0' };

	return mpk_lexer_at(r, c) ? mpk_lexer_next(r, err) : mpk_ptx_wanted(r, what, err);
}

/* A name, as against a directive or a number. */
enum mpk_code mpk_ptx_take_name(struct mpk_lexer *r, struct mpk_span *out, struct mpk_error *err)
{
	uint8_t c = r->t.kind == MPK_TOKEN_WORD ? r->t.text.data[0] : '.';

	if (c == '.' || (c >= '0' && c <= '9'))
		return mpk_ptx_wanted(r, "a name", err);
	*out = r->t.text;
	return mpk_lexer_next(r, err);
}

/* PTX writes decimal, 0x, 0b and octal numbers, with U after them or not. */
static bool parse_number(struct mpk_span text, uint64_t *out)
{
	uint64_t base = 0, v = 0;

	if (text.len > 1 && (text.data[text.len - 1] | 0x20) == 'u')
		text.len--;
	if (text.len > 2 && text.data[0] == '0' && (text.data[1] | 0x20) == 'b') {
		base = 2;
		text = mpk_span_of(text.data + 2, text.len - 2);
	} else if (text.len > 1 && text.data[0] == '0' && (text.data[1] | 0x20) != 'x') {
		base = 8;
	}
	if (!base)
		return mpk_parse_u64(text, out);
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] < '0' || text.data[i] >= '0' + base || !mpk_mul_u64(v, base, &v))
			return false;
		v += (uint64_t)(text.data[i] - '0'); /* base is even: the last digit fits */
	}
	*out = v;
	return true;
}

/* An upper bound instead of a type: what does not fit is refused here, not cut off later. */
static enum mpk_code take_number(struct mpk_lexer *r, uint64_t max, uint64_t *out,
				 struct mpk_error *err)
{
	if (r->t.kind != MPK_TOKEN_WORD || !parse_number(r->t.text, out) || *out > max)
		return mpk_ptx_wanted(r, "a number in its range", err);
	return mpk_lexer_next(r, err);
}

/* Bounds of blocks and registers: "128", "128, 1" or "128, 1, 1" */
enum mpk_code mpk_ptx_take_numbers(struct mpk_lexer *r, uint32_t max, uint32_t *out, size_t count,
				   struct mpk_error *err)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t v = 1;
		bool follows = !i || mpk_lexer_at(r, ',');

		if (i && follows)
			MPK_TRY(mpk_lexer_next(r, err));
		if (follows)
			MPK_TRY(take_number(r, max, &v, err));
		out[i] = (uint32_t)v;
	}
	return MPK_OK;
}

/* Passes over tokens up to and including stop, brackets of any kind in balance. */
enum mpk_code mpk_ptx_skip_past(struct mpk_lexer *r, char stop, struct mpk_error *err)
{
	size_t depth = 0;

	for (;;) {
		if (r->t.kind == MPK_TOKEN_END)
			return mpk_ptx_wanted(r, stop == ';' ? "';'" : "the closing bracket", err);
		if (!depth && mpk_lexer_at(r, stop))
			return mpk_lexer_next(r, err);
		if (mpk_lexer_at(r, '{') || mpk_lexer_at(r, '(') || mpk_lexer_at(r, '['))
			depth++;
		else if ((mpk_lexer_at(r, '}') || mpk_lexer_at(r, ')') || mpk_lexer_at(r, ']')) &&
			 depth-- == 0)
			return mpk_ptx_wanted(r, "';'", err);
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

/* 0: not the name of a type, which modifiers are. */
static uint32_t type_bytes(const struct mpk_token *t)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(types); i++)
		if (mpk_token_is_word(t, types[i].name))
			return types[i].bytes;
	return 0;
}

/* The alignment after .ptr is that of what it points to. */
static enum mpk_code take_modifiers(struct mpk_lexer *r, struct mpk_ptx_variable *v,
				    struct mpk_error *err)
{
	uint32_t lanes = 1, align = 0, ignored;

	while (r->t.kind == MPK_TOKEN_WORD && r->t.text.data[0] == '.') {
		struct mpk_token t = r->t;

		MPK_TRY(mpk_lexer_next(r, err));
		if (mpk_token_is_word(&t, ".align")) {
			MPK_TRY(mpk_ptx_take_numbers(r, UINT32_MAX, v->pointer ? &ignored : &align,
						     1, err));
		} else if (mpk_token_is_word(&t, ".v2") || mpk_token_is_word(&t, ".v4") ||
			   mpk_token_is_word(&t, ".v8")) {
			lanes = (uint32_t)(t.text.data[2] - '0');
		} else if (mpk_token_is_word(&t, ".ptr")) {
			v->pointer = true;
		} else if (mpk_token_is_word(&t, ".attribute")) {
			MPK_TRY(expect(r, '(', err));
			MPK_TRY(mpk_ptx_skip_past(r, ')', err));
		} else if (type_bytes(&t)) {
			v->type = mpk_span_of(t.text.data + 1, t.text.len - 1);
			v->bytes = type_bytes(&t);
		}
	}
	if (!v->bytes)
		return mpk_ptx_wanted(r, "a type such as .u32", err);
	v->bytes *= lanes;
	v->align = align ? align : (uint32_t)v->bytes;
	return MPK_OK;
}

/* Products wrap quickly with numbers from a file: each step is checked. */
static enum mpk_code take_dimensions(struct mpk_lexer *r, struct mpk_ptx_variable *v,
				     struct mpk_error *err)
{
	uint64_t n;

	while (mpk_lexer_at(r, '[')) {
		MPK_TRY(mpk_lexer_next(r, err));
		if (mpk_lexer_at(r, ']')) {
			v->open = true;
		} else {
			MPK_TRY(take_number(r, UINT64_MAX, &n, err));
			if (!mpk_mul_u64(v->bytes, n, &v->bytes))
				return mpk_ptx_wanted(r, "an array of less than 2^64 bytes", err);
		}
		MPK_TRY(expect(r, ']', err));
	}
	return MPK_OK;
}

/* The alignment is that of the type, which dimensions do not change. */
enum mpk_code mpk_ptx_take_variable(struct mpk_lexer *r, const struct mpk_ptx_variable *like,
				    struct mpk_ptx_variable *out, struct mpk_error *err)
{
	struct mpk_ptx_variable v = { 0 };

	if (like) {
		v = *like;
		v.bytes = v.element_bytes;
		v.open = false;
	} else {
		MPK_TRY(take_modifiers(r, &v, err));
		v.element_bytes = v.bytes;
	}
	MPK_TRY(mpk_ptx_take_name(r, &v.name, err));
	MPK_TRY(take_dimensions(r, &v, err));
	*out = v;
	return MPK_OK;
}

/* --- registers: FORMAT.md 3 ------------------------------------------------------- */

enum mpk_code mpk_ptx_take_registers(struct mpk_lexer *r, uint64_t *count, struct mpk_error *err)
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
