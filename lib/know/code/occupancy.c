/* SPDX-License-Identifier: Apache-2.0 */
/* occupancy.c - occupancy: the limits of each architecture as rows; the smallest result counts. */
#include "code/occupancy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

enum {
	WARP = 32,
	NVIDIA_BLOCK = 1024, /* threads of a block, from compute capability 2.0 on */
	REGISTER_UNIT = 256, /* a warp is allocated registers in units of this many */
	AMD_BLOCK = 1024,    /* work items of a work group */
	AMD_SGPR_UNIT = 16,
	KIB = 1024,
};

/* --- NVIDIA --- */

/* One compute capability. Sources: CUDA C++ Programming Guide, release 13.0, "Compute
 * Capabilities", tables of technical specifications; for 3.5 to 6.2 the same chapter of release
 * 11.8. */
struct nvidia_row {
	unsigned sm;                  /* 90 for 9.0 */
	uint16_t warps, blocks;       /* most warps and blocks of a multiprocessor */
	uint16_t registers_kib;       /* 32-bit registers of a multiprocessor, in units of 1024 */
	uint16_t block_registers_kib; /* most of them for one block */
	uint16_t shared_kib;          /* shared memory of a multiprocessor */
	uint16_t block_shared_kib; /* most of it for one block that asks for more than the usual 48
				   * KiB */
	uint8_t reserved_kib;      /* taken by the driver for each block */
	uint8_t partitions;        /* parts that divide the registers */
	uint16_t shared_unit;      /* allocation unit of shared memory in bytes */
	uint16_t barriers; /* barriers of a multiprocessor; 0: as many as its blocks can use */
};

static const struct nvidia_row nvidia_rows[] = {
	{ 35, 64, 16, 64, 64, 48, 48, 0, 4, 256, 0 },
	{ 37, 64, 16, 128, 64, 112, 48, 0, 4, 256, 0 },
	{ 50, 64, 32, 64, 64, 64, 48, 0, 4, 256, 0 },
	{ 52, 64, 32, 64, 64, 96, 48, 0, 4, 256, 0 },
	{ 53, 64, 32, 64, 32, 64, 48, 0, 4, 256, 0 },
	{ 60, 64, 32, 64, 64, 64, 48, 0, 2, 256, 0 },
	{ 61, 64, 32, 64, 64, 96, 48, 0, 4, 256, 0 },
	{ 62, 64, 32, 64, 32, 64, 48, 0, 4, 256, 0 },
	{ 70, 64, 32, 64, 64, 96, 96, 0, 4, 256, 0 },
	{ 72, 64, 32, 64, 64, 96, 96, 0, 4, 256, 0 },
	{ 75, 32, 16, 64, 64, 64, 64, 0, 4, 256, 0 },
	{ 80, 64, 32, 64, 64, 164, 163, 1, 4, 128, 0 },
	{ 86, 48, 16, 64, 64, 100, 99, 1, 4, 128, 0 },
	{ 87, 48, 16, 64, 64, 164, 163, 1, 4, 128, 0 },
	{ 88, 48, 16, 64, 64, 100, 99, 1, 4, 128, 0 },
	{ 89, 48, 24, 64, 64, 100, 99, 1, 4, 128, 0 },
	{ 90, 64, 32, 64, 64, 228, 227, 1, 4, 128, 64 },
	{ 100, 64, 32, 64, 64, 228, 227, 1, 4, 128, 64 },
	{ 101, 48, 24, 64, 64, 228, 227, 1, 4, 128, 24 },
	{ 103, 64, 32, 64, 64, 228, 227, 1, 4, 128, 64 },
	{ 110, 48, 24, 64, 64, 228, 227, 1, 4, 128, 24 },
	{ 120, 48, 24, 64, 64, 100, 99, 1, 4, 128, 24 },
	{ 121, 48, 24, 64, 64, 100, 99, 1, 4, 128, 24 },
};

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static const struct nvidia_row *nvidia_row_of(const char *target)
{
	char *end;

	if (strncmp(target, "sm_", 3) != 0)
		return NULL;
	unsigned long sm = strtoul(target + 3, &end, 10);

	for (size_t i = 0; i < MPK_ARRAY_COUNT(nvidia_rows); i++)
		if (nvidia_rows[i].sm == sm && (!*end || (strchr("af", *end) && !end[1])))
			return &nvidia_rows[i];
	return NULL;
}

