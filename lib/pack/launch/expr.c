/* SPDX-License-Identifier: Apache-2.0 */
/* expr.c - the expressions of launch functions, by recursive descent of bounded depth */
#include "launch/internal/expr.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/num.h"

/* Bounds the recursion of everything that walks an expression. */
enum { DEPTH_MAX = 64, TEXT_MAX = 1024 };

enum mpk_code mpk_scan_fail(const struct mpk_scan *s, size_t at, struct mpk_error *err,
			    const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return mpk_fail_line(err, MPK_E_SYNTAX, s->line, s->column + (uint32_t)at, "%s", text);
}

int mpk_scan_space(struct mpk_scan *s)
{
	while (s->at < s->text.len && (s->text.data[s->at] == ' ' || s->text.data[s->at] == '\t'))
		s->at++;
	return s->at < s->text.len ? s->text.data[s->at] : 0;
}

struct mpk_span mpk_scan_name(struct mpk_scan *s)
{
	size_t from;
	int c = mpk_scan_space(s);

	if (!isalpha(c) && c != '_')
		return (struct mpk_span){ 0 };
	for (from = s->at; s->at < s->text.len; s->at++) {
		c = s->text.data[s->at];
		if (!isalnum(c) && c != '_')
			break;
	}
	return mpk_span_of(s->text.data + from, s->at - from);
}

bool mpk_scan_char(struct mpk_scan *s, char c)
{
	if (mpk_scan_space(s) != (unsigned char)c || c == 0)
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
	if (mpk_scan_char(p->s, c))
		return MPK_OK;
	return mpk_scan_fail(p->s, p->s->at, p->err, "expected '%c' in the expression", c);
}

static enum mpk_code call(struct parse *p, enum mpk_expr_op op, size_t at,
			  const struct mpk_expr **out)
{
	struct mpk_expr e = { .op = op, .at = at };

	MPK_TRY(expect(p, '('));
	MPK_TRY(sum(p, &e.a));
	MPK_TRY(expect(p, ','));
	MPK_TRY(sum(p, &e.b));
	MPK_TRY(expect(p, ')'));
	return node(p, e, out);
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
	struct mpk_span name = mpk_scan_name(p->s);

	if (mpk_scan_space(p->s) == '(')
		for (size_t i = 0; i < MPK_ARRAY_COUNT(calls); i++)
			if (mpk_span_is(name, calls[i].name))
				return call(p, calls[i].op, at, out);
	if (mpk_scan_space(p->s) == '(')
		return mpk_scan_fail(p->s, at, p->err,
				     "unknown function '%.*s'; there are min, max and ceildiv",
				     MPK_SPAN_ARG(name));
	return node(p, (struct mpk_expr){ .op = MPK_EXPR_NAME, .name = name, .at = at }, out);
}

static enum mpk_code number(struct parse *p, const struct mpk_expr **out)
{
	struct mpk_scan *s = p->s;
	size_t from = s->at;
	int64_t value;

	while (s->at < s->text.len && isalnum(s->text.data[s->at]))
		s->at++;
	if (!mpk_parse_i64(mpk_span_of(s->text.data + from, s->at - from), &value))
		return mpk_scan_fail(s, from, p->err, "'%.*s' is no 64-bit integer",
				     (int)(s->at - from), (const char *)s->text.data + from);
	return node(p, (struct mpk_expr){ .op = MPK_EXPR_NUMBER, .value = value, .at = from }, out);
}

static enum mpk_code atom(struct parse *p, const struct mpk_expr **out)
{
	int c = mpk_scan_space(p->s);

	if (isdigit(c))
		return number(p, out);
	if (isalpha(c) || c == '_')
		return name_or_call(p, out);
	if (c != '(')
		return mpk_scan_fail(p->s, p->s->at, p->err,
				     c ? "expected a number, a name or '('"
				       : "the expression ends too early");
	if (++p->depth > DEPTH_MAX)
		return mpk_scan_fail(p->s, p->s->at, p->err, "nested too deeply");
	p->s->at++;
	MPK_TRY(sum(p, out));
	p->depth--;
	return expect(p, ')');
}

static enum mpk_code unary(struct parse *p, const struct mpk_expr **out)
{
	size_t at = p->s->at;
	struct mpk_expr e = { .op = MPK_EXPR_SUB, .at = at };

	if (!mpk_scan_char(p->s, '-'))
		return atom(p, out);
	MPK_TRY(node(p, (struct mpk_expr){ .op = MPK_EXPR_NUMBER, .at = at }, &e.a));
	MPK_TRY(atom(p, &e.b));
	return node(p, e, out);
}

static enum mpk_code chain(struct parse *p, bool product, const struct mpk_expr **out)
{
	const char *signs = product ? "*/%" : "+-";
	static const enum mpk_expr_op ops[2][3] = {
		{ MPK_EXPR_ADD, MPK_EXPR_SUB, MPK_EXPR_SUB },
		{ MPK_EXPR_MUL, MPK_EXPR_DIV, MPK_EXPR_MOD },
	};

	MPK_TRY(product ? unary(p, out) : chain(p, true, out));
	for (;;) {
		int c = mpk_scan_space(p->s);
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
		return mpk_scan_fail(p->s, p->s->at, p->err, "nested too deeply");
	code = chain(p, false, out);
	p->depth--;
	return code;
}

enum mpk_code mpk_expr_scan(struct mpk_scan *s, struct mpk_arena *arena,
			    const struct mpk_expr **out, struct mpk_error *err)
{
	struct parse p = { .s = s, .arena = arena, .err = err };
	const struct mpk_expr *e = NULL;

	if (s->text.len > TEXT_MAX)
		return mpk_scan_fail(s, 0, err, "longer than %d bytes", TEXT_MAX);
	MPK_TRY(sum(&p, &e));
	*out = e;
	return MPK_OK;
}

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
