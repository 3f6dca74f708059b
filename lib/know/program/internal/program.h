/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - what the files of this folder share, and nobody else includes */
#ifndef MPK_PROGRAM_INTERNAL_PROGRAM_H
#define MPK_PROGRAM_INTERNAL_PROGRAM_H

#include "base/arena.h"
#include "relaxvm/relaxvm.h"
#include "signature/signature.h"

/* The types that the compiler wrote into the texts of its checks
 *
 * Checks of parameters and results carry a text for their messages, such as
 *   ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((n, 4), dtype="float32"))
 * (relax::VMShapeLower of apache/tvm). It is the only place where symbolic extents have names.
 */

struct mpk_relax_annotation {
	struct mpk_span function;
	bool is_return;
	size_t param; /* its number, unless is_return */
	struct mpk_type type;
};

/* mpk_relax_annotation_read - take such a text apart
 * @out     views of text and arena
 * Returns  false when it is none, or one of another form; a type that is not understood is
 *          MPK_TYPE_ANY */
bool mpk_relax_annotation_read(struct mpk_span text, struct mpk_arena *arena,
			       struct mpk_relax_annotation *out);

/* Types of registers while byte code is read for its signatures; for the files beside it */

enum {
	MPK_RELAX_TYPING_REGISTERS = 1 << 16, /* that are followed */
	MPK_RELAX_TYPING_SLOTS = 1 << 12,
	MPK_RELAX_TYPING_DIMENSIONS = 1 << 12, /* shapes that are values have more than tensors */
	MPK_RELAX_TYPING_FIELDS = 1 << 12,
};

/* What a register holds. */
struct mpk_relax_content {
	struct mpk_type type;
	struct mpk_type *input; /* the parameter, or the part of one, that it is; NULL: neither */
	const struct mpk_type *told; /* of an input, what the texts of checks say; or NULL */
	bool written;
	bool pending; /* the result of a function that has not been read yet */
};

/* A text among the constants. */
struct mpk_relax_text {
	struct mpk_relax_annotation annotation;
	bool read, understood;
};

/* What is known of a function while others that call it are read. */
struct mpk_relax_function_type {
	struct mpk_signature *signature; /* NULL: it has no byte code */
	struct mpk_type result;
	bool returns; /* result counts; else no return of it has been seen */
	bool calls;   /* others, so that its result depends on theirs */
};

struct mpk_relax_typing {
	const struct mpk_relax *x;
	const struct mpk_relax_func *f;
	struct mpk_relax_function_type *functions; /* as x has them */
	struct mpk_relax_text *texts;              /* as x has constants */
	struct mpk_arena *arena;
	struct mpk_relax_content *registers;
	size_t register_count;
	struct mpk_span *slots; /* names of symbolic extents, as far as one was named */
	size_t slot_count, slot_room;
	bool renames; /* one is not called as the program calls it, which has several of that name */
	size_t named;          /* of them, here */
	struct mpk_type *told; /* told_count parameters, as the texts of checks say */
	size_t told_count;
	struct mpk_type returned; /* as the text of a check says; ANY: none did */
	bool calls;
	unsigned uses; /* enum mpk_signature_use */
	bool branched; /* there was a branch before this */
	/* Words of byte code left to look at, and parts of types to make: functions may share code,
	 * and instructions words, so that all of them can be many times the file. */
	uint64_t words, parts;
	bool failed; /* memory is out */
};

/* mpk_relax_make_parts - an array of count + 1 for parts of a type; NULL when there is no room for it */
void *mpk_relax_make_parts(struct mpk_relax_typing *r, size_t count, size_t size);

/* mpk_relax_int_at - whether argument i of a call is an integer */
static inline bool mpk_relax_int_at(const struct mpk_relax_instr *instr, size_t i, int64_t *out)
{
	struct mpk_relax_arg arg;

	if (i >= instr->arg_count)
		return false;
	arg = mpk_relax_arg(instr, i);
	*out = arg.value;
	return arg.kind == MPK_RELAX_ARG_INT;
}

