/* SPDX-License-Identifier: Apache-2.0 */
/* plan_steps.h - the instructions of plan_program.h's random programs
 *
 * Each put_... adds one instruction, or nothing where there is nothing for it to work on.
 */
#ifndef MPK_TESTS_UNIT_PLAN_STEPS_H
#define MPK_TESTS_UNIT_PLAN_STEPS_H

#include "plan_program.h"

/* --- memory ---------------------------------------------------------------------------------- */

HARNESS_FN void put_storage(struct generator *g)
{
	size_t size = below(g, SIZES);
	int64_t dst = any_register(g);

	EMIT(g, dst, STORAGE_OF, VM, CONST((int64_t)(TYPES + size)), INT(0), CONST(U8),
	     CONST(TEXT));
	g->registers[dst] = (struct content){
		.kind = STORAGE,
		.piece.area = new_area(g, (size_t)storage_sizes[size], false),
	};
}

/* The shape of a type: a constant, or what a register holds. */
HARNESS_FN int64_t shape_operand(struct generator *g, int type)
{
	int64_t reg = find_kind(g, SHAPE);

	return reg >= 0 && g->registers[reg].type == type ? REG(reg) : CONST(type);
}

HARNESS_FN void put_tensor_in(struct generator *g)
{
	int64_t from = find_kind(g, STORAGE), dst = any_register(g);
	int type = (int)below(g, TYPES);
	size_t bytes = type_bytes(type), room;
	struct piece p = { .type = type };

	if (from < 0 || g->areas[piece_of(g, from).area].bytes < bytes)
		return;
	p.area = piece_of(g, from).area;
	room = g->areas[p.area].bytes - bytes;
	p.offset = one_in(g, 2) ? 0 : below(g, (room < 48 ? room : 48) / 8 + 1) * 8;
	EMIT(g, dst, TENSOR_IN, REG(from), INT((int64_t)p.offset), shape_operand(g, type),
	     CONST(types[type].is_number ? I64 : F32));
	put_tensor(g, dst, p);
}

/* A reference to anything: tensors, heaps, tuples, closures, and often storages. */
HARNESS_FN void put_copy(struct generator *g)
{
	int64_t storage = one_in(g, 2) ? find_kind(g, STORAGE) : -1;
	int64_t from = storage >= 0 ? storage : any_register(g), dst = any_register(g);

	if (one_in(g, 5)) {
		EMIT(g, dst, COPY, CONST(WEIGHTS));
		put_tensor(g, dst, new_piece(g, FLOATS_6));
		return;
	}
	EMIT(g, dst, COPY, REG(from));
	g->registers[dst] = g->registers[from];
}

HARNESS_FN void put_kill(struct generator *g)
{
	int64_t dst = any_register(g);

	CALL0(&g->m, dst, NULL_VALUE);
	g->registers[dst] = (struct content){ 0 };
}

HARNESS_FN void put_tuple(struct generator *g)
{
	struct content c = { .kind = TUPLE };
	int64_t args[ITEMS], dst = any_register(g);
	size_t count = 1 + below(g, ITEMS);

	for (size_t i = 0; i < count; i++) {
		bool is_storage = one_in(g, 4);

		args[i] = is_storage ? find_kind(g, STORAGE) : find_tensor(g, -1, false);
		if (args[i] < 0)
			return;
		c.items[c.item_count] = piece_of(g, args[i]);
		if (is_storage)
			c.items[c.item_count].type = STORAGE_ITSELF;
		c.item_count++;
	}
	emit(g, dst, MAKE_TUPLE, args, count);
	g->registers[dst] = c;
}

HARNESS_FN void put_item(struct generator *g)
{
	int64_t from = find_kind(g, TUPLE), dst = any_register(g);
	size_t at;

	if (from < 0)
		return;
	at = below(g, g->registers[from].item_count);
	EMIT(g, dst, GET_ITEM, REG(from), INT((int64_t)at));
	struct piece p = g->registers[from].items[at];

	put_tensor(g, dst, p);
	if (p.type == STORAGE_ITSELF)
		g->registers[dst].kind = STORAGE;
}

HARNESS_FN void put_reshape(struct generator *g)
{
	int64_t from = find_tensor(g, -1, false), dst = any_register(g);
	int type = (int)below(g, TYPES);
	struct piece p;

	if (from < 0)
		return;
	p = piece_of(g, from);
	if (types[type].is_number != types[p.type].is_number ||
	    type_bytes(type) > type_bytes(p.type))
		return;
	EMIT(g, dst, RESHAPE, REG(from), shape_operand(g, type));
	p.type = type;
	put_tensor(g, dst, p);
}

