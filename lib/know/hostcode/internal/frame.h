/* SPDX-License-Identifier: Apache-2.0 */
/* frame.h - the contents of registers and memory while code of x86-64 or AArch64 is followed
 *
 * The code is followed from its first to its last instruction. Constants, addresses and the
 * function's arguments are tracked through moves, additions and memory at a constant distance from
 * a known value. Branches are not taken: in a function that branches only to return early, the
 * following code is the normal path. Any other instruction makes its outputs new values. */
#ifndef MPK_HOSTCODE_INTERNAL_FRAME_H
#define MPK_HOSTCODE_INTERNAL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/instructions.h"
#include "elf/reader.h"

enum mpk_content_kind {
	MPK_CONTENT_THING,   /* an unknown value number a, plus b bytes; the same a is the same
			      * value */
	MPK_CONTENT_NUMBER,  /* a */
	MPK_CONTENT_ADDRESS, /* address a in the image */
	MPK_CONTENT_LOADED,  /* the value stored at address a in the image */
	MPK_CONTENT_ITEM,  /* item b of the list that is value a; the recovery of calls stores it in
			    * memory */
	MPK_CONTENT_NAMED, /* the function that was looked up by the name at address a */
	MPK_CONTENT_HALF,  /* only in memory: the last four bytes of the value before it, which is
			    * not a number */
};

struct mpk_content {
	uint8_t kind; /* enum mpk_content_kind */
	uint64_t a;
	int64_t b;
};

enum { MPK_FRAME_WORDS = 1 << 14, MPK_FRAME_SPANS = 64 };

/* A word of the image that is an address once the library is loaded. */
struct mpk_frame_pointer {
	uint64_t address, to;
};

struct mpk_frame {
	struct mpk_content regs[32]; /* by machine number; x86-64 has 16 */
	struct {
		bool is_known;
		struct mpk_content low, high;
	} vectors[32];
	struct mpk_frame_word {          /* four bytes of memory */
		struct mpk_content base; /* place: b bytes from value a */
		struct mpk_content held;
		uint32_t round; /* the entry is valid if equal to the frame's */
		uint64_t when;  /* `things` when it was written */
	} *words; /* MPK_FRAME_WORDS slots, indexed by a hash of the place; zeroed once, reused for
		   * the next function */
	size_t word_count;
	uint32_t round;
	uint64_t named_at,
		named_by; /* the last NAMED value that was stored in the image: its place, and the
			   * name */
	uint64_t things;  /* number of values so far */
	struct {
		uint64_t from, to;    /* words written after `from`, until `to`, are forgotten */
	} forgotten[MPK_FRAME_SPANS]; /* in order, without overlap */
	size_t forgotten_count;
	const struct mpk_elf *elf;
	const struct mpk_frame_pointer *pointers; /* by address; none: such words stay LOADED */
	size_t pointer_count;
};

/* mpk_frame_put - store a value at a place; ignored unless the place is a value plus a distance
 * @bytes   4 or 8 */
void mpk_frame_put(struct mpk_frame *f, struct mpk_content place, struct mpk_content held,
		   unsigned bytes);

/* mpk_frame_at - the value at a place; a new value if not known
 * @bytes   4 or 8 */
struct mpk_content mpk_frame_at(struct mpk_frame *f, struct mpk_content place, unsigned bytes);

/* mpk_frame_forget_since - forget what memory was written after the frame had given out so many things
 * @things  a value of f->things, which was then increased */
void mpk_frame_forget_since(struct mpk_frame *f, uint64_t things);

/* mpk_frame_step - apply the effect of one instruction
 * A call changes only the registers that its caller saves.
 * @next    address of the instruction after it */
void mpk_frame_step(struct mpk_frame *f, const struct mpk_x86 *i, uint64_t next);

/* mpk_frame_step_aarch64 - the same of one instruction of AArch64
 * @address of it */
void mpk_frame_step_aarch64(struct mpk_frame *f, uint32_t word, uint64_t address);

#endif
