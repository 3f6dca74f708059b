/* SPDX-License-Identifier: Apache-2.0 */
/* gen_call.c - generated code that calls a C function, and what becomes of its result */
#include <string.h>

#include "launch/internal/gen.h"

/* The letter of a number's type in a call (hostcode.h). */
static char call_letter(struct mpk_dtype t)
{
	bool is_signed = t.code == MPK_DTYPE_INT;

	if (mpk_dtype_is_bool(t))
		return 'z';
	if (t.code == MPK_DTYPE_FLOAT)
		return t.bits == 32 ? 'f' : 'd';
	switch (t.bits) {
	case 8:
		return is_signed ? 'b' : 'B';
	case 16:
		return is_signed ? 'h' : 'H';
	case 32:
		return is_signed ? 'i' : 'I';
	default:
		return is_signed ? 'l' : 'L';
	}
}

/* What does not fit the parameter is refused, never cut. */
static int call_integer(struct mpk_gen *g, const struct mpk_launch_step *s,
			const struct mpk_launch_arg *a)
{
	int value = mpk_gen_expr(g, a->expr, a->text), good;
	char name[MPK_DTYPE_TEXT];

	if (mpk_dtype_is_real(a->dtype))
		return mpk_host_convert(g->f, MPK_OP_TO_F64, value);
	good = mpk_gen_fits(g, value, a->dtype);
	if (good >= 0)
		mpk_gen_guard(
			g, good, "ValueError",
			mpk_gen_format(
				g,
				"%s: '%s' = %%lld does not fit the %s that C function '%s' takes",
				g->launch->name, mpk_gen_literal(g, a->text),
				mpk_dtype_print(a->dtype, name), s->kernel),
			"l", &value);
	return value;
}

static int call_argument(struct mpk_gen *g, const struct mpk_launch_step *s,
			 const struct mpk_launch_arg *a)
{
	switch (a->kind) {
	case MPK_ARG_PARAM:
		return mpk_host_load(g->f, MPK_MEM_PTR, g->data[a->index], 0);
	case MPK_ARG_TEMP:
		return mpk_host_load(g->f, MPK_MEM_PTR, g->temps[a->index], 0);
	case MPK_ARG_NULL:
		return MPK_HOST_VALUE(g->f, .op = MPK_OP_NULL, .type = MPK_HOST_PTR);
	case MPK_ARG_REAL:
		return g->scalar[a->index];
	case MPK_ARG_LITERAL:
		return MPK_HOST_VALUE(g->f, .op = MPK_OP_FCONST, .type = MPK_HOST_F64,
				      .fimm = a->literal);
	case MPK_ARG_INT:
		break;
	}
	return call_integer(g, s, a);
}

/* Results go where callers of the convention look for them. */
static void call_give(struct mpk_gen *g, struct mpk_dtype t, int value)
{
	bool real = mpk_dtype_is_real(t), boolean = mpk_dtype_is_bool(t) && !g->abi->legacy;
	enum mpk_host_mem mem = real ? MPK_MEM_F64 : MPK_MEM_I64;
	int type = mpk_host_const(g->f, real      ? g->abi->real
					: boolean ? g->abi->boolean
						  : g->abi->integer);
	int result = mpk_host_arg(g->f, 3, MPK_HOST_PTR);

	if (g->abi->legacy) {
		mpk_host_store(g->f, mem, result, 0, value);
		mpk_host_store(g->f, MPK_MEM_I32, mpk_host_arg(g->f, 4, MPK_HOST_PTR), 0, type);
		return;
	}
	mpk_host_store(g->f, MPK_MEM_I32, result, 0, type);
	mpk_host_store(g->f, MPK_MEM_I32, result, 4, mpk_host_const(g->f, 0));
	mpk_host_store(g->f, mem, result, 8, value);
}

void mpk_gen_call(struct mpk_gen *g, const struct mpk_launch_step *s)
{
	const struct mpk_cfunction_value *result = &s->callee->result;
	const char **label = mpk_arena_array(g->arena, 1, sizeof *label);
	char *pass = mpk_arena_array(g->arena, s->arg_count + 1, 1);
	int *args = mpk_arena_array(g->arena, s->arg_count + 1, sizeof *args), function, value;

	if (!label || !pass || !args) {
		g->f->failed = true;
		return;
	}
	*label = mpk_gen_format(g, MPK_GEN_CALLEE "%s", s->kernel);
	mpk_host_comment(g->f, mpk_gen_format(g, "C function %s", s->kernel));
	for (size_t i = 0; i < s->arg_count; i++) {
		pass[i] = s->callee->params[i].kind == MPK_CFUNCTION_POINTER
				  ? 'p'
				  : call_letter(s->args[i].dtype);
		args[i] = call_argument(g, s, &s->args[i]);
	}
	function = MPK_HOST_VALUE(g->f, .op = MPK_OP_FUNCTION, .type = MPK_HOST_PTR,
				  .text = s->kernel, .names = label, .name_count = 1);
	value = mpk_host_call(g->f, function,
			      s->returns == MPK_RETURNS_NOTHING ? 'v' : call_letter(result->dtype),
			      pass, args);
	if (s->returns == MPK_RETURNS_STATUS)
		mpk_gen_guard(g, mpk_gen_equals(g, value, 0), "RuntimeError",
			      mpk_gen_format(g, "%s: C function '%s' returned %%lld",
					     g->launch->name, s->kernel),
			      "l", &value);
	else if (s->returns == MPK_RETURNS_VALUE)
		call_give(g, result->dtype, value);
}
