/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the texts of launch functions: expressions over shape variables, and parameters such as
 * "A: in float32[n, 4]". Both are read by recursive descent of bounded depth, and every error
 * has the column of the mistake. */
#include "launch/internal/resolve.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "text/escape.h"

/* Bounds the recursion of everything that walks an expression. */
enum { DEPTH_MAX = 64, TEXT_MAX = 1024 };

/* Fails with MPK_E_SYNTAX at a byte of the text, whose own position in the manifest is known. */
MPK_PRINTF(4, 5)
static enum mpk_code scan_fail(const struct mpk_scan *s, size_t at, struct mpk_error *err,
			       const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return mpk_fail_line(err, MPK_E_SYNTAX, s->line, s->column + (uint32_t)at, "%s", text);
}

/* Skips blanks; returns the next byte, 0 at the end. */
static int scan_space(struct mpk_scan *s)
{
	while (s->at < s->text.len && (s->text.data[s->at] == ' ' || s->text.data[s->at] == '\t'))
		s->at++;
	return s->at < s->text.len ? s->text.data[s->at] : 0;
}

/* Reads an identifier [A-Za-z_][A-Za-z0-9_]*, or an empty span. ASCII only: isalpha also gets
 * bytes of UTF-8, which are no letters in the "C" locale. */
static struct mpk_span scan_name(struct mpk_scan *s)
{
	size_t from;
	int c = scan_space(s);

	if (!isalpha(c) && c != '_')
		return (struct mpk_span){ 0 };
	for (from = s->at; s->at < s->text.len; s->at++) {
		c = s->text.data[s->at];
		if (!isalnum(c) && c != '_')
			break;
	}
	return mpk_span_of(s->text.data + from, s->at - from);
}

static bool scan_char(struct mpk_scan *s, char c)
{
	if (scan_space(s) != (unsigned char)c || c == 0)
		return false;
	s->at++;
	return true;
}

struct parse {
	struct mpk_scan *s;
	struct mpk_arena *arena;
	struct mpk_error *err;
	unsigned depth;
};

static enum mpk_code sum(struct parse *p, const struct mpk_expr **out);

/* Nodes are in the arena and never change. */
static enum mpk_code node(struct parse *p, struct mpk_expr e, const struct mpk_expr **out)
{
	struct mpk_expr *n = mpk_arena_alloc(p->arena, sizeof *n);

	if (!n)
		return mpk_fail_nomem(p->err);
	*n = e;
	*out = n;
	return MPK_OK;
}

static enum mpk_code expect(struct parse *p, char c)
{
	if (scan_char(p->s, c))
		return MPK_OK;
	return scan_fail(p->s, p->s->at, p->err, "expected '%c' in the expression", c);
}

static enum mpk_code name_or_call(struct parse *p, const struct mpk_expr **out)
{
	static const struct {
		const char *name;
		enum mpk_expr_op op;
	} calls[] = { { "min", MPK_EXPR_MIN },
		      { "max", MPK_EXPR_MAX },
		      { "ceildiv", MPK_EXPR_CEILDIV } };
	size_t at = p->s->at;
	struct mpk_span name = scan_name(p->s);

	if (scan_space(p->s) == '(')
		for (size_t i = 0; i < MPK_ARRAY_COUNT(calls); i++)
			if (mpk_span_is(name, calls[i].name)) {
				/* min, max and ceildiv all have two arguments. */
				struct mpk_expr e = { .op = calls[i].op, .at = at };

				MPK_TRY(expect(p, '('));
				MPK_TRY(sum(p, &e.a));
				MPK_TRY(expect(p, ','));
				MPK_TRY(sum(p, &e.b));
				MPK_TRY(expect(p, ')'));
				return node(p, e, out);
			}
	if (scan_space(p->s) == '(')
		return scan_fail(p->s, at, p->err,
				 "unknown function '%.*s'; there are min, max and ceildiv",
				 MPK_SPAN_ARG(name));
	return node(p, (struct mpk_expr){ .op = MPK_EXPR_NAME, .name = name, .at = at }, out);
}

static enum mpk_code atom(struct parse *p, const struct mpk_expr **out)
{
	int c = scan_space(p->s);

