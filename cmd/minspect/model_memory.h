/* SPDX-License-Identifier: Apache-2.0 */
/* model_memory.h - what --shape says */
#ifndef MPK_CMD_MINSPECT_MODEL_MEMORY_H
#define MPK_CMD_MINSPECT_MODEL_MEMORY_H

#include "minspect/minspect.h"
#include "program/memory.h"

/* minspect_extents - read --shape NAME=N
 * @out     views of the command line and arena
 * Returns  an exit status, after a message when it is not MPK_EXIT_OK */
int minspect_extents(const struct minspect_options *o, struct mpk_arena *arena,
		     struct mpk_memory_ask *out);

#endif
