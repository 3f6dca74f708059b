/* SPDX-License-Identifier: Apache-2.0 */
/* gen.c - generated code that arguments and steps share: raising errors, expressions */
#include "launch/internal/gen.h"

#include "launch/launch.h"
#include <stdarg.h>
#include <stdio.h>

const char *mpk_gen_literal(struct mpk_gen *g, struct mpk_span text)
{
	char *out = mpk_arena_array(g->arena, text.len + 1, 2);
	size_t n = 0;

	if (!out) {
		g->f->failed = true;
		return "";
	}
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '%')
			out[n++] = '%';
		out[n++] = (char)text.data[i];
	}
	return out;
}

/* Cut to the size of a message, as it would be when it is raised. */
const char *mpk_gen_format(struct mpk_gen *g, const char *fmt, ...)
{
	va_list ap;
	char text[MPK_GEN_MESSAGE];

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);

	char *copy = n < 0 ? NULL : mpk_arena_printf(g->arena, "%s", text);
	if (!copy)
		g->f->failed = true;
	return copy ? copy : "";
}

void mpk_gen_guard(struct mpk_gen *g, int good, const char *kind, const char *format,
		   const char *pass, const int *values)
{
	int fine = mpk_host_label(g->f);

	mpk_host_jump_if(g->f, good, fine);
	mpk_host_store(g->f, MPK_MEM_PTR, g->kind, 0, mpk_host_text(g->f, kind));
	mpk_host_snprintf(g->f, g->buf, MPK_GEN_MESSAGE, format, values, pass);
	mpk_host_jump(g->f, g->raise_label);
	mpk_host_set_label(g->f, fine);
}

/* Comparisons give 0 or 1 as 64-bit integers, so that AND and OR can combine them. */
int mpk_gen_equals(struct mpk_gen *g, int value, int64_t constant)
{
	return mpk_host_op2(g->f, MPK_OP_EQ, value, mpk_host_const(g->f, constant));
}

int mpk_gen_is_null(struct mpk_gen *g, int pointer)
{
	return mpk_gen_equals(g, mpk_host_convert(g->f, MPK_OP_ADDRESS, pointer), 0);
}

int mpk_gen_runtime(struct mpk_gen *g, enum mpk_gen_runtime which)
{
	int function = mpk_host_function(g->f, g->runtime[which]);

	if (g->mode != MPK_LAUNCH_IMPORTS)
		return function;

	const char *pointer = mpk_gen_format(g, "__%s", g->runtime[which]);
	int given = mpk_host_load(g->f, MPK_MEM_PTR, mpk_host_global(g->f, pointer), 0);
	return mpk_host_select(g->f, mpk_gen_is_null(g, given), function, given, MPK_HOST_PTR);
}

int mpk_gen_fits(struct mpk_gen *g, int value, struct mpk_dtype type)
{
	unsigned bits = mpk_dtype_is_bool(type) ? 1 : type.bits;
	bool is_signed = type.code == MPK_DTYPE_INT;

	if (bits == 0 || bits >= 64)
		return -1;

	int64_t high = (int64_t)((UINT64_C(1) << (bits - (is_signed ? 1 : 0))) - 1);
	int low = mpk_host_const(g->f, is_signed ? -high - 1 : 0);
	int fits_high = mpk_host_op2(g->f, MPK_OP_LE, value, mpk_host_const(g->f, high));
	int fits_low = mpk_host_op2(g->f, MPK_OP_LE, low, value);
	return mpk_host_op2(g->f, MPK_OP_AND, fits_low, fits_high);
}

/* Tests for overflow before the operation, which itself wraps and so is always defined. */
static int checked(struct mpk_gen *g, enum mpk_host_op over, enum mpk_host_op op, int a, int b,
		   struct mpk_span text)
{
	int wraps = mpk_host_op2(g->f, over, a, b);
	int zero = mpk_host_const(g->f, 0);

