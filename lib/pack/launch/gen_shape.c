/* SPDX-License-Identifier: Apache-2.0 */
/* gen_shape.c - generated code that checks one tensor's extents and strides
 *
 * Of a parameter with dimensions the rank is known, and the code has no loop. One of any shape is gone over from the
 * last dimension to the first; what a turn hands to the next is in memory, because a value is set once.
 */
#include "launch/internal/gen.h"

static int gen_shape_either(struct mpk_gen *g, int a, int b)
{
	return mpk_host_op2(g->f, MPK_OP_OR, a, b);
}

/* Compact row-major strides; an extent of 1 may have any, as may an empty tensor. */
static void check_strides(struct mpk_gen *g, const struct mpk_launch_param *p, int dl, int elements)
{
	int strides = mpk_host_load(g->f, MPK_MEM_PTR, dl, MPK_GEN_DL_STRIDES);
	int expected = mpk_host_const(g->f, 1), one = mpk_host_const(g->f, 1);
	int empty = mpk_gen_equals(g, elements, 0);
	int free_choice = gen_shape_either(g, mpk_gen_is_null(g, strides), empty);
	int done = mpk_host_label(g->f);

	mpk_host_jump_if(g->f, free_choice, done);
	for (size_t d = p->rank; d-- > 0;) {
		int extent = mpk_gen_extent(g, dl, d);
		int stride = mpk_host_load(g->f, MPK_MEM_I64, strides, 8 * (int64_t)d);
		int compact = mpk_host_op2(g->f, MPK_OP_EQ, stride, expected);
		int good = gen_shape_either(g, mpk_host_op2(g->f, MPK_OP_EQ, extent, one), compact);

		mpk_gen_guard(
			g, good, "ValueError",
			mpk_gen_format(
				g,
				"%s: must be contiguous: stride of dimension %zu is %%lld, expected %%lld",
				mpk_gen_who(g, p), d),
			"ll", (int[]){ stride, expected });
		expected = mpk_host_op2(g->f, MPK_OP_MUL, expected, extent);
	}
	mpk_host_set_label(g->f, done);
}

static int check_extents(struct mpk_gen *g, const struct mpk_launch_param *p, int dl)
{
	int elements = mpk_host_const(g->f, 1), zero = mpk_host_const(g->f, 0);

	for (size_t d = 0; d < p->rank; d++) {
		int extent = mpk_gen_extent(g, dl, d);

		mpk_gen_guard(g, mpk_host_op2(g->f, MPK_OP_LE, zero, extent), "ValueError",
			      mpk_gen_format(g, "%s: dimension %zu is %%lld", mpk_gen_who(g, p), d),
			      "l", &extent);
		elements = mpk_host_op2(g->f, MPK_OP_MUL, elements, extent);
	}
	return elements;
}

/* --- any shape ------------------------------------------------------------------------ */

/* What a turn leaves, 8 bytes each. */
enum { COUNT = 0, LEFT = 8, WRONG = 16, EXPECTED = 24 };

static int at(struct mpk_gen *g, int pointer, int index)
{
	int offset = mpk_host_op2(g->f, MPK_OP_MUL, index, mpk_host_const(g->f, 8));

	return mpk_host_load(g->f, MPK_MEM_I64, mpk_host_op2(g->f, MPK_OP_OFFSET, pointer, offset),
			     0);
}

/* The innermost stride that is not compact is kept: whether it matters is known when all extents are. */
static void check_any_stride(struct mpk_gen *g, int slot, int strides, int d, int extent)
{
	int fine = mpk_host_label(g->f), one = mpk_host_const(g->f, 1);
	int wrong = mpk_host_load(g->f, MPK_MEM_I64, slot, WRONG);

	mpk_host_jump_if(g->f, mpk_gen_is_null(g, strides), fine);
	mpk_host_jump_if(g->f, wrong, fine);
	mpk_host_jump_if(g->f, mpk_host_op2(g->f, MPK_OP_LE, extent, one), fine);
	int expected = mpk_host_load(g->f, MPK_MEM_I64, slot, COUNT);
	mpk_host_jump_if(g->f, mpk_host_op2(g->f, MPK_OP_EQ, at(g, strides, d), expected), fine);
	mpk_host_store(g->f, MPK_MEM_I64, slot, WRONG, mpk_host_op2(g->f, MPK_OP_ADD, d, one));
	mpk_host_store(g->f, MPK_MEM_I64, slot, EXPECTED, expected);
	mpk_host_set_label(g->f, fine);
}