HARNESS_FN void put_device_copy(struct generator *g)
{
	int64_t from = find_tensor(g, -1, true), dst = any_register(g);

	if (from < 0)
		return;
	EMIT(g, dst, TO_DEVICE, REG(from), INT(MPK_DL_CPU), INT(0), CONST(TEXT));
	put_tensor(g, dst, new_piece(g, piece_of(g, from).type));
}

/* --- kernels --------------------------------------------------------------------------------- */

/* Calls a kernel, or has call_tir_dyn call it, which appends the extents of a shape. */
HARNESS_FN void call_kernel(struct generator *g, int64_t kernel, const int64_t *args, size_t count)
{
	int64_t all[8] = { FUNC(kernel) };

	if (!one_in(g, 4)) {
		/* what a kernel leaves in a register, nothing, is there in the next call, too */
		int64_t dst = g->wild == MAYBE_RESULTS && one_in(g, 20) ? any_register(g) : VOID;

		if (dst != VOID)
			g->registers[dst] = (struct content){ 0 };
		emit(g, dst, kernel, args, count);
		return;
	}
	memcpy(all + 1, args, count * sizeof *args);
	all[count + 1] = shape_operand(g, (int)below(g, TYPES));
	emit(g, VOID, CALL_TIR_DYN, all, count + 2);
}

HARNESS_FN int64_t either(struct generator *g, int64_t compiled)
{
	return compiled + (int64_t)below(g, 2); /* the function without an address stands behind */
}

HARNESS_FN void put_mix(struct generator *g)
{
	int64_t args[5];
	size_t count = 0, inputs = below(g, 4);
	int64_t out = find_tensor(g, -1, false), kernel = either(g, MIX);

	if (out < 0)
		return;
	for (size_t i = 0; i < inputs; i++) {
		int64_t in = find_tensor(g, -1, true);

		if (in >= 0)
			args[count++] = in;
	}
	if (one_in(g, 4))
		args[count++] = CONST(WEIGHTS);
	set_written(g, piece_of(g, out));
	args[count++] = REG(out);
	call_kernel(g, kernel, args, count);
}

/* On what was written; a tensor may be there twice, and a constant among them. */
HARNESS_FN void put_stir(struct generator *g)
{
	int64_t args[4];
	size_t count = 1 + below(g, 3);

	for (size_t i = 0; i < count; i++) {
		args[i] = find_tensor(g, -1, true);
		if (args[i] < 0)
			return;
	}
	if (one_in(g, 6))
		args[count++] = CONST(WEIGHTS);
	call_kernel(g, either(g, STIR), args, count);
}

HARNESS_FN void put_state(struct generator *g)
{
	bool keep = one_in(g, 3);
	int64_t reg = find_tensor(g, -1, keep);

	if (reg < 0)
		return;
	if (keep) {
		call_kernel(g, KEEP, &reg, 1);
		return;
	}
	set_written(g, piece_of(g, reg));
	call_kernel(g, one_in(g, 2) ? RECALL : either(g, COUNT), &reg, 1);
}

HARNESS_FN void put_refuse(struct generator *g)
{
	int64_t reg = find_tensor(g, -1, true);

	if (reg >= 0 && one_in(g, 3))
		call_kernel(g, REFUSE, &reg, 1);
}

/* --- extents --------------------------------------------------------------------------------- */

HARNESS_FN void put_heap(struct generator *g)
{
	int64_t dst = any_register(g);

	EMIT(g, dst, HEAP_OF, VM, INT(HEAP_SLOTS));
	g->registers[dst] = (struct content){ .kind = HEAP, .heap = ++g->heap_count };
}

/* A heap, or a tensor of the caller or of kernels in its place. */
HARNESS_FN int64_t find_heap(struct generator *g)
{
	int64_t numbers =
		g->wild == DATA_EXTENTS && one_in(g, 3) ? find_tensor(g, NUMBERS_4, true) : -1;

	return numbers >= 0 ? numbers : find_kind(g, HEAP);
}

HARNESS_FN void set_slot(struct generator *g, int64_t heap, size_t slot, int64_t value)
{
	struct content *c = &g->registers[heap];

	for (int64_t r = 0; r < REGISTERS; r++)
		if (c->kind == HEAP && g->registers[r].kind == HEAP &&
		    g->registers[r].heap == c->heap)
			g->registers[r].slots[slot] = value;
}

