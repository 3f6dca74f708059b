/* SPDX-License-Identifier: Apache-2.0 */
/* frame.h - what registers and memory hold while code of x86-64 is followed
 *
 * The code is followed from its first instruction to its last: constants, addresses and arguments of the function, through
 * moves, additions and memory whose addresses differ by a constant. Branches are not taken: in a function that only leaves
 * early by them, what follows is the normal path. An instruction of any other kind writes new values.
 */
#ifndef MPK_HOSTCODE_INTERNAL_FRAME_H
#define MPK_HOSTCODE_INTERNAL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/instructions.h"
#include "elf/reader.h"

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

/* mpk_frame_put - store a value at a place; a place that is not a thing plus a distance is ignored
 * @bytes   4 or 8 */
void mpk_frame_put(struct mpk_frame *f, struct mpk_content place, struct mpk_content held,
		   unsigned bytes);

/* mpk_frame_at - the value at a place; a new thing where it is not known
 * @bytes   4 or 8 */
struct mpk_content mpk_frame_at(struct mpk_frame *f, struct mpk_content place, unsigned bytes);

/* mpk_frame_step - apply the effect of one instruction
 * A call changes only the registers that its caller saves.
 * @next    address of the instruction after it */
void mpk_frame_step(struct mpk_frame *f, const struct mpk_x86 *i, uint64_t next);

#endif
