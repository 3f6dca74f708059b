/* SPDX-License-Identifier: Apache-2.0 */
/* fork.h - what blocks.c does for fork.c */
#ifndef MPK_EXECUTOR_STATE_INTERNAL_FORK_H
#define MPK_EXECUTOR_STATE_INTERNAL_FORK_H

#include "executor/state/internal/blocks.h"

/* mpk_blocks_take_page - a free page
 * Returns  MPK_OK; MPK_E_RAISED: there is none */
enum mpk_code mpk_blocks_take_page(struct mpk_blocks *b, int32_t *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_blocks_take - a free block, empty and without a parent; blocks may move
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_blocks_take(struct mpk_blocks *b, int32_t *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_blocks_insert - a sequence that ends in a block; sequences may move
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_blocks_insert(struct mpk_blocks *b, int64_t id, int32_t last,
				struct mpk_error *err) MPK_MUST_CHECK;

#endif
