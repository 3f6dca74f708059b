/* SPDX-License-Identifier: Apache-2.0 */
/* occupancy.h - minspect occupancy: how many warps of each kernel a multiprocessor runs at once, and what limits them */
#ifndef MPK_SHOW_OCCUPANCY_OCCUPANCY_H
#define MPK_SHOW_OCCUPANCY_OCCUPANCY_H

#include "answer/answer.h"
#include "code/occupancy.h"
#include "model/view.h"

struct mpk_occupancy_ask {
	uint32_t threads; /* of a block; 0: what each kernel says, or the best */
	uint64_t dynamic; /* bytes of shared memory that a launch adds */
	const char *
		device; /* "sm_86": instead of the one that the code is for, where that code runs on it; NULL: none */
	bool by_block; /* of each kernel what holds for every size of a block, too */
};

struct mpk_occupancy_row {
	const char *path;     /* of its module, "cubin:NAME", "gpu" */
	struct mpk_span name; /* not escaped */
	const char *target;   /* that its code is for */
	const char *device;   /* that was computed for */
	uint32_t threads;     /* of a block */
	enum mpk_block_from block_from;
	uint32_t registers;    /* of a thread */
	uint64_t shared_bytes; /* of a block, with what a launch adds */
	uint32_t barriers;
	uint32_t blocks, warps, max_warps; /* of a multiprocessor (compute unit) */
	uint32_t percent;
	enum mpk_occupancy_limit limit;
	/* the least change that runs more warps; next is MPK_OCCUPANCY_NONE without one */
	enum mpk_occupancy_limit next;
	uint64_t next_less;    /* registers or bytes */
	uint32_t next_threads; /* of a block, when next is MPK_OCCUPANCY_WARPS */
	uint32_t next_percent;
	/* asked for by by_block: percent with blocks of one warp, of two, ... as large as the device allows; else none */
	const uint8_t *by_block;
	size_t block_sizes;
	uint32_t warp_lanes; /* threads of a warp (wave) */
};

struct mpk_occupancy_list {
	const char *name;                      /* the file */
	const struct mpk_occupancy_row *items; /* the lowest first, then by device and name */
	size_t count;
	size_t untold; /* kernels whose registers or device are not known: PTX, sources, new devices */
	size_t elsewhere; /* kernels that do not run on the device that was asked for */
};

/* mpk_occupancy_read - compute for all kernels of a file, those that a filter of the view leaves
 * @ask     borrowed by out
 * @arena   receives the rows
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_occupancy_read(const struct mpk_view *view, const struct mpk_occupancy_ask *ask,
				 struct mpk_arena *arena, struct mpk_occupancy_list *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* of struct mpk_occupancy_list: a sentence and a table; "kernels" in JSON (minspect-occupancy.schema.json) */
extern const struct mpk_answer mpk_answer_occupancy;

#endif
