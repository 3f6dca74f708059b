/* SPDX-License-Identifier: Apache-2.0 */
/* work.h - counts of what the instructions of a kernel do, which mean the same for machine code and
 * PTX */
#ifndef MPK_FORMATS_WORK_WORK_H
#define MPK_FORMATS_WORK_WORK_H

#include <stdbool.h>
#include <stdint.h>

enum mpk_space {
	MPK_SPACE_GENERIC, /* the hardware finds the space from the address */
	MPK_SPACE_GLOBAL,
	MPK_SPACE_SHARED,
	MPK_SPACE_LOCAL,
	MPK_SPACE_SCRATCH, /* AMD: memory of a lane */
	MPK_SPACE_BUFFER, /* AMD: of a buffer's descriptor, which may describe global or scratch memory */
	MPK_SPACES
};

/* Bytes that a thread loads or stores at once. */
enum mpk_width {
	MPK_WIDTH_1B,
	MPK_WIDTH_2B,
	MPK_WIDTH_4B,
	MPK_WIDTH_8B,
	MPK_WIDTH_12B,
	MPK_WIDTH_16B,
	MPK_WIDTH_32B,
	MPK_WIDTH_OTHER, /* matrices, and unknown widths */
	MPK_WIDTHS
};

/* Numbers of instructions in the code, however often each runs. */
struct mpk_work {
	uint32_t all;    /* all but those that only pad the kernel */
	uint32_t tensor; /* instructions for tensor cores, which AMD calls matrix cores */
	uint32_t async;  /* copies between global and shared memory that run in parallel with the
			  * thread */
	uint32_t atomic;
	uint32_t loads[MPK_SPACES][MPK_WIDTHS]; /* without loads of constants */
	uint32_t stores[MPK_SPACES][MPK_WIDTHS];
	bool is_amd;           /* code for an AMD GPU, whose terms are used in the text */
	bool has_stall;        /* set for machine code; PTX has no stall cycles */
	uint32_t stall_cycles; /* sum of the cycles that each instruction makes its warp wait before
			       * the next one */
};

/* What an instruction counts as. */
enum mpk_work_sort {
	MPK_WORK_OTHER,
	MPK_WORK_FILLING, /* padding, which does not count */
	MPK_WORK_LOAD,
	MPK_WORK_STORE,
	MPK_WORK_ATOMIC,
	MPK_WORK_TENSOR,
	MPK_WORK_ASYNC
};

/* mpk_work_add - count an instruction
 * @space, @width  of a load or store; ignored for others */
static inline void mpk_work_add(struct mpk_work *work, enum mpk_work_sort sort, unsigned space,
				unsigned width)
{
	work->all += sort != MPK_WORK_FILLING;
	work->atomic += sort == MPK_WORK_ATOMIC;
	work->tensor += sort == MPK_WORK_TENSOR;
	work->async += sort == MPK_WORK_ASYNC;
	if (sort == MPK_WORK_LOAD)
		work->loads[space][width]++;
	else if (sort == MPK_WORK_STORE)
		work->stores[space][width]++;
}

#endif
