/* SPDX-License-Identifier: Apache-2.0 */
/* plan_made.h - whole random programs: generate() makes the one of a seed
 *
 * Most are of instructions that plans repeat; a third has, beside them, one thing that no plan can.
 */
#ifndef MPK_TESTS_UNIT_PLAN_MADE_H
#define MPK_TESTS_UNIT_PLAN_MADE_H

#include "plan_steps.h"

/* --- what no plan can repeat ----------------------------------------------------------------- */

HARNESS_FN void put_closure(struct generator *g)
{
	int64_t closure = find_kind(g, CLOSURE), dst = any_register(g);
	int64_t a = find_tensor(g, FLOATS_6, true);
	bool calls_h = g->is_main && one_in(g, 2);

	if (a < 0)
		return;
	if (closure < 0) {
		EMIT(g, dst, MAKE_CLOSURE, calls_h ? FUNC(g->h) : FUNC(either(g, STIR)), REG(a));
		g->registers[dst] = (struct content){ .kind = CLOSURE, .type = calls_h };
		return;
	}
	calls_h = g->registers[closure].type;
	if (one_in(g, 2))
		EMIT(g, dst, INVOKE_CLOSURE, VM, REG(closure), REG(a));
	else
		EMIT(g, calls_h ? dst : VOID, CALL_TIR_DYN, REG(closure), REG(a), CONST(6));
	g->registers[dst] = (struct content){ 0 };
	if (calls_h)
		put_tensor(g, dst, new_piece(g, FLOATS_6));
}

HARNESS_FN void put_call_back(struct generator *g)
{
	int64_t a = find_tensor(g, FLOATS_6, true);

	if (a >= 0 && g->is_main)
		emit(g, VOID, CALL_BACK, &a, 1);
}

/* A number or nothing, by the content, and a kernel that runs if it is a number. */
HARNESS_FN void put_maybe(struct generator *g)
{
	int64_t a = find_tensor(g, -1, true), dst = any_register(g);

	if (a < 0)
		return;
	emit(g, dst, MAYBE, &a, 1);
	g->registers[dst] = (struct content){ .kind = NUMBER };
}

HARNESS_FN void put_view(struct generator *g)
{
	int64_t from = find_tensor(g, -1, true), dst = any_register(g);
	int type = (int)below(g, TYPES);
	size_t room;

	if (from < 0 || type_bytes(type) > type_bytes(piece_of(g, from).type))
		return;
	room = type_bytes(piece_of(g, from).type) - type_bytes(type);
	if (one_in(g, 2))
		EMIT(g, dst, ZERO_OFFSET, REG(from));
	else
		EMIT(g, dst, VIEW, REG(from), CONST(type), CONST(types[type].is_number ? I64 : F32),
		     INT((int64_t)(room / 8 * 8)));
	/* as nothing: which of its bytes are another's is not followed */
	g->registers[dst] = (struct content){ 0 };
}

HARNESS_FN void put_reset(struct generator *g)
{
	int64_t tuple = find_kind(g, TUPLE);

	if (tuple < 0)
		return;
	EMIT(g, VOID, RESET_ITEM, REG(tuple), INT(0));
	for (int64_t r = 0; r < REGISTERS; r++) /* others may hold the same tuple */
		if (g->registers[r].kind == TUPLE)
			g->registers[r] = (struct content){ 0 };
}

/* --- functions ------------------------------------------------------------------------------- */

typedef void put_fn(struct generator *g);

static put_fn *const tame[] = {
	put_storage, put_storage,   put_tensor_in, put_tensor_in, put_tensor_in, put_tensor_in,
	put_copy,    put_kill,      put_tuple,     put_item,      put_reshape,   put_device_copy,
	put_mix,     put_mix,       put_mix,       put_mix,       put_mix,       put_stir,
	put_stir,    put_state,     put_refuse,    put_heap,      put_match,     put_extents,
	put_shape,   put_condition, put_call,      put_shape_of,
};
static put_fn *const wild[WILDS] = {
	[CLOSURES] = put_closure, [CALLS_BACK] = put_call_back, [MAYBE_RESULTS] = put_maybe,
	[VIEWS] = put_view,       [LATE_EXTENTS] = put_extents, [RESETS] = put_reset,
};

HARNESS_FN void begin(struct generator *g, const int *params, size_t count)
{
	memset(g->registers, 0, sizeof g->registers);
	g->area_count = 0;
	for (size_t i = 0; i < count; i++)
		put_tensor(g, (int64_t)i, new_piece(g, params[i]));
}

HARNESS_FN void put_steps(struct generator *g, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (wild[g->wild] && one_in(g, 8))
			wild[g->wild](g);
		else
			tame[below(g, MPK_ARRAY_COUNT(tame))](g);
}