static void check_any_turn(struct mpk_gen *g, const struct mpk_launch_param *p, int slot, int dl)
{
	int shape = mpk_host_load(g->f, MPK_MEM_PTR, dl, MPK_GEN_DL_SHAPE);
	int strides = mpk_host_load(g->f, MPK_MEM_PTR, dl, MPK_GEN_DL_STRIDES);
	int left = mpk_host_load(g->f, MPK_MEM_I64, slot, LEFT);
	int d = mpk_host_op2(g->f, MPK_OP_SUB, left, mpk_host_const(g->f, 1));
	int extent = at(g, shape, d), zero = mpk_host_const(g->f, 0);

	mpk_host_store(g->f, MPK_MEM_I64, slot, LEFT, d);
	mpk_gen_guard(g, mpk_host_op2(g->f, MPK_OP_LE, zero, extent), "ValueError",
		      mpk_gen_format(g, "%s: dimension %%lld is %%lld", mpk_gen_who(g, p)), "ll",
		      (int[]){ d, extent });
	check_any_stride(g, slot, strides, d, extent);
	int count = mpk_host_load(g->f, MPK_MEM_I64, slot, COUNT);
	mpk_host_store(g->f, MPK_MEM_I64, slot, COUNT,
		       mpk_host_op2(g->f, MPK_OP_MUL, count, extent));
}

static int check_any_shape(struct mpk_gen *g, size_t i, int dl)
{
	const struct mpk_launch_param *p = &g->launch->params[i];
	int again = mpk_host_label(g->f), done = mpk_host_label(g->f), fine = mpk_host_label(g->f);
	int rank = mpk_host_load(g->f, MPK_MEM_I32, dl, MPK_GEN_DL_NDIM);
	int zero = mpk_host_const(g->f, 0), slot = g->counts[i];

	mpk_gen_guard(g, mpk_host_op2(g->f, MPK_OP_LE, zero, rank), "ValueError",
		      mpk_gen_format(g, "%s: has %%lld dimensions", mpk_gen_who(g, p)), "l", &rank);
	mpk_host_store(g->f, MPK_MEM_I64, slot, COUNT, mpk_host_const(g->f, 1));
	mpk_host_store(g->f, MPK_MEM_I64, slot, LEFT, rank);
	mpk_host_set_label(g->f, again);
	int left = mpk_host_load(g->f, MPK_MEM_I64, slot, LEFT);
	mpk_host_jump_if(g->f, mpk_gen_equals(g, left, 0), done);
	check_any_turn(g, p, slot, dl);
	mpk_host_jump(g->f, again);
	mpk_host_set_label(g->f, done);
	int count = mpk_host_load(g->f, MPK_MEM_I64, slot, COUNT);
	int wrong = mpk_host_load(g->f, MPK_MEM_I64, slot, WRONG);
	mpk_host_jump_if(
		g->f, gen_shape_either(g, mpk_gen_equals(g, wrong, 0), mpk_gen_equals(g, count, 0)),
		fine);
	int d = mpk_host_op2(g->f, MPK_OP_SUB, wrong, mpk_host_const(g->f, 1));
	int strides = mpk_host_load(g->f, MPK_MEM_PTR, dl, MPK_GEN_DL_STRIDES);
	int stride = at(g, strides, d), expected = mpk_host_load(g->f, MPK_MEM_I64, slot, EXPECTED);
	mpk_gen_guard(
		g, mpk_host_const(g->f, 0), "ValueError",
		mpk_gen_format(
			g,
			"%s: must be contiguous: stride of dimension %%lld is %%lld, expected %%lld",
			mpk_gen_who(g, p)),
		"lll", (int[]){ d, stride, expected });
	mpk_host_set_label(g->f, fine);
	return count;
}

int mpk_gen_check_shape(struct mpk_gen *g, size_t i, int dl)
{
	const struct mpk_launch_param *p = &g->launch->params[i];
	int elements;

	if (p->any_shape)
		return check_any_shape(g, i, dl);
	elements = check_extents(g, p, dl);
	check_strides(g, p, dl, elements);
	return elements;
}