	if (isdigit(c)) {
		/* Takes letters along, so that "12ab" is one wrong number and not two words. */
		struct mpk_scan *s = p->s;
		size_t from = s->at;
		int64_t value;

		while (s->at < s->text.len && isalnum(s->text.data[s->at]))
			s->at++;
		if (!mpk_parse_i64(mpk_span_of(s->text.data + from, s->at - from), &value))
			return scan_fail(s, from, p->err, "'%.*s' is no 64-bit integer",
					 (int)(s->at - from), (const char *)s->text.data + from);
		return node(p,
			    (struct mpk_expr){ .op = MPK_EXPR_NUMBER, .value = value, .at = from },
			    out);
	}
	if (isalpha(c) || c == '_')
		return name_or_call(p, out);
	if (c != '(')
		return scan_fail(p->s, p->s->at, p->err,
				 c ? "expected a number, a name or '('"
				   : "the expression ends too early");
	if (++p->depth > DEPTH_MAX)
		return scan_fail(p->s, p->s->at, p->err, "nested too deeply");
	p->s->at++;
	MPK_TRY(sum(p, out));
	p->depth--;
	return expect(p, ')');
}

/* A minus is a subtraction from 0, which the generated code checks for overflow like any other. */
static enum mpk_code unary(struct parse *p, const struct mpk_expr **out)
{
	size_t at = p->s->at;
	struct mpk_expr e = { .op = MPK_EXPR_SUB, .at = at };

	if (!scan_char(p->s, '-'))
		return atom(p, out);
	MPK_TRY(node(p, (struct mpk_expr){ .op = MPK_EXPR_NUMBER, .at = at }, &e.a));
	MPK_TRY(atom(p, &e.b));
	return node(p, e, out);
}

/* Sums and products differ only in their signs; a product is parsed inside a sum, so that *
 * binds tighter than +. */
static enum mpk_code chain(struct parse *p, bool product, const struct mpk_expr **out)
{
	const char *signs = product ? "*/%" : "+-";
	static const enum mpk_expr_op ops[2][3] = {
		{ MPK_EXPR_ADD, MPK_EXPR_SUB, MPK_EXPR_SUB },
		{ MPK_EXPR_MUL, MPK_EXPR_DIV, MPK_EXPR_MOD },
	};

	MPK_TRY(product ? unary(p, out) : chain(p, true, out));
	for (;;) {
		int c = scan_space(p->s);
		const char *sign = c ? strchr(signs, c) : NULL;
		struct mpk_expr e = { .a = *out, .at = p->s->at };

		if (!sign)
			return MPK_OK;
		e.op = ops[product][sign - signs];
		p->s->at++;
		MPK_TRY(product ? unary(p, &e.b) : chain(p, true, &e.b));
		MPK_TRY(node(p, e, out));
	}
}

static enum mpk_code sum(struct parse *p, const struct mpk_expr **out)
{
	enum mpk_code code;

	if (++p->depth > DEPTH_MAX)
		return scan_fail(p->s, p->s->at, p->err, "nested too deeply");
	code = chain(p, false, out);
	p->depth--;
	return code;
}

/* Bounds the length, too: an expression becomes code for each of its operations. */
enum mpk_code mpk_expr_scan(struct mpk_scan *s, struct mpk_arena *arena,
			    const struct mpk_expr **out, struct mpk_error *err)
{
	struct parse p = { .s = s, .arena = arena, .err = err };
	const struct mpk_expr *e = NULL;

	if (s->text.len > TEXT_MAX)
		return scan_fail(s, 0, err, "longer than %d bytes", TEXT_MAX);
	MPK_TRY(sum(&p, &e));
	*out = e;
	return MPK_OK;
}

/* Folds no division that traps; the generated code reports it at the call. */
static bool divide(enum mpk_expr_op op, int64_t a, int64_t b, int64_t *out)
{
	if (b == 0 || (a == INT64_MIN && b == -1))
		return false;
	if (op == MPK_EXPR_MOD)
		*out = a % b;
	else
		*out = a / b + (op == MPK_EXPR_CEILDIV && a % b > 0);
	return true;
}

/* Folding finds mistakes such as an extent of 0 when the package is built, not at the first
 * call. */
