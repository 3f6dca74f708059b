/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.h - OpenCL source as TVM's loader wants it: a program a kernel, after a line that names
 * the kernel (internal) */
#ifndef MPK_PACKAGE_INTERNAL_PIECES_H
#define MPK_PACKAGE_INTERNAL_PIECES_H

#include "base/rope.h"
#include "base/span.h"

/* mpk_pieces_put - append one kernel's line and its program
 * @source  borrowed until the rope is written; NULs at its end are left out */
void mpk_pieces_put(struct mpk_rope *rope, struct mpk_span kernel, struct mpk_span source);

#endif