	mpk_gen_guard(g, mpk_host_op2(g->f, MPK_OP_EQ, wraps, zero), "ValueError",
		      mpk_gen_format(g, "%s: '%s' overflows 64 bits", g->launch->name,
				     mpk_gen_literal(g, text)),
		      "", NULL);
	return mpk_host_op2(g->f, op, a, b);
}

/* Division where b is neither 0 nor -1, so that no machine traps. */
static int divided(struct mpk_gen *g, enum mpk_expr_op op, int a, int b, struct mpk_span text)
{
	int zero = mpk_host_const(g->f, 0);

	mpk_gen_guard(g, mpk_host_op2(g->f, MPK_OP_LT, zero, b), "ValueError",
		      mpk_gen_format(g, "%s: '%s' divides by %%lld", g->launch->name,
				     mpk_gen_literal(g, text)),
		      "l", &b);
	if (op == MPK_EXPR_MOD)
		return mpk_host_op2(g->f, MPK_OP_REM, a, b);

	int quotient = mpk_host_op2(g->f, MPK_OP_DIV, a, b);
	if (op == MPK_EXPR_DIV)
		return quotient;
	int rest = mpk_host_op2(g->f, MPK_OP_REM, a, b);
	return mpk_host_op2(g->f, MPK_OP_ADD, quotient, mpk_host_op2(g->f, MPK_OP_LT, zero, rest));
}

/* Evaluates operands in written order, so that the first that fails is reported. */
int mpk_gen_expr(struct mpk_gen *g, const struct mpk_expr *e, struct mpk_span text)
{
	if (e->op == MPK_EXPR_NUMBER)
		return mpk_host_const(g->f, e->value);
	if (e->op == MPK_EXPR_NAME) {
		struct mpk_span name = e->name;
		for (size_t i = 0; i < g->launch->var_count; i++)
			if (mpk_span_equal(g->launch->vars[i].name, name))
				return g->vars[i];
		g->f->failed = true; /* mpk_launch_resolve has excluded this. */
		return -1;
	}

	int a = mpk_gen_expr(g, e->a, text), b = mpk_gen_expr(g, e->b, text);
	int less;

	switch (e->op) {
	case MPK_EXPR_ADD:
		return checked(g, MPK_OP_ADD_OVER, MPK_OP_ADD, a, b, text);
	case MPK_EXPR_SUB:
		return checked(g, MPK_OP_SUB_OVER, MPK_OP_SUB, a, b, text);
	case MPK_EXPR_MUL:
		return checked(g, MPK_OP_MUL_OVER, MPK_OP_MUL, a, b, text);
	case MPK_EXPR_MIN:
	case MPK_EXPR_MAX:
		less = mpk_host_op2(g->f, MPK_OP_LT, a, b);
		return e->op == MPK_EXPR_MIN ? mpk_host_select(g->f, less, a, b, MPK_HOST_I64)
					     : mpk_host_select(g->f, less, b, a, MPK_HOST_I64);
	case MPK_EXPR_DIV:
	case MPK_EXPR_MOD:
	case MPK_EXPR_CEILDIV:
		return divided(g, e->op, a, b, text);
	case MPK_EXPR_NUMBER:
	case MPK_EXPR_NAME:
		break;
	}
	return -1;
}

/* Type of the function's result; 0 bits: none. */
static struct mpk_dtype result_type(const struct mpk_launch *l)
{
	const struct mpk_launch_step *last = l->step_count ? &l->steps[l->step_count - 1] : NULL;

	return last && last->callee && last->returns == MPK_RETURNS_VALUE
		       ? last->callee->result.dtype
		       : (struct mpk_dtype){ 0 };
}

/* --- prototypes ------------------------------------------------------------------- */

/* "x: Tensor([n, 4], float32)" */
static void gen_put_param(struct mpk_gen *g, const struct mpk_launch_param *p,
			  struct mpk_strbuf *out)
{
	char type[MPK_DTYPE_TEXT];

