/* SPDX-License-Identifier: Apache-2.0 */
/* internal/size.h - declarations shared by --size */
#ifndef MPK_SIZE_INTERNAL_SIZE_H
#define MPK_SIZE_INTERNAL_SIZE_H

#include "size/size.h"

enum { MPK_SIZE_COPY_MIN = 64 }; /* bytes; shorter pieces are often equal by chance */

/* mpk_size_complete - find the parts with equal content (parts must be filled in), and list the
 * functions of host code from the symbol table, or from the exports of a stripped file
 * Returns  MPK_OK, also if symbols cannot be read: then there are none, and --verify says why;
 *          MPK_E_NOMEM */
enum mpk_code mpk_size_complete(const struct mpk_view *view, struct mpk_arena *arena,
				struct mpk_size *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
