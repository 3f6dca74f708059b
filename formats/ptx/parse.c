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

/* Errors of the lexer, such as a string without an end, come with their place. */
enum mpk_code mpk_ptx_step(struct mpk_ptx_parser *r, struct mpk_error *err)
{
	return mpk_lexer_next(&r->lex, &r->t, err);
}

/* What is there instead is quoted, as it may hold anything. */
enum mpk_code mpk_ptx_wanted(const struct mpk_ptx_parser *r, const char *what,
			     struct mpk_error *err)
{
	if (r->t.kind == MPK_TOKEN_END)
		return mpk_fail_line(err, MPK_E_SYNTAX, r->t.line, r->t.column,
				     "PTX: the text ends where %s is wanted", what);
	return mpk_fail_line(err, MPK_E_SYNTAX, r->t.line, r->t.column,
			     "PTX: %s wanted, '%s' found", what, MPK_QUOTE(r->t.text));
}

/* The sign itself, in quotes, is what the message wants. */
static enum mpk_code expect(struct mpk_ptx_parser *r, char c, struct mpk_error *err)
{
	const char what[] = { '\'', c, '\'', '\0' };

	return mpk_ptx_at(r, c) ? mpk_ptx_step(r, err) : mpk_ptx_wanted(r, what, err);
}

/* A name, as against a directive or a number. */
enum mpk_code mpk_ptx_take_name(struct mpk_ptx_parser *r, struct mpk_span *out,
				struct mpk_error *err)
{
	uint8_t c = r->t.kind == MPK_TOKEN_WORD ? r->t.text.data[0] : '.';

	if (c == '.' || (c >= '0' && c <= '9'))
		return mpk_ptx_wanted(r, "a name", err);
	*out = r->t.text;
	return mpk_ptx_step(r, err);
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
enum mpk_code mpk_ptx_take_number(struct mpk_ptx_parser *r, uint64_t max, uint64_t *out,
				  struct mpk_error *err)
{
	if (r->t.kind != MPK_TOKEN_WORD || !parse_number(r->t.text, out) || *out > max)
		return mpk_ptx_wanted(r, "a number in its range", err);
	return mpk_ptx_step(r, err);
}

/* Bounds of blocks and registers. */
enum mpk_code mpk_ptx_take_u32(struct mpk_ptx_parser *r, uint32_t *out, struct mpk_error *err)
{
	uint64_t v;

	MPK_TRY(mpk_ptx_take_number(r, UINT32_MAX, &v, err));
	*out = (uint32_t)v;
	return MPK_OK;
}

/* "128", "128, 1" or "128, 1, 1" */
enum mpk_code mpk_ptx_take_triple(struct mpk_ptx_parser *r, uint32_t out[3], struct mpk_error *err)
{
	MPK_TRY(mpk_ptx_take_u32(r, &out[0], err));
	for (size_t i = 1; i < 3; i++) {
		out[i] = 1;
		if (mpk_ptx_at(r, ',')) {
			MPK_TRY(mpk_ptx_step(r, err));
			MPK_TRY(mpk_ptx_take_u32(r, &out[i], err));
		}
	}
	return MPK_OK;
}

/* Passes over tokens up to and including stop, brackets of any kind in balance. */
enum mpk_code mpk_ptx_skip_past(struct mpk_ptx_parser *r, char stop, struct mpk_error *err)
{
	size_t depth = 0;

	for (;;) {
		if (r->t.kind == MPK_TOKEN_END)
			return mpk_ptx_wanted(r, stop == ';' ? "';'" : "the closing bracket", err);
		if (!depth && mpk_ptx_at(r, stop))
			return mpk_ptx_step(r, err);
		if (mpk_ptx_at(r, '{') || mpk_ptx_at(r, '(') || mpk_ptx_at(r, '['))
			depth++;
		else if ((mpk_ptx_at(r, '}') || mpk_ptx_at(r, ')') || mpk_ptx_at(r, ']')) &&
			 depth-- == 0)
			return mpk_ptx_wanted(r, "';'", err);
		MPK_TRY(mpk_ptx_step(r, err));
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
enum mpk_code mpk_ptx_take_modifiers(struct mpk_ptx_parser *r, struct mpk_ptx_variable *v,
				     struct mpk_error *err)
{
	uint32_t lanes = 1, align = 0, ignored;

	while (r->t.kind == MPK_TOKEN_WORD && r->t.text.data[0] == '.') {
		struct mpk_token t = r->t;

		MPK_TRY(mpk_ptx_step(r, err));
		if (mpk_token_is_word(&t, ".align")) {
			MPK_TRY(mpk_ptx_take_u32(r, v->pointer ? &ignored : &align, err));
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
enum mpk_code mpk_ptx_take_dimensions(struct mpk_ptx_parser *r, struct mpk_ptx_variable *v,
				      struct mpk_error *err)
{
	uint64_t n;

	while (mpk_ptx_at(r, '[')) {
		MPK_TRY(mpk_ptx_step(r, err));
		if (mpk_ptx_at(r, ']')) {
			v->open = true;
		} else {
			MPK_TRY(mpk_ptx_take_number(r, UINT64_MAX, &n, err));
			if (!mpk_mul_u64(v->bytes, n, &v->bytes))
				return mpk_ptx_wanted(r, "an array of less than 2^64 bytes", err);
		}
		MPK_TRY(expect(r, ']', err));
	}
	return MPK_OK;
}