/* A warp gets all its registers from one partition, and a block has warps in all partitions. */
static uint64_t blocks_by_registers(const struct nvidia_row *row, uint32_t registers,
				    uint32_t warps, unsigned partitions)
{
	uint64_t warp_registers = round_up((uint64_t)registers * WARP, REGISTER_UNIT);
	uint32_t most = row->sm < 70 ? 255 : 256;

	/* The hardware rounds the warps of a block up to a multiple of the partitions before it compares
	 * with the limit of a block. */
	if (registers > most ||
	    warp_registers * round_up(warps, partitions) > (uint64_t)row->block_registers_kib * KIB)
		return 0;

	uint64_t partition_registers = (uint64_t)row->registers_kib * KIB / partitions;

	return partition_registers / warp_registers * partitions / warps;
}

static bool nvidia_compute(const struct nvidia_row *row, const struct mpk_occupancy_need *need,
			   struct mpk_occupancy *out)
{
	uint32_t warps = (uint32_t)(((uint64_t)need->threads + WARP - 1) / WARP);
	uint64_t shared =
		round_up(need->shared_bytes + (uint64_t)row->reserved_kib * KIB, row->shared_unit);
	uint64_t limits[] = {
		[MPK_OCCUPANCY_NONE] = UINT64_MAX,
		[MPK_OCCUPANCY_WARPS] = need->threads > NVIDIA_BLOCK ? 0 : row->warps / warps,
		[MPK_OCCUPANCY_BLOCKS] = row->blocks,
		[MPK_OCCUPANCY_REGISTERS] =
			blocks_by_registers(row, need->registers, warps, row->partitions),
		[MPK_OCCUPANCY_SHARED] = UINT64_MAX,
		[MPK_OCCUPANCY_BARRIERS] = UINT64_MAX,
	};

	/* CUDA treats the Pascal family alike: GP100 does not launch what no GP10x can launch. */
	if (row->sm == 60 && !blocks_by_registers(row, need->registers, warps, 4))
		limits[MPK_OCCUPANCY_REGISTERS] = 0;
	if (shared > ((uint64_t)row->block_shared_kib + row->reserved_kib) * KIB)
		limits[MPK_OCCUPANCY_SHARED] = 0;
	else if (shared)
		limits[MPK_OCCUPANCY_SHARED] = (uint64_t)row->shared_kib * KIB / shared;
	if (row->barriers && need->barriers)
		limits[MPK_OCCUPANCY_BARRIERS] = row->barriers / need->barriers;

	*out = (struct mpk_occupancy){ .max_warps = row->warps, .warp_lanes = WARP };
	for (size_t i = 1; i < MPK_ARRAY_COUNT(limits); i++)
		if (limits[i] < limits[out->limit])
			out->limit = (enum mpk_occupancy_limit)i;
	out->blocks = (uint32_t)limits[out->limit];
	out->warps = out->blocks * warps;
	return true;
}

/* --- AMD --- */

/* A family of AMD GPUs. Sources: LLVM's AMDGPU target (getTotalNumVGPRs, getVGPRAllocGranule),
 * whose table the HIP runtime uses; waves, SIMD units and scalar registers: HIP's
 * hipOccupancyMaxActiveBlocksPerMultiprocessor. Vector registers are counted for waves of 64 lanes
 * up to gfx9, of 32 lanes from gfx10 on. */
struct amd_row {
	const char *prefix; /* prefix of target names; the first row that fits counts */
	uint16_t waves;     /* most waves of a SIMD unit */
	uint16_t simds;     /* SIMD units of a compute unit */
	uint16_t vgprs, vgpr_unit;
	uint16_t sgprs; /* scalar registers of a SIMD unit; 0: each wave has its own */
	uint16_t lds_kib;
	uint8_t lanes; /* lanes of a wave, unless the code says otherwise */
};

static const struct amd_row amd_rows[] = {
	{ "gfx7", 8, 4, 256, 4, 512, 64, 64 },
	{ "gfx8", 8, 4, 256, 4, 800, 64, 64 },
	{ "gfx90a", 8, 4, 512, 8, 800, 64, 64 },
	{ "gfx94", 8, 4, 512, 8, 800, 64, 64 },
	{ "gfx950", 8, 4, 512, 8, 800, 160, 64 },
	{ "gfx9-4-generic", 8, 4, 512, 8, 800, 64, 64 },
	{ "gfx9", 8, 4, 256, 4, 800, 64, 64 },
	{ "gfx101", 16, 2, 1024, 8, 0, 64, 32 },
	{ "gfx10-1-generic", 16, 2, 1024, 8, 0, 64, 32 },
	{ "gfx10", 16, 2, 1024, 16, 0, 64, 32 },
	{ "gfx1100", 16, 2, 1536, 24, 0, 64, 32 },
	{ "gfx1101", 16, 2, 1536, 24, 0, 64, 32 },
	{ "gfx1151", 16, 2, 1536, 24, 0, 64, 32 },
	{ "gfx11", 16, 2, 1024, 16, 0, 64, 32 },
	{ "gfx120", 16, 2, 1536, 24, 0, 64, 32 },
	{ "gfx12-generic", 16, 2, 1536, 24, 0, 64, 32 },
};

