/* SPDX-License-Identifier: Apache-2.0 */
/* work.h - what the instructions of a kernel do, counted: the same figures for machine code and for PTX */
#ifndef MPK_FORMATS_WORK_WORK_H
#define MPK_FORMATS_WORK_WORK_H

#include <stdbool.h>
#include <stdint.h>

enum mpk_space {
	MPK_SPACE_GENERIC, /* an address that the hardware tells the space of */
	MPK_SPACE_GLOBAL,
	MPK_SPACE_SHARED,
	MPK_SPACE_LOCAL,
	MPK_SPACES
};

/* Of what a thread loads or stores at once. */
enum mpk_width {
	MPK_WIDTH_1B,
	MPK_WIDTH_2B,
	MPK_WIDTH_4B,
	MPK_WIDTH_8B,
	MPK_WIDTH_16B,
	MPK_WIDTH_32B,
	MPK_WIDTH_OTHER, /* matrices, and widths that are not known */
	MPK_WIDTHS
};

/* Instructions as they stand in the code, however often they run. */
struct mpk_work {
	uint32_t all;    /* but those that fill up a kernel */
	uint32_t tensor; /* for tensor cores */
	uint32_t async;  /* copies between global and shared memory that run on beside the thread */
	uint32_t atomic;
	uint32_t loads[MPK_SPACES][MPK_WIDTHS]; /* without constants */
	uint32_t stores[MPK_SPACES][MPK_WIDTHS];
	bool has_stall; /* machine code; PTX has none */
	uint32_t
		stall_cycles; /* that each instruction makes its warp wait before the next one, all together */
};

#endif