/* mpk_relax_const_at - the constant that argument i is, or NULL */
static inline const struct mpk_relax_const *
mpk_relax_const_at(const struct mpk_relax_typing *r, const struct mpk_relax_instr *instr, size_t i)
{
	struct mpk_relax_arg arg;

	if (i >= instr->arg_count)
		return NULL;
	arg = mpk_relax_arg(instr, i);
	if (arg.kind != MPK_RELAX_ARG_CONST || arg.value < 0 ||
	    (uint64_t)arg.value >= r->x->const_count)
		return NULL;
	return &r->x->consts[arg.value];
}

/* mpk_relax_register_at - a register by its number, or NULL */
static inline struct mpk_relax_content *mpk_relax_register_at(const struct mpk_relax_typing *r,
							      int64_t number)
{
	if (number < 0 || (uint64_t)number >= r->register_count)
		return NULL;
	return &r->registers[number];
}

/* mpk_relax_content_at - the register that argument i is, or NULL */
static inline struct mpk_relax_content *mpk_relax_content_at(const struct mpk_relax_typing *r,
							     const struct mpk_relax_instr *instr,
							     size_t i)
{
	struct mpk_relax_arg arg;

	if (i >= instr->arg_count)
		return NULL;
	arg = mpk_relax_arg(instr, i);
	return arg.kind == MPK_RELAX_ARG_REG ? mpk_relax_register_at(r, arg.value) : NULL;
}

/* mpk_relax_type_at - what is known of argument i, be it a register or a constant */
struct mpk_type mpk_relax_type_at(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
				  size_t i);

/* The extents that follow argument `at` of a call: (code, operand) each. */
struct mpk_relax_pairs {
	const struct mpk_relax_instr *instr;
	size_t at, count;
	const struct mpk_type *told; /* what the text of the check says; may be of another rank */
	/* Where they come from: a match of an input gives names to slots of the heap, any other only
	 * reads them, as what is named by no input tells nobody anything. */
	enum { MPK_RELAX_EXTENTS_INPUT, MPK_RELAX_EXTENTS_VALUE, MPK_RELAX_EXTENTS_MADE } from;
};

/* mpk_relax_set_extents - rank and extents of a type, as match_shape compares or make_shape makes them */
void mpk_relax_set_extents(struct mpk_relax_typing *r, const struct mpk_relax_pairs *p,
			   struct mpk_type *t);

/* mpk_relax_keep_slots - call extents of an input by their slots again, after texts were added: those know names alone */
void mpk_relax_keep_slots(struct mpk_relax_typing *r, const struct mpk_relax_pairs *p,
			  struct mpk_type *t);

/* mpk_relax_set_rank - a rank alone, unless it is known; negative: nothing */
void mpk_relax_set_rank(struct mpk_relax_typing *r, int64_t ndim, struct mpk_type *t);

/* mpk_relax_type_call - what a builtin says of its operands, and the type of its result
 * @name    "vm.builtin.check_tensor_info"
 * @out     zeroed; filled where the result is known */
void mpk_relax_type_call(struct mpk_relax_typing *r, const struct mpk_relax_instr *instr,
			 struct mpk_span name, struct mpk_relax_content *out);

/* mpk_relax_same_extent - whether extent i of two types is the same */
static inline bool mpk_relax_same_extent(const struct mpk_type *a, const struct mpk_type *b,
					 size_t i)
{
	struct mpk_span x = mpk_type_symbol(a, i), y = mpk_type_symbol(b, i);

	return x.len || y.len ? mpk_span_equal(x, y) : a->shape[i] == b->shape[i];
}

/* mpk_relax_refine - a type with what the text of a check adds to it: names of extents, and what was
 * not known */
struct mpk_type mpk_relax_refine(struct mpk_relax_typing *r, const struct mpk_type *t,
				 const struct mpk_type *told);

#endif
