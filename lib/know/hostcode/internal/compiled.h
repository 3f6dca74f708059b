/* SPDX-License-Identifier: Apache-2.0 */
/* compiled.h - a compiled executable at work: the calls of one function, and the byte code of all so far */
#ifndef MPK_HOSTCODE_INTERNAL_COMPILED_H
#define MPK_HOSTCODE_INTERNAL_COMPILED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strmap.h"
#include "elf/instructions.h"
#include "elf/wants.h"
#include "relaxvm/relaxvm.h"

/* --- registers and memory ----------------------------------------------------------------------
 *
 * What they hold while code of x86-64 is followed from its first instruction to its last: constants, addresses and what a
 * function was given, through moves, additions and memory that addresses with a constant distance from each other name.
 * Branches are not taken: of a function that only leaves early by them that is the way through it. Whatever else an
 * instruction writes is something new.
 */

enum mpk_content_kind {
	MPK_CONTENT_THING,   /* value a plus b bytes; values with the same a are the same */
	MPK_CONTENT_NUMBER,  /* a */
	MPK_CONTENT_ADDRESS, /* a, of the image */
	MPK_CONTENT_LOADED,  /* the value at address a of the image */
	MPK_CONTENT_ITEM,  /* item b of list a, a value; the tracer of calls puts it into memory */
	MPK_CONTENT_NAMED, /* the function found by the name at address a, as the tracer reports */
	MPK_CONTENT_HALF,  /* only in memory: the last four bytes of the preceding value, which is
			   * no number */
};

struct mpk_content {
	uint8_t kind; /* enum mpk_content_kind */
	uint64_t a;
	int64_t b;
};

enum { MPK_FRAME_WORDS = 1 << 14 };

struct mpk_frame {
	struct mpk_content regs[16];
	struct {
		bool is_known;
		uint64_t low, high;
	} vectors[16];
	struct mpk_frame_word {          /* four bytes */
		struct mpk_content base; /* a value's place: a and b */
		struct mpk_content held;
		uint32_t round; /* valid if equal to the frame's */
	} *words; /* MPK_FRAME_WORDS slots, by a hash of the place; zeroed when new, reused for the
		   * next function */
	size_t word_count;
	uint32_t round;
	uint64_t named_at,
		named_by; /* the last NAMED value that was stored in the image: its place and name */
	uint64_t things;  /* number of values that were given out */
	const struct mpk_elf *elf;
};

/* mpk_frame_at - what is at a place; a new thing where that is not known
 * mpk_frame_put - put something there; places that are no things are left alone
 * @bytes   4 or 8 */
struct mpk_content mpk_frame_at(struct mpk_frame *f, struct mpk_content place, unsigned bytes);
void mpk_frame_put(struct mpk_frame *f, struct mpk_content place, struct mpk_content held,
		   unsigned bytes);

/* mpk_frame_step - what an instruction does; of a call: all is as it was but the registers that its caller saves
 * @next    address of the instruction after it */
void mpk_frame_step(struct mpk_frame *f, const struct mpk_x86 *i, uint64_t next);

/* --- calls -------------------------------------------------------------------------------------- */

enum { MPK_NO_REGISTER = -1 };

/* A call that was found. */
struct mpk_found_call {
	struct mpk_span name;
	int64_t to;          /* register, or MPK_NO_REGISTER */
	size_t first, count; /* of the arguments */
};

/* The list of an argument is known when all calls are. */
struct mpk_found_argument {
	struct mpk_content content; /* NUMBER: an integer; ITEM; others: unknown */
};

/* The registers at the target of a branch. */
struct mpk_code_branch {
	uint64_t target;
	struct mpk_content regs[16];
};

enum { MPK_CODE_BRANCHES = 1 << 10, MPK_CODE_HANDLES = 1 << 13 };

struct mpk_code_handle {
	uint64_t address;
	const char *name; /* NULL: none */
};

struct mpk_recovery {
	const struct mpk_relax *x;
	const struct mpk_wants *w;
	struct mpk_arena *arena;
	struct mpk_strmap pieces; /* beginnings of the functions of the library */
	const char **names;       /* for each piece that is a function, else NULL: the way back */
	struct mpk_frame frame;
	struct mpk_code_branch *branches; /* at most MPK_CODE_BRANCHES branches whose targets are
					   * still to come */
	size_t branch_count;
	uint64_t next_target;           /* the first of them */
	uint64_t code_left, words_left; /* what may still be read and made */
	struct mpk_found_call *calls;
	size_t call_count, call_cap;
	struct mpk_found_argument *arguments;
	size_t argument_count, argument_cap;
	struct mpk_code_handle *handles; /* MPK_CODE_HANDLES slots, by a hash of their addresses */
	uint64_t registers,
		others[2]; /* lists, as values; others in the order in which they are given */
	size_t other_count;
	bool has_registers, is_lost, failed;
	/* what is made */
	struct mpk_strmap callees;
	struct mpk_relax_func *funcs;
	size_t func_count, func_cap;
	uint64_t *words, *offsets;
	size_t word_count, word_cap, offset_count, offset_cap;
};

/* mpk_compiled_follow - the calls that a piece of code makes, in calls and arguments of r
 * @is_first_pass  only to learn which handle has which name; calls are not noted
 * is_lost is set where something is not understood, failed where memory is out. */
void mpk_compiled_follow(struct mpk_recovery *r, size_t piece, bool is_first_pass);

#endif