static const struct amd_row *amd_row_of(const char *target)
{
	for (size_t i = 0; i < MPK_ARRAY_COUNT(amd_rows); i++)
		if (strncmp(target, amd_rows[i].prefix, strlen(amd_rows[i].prefix)) == 0)
			return &amd_rows[i];
	return NULL;
}

static bool amd_compute(const struct amd_row *row, const struct mpk_occupancy_need *need,
			struct mpk_occupancy *out)
{
	uint32_t lanes = need->wavefront ? need->wavefront : row->lanes;
	/* a register of 64 lanes takes the space of two of 32 */
	unsigned halves = row->lanes == 32 && lanes == 64 ? 2 : 1;
	uint64_t by_vgprs =
		row->vgprs / halves / round_up(need->registers, row->vgpr_unit / halves);
	uint64_t by_sgprs = row->sgprs && need->sgprs
				    ? row->sgprs / round_up(need->sgprs, AMD_SGPR_UNIT)
				    : UINT64_MAX;
	unsigned simds = row->simds * (need->whole_work_groups && row->lanes == 32 ? 2U : 1U);
	uint64_t block_waves = ((uint64_t)need->threads + lanes - 1) / lanes;
	uint64_t limits[] = {
		[MPK_OCCUPANCY_NONE] = UINT64_MAX,
		[MPK_OCCUPANCY_WARPS] =
			need->threads > AMD_BLOCK ? 0 : (uint64_t)simds * row->waves / block_waves,
		[MPK_OCCUPANCY_BLOCKS] = UINT64_MAX,
		[MPK_OCCUPANCY_REGISTERS] =
			simds * (by_vgprs < by_sgprs ? by_vgprs : by_sgprs) / block_waves,
		[MPK_OCCUPANCY_SHARED] = need->shared_bytes
						 ? (uint64_t)row->lds_kib * KIB / need->shared_bytes
						 : UINT64_MAX,
		[MPK_OCCUPANCY_BARRIERS] = UINT64_MAX,
	};

	*out = (struct mpk_occupancy){ .max_warps = simds * row->waves, .warp_lanes = lanes };
	for (size_t i = 1; i < MPK_ARRAY_COUNT(limits); i++)
		if (limits[i] < limits[out->limit])
			out->limit = (enum mpk_occupancy_limit)i;
	out->blocks = (uint32_t)limits[out->limit];
	out->warps = (uint32_t)(out->blocks * block_waves);
	return true;
}

/* --- both --- */

bool mpk_occupancy_compute(const char *target, const struct mpk_occupancy_need *need,
			   struct mpk_occupancy *out)
{
	const struct nvidia_row *nvidia = nvidia_row_of(target);
	const struct amd_row *amd = nvidia ? NULL : amd_row_of(target);

	if (!need->threads || !need->registers || (!nvidia && !amd))
		return false;
	bool known = nvidia ? nvidia_compute(nvidia, need, out) : amd_compute(amd, need, out);

	if (known && out->warps == out->max_warps)
		out->limit = MPK_OCCUPANCY_NONE;
	return known;
}

uint32_t mpk_occupancy_max_threads(const char *target)
{
	return nvidia_row_of(target) ? NVIDIA_BLOCK : amd_row_of(target) ? AMD_BLOCK : 0;
}

uint32_t mpk_occupancy_best_block(const char *target, const struct mpk_occupancy_need *need,
				  uint32_t max_threads, struct mpk_occupancy *out)
{
	struct mpk_occupancy_need at = *need;
	uint32_t best = 0, most = mpk_occupancy_max_threads(target);

	if (max_threads && max_threads < most)
		most = max_threads;
	at.threads = 1;
	if (!most || !mpk_occupancy_compute(target, &at, out))
		return 0;
	for (uint32_t lanes = out->warp_lanes, n = lanes; n <= most; n += lanes) {
		struct mpk_occupancy now = { 0 };

		at.threads = n;
		(void)mpk_occupancy_compute(target, &at, &now);
		if (now.blocks && (!best || now.warps > out->warps)) {
			*out = now;
			best = n;
		}
	}
	return best;
}

/* Whether this many registers a thread, or bytes of shared memory a block, allow more warps than
 * now. */
