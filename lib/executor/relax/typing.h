/* SPDX-License-Identifier: Apache-2.0 */
/* typing.h - types of registers while byte code is read for its signatures; for the files beside it */
#ifndef MPK_EXECUTOR_RELAX_TYPING_H
#define MPK_EXECUTOR_RELAX_TYPING_H

#include "base/arena.h"
#include "relaxvm/relaxvm.h"
#include "signature/signature.h"

enum {
	MPK_RELAX_TYPING_REGISTERS = 1 << 16, /* that are followed */
	MPK_RELAX_TYPING_SLOTS = 1 << 12,
	MPK_RELAX_TYPING_DIMENSIONS = 32,
	MPK_RELAX_TYPING_FIELDS = 1 << 12,
};

/* What a register holds. */
struct mpk_relax_content {
	struct mpk_type type;
	struct mpk_type *input; /* the parameter, or the part of one, that it is; NULL: neither */
	bool written;
};

struct mpk_relax_typing {
	const struct mpk_relax *x;
	const struct mpk_relax_func *f;
	struct mpk_arena *arena;
	struct mpk_relax_content *registers;
	size_t register_count;
	struct mpk_span slots[MPK_RELAX_TYPING_SLOTS]; /* names of symbolic extents */
	size_t named;                                  /* of them, here */
	struct mpk_type returned; /* as the text of a check says; ANY: none did */
	bool branched;            /* there was a branch before this */
	/* Words of byte code left to look at, and parts of types to make: functions may share code,
	 * and instructions words, so that all of them can be many times the file. */
	uint64_t words, parts;
	bool failed; /* memory is out */
};

/* mpk_relax_make_parts - an array of count + 1 for parts of a type; NULL when there is no room for it */
void *mpk_relax_make_parts(struct mpk_relax_typing *r, size_t count, size_t size);

/* mpk_relax_..._at - argument i of a call: an integer; a constant or NULL; a register or NULL; what
 * is known of either */
bool mpk_relax_int_at(const struct mpk_relax_instr *instr, size_t i, int64_t *out);
const struct mpk_relax_const *mpk_relax_const_at(const struct mpk_relax_typing *r,
						 const struct mpk_relax_instr *instr, size_t i);
struct mpk_relax_content *mpk_relax_content_at(const struct mpk_relax_typing *r,
					       const struct mpk_relax_instr *instr, size_t i);
struct mpk_type mpk_relax_type_at(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
				  size_t i);

/* mpk_relax_register_at - a register by its number, or NULL */
struct mpk_relax_content *mpk_relax_register_at(const struct mpk_relax_typing *r, int64_t number);

/* mpk_relax_annotation_of - the type that the text of a check, its last argument, names; what is said of
 * the result is kept in r->returned */
struct mpk_type mpk_relax_annotation_of(struct mpk_relax_typing *r,
					const struct mpk_relax_instr *instr);

/* The extents that follow argument `at` of a call: (code, operand) each. */
struct mpk_relax_pairs {
	const struct mpk_relax_instr *instr;
	size_t at, count;
	const struct mpk_type *told; /* what the text of the check says; may be of another rank */
};

/* mpk_relax_set_extents - rank and extents of a type, as match_shape compares or make_shape makes them */
void mpk_relax_set_extents(struct mpk_relax_typing *r, const struct mpk_relax_pairs *p, bool made,
			   struct mpk_type *t);

/* mpk_relax_set_rank - a rank alone, unless it is known; negative: nothing */
void mpk_relax_set_rank(struct mpk_relax_typing *r, int64_t ndim, struct mpk_type *t);

/* mpk_relax_type_call - what a builtin says of its operands, and the type of its result
 * @name    "check_tensor_info", without "vm.builtin."
 * @out     zeroed; filled where the result is known */
void mpk_relax_type_call(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			 struct mpk_span name, struct mpk_relax_content *out);

#endif
