/* SPDX-License-Identifier: Apache-2.0 */
/* occupancy.h - how many blocks of a kernel a multiprocessor runs at once, and which resource
 * limits it
 *
 * Computed from figures in the code: no GPU and no driver is asked. For NVIDIA the limits of each
 * compute capability are those of the CUDA C++ Programming Guide, "Technical Specifications per
 * Compute Capability", and the rules are those that CUDA publishes in cuda_occupancy.h; a test
 * compares with that header. For AMD the rules are those of
 * hipOccupancyMaxActiveBlocksPerMultiprocessor, and the sizes of register files those of LLVM's
 * AMDGPU target.
 *
 * A result is an upper bound: clusters and other kernels may leave less. */
#ifndef MPK_CODE_OCCUPANCY_H
#define MPK_CODE_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

/* The resources that a kernel needs of a multiprocessor (compute unit). */
struct mpk_occupancy_need {
	uint32_t threads;   /* threads of a block, at least 1 */
	uint32_t registers; /* registers of a thread; AMD: VGPRs of a lane, accumulators included */
	uint32_t sgprs;     /* AMD: scalar registers of a wave; 0: none or not known */
	uint64_t shared_bytes;  /* shared memory of a block, static and dynamic */
	uint32_t barriers;      /* barriers of a block */
	uint32_t wavefront;     /* AMD: lanes of a wave, 32 or 64; 0: the device's default */
	bool whole_work_groups; /* AMD from gfx10 on: a block may use both compute units of a work
				 * group processor (WGP mode), so their resources count together */
};

enum mpk_occupancy_limit {
	MPK_OCCUPANCY_NONE, /* no limit: all warps are in use */
	MPK_OCCUPANCY_WARPS,
	MPK_OCCUPANCY_BLOCKS,
	MPK_OCCUPANCY_REGISTERS,
	MPK_OCCUPANCY_SHARED,
	MPK_OCCUPANCY_BARRIERS,
};

struct mpk_occupancy {
	uint32_t blocks;     /* blocks that run at once; 0: a launch fails */
	uint32_t warps;      /* warps of all these blocks */
	uint32_t max_warps;  /* most warps of a multiprocessor */
	uint32_t warp_lanes; /* threads of a warp (wave): 32 or 64 */
	enum mpk_occupancy_limit
		limit; /* the scarcest resource; MPK_OCCUPANCY_NONE when warps == max_warps */
};

/* mpk_occupancy_compute - how many blocks of a kernel one multiprocessor runs at once
 * @target  "sm_90a", "gfx90a:xnack+"
 * Returns  false: the device is not known, or a figure that its rules need is missing (registers of
 *          0) */
bool mpk_occupancy_compute(const char *target, const struct mpk_occupancy_need *need,
			   struct mpk_occupancy *out);

/* mpk_occupancy_max_threads - the most threads that a block of any kernel may have on this device; 0: it is not known */
uint32_t mpk_occupancy_max_threads(const char *target);

/* mpk_occupancy_best_block - the smallest block size, in whole warps, at which the most warps run
 * at once
 * @max_threads of a block; 0: as many as the device allows
 * @out     receives the occupancy at that size
 * Returns  threads of the block; 0: as mpk_occupancy_compute, or no block of any size can be
 *          launched */
uint32_t mpk_occupancy_best_block(const char *target, const struct mpk_occupancy_need *need,
				  uint32_t max_threads, struct mpk_occupancy *out);

/* The smallest change of one resource with which more warps run at once. */
struct mpk_occupancy_step {
	enum mpk_occupancy_limit
		what;     /* REGISTERS, SHARED or WARPS; MPK_OCCUPANCY_NONE: no change helps */
	uint64_t less;    /* registers of a thread, or bytes of a block, to save */
	uint32_t threads; /* WARPS: a block size at which more warps run */
	struct mpk_occupancy then; /* the occupancy after the change */
};

/* mpk_occupancy_next - find the smallest change with which more warps run at once
 * @fixed_block the kernel requires its block size, so it cannot change
 * @max_threads of a block, as for mpk_occupancy_best_block */
void mpk_occupancy_next(const char *target, const struct mpk_occupancy_need *need, bool fixed_block,
			uint32_t max_threads, struct mpk_occupancy_step *out);

/* Where the block size comes from. */
enum mpk_block_from {
	MPK_BLOCK_GIVEN,    /* the caller */
	MPK_BLOCK_REQUIRED, /* the kernel requires it */
	MPK_BLOCK_BOUND,    /* the launch bound of the kernel */
	MPK_BLOCK_BEST,     /* nothing gives one: the size at which the most warps run */
};

/* The names of the enumerators in JSON: "best", "registers". */
extern const char *const mpk_block_from_words[], *const mpk_occupancy_limit_words[];

struct mpk_occupancy_kernel {
	uint32_t threads; /* threads of a block */
	enum mpk_block_from block_from;
	uint32_t percent;
	struct mpk_occupancy now;
};

/* mpk_occupancy_of_kernel - choose a block size and compute the occupancy. The size is the one that
 * the caller asks for, else the one that the kernel requires, else its launch bound, else the one
 * at which the most warps run
 * @block   the size that the kernel requires; zeros: none
 * @max_threads the product is the launch bound; zeros: none
 * @need    threads 0: the caller asks for no size. Receives the chosen size, and one register if it
 *          has none.
 * Returns  as mpk_occupancy_compute; on false out is unchanged */
bool mpk_occupancy_of_kernel(const char *target, struct mpk_occupancy_need *need,
			     const uint32_t block[3], const uint32_t max_threads[3],
			     struct mpk_occupancy_kernel *out);

/* mpk_occupancy_percent - warps as a share of max_warps, rounded to the nearest whole percent */
unsigned mpk_occupancy_percent(const struct mpk_occupancy *o);

#endif