static bool holds_more(const char *target, const struct mpk_occupancy_need *need,
		       const struct mpk_occupancy *now, uint64_t amount, struct mpk_occupancy *then)
{
	struct mpk_occupancy_need less = *need;

	if (now->limit == MPK_OCCUPANCY_REGISTERS)
		less.registers = (uint32_t)amount;
	else
		less.shared_bytes = amount;
	return mpk_occupancy_compute(target, &less, then) && then->warps > now->warps;
}

void mpk_occupancy_next(const char *target, const struct mpk_occupancy_need *need, bool fixed_block,
			uint32_t max_threads, struct mpk_occupancy_step *out)
{
	struct mpk_occupancy now, then;

	*out = (struct mpk_occupancy_step){ .what = MPK_OCCUPANCY_NONE };
	if (!mpk_occupancy_compute(target, need, &now))
		return;
	if (now.limit == MPK_OCCUPANCY_REGISTERS || now.limit == MPK_OCCUPANCY_SHARED) {
		/* Fewer registers or bytes never allow fewer blocks, so the largest number that allows one more
		 * block is found by halving: a file may state billions. */
		bool of_registers = now.limit == MPK_OCCUPANCY_REGISTERS;
		const uint64_t claimed = of_registers ? need->registers : need->shared_bytes;
		uint64_t low = of_registers ? 1 : 0, high = claimed;

		if (!holds_more(target, need, &now, low, &then))
			return;
		while (high - low > 1) {
			uint64_t middle = low + (high - low) / 2;

			if (holds_more(target, need, &now, middle, &then))
				low = middle;
			else
				high = middle;
		}
		(void)holds_more(target, need, &now, low, &then);
		*out = (struct mpk_occupancy_step){ .what = now.limit,
						    .less = claimed - low,
						    .then = then };
	} else if (now.limit != MPK_OCCUPANCY_NONE && !fixed_block) {
		uint32_t best = mpk_occupancy_best_block(target, need, max_threads, &then);

		if (best && then.warps > now.warps)
			*out = (struct mpk_occupancy_step){ .what = MPK_OCCUPANCY_WARPS,
							    .threads = best,
							    .then = then };
	}
}

unsigned mpk_occupancy_percent(const struct mpk_occupancy *o)
{
	return o->max_warps ? (o->warps * 100 + o->max_warps / 2) / o->max_warps : 0;
}

const char *const mpk_block_from_words[] = {
	[MPK_BLOCK_GIVEN] = "given",
	[MPK_BLOCK_REQUIRED] = "required",
	[MPK_BLOCK_BOUND] = "bound",
	[MPK_BLOCK_BEST] = "best",
};

const char *const mpk_occupancy_limit_words[] = {
	[MPK_OCCUPANCY_NONE] = "none",     [MPK_OCCUPANCY_WARPS] = "warps",
	[MPK_OCCUPANCY_BLOCKS] = "blocks", [MPK_OCCUPANCY_REGISTERS] = "registers",
	[MPK_OCCUPANCY_SHARED] = "shared", [MPK_OCCUPANCY_BARRIERS] = "barriers",
};

static uint32_t product(const uint32_t n[3])
{
	uint64_t all = (uint64_t)n[0] * n[1];

	all = all > UINT32_MAX ? UINT32_MAX : all * n[2];
	return all > UINT32_MAX ? UINT32_MAX : (uint32_t)all;
}

bool mpk_occupancy_of_kernel(const char *target, struct mpk_occupancy_need *need,
			     const uint32_t block[3], const uint32_t max_threads[3],
			     struct mpk_occupancy_kernel *out)
{
	uint32_t bound = product(max_threads), required = product(block);
	uint32_t most = mpk_occupancy_max_threads(target);
	struct mpk_occupancy_kernel k = { .block_from = need->threads ? MPK_BLOCK_GIVEN
							: required    ? MPK_BLOCK_REQUIRED
								      : MPK_BLOCK_BOUND };

	/* AMD's compilers store the limit of the device if a kernel has no bound. */
	if (bound >= most)
		bound = 0;
	/* A kernel without registers still gets the smallest allocation. */
	if (!need->registers)
		need->registers = 1;
	if (!need->threads)
		need->threads = required ? required : bound;
	if (!need->threads) {
		k.block_from = MPK_BLOCK_BEST;
		need->threads = mpk_occupancy_best_block(target, need, 0, &k.now);
		/* No block size can be launched; the smallest one shows why. */
		if (!need->threads)
			need->threads = k.now.warp_lanes ? k.now.warp_lanes : 1;
	}
	if (!mpk_occupancy_compute(target, need, &k.now))
		return false;
	k.threads = need->threads;
	k.percent = mpk_occupancy_percent(&k.now);
	*out = k;
	return true;
}
