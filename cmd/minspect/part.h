/* SPDX-License-Identifier: Apache-2.0 */
/* part.h - --show: one payload, kernel or tensor */
#ifndef MPK_CMD_MINSPECT_PART_H
#define MPK_CMD_MINSPECT_PART_H

#include "minspect/minspect.h"

int minspect_part(const struct minspect_options *o);

#endif
