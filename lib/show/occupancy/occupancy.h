/* SPDX-License-Identifier: Apache-2.0 */
/* occupancy.h - minspect occupancy: how many warps of each kernel a multiprocessor runs at once,
 * and what limits them */
#ifndef MPK_SHOW_OCCUPANCY_OCCUPANCY_H
#define MPK_SHOW_OCCUPANCY_OCCUPANCY_H

#include "answer/answer.h"
#include "code/occupancy.h"
#include "model/view.h"

struct mpk_occupancy_ask {
	uint32_t threads; /* threads of a block; 0: the kernel's own limit, or the best number */
	uint64_t dynamic; /* bytes of dynamic shared memory of a launch */
	/* "sm_86": compute for this device if it runs the code, instead of the code's target; NULL
	 * if not given */
	const char *device;
	bool by_block; /* also compute the occupancy for every block size */
};

struct mpk_occupancy_row {
	const char *path;     /* path of its module, "cubin:NAME", "gpu" */
	struct mpk_span name; /* not escaped */
	const char *target;   /* target of its code */
	const char *device;   /* device of the computation */
	uint32_t threads;     /* threads of a block */
	enum mpk_block_from block_from;
	uint32_t registers;    /* registers of a thread */
	uint64_t shared_bytes; /* shared memory of a block, including dynamic shared memory */
	uint32_t barriers;
	uint32_t blocks, warps, max_warps; /* for a multiprocessor (compute unit) */
	uint32_t percent;
	enum mpk_occupancy_limit limit;
	/* the smallest change that allows more warps; next is MPK_OCCUPANCY_NONE if none does */
	enum mpk_occupancy_limit next;
	uint64_t next_less;    /* reduction in registers or bytes */
	uint32_t next_threads; /* threads of a block, if next is MPK_OCCUPANCY_WARPS */
	uint32_t next_percent;
	/* if by_block was requested: percent with blocks of one warp, two warps, ... up to the
	 * device's maximum; else NULL */
	const uint8_t *by_block;
	size_t block_sizes;
	uint32_t warp_lanes; /* threads of a warp (wave) */
};

struct mpk_occupancy_list {
	const char *name; /* name of the file */
	/* sorted by occupancy, lowest first, then by device and name */
	const struct mpk_occupancy_row *items;
	size_t count;
	size_t untold;    /* kernels with unknown registers or device: PTX, sources, new devices */
	size_t elsewhere; /* kernels that do not run on the requested device */
};

/* mpk_occupancy_read - compute the occupancy of all kernels that the view's filter shows
 * @ask     borrowed by out
 * @arena   receives the rows
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_occupancy_read(const struct mpk_view *view, const struct mpk_occupancy_ask *ask,
				 struct mpk_arena *arena, struct mpk_occupancy_list *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* Printer of struct mpk_occupancy_list: a sentence and a table; "kernels" in JSON
 * (minspect-occupancy.schema.json) */
extern const struct mpk_answer mpk_answer_occupancy;

#endif
