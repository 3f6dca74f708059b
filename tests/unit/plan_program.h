/* SPDX-License-Identifier: Apache-2.0 */
/* plan_program.h - random programs of the Relax VM in which every byte that is read was written
 *
 * A program has three functions: main, and g and h, which it calls in every way that there is. The
 * generator knows what is in each register: which storage a tensor lies in, where, and which bytes of
 * that storage something wrote. Nothing reads others, so two machines that do what byte code says give
 * the same bytes, whatever was in their memory before.
 *
 * main(x: f32[6], y: f32[6], n: i64[4], t: (f32[6], f32[2, 3])). Any of them may lie over another.
 */
#ifndef MPK_TESTS_UNIT_PLAN_PROGRAM_H
#define MPK_TESTS_UNIT_PLAN_PROGRAM_H

#include "relax_made.h"

enum {
	REGISTERS = 14,
	AREAS = 96,     /* pieces of memory of one function */
	AREA_MAX = 512, /* bytes */
	ITEMS = 3,      /* of a tuple */
	HEAP_SLOTS = 4, /* symbolic extents */
	STEPS_MAX = 34, /* of main */
};

/* What programs call; the table of functions begins with them, in this order. Kernels are there twice: as
 * code at an address, and as functions without one. */
#define CALLED(X)                                                                                  \
	X(STORAGE_OF, "vm.builtin.alloc_storage")                                                  \
	X(TENSOR_IN, "vm.builtin.alloc_tensor")                                                    \
	X(HEAP_OF, "vm.builtin.alloc_shape_heap")                                                  \
	X(MATCH_SHAPE, "vm.builtin.match_shape")                                                   \
	X(MAKE_SHAPE, "vm.builtin.make_shape")                                                     \
	X(MAKE_NUMBER, "vm.builtin.make_prim_value")                                               \
	X(SHAPE_OF, "vm.builtin.shape_of")                                                         \
	X(COPY, "vm.builtin.copy")                                                                 \
	X(NULL_VALUE, "vm.builtin.null_value")                                                     \
	X(RESHAPE, "vm.builtin.reshape")                                                           \
	X(VIEW, "runtime.TVMTensorCreateView")                                                     \
	X(ZERO_OFFSET, "vm.builtin.ensure_zero_offset")                                            \
	X(TO_DEVICE, "vm.builtin.to_device")                                                       \
	X(MAKE_TUPLE, "vm.builtin.make_tuple")                                                     \
	X(GET_ITEM, "vm.builtin.tuple_getitem")                                                    \
	X(RESET_ITEM, "vm.builtin.tuple_reset_item")                                               \
	X(MAKE_CLOSURE, "vm.builtin.make_closure")                                                 \
	X(INVOKE_CLOSURE, "vm.builtin.invoke_closure")                                             \
	X(CALL_TIR_DYN, "vm.builtin.call_tir_dyn")                                                 \
	X(MIX, "mix_compiled") /* reads all, writes the last */                                    \
	X(MIX_FUNCTION, "mix")                                                                     \
	X(STIR, "stir_compiled") /* reads and writes all */                                        \
	X(STIR_FUNCTION, "stir")                                                                   \
	X(EXTENTS, "extents_compiled") /* heap[1] = heap[0] % 7, of each heap */                   \
	X(EXTENTS_FUNCTION, "extents")                                                             \
	X(LENGTHS, "lengths")      /* heap[1]: how often something was counted */                  \
	X(COUNT, "count_compiled") /* writes how often it was called */                            \
	X(COUNT_FUNCTION, "count")                                                                 \
	X(REFUSE, "refuse")       /* fails for some content */                                     \
	X(KEEP, "keep")           /* keeps the tensor */                                           \
	X(RECALL, "recall")       /* writes what the kept tensor holds */                          \
	X(CALL_BACK, "call_back") /* calls h of the machine */                                     \
	X(MAYBE, "maybe")         /* returns a number or nothing, by the content */

#define CALLED_ID(id, name) id,
#define CALLED_NAME(id, name) name,
enum called { CALLED(CALLED_ID) CALLED_COUNT };

/* Types of tensors. Their shapes and element types are constants of the program. */
static const struct tensor_type {
	bool is_number; /* i64, else f32 */
	size_t ndim;
	int64_t extents[2];
} types[] = {
	{ false, 1, { 6 } },    { false, 2, { 2, 3 } }, { false, 1, { 4 } }, { false, 1, { 0 } },
	{ false, 2, { 3, 0 } }, { false, 1, { 1 } },    { false, 0, { 0 } }, { true, 1, { 4 } },
	{ true, 1, { 2 } },     { true, 1, { 0 } },
};
enum {
	STORAGE_ITSELF = -1,
	FLOATS_6 = 0,
	FLOATS_2_3,
	NUMBERS_4 = 7,
	TYPES = MPK_ARRAY_COUNT(types)
};

static const int64_t storage_sizes[] = { 0, 24, 40, 64, 90, 200, 300, 512 };
enum { SIZES = MPK_ARRAY_COUNT(storage_sizes) };

/* Constants: shapes of types, sizes of storages, then these. */
enum { U8 = TYPES + SIZES, F32, I64, TEXT, WEIGHTS, EXTENT_LIST };