bool mpk_expr_constant(const struct mpk_expr *e, int64_t *out)
{
	int64_t a, b;

	if (e->op == MPK_EXPR_NAME)
		return false;
	if (e->op == MPK_EXPR_NUMBER) {
		*out = e->value;
		return true;
	}
	if (!mpk_expr_constant(e->a, &a) || !mpk_expr_constant(e->b, &b))
		return false;
	switch (e->op) {
	case MPK_EXPR_ADD:
		return !__builtin_add_overflow(a, b, out);
	case MPK_EXPR_SUB:
		return !__builtin_sub_overflow(a, b, out);
	case MPK_EXPR_MUL:
		return !__builtin_mul_overflow(a, b, out);
	case MPK_EXPR_MIN:
	case MPK_EXPR_MAX:
		*out = (a < b) == (e->op == MPK_EXPR_MIN) ? a : b;
		return true;
	case MPK_EXPR_DIV:
	case MPK_EXPR_MOD:
	case MPK_EXPR_CEILDIV:
		return divide(e->op, a, b, out);
	case MPK_EXPR_NUMBER:
	case MPK_EXPR_NAME:
		break;
	}
	return false;
}

/* --- parameters ------------------------------------------------------------------- */

/* @quoted  the text follows an opening quote */
static struct mpk_scan scan_of(const struct mpk_toml_str *m, bool quoted)
{
	return (struct mpk_scan){ .text = mpk_toml_str_span(*m),
				  .line = m->pos.line,
				  .column = m->pos.column + quoted };
}

/* Words before the type, in any order; the last direction counts. */
static bool qualifier(struct mpk_launch_param *p, struct mpk_span word)
{
	if (mpk_span_is(word, "in"))
		p->direction = MPK_LAUNCH_IN;
	else if (mpk_span_is(word, "out"))
		p->direction = MPK_LAUNCH_OUT;
	else if (mpk_span_is(word, "inout"))
		p->direction = MPK_LAUNCH_INOUT;
	else if (mpk_span_is(word, "optional"))
		p->optional = true;
	else
		return false;
	return true;
}

/* A type that a buffer can hold and a caller can pass: whole bytes, or bool. */
static bool is_element(struct mpk_dtype t)
{
	bool whole = t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64;

	return t.code != MPK_DTYPE_HANDLE && (whole || mpk_dtype_is_bool(t));
}

/* "divisible 16": the assumption of a compiler that specialised a kernel. */
static enum mpk_code scan_divisor(struct mpk_scan *s, struct mpk_launch_param *p,
				  struct mpk_error *err)
{
	size_t from, at;
	uint64_t n = 0;

	(void)scan_space(s);
	for (from = at = s->at; at < s->text.len && isdigit(s->text.data[at]);)
		at++;
	if (!mpk_parse_u64(mpk_span_of(s->text.data + from, at - from), &n) || !n ||
	    n > MPK_LAUNCH_DIVISOR_MAX)
		return scan_fail(s, from, err, "divisible is by a number from 1 to %d",
				 MPK_LAUNCH_DIVISOR_MAX);
	p->divisible = (uint32_t)n;
	s->at = at;
	return MPK_OK;
}

static enum mpk_code scan_dtype(struct mpk_scan *s, struct mpk_launch_param *p,
				struct mpk_error *err)
{
	struct mpk_span word;
	size_t at;

	do {
		(void)scan_space(s);
		at = s->at;
		word = scan_name(s);
		if (mpk_span_is(word, "divisible")) {
			MPK_TRY(scan_divisor(s, p, err));
			continue;
		}
		if (!qualifier(p, word))
			break;
	} while (word.len);
	if (!word.len)
		return scan_fail(s, at, err, "expected a type such as float32");
	if (mpk_dtype_parse(word, &p->dtype) && is_element(p->dtype))
		return MPK_OK;

	const char *meant = mpk_dtype_suggest(word);
	struct mpk_dtype type;

	/* Kernels take handles; a parameter of a function is a tensor or a scalar. */
	if (!meant || !mpk_dtype_parse(mpk_span_str(meant), &type) || !is_element(type))
		return scan_fail(s, at, err, "'%s' is no element type", MPK_QUOTE(word));
	return scan_fail(s, at, err, "'%s' is no element type; did you mean '%s'?", MPK_QUOTE(word),
			 meant);
}