	mpk_strbuf_put_span(out, p->name);
	mpk_strbuf_puts(out, p->is_tensor ? ": Tensor([" : ": ");
	mpk_strbuf_puts(out, p->any_shape ? "..." : "");
	for (size_t i = 0; i < p->rank; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		mpk_strbuf_puts(out, mpk_gen_literal(g, p->dim_texts[i]));
	}
	mpk_strbuf_puts(out, p->is_tensor ? "], " : "");
	mpk_strbuf_puts(out, mpk_dtype_print(p->dtype, type));
	mpk_strbuf_puts(out, p->is_tensor ? ")" : "");
}

static void gen_put_prototype(struct mpk_gen *g, struct mpk_strbuf *out)
{
	const struct mpk_launch *l = g->launch;
	struct mpk_dtype result = result_type(l);
	char type[MPK_DTYPE_TEXT];

	mpk_strbuf_printf(out, "%s(", l->name);
	for (size_t i = 0; i < l->param_count; i++) {
		mpk_strbuf_puts(out, i ? ", " : "");
		gen_put_param(g, &l->params[i], out);
	}
	mpk_strbuf_putc(out, ')');
	if (result.bits)
		mpk_strbuf_printf(out, " -> (%s)", mpk_dtype_print(result, type));
}

/* A text of the code ends with the prototype: minspect reads it there, whatever the ABI is. */
const char *mpk_gen_takes(struct mpk_gen *g)
{
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf said = { 0 };
	const struct mpk_launch *l = g->launch;
	const char *text;

	mpk_strbuf_printf(&said, "%s: takes %zu argument%s, got %%lld, when calling ", l->name,
			  l->param_count, l->param_count == 1 ? "" : "s");
	gen_put_prototype(g, &said);
	text = mpk_arena_copy(g->arena, mpk_strbuf_text(&said), said.len);
	g->f->failed |= said.failed || !text;
	return text ? text : "";
}

static const char *number_name(struct mpk_dtype t)
{
	if (mpk_dtype_is_bool(t))
		return "bool";
	return t.code == MPK_DTYPE_FLOAT || t.code == MPK_DTYPE_BFLOAT ? "float" : "int";
}

static const char *type_name(const struct mpk_launch_param *p)
{
	return p->is_tensor ? "DLTensor*" : number_name(p->dtype);
}

static const char *result_name(const struct mpk_launch *l)
{
	struct mpk_dtype result = result_type(l);

	return result.bits ? number_name(result) : "None";
}

/* Quotes inside of quotes: the text in type_schema is escaped once. */
void mpk_gen_put_schema(const struct mpk_launch *l, struct mpk_strbuf *out)
{
	mpk_strbuf_printf(
		out,
		"{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\",\\\"named_args\\\":"
		"{\\\"return\\\":[{\\\"type\\\":\\\"%s\\\"}],\\\"params\\\":[",
		result_name(l));
	for (size_t i = 0; i < l->param_count; i++) {
		const struct mpk_launch_param *p = &l->params[i];

		mpk_strbuf_puts(out, i ? "," : "");
		mpk_strbuf_puts(out,
				p->optional ? "{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":[" : "");
		mpk_strbuf_printf(out, "{\\\"type\\\":\\\"%s\\\"}", type_name(p));
		mpk_strbuf_puts(out, p->optional ? "]}" : "");
	}
	mpk_strbuf_puts(out, "]}}\"}");
}

/* "vadd: argument 'A'" as a printf format. */
const char *mpk_gen_who(struct mpk_gen *g, const struct mpk_launch_param *p)
{
	return mpk_gen_format(g, "%s: argument '%.*s'", g->launch->name, MPK_SPAN_ARG(p->name));
}

int mpk_gen_extent(struct mpk_gen *g, int dl, size_t d)
{
	int shape = mpk_host_load(g->f, MPK_MEM_PTR, dl, MPK_GEN_DL_SHAPE);

	return mpk_host_load(g->f, MPK_MEM_I64, shape, 8 * (int64_t)d);
}