enum kind { NOTHING, TENSOR, STORAGE, HEAP, SHAPE, NUMBER, TUPLE, CLOSURE };

/* Memory as far as a function knows it: two may be the same, when arguments or results lie over one
 * another; then all of it was written. */
struct area {
	size_t bytes;
	bool written[AREA_MAX];
};

/* A tensor in an area; type STORAGE_ITSELF: all of it. */
struct piece {
	int area, type;
	size_t offset;
};

/* What a register holds. */
struct content {
	enum kind kind;
	struct piece piece;        /* TENSOR; STORAGE: area */
	struct piece items[ITEMS]; /* TUPLE */
	size_t item_count;
	int type;                  /* SHAPE: of this type; -1: any other */
	int64_t slots[HEAP_SLOTS]; /* HEAP; -1: not known */
	int heap;                  /* HEAP: which, as copies are the same */
};

/* What no plan can repeat. A program has one such thing at most, so that nothing else keeps it from being
 * planned. */
enum wild {
	TAME,
	CLOSURES,      /* of h and of kernels, called in every way */
	CALLS_BACK,    /* a kernel calls h */
	MAYBE_RESULTS, /* a kernel returns something or nothing */
	VIEWS,         /* and copies, as the machine pleases */
	RESETS,        /* of items of tuples, the caller's among them */
	DATA_EXTENTS,  /* in tensors that are no heap */
	LATE_EXTENTS,  /* a function that is no kernel writes to a heap */
	HEAP_RESULTS,
	WILDS
};

struct generator {
	struct made m;
	uint64_t state;
	enum wild wild;
	bool is_main;
	struct content registers[REGISTERS];
	struct area areas[AREAS];
	int area_count, heap_count;
	int64_t g, h;
};

HARNESS_FN uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 11;
}

HARNESS_FN size_t below(struct generator *g, size_t n)
{
	return n ? (size_t)(draw(&g->state) % n) : 0;
}

HARNESS_FN bool one_in(struct generator *g, size_t n)
{
	return below(g, n) == 0;
}

/* --- memory ---------------------------------------------------------------------------------- */

HARNESS_FN size_t type_bytes(int type)
{
	size_t bytes = types[type].is_number ? 8 : 4;

	for (size_t i = 0; i < types[type].ndim; i++)
		bytes *= (size_t)types[type].extents[i];
	return bytes;
}

HARNESS_FN int new_area(struct generator *g, size_t bytes, bool written)
{
	struct area *a = &g->areas[g->area_count];

	if (g->area_count == AREAS)
		ck_abort_msg("more pieces of memory than there is room for");
	a->bytes = bytes;
	memset(a->written, written, sizeof a->written);
	return g->area_count++;
}

HARNESS_FN bool is_written(const struct generator *g, struct piece p)
{
	for (size_t i = 0; i < type_bytes(p.type); i++)
		if (!g->areas[p.area].written[p.offset + i])
			return false;
	return true;
}

HARNESS_FN void set_written(struct generator *g, struct piece p)
{
	memset(g->areas[p.area].written + p.offset, true, type_bytes(p.type));
}

/* --- registers ------------------------------------------------------------------------------- */

HARNESS_FN int64_t any_register(struct generator *g)
{
	return (int64_t)below(g, REGISTERS);
}

/* A register that holds something of a kind; -1: there is none. */
HARNESS_FN int64_t find_kind(struct generator *g, enum kind kind)
{
	size_t start = below(g, REGISTERS);

	for (size_t i = 0; i < REGISTERS; i++)
		if (g->registers[(start + i) % REGISTERS].kind == kind)
			return (int64_t)((start + i) % REGISTERS);
	return -1;
}

/* A tensor; `type` -1: of any; written: all of it was. */
HARNESS_FN int64_t find_tensor(struct generator *g, int type, bool written)
{
	size_t start = below(g, REGISTERS);

	for (size_t i = 0; i < REGISTERS; i++) {
		const struct content *c = &g->registers[(start + i) % REGISTERS];

		if (c->kind == TENSOR && (type < 0 || c->piece.type == type) &&
		    (!written || is_written(g, c->piece)))
			return (int64_t)((start + i) % REGISTERS);
	}
	return -1;
}

HARNESS_FN struct piece piece_of(const struct generator *g, int64_t reg)
{
	return g->registers[reg].piece;
}

HARNESS_FN void put_tensor(struct generator *g, int64_t reg, struct piece p)
{
	g->registers[reg] = (struct content){ .kind = TENSOR, .piece = p };
}

/* A tensor in memory that nothing is known of but that all of it was written. */
HARNESS_FN struct piece new_piece(struct generator *g, int type)
{
	return (struct piece){ new_area(g, type_bytes(type), true), type, 0 };
}

HARNESS_FN void emit(struct generator *g, int64_t dst, int64_t callee, const int64_t *args,
		     size_t count)
{
	made_call(&g->m, dst, callee, args, count);
}

#define EMIT(g, dst, callee, ...)                                                                  \
	emit(g, dst, callee, (const int64_t[]){ __VA_ARGS__ },                                     \
	     sizeof((const int64_t[]){ __VA_ARGS__ }) / 8)

#endif