HARNESS_FN void put_match(struct generator *g)
{
	int64_t heap = find_heap(g), of = find_tensor(g, -1, false);
	int64_t args[12] = { of, heap };
	size_t count = 3;

	if (heap < 0 || of < 0)
		return;
	const struct tensor_type *t = &types[piece_of(g, of).type];

	args[2] = INT((int64_t)t->ndim);
	for (size_t i = 0; i < t->ndim; i++) {
		size_t slot = below(g, HEAP_SLOTS);

		args[count++] = INT(1); /* store */
		args[count++] = INT((int64_t)slot);
		set_slot(g, heap, slot, t->extents[i]);
	}
	args[count++] = CONST(TEXT);
	emit(g, VOID, MATCH_SHAPE, args, count);
}

HARNESS_FN void put_extents(struct generator *g)
{
	int64_t heap = find_kind(g, HEAP);

	if (heap < 0)
		return;
	int64_t kernel = g->wild == LATE_EXTENTS ? EXTENTS + (int64_t)below(g, 3) : EXTENTS;

	emit(g, VOID, kernel, &heap, 1);
	set_slot(g, heap, 1, kernel == LENGTHS ? -1 : g->registers[heap].slots[0] % 7);
}

HARNESS_FN size_t slot_with(const struct content *heap, int64_t extent)
{
	size_t slot = 0;

	while (slot < HEAP_SLOTS && heap->slots[slot] != extent)
		slot++;
	return slot;
}

/* The shape of a type, of extents in a heap and others; of a tensor whatever stands there. */
HARNESS_FN void put_shape(struct generator *g)
{
	int64_t heap = find_heap(g), dst = any_register(g);
	int type = (int)below(g, TYPES);
	int64_t args[8] = { heap, INT((int64_t)types[type].ndim) };
	size_t count = 2;

	if (heap < 0)
		return;
	bool known = g->registers[heap].kind == HEAP;

	for (size_t i = 0; i < types[type].ndim; i++) {
		int64_t extent = types[type].extents[i];
		size_t slot = known ? slot_with(&g->registers[heap], extent) : i;

		args[count++] = INT(slot < HEAP_SLOTS); /* load, else immediate */
		args[count++] = INT(slot < HEAP_SLOTS ? (int64_t)slot : extent);
	}
	emit(g, dst, MAKE_SHAPE, args, count);
	g->registers[dst] = (struct content){ .kind = SHAPE, .type = known ? type : -1 };
}

HARNESS_FN void put_shape_of(struct generator *g)
{
	int64_t of = find_tensor(g, -1, false), dst = any_register(g);

	if (of < 0)
		return;
	EMIT(g, dst, SHAPE_OF, REG(of));
	g->registers[dst] = (struct content){ .kind = SHAPE, .type = piece_of(g, of).type };
}

/* An extent as a number, and a kernel that runs unless it is zero. */
HARNESS_FN void put_condition(struct generator *g)
{
	int64_t heap = find_heap(g), dst = any_register(g), on = find_tensor(g, -1, true);

	if (heap < 0 || on < 0 || on == dst)
		return;
	EMIT(g, dst, MAKE_NUMBER, REG(heap), INT(1), INT((int64_t)below(g, HEAP_SLOTS)));
	g->registers[dst] = (struct content){ .kind = NUMBER };
	IF(&g->m, dst, 2);
	emit(g, VOID, either(g, STIR), &on, 1);
}

/* --- calls ----------------------------------------------------------------------------------- */

/* g(f32[6], f32[6]) -> (f32[6], f32[6]); h(f32[6], f32[6]) -> f32[6] */
HARNESS_FN void put_call(struct generator *g)
{
	int64_t a = find_tensor(g, FLOATS_6, true), b = find_tensor(g, FLOATS_6, true);
	int64_t dst = any_register(g);
	bool is_g = one_in(g, 2);
	int64_t f = is_g ? g->g : g->h;

	if (!g->is_main || a < 0 || b < 0)
		return;
	if (one_in(g, 2))
		EMIT(g, dst, f, REG(a), REG(b));
	else if (one_in(g, 2))
		EMIT(g, dst, INVOKE_CLOSURE, VM, FUNC(f), REG(a), REG(b));
	else /* the shape of a scalar appends nothing */
		EMIT(g, dst, CALL_TIR_DYN, FUNC(f), REG(a), REG(b), CONST(6));
	if (is_g)
		g->registers[dst] = (struct content){
			.kind = TUPLE,
			.items = { new_piece(g, FLOATS_6), new_piece(g, FLOATS_6) },
			.item_count = 2,
		};
	else
		put_tensor(g, dst, new_piece(g, FLOATS_6));
}

#endif