static bool scan_dots(struct mpk_scan *s)
{
	static const char dots[] = "...";
	size_t n = sizeof dots - 1;

	(void)scan_space(s);
	if (s->text.len - s->at < n || memcmp(s->text.data + s->at, dots, n) != 0)
		return false;
	s->at += n;
	return true;
}

/* Keeps the text of each dimension beside its expression, for messages of the generated code. */
static enum mpk_code scan_dims(struct mpk_scan *s, struct mpk_arena *arena,
			       struct mpk_launch_param *p, struct mpk_error *err)
{
	const struct mpk_expr **dims = mpk_arena_array(arena, MPK_LAUNCH_RANK_MAX, sizeof *dims);
	struct mpk_span *texts = mpk_arena_array(arena, MPK_LAUNCH_RANK_MAX, sizeof *texts);

	MPK_TRY_ALLOC(dims && texts, err);
	p->dims = dims;
	p->dim_texts = texts;
	p->is_tensor = true;
	if (scan_char(s, ']'))
		return MPK_OK;
	p->any_shape = scan_dots(s);
	if (p->any_shape)
		return scan_char(s, ']') ? MPK_OK : scan_fail(s, s->at, err, "expected ']'");
	do {
		if (p->rank == MPK_LAUNCH_RANK_MAX)
			return scan_fail(s, s->at, err, "more than %d dimensions",
					 MPK_LAUNCH_RANK_MAX);
		(void)scan_space(s);
		size_t from = s->at;
		MPK_TRY(mpk_expr_scan(s, arena, &dims[p->rank], err));
		texts[p->rank++] = mpk_span_of(s->text.data + from, s->at - from);
	} while (scan_char(s, ','));
	if (!scan_char(s, ']'))
		return scan_fail(s, s->at, err, "expected ',' or ']'");
	return MPK_OK;
}

/* Reads the rest of a parameter whose type is unknown: its shape gives names that others need. */
static void scan_untyped(struct mpk_scan *s, struct mpk_arena *arena, struct mpk_launch_param *p,
			 struct mpk_launch_param *out)
{
	p->dtype = (struct mpk_dtype){ 0 };
	if (scan_char(s, '[') && scan_dims(s, arena, p, NULL) == MPK_OK && !scan_space(s))
		*out = *p;
}

enum mpk_code mpk_launch_param_parse(const struct mpk_toml_str *text, struct mpk_arena *arena,
				     struct mpk_launch_param *out, struct mpk_error *err)
{
	struct mpk_scan s = scan_of(text, true);
	struct mpk_launch_param p = { .pos = text->pos };
	enum mpk_code code;

	p.name = scan_name(&s);
	if (!p.name.len)
		return scan_fail(&s, s.at, err, "expected \"NAME: TYPE\" or \"NAME: TYPE[SHAPE]\"");
	if (!scan_char(&s, ':'))
		return scan_fail(&s, s.at, err, "expected ':' after '%s'", MPK_QUOTE(p.name));
	code = scan_dtype(&s, &p, err);
	if (code != MPK_OK) {
		scan_untyped(&s, arena, &p, out);
		return code;
	}
	if (scan_char(&s, '['))
		MPK_TRY(scan_dims(&s, arena, &p, err));
	if (scan_space(&s))
		return scan_fail(&s, s.at, err, "unexpected '%c'", scan_space(&s));
	if (p.dtype.lanes != 1)
		return scan_fail(&s, 0, err, "vector element types cannot be passed");
	if (!p.is_tensor && (p.optional || p.direction != MPK_LAUNCH_INOUT))
		return scan_fail(&s, 0, err,
				 "'%s' is a scalar: in, out and optional are for tensors",
				 MPK_QUOTE(p.name));
	if (!p.is_tensor && p.divisible && mpk_dtype_is_real(p.dtype))
		return scan_fail(&s, 0, err, "'%s' is a real number, which nothing divides",
				 MPK_QUOTE(p.name));
	*out = p;
	return MPK_OK;
}

/* --- expressions of the manifest ------------------------------------------------ */
