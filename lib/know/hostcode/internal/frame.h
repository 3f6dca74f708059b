/* SPDX-License-Identifier: Apache-2.0 */
/* frame.h - what registers and memory hold while code of x-86-64 is followed from its first instruction to its last
 *
 * Followed are constants, addresses and what a function was given, through moves, additions and memory that addresses
 * with a constant distance from each other name. Branches are not taken: of a function that only leaves early by them
 * that is the way through it. Whatever else an instruction writes is something new.
 */
#ifndef MPK_HOSTCODE_INTERNAL_FRAME_H
#define MPK_HOSTCODE_INTERNAL_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/instructions.h"

enum mpk_content_kind {
	MPK_CONTENT_THING, /* number a, and b bytes more; things with the same number are the same */
	MPK_CONTENT_NUMBER,  /* a */
	MPK_CONTENT_ADDRESS, /* a, of the image */
	MPK_CONTENT_LOADED,  /* what is at address a of the image */
	MPK_CONTENT_ITEM, /* item b of list a, a thing; whoever follows the calls puts it into memory */
	MPK_CONTENT_NAMED, /* what was found by the name at address a, as said by who follows the calls */
	MPK_CONTENT_HALF, /* in memory alone: the last four bytes of what is before it, which is no number */
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
		struct mpk_content base; /* a thing: a and b are where they are */
		struct mpk_content held;
		uint32_t round; /* counts if it is the frame's */
	} *words;               /* MPK_FRAME_WORDS of them, by a hash of where */
	size_t word_count;
	uint32_t round;
	uint64_t named_at,
		named_by; /* what was NAMED last and stored in the image: where, and the name */
	uint64_t things;  /* so many numbers are given away */
	const struct mpk_elf *elf;
};

/* mpk_frame_init - the beginning of a function: each register is a thing of its own, with its number
 * @words   room for MPK_FRAME_WORDS, zeroed when it is new; used again for the next function */
void mpk_frame_init(struct mpk_frame *f, const struct mpk_elf *elf, struct mpk_frame_word *words);

/* mpk_frame_at - what is at a place; a new thing where that is not known
 * mpk_frame_put - put something there; places that are no things are left alone
 * @bytes   4 or 8 */
struct mpk_content mpk_frame_at(struct mpk_frame *f, struct mpk_content place, unsigned bytes);
void mpk_frame_put(struct mpk_frame *f, struct mpk_content place, struct mpk_content held,
		   unsigned bytes);

/* mpk_frame_step - what an instruction that is no call does
 * @next    address of the instruction after it */
void mpk_frame_step(struct mpk_frame *f, const struct mpk_x86 *i, uint64_t next);

/* mpk_frame_call - what a function leaves as it was: all but the registers that its caller saves */
void mpk_frame_call(struct mpk_frame *f);

#endif
