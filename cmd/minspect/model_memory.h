/* SPDX-License-Identifier: Apache-2.0 */
/* model_memory.h - parses --shape */
#ifndef MPK_CMD_MINSPECT_MODEL_MEMORY_H
#define MPK_CMD_MINSPECT_MODEL_MEMORY_H

#include "minspect/minspect.h"
#include "program/memory.h"

/* minspect_extents - parse --shape NAME=N
 * @out     refers to the command line and to arena
 * Returns  an exit status, after a message if it is not MPK_EXIT_OK */
int minspect_extents(const struct minspect_options *o, struct mpk_arena *arena,
		     struct mpk_memory_ask *out);

#endif
