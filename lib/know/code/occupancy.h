/* SPDX-License-Identifier: Apache-2.0 */
/* occupancy.h - how many blocks of a kernel a multiprocessor holds at once, and what stops it from holding more
 *
 * Arithmetic on figures that the code itself has: no GPU and no driver is asked. For NVIDIA the limits of each
 * compute capability are those of the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability",
 * and the rules are those that CUDA publishes in cuda_occupancy.h; a test compares with that header. For AMD the rules
 * are those of hipOccupancyMaxActiveBlocksPerMultiprocessor, and the sizes of register files those of LLVM's AMDGPU
 * target.
 *
 * A result is an upper bound: clusters, and kernels that run beside this one, may leave less.
 */
#ifndef MPK_CODE_OCCUPANCY_H
#define MPK_CODE_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

/* What a multiprocessor (compute unit) is asked to hold. */
struct mpk_occupancy_need {
	uint32_t threads;      /* of a block, at least 1 */
	uint32_t registers;    /* of a thread; AMD: VGPRs of a lane, accumulators included */
	uint32_t sgprs;        /* AMD: of a wave; 0: none or not known */
	uint64_t shared_bytes; /* of a block, static and dynamic */
	uint32_t barriers;     /* of a block */
	uint32_t wavefront;    /* AMD: lanes of a wave, 32 or 64; 0: what the device usually has */
	bool whole_work_groups; /* AMD from gfx10 on: a block may spread over the two compute units of a work group
				  * processor (WGP mode), whose resources count together */
};

enum mpk_occupancy_limit {
	MPK_OCCUPANCY_NONE, /* nothing: all warps are in use */
	MPK_OCCUPANCY_WARPS,
	MPK_OCCUPANCY_BLOCKS,
	MPK_OCCUPANCY_REGISTERS,
	MPK_OCCUPANCY_SHARED,
	MPK_OCCUPANCY_BARRIERS,
};

struct mpk_occupancy {
	uint32_t blocks;     /* at once; 0: a launch fails */
	uint32_t warps;      /* of all those blocks */
	uint32_t max_warps;  /* that the multiprocessor has room for */
	uint32_t warp_lanes; /* threads of a warp (wave): 32 or 64 */
	enum mpk_occupancy_limit
		limit; /* the scarcest resource; MPK_OCCUPANCY_NONE when warps == max_warps */
};

/* mpk_occupancy_compute - how much of a kernel one multiprocessor holds
 * @target  "sm_90a", "gfx90a:xnack+"
 * Returns  false: no such device is known, or a figure that its rules need is missing (registers of 0) */
bool mpk_occupancy_compute(const char *target, const struct mpk_occupancy_need *need,
			   struct mpk_occupancy *out);

/* mpk_occupancy_max_threads - the most threads that a block of any kernel may have on this device; 0: it is not known */
uint32_t mpk_occupancy_max_threads(const char *target);

/* mpk_occupancy_best_block - the smallest block size, in whole warps, at which the most warps run at once
 * @max_threads of a block; 0: as many as the device allows
 * @out     receives what holds at that size
 * Returns  threads of the block; 0: as mpk_occupancy_compute, or no block of any size can be launched */
uint32_t mpk_occupancy_best_block(const char *target, const struct mpk_occupancy_need *need,
				  uint32_t max_threads, struct mpk_occupancy *out);

/* The least change of one resource that lets more warps run at once. */
struct mpk_occupancy_step {
	enum mpk_occupancy_limit
		what;  /* REGISTERS, SHARED or WARPS; MPK_OCCUPANCY_NONE: there is no such change */
	uint64_t less; /* registers of a thread, or bytes of a block, that would have to go */
	uint32_t threads;          /* WARPS: the block size that would run more warps */
	struct mpk_occupancy then; /* what would hold then */
};

/* mpk_occupancy_next - what would have to change
 * @fixed_block the block size cannot change, as the kernel requires it
 * @max_threads of a block, as for mpk_occupancy_best_block */
void mpk_occupancy_next(const char *target, const struct mpk_occupancy_need *need, bool fixed_block,
			uint32_t max_threads, struct mpk_occupancy_step *out);

/* Where the number of threads of a block comes from. */
enum mpk_block_from {
	MPK_BLOCK_GIVEN,    /* the caller asked for it */
	MPK_BLOCK_REQUIRED, /* the kernel runs in no other */
	MPK_BLOCK_BOUND,    /* the kernel's launch bound */
	MPK_BLOCK_BEST,     /* the size that runs the most warps, as nothing tells it */
};

/* By value, as JSON has them: "best", "registers". */
extern const char *const mpk_block_from_words[], *const mpk_occupancy_limit_words[];

struct mpk_occupancy_kernel {
	uint32_t threads; /* of a block */
	enum mpk_block_from block_from;
	uint32_t percent;
	struct mpk_occupancy now;
};

/* mpk_occupancy_of_kernel - the occupancy of a kernel whose block size is chosen first: the one that was asked for,
 * else the one that it requires, else its launch bound, else the one that runs the most warps
 * @block   what the kernel requires; zeros: nothing
 * @max_threads the product is its launch bound; zeros: it has none
 * @need    threads 0: none was asked for. Receives the size that was chosen, and one register where there was none.
 * Returns  as mpk_occupancy_compute; out is as it was where that is false */
bool mpk_occupancy_of_kernel(const char *target, struct mpk_occupancy_need *need,
			     const uint32_t block[3], const uint32_t max_threads[3],
			     struct mpk_occupancy_kernel *out);

/* mpk_occupancy_percent - warps of max_warps, rounded to the nearest whole number */
unsigned mpk_occupancy_percent(const struct mpk_occupancy *o);

#endif