/* Whether a caller may look at all of a register. */
HARNESS_FN bool is_whole(const struct generator *g, int64_t reg)
{
	const struct content *c = &g->registers[reg];

	for (size_t i = 0; i < c->item_count; i++)
		if (c->items[i].type == STORAGE_ITSELF || !is_written(g, c->items[i]))
			return false;
	return (c->kind == TENSOR && is_written(g, c->piece)) || c->kind == TUPLE ||
	       c->kind == SHAPE || c->kind == NUMBER ||
	       (g->wild == HEAP_RESULTS && c->kind == HEAP);
}

/* main gives a register, or a tuple of some: tuples and tensors, the same one twice. */
HARNESS_FN void put_return(struct generator *g)
{
	int64_t found[4] = { 0 };
	size_t count = 0, wanted = below(g, 5);

	for (int tries = 0; tries < 40 && count < wanted; tries++) {
		int64_t reg = any_register(g);

		if (is_whole(g, reg))
			found[count++] = reg;
	}
	if (count != 1)
		emit(g, REGISTERS, MAKE_TUPLE, found, count);
	RET(&g->m, count == 1 ? found[0] : REGISTERS);
}

/* --- programs -------------------------------------------------------------------------------- */

HARNESS_FN void put_shape_const(struct generator *g, const int64_t *extents, size_t ndim)
{
	(void)made_const(&g->m,
			 (struct mpk_relax_const){ .kind = MPK_RELAX_SHAPE,
						   .u.shape = mpk_span_of(extents, ndim * 8) });
}

HARNESS_FN void put_type_const(struct generator *g, struct mpk_dtype type)
{
	(void)made_const(&g->m,
			 (struct mpk_relax_const){ .kind = MPK_RELAX_DTYPE, .u.dtype = type });
}

HARNESS_FN void put_consts(struct generator *g)
{
	static const uint8_t weights[24] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5 };
	static int64_t six = 6;

	for (size_t i = 0; i < TYPES; i++)
		put_shape_const(g, types[i].extents, types[i].ndim);
	for (size_t i = 0; i < SIZES; i++)
		put_shape_const(g, &storage_sizes[i], 1);
	put_type_const(g, (struct mpk_dtype){ MPK_DTYPE_UINT, 8, 1 });
	put_type_const(g, (struct mpk_dtype){ MPK_DTYPE_FLOAT, 32, 1 });
	put_type_const(g, (struct mpk_dtype){ MPK_DTYPE_INT, 64, 1 });
	(void)made_const(&g->m, (struct mpk_relax_const){ .kind = MPK_RELAX_STRING,
							  .u.string = mpk_span_str("global") });
	(void)made_const(&g->m, (struct mpk_relax_const){
					.kind = MPK_RELAX_TENSOR,
					.u.tensor = { .dtype = { MPK_DTYPE_FLOAT, 32, 1 },
						      .shape = &six,
						      .ndim = 1,
						      .data = mpk_span_of(weights, 24) } });
}

/* Six floats that were written. */
HARNESS_FN int64_t some_floats(struct generator *g)
{
	int64_t reg = find_tensor(g, FLOATS_6, true);

	if (reg >= 0)
		return reg;
	EMIT(g, 0, COPY, CONST(WEIGHTS));
	put_tensor(g, 0, new_piece(g, FLOATS_6));
	return 0;
}

HARNESS_FN void put_functions(struct generator *g)
{
	static const int two[] = { FLOATS_6, FLOATS_6 }, four[] = { FLOATS_6, FLOATS_6, NUMBERS_4 };

	g->h = made_function(&g->m, "h", 2, REGISTERS + 1);
	begin(g, two, 2);
	put_steps(g, below(g, 8));
	RET(&g->m, some_floats(g));
	g->g = made_function(&g->m, "g", 2, REGISTERS + 1);
	begin(g, two, 2);
	put_steps(g, below(g, 8));
	EMIT(g, REGISTERS, MAKE_TUPLE, REG(some_floats(g)), REG(some_floats(g)));
	RET(&g->m, REGISTERS);
	(void)made_function(&g->m, "main", 4, REGISTERS + 1);
	begin(g, four, 3);
	g->registers[3] = (struct content){
		.kind = TUPLE,
		.items = { new_piece(g, FLOATS_6), new_piece(g, FLOATS_2_3) },
		.item_count = 2,
	};
	g->is_main = true;
	for (size_t i = below(g, 8); i > 0; i--) { /* they wait for each other, and share slots */
		put_storage(g);
		put_tensor_in(g);
	}
	put_steps(g, 4 + below(g, STEPS_MAX - 4));
	put_return(g);
}

/* The program of a seed. */
HARNESS_FN void generate(struct generator *g, uint64_t seed)
{
	static const char *const names[] = { CALLED(CALLED_NAME) };

	memset(g, 0, sizeof *g);
	g->state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	g->wild = one_in(g, 3) ? (enum wild)below(g, WILDS) : TAME;
	for (size_t i = 0; i < CALLED_COUNT; i++)
		/* a program that names it is interpreted whenever it is given a tuple */
		(void)made_packed(&g->m,
				  names[i == RESET_ITEM && g->wild != RESETS ? NULL_VALUE : i]);
	put_consts(g);
	put_functions(g);
}

#endif
