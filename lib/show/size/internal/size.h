/* SPDX-License-Identifier: Apache-2.0 */
/* internal/size.h - what the files of --size have for one another */
#ifndef MPK_SIZE_INTERNAL_SIZE_H
#define MPK_SIZE_INTERNAL_SIZE_H

#include "size/size.h"

enum { MPK_SIZE_COPY_MIN = 64 }; /* shorter pieces are alike by chance, and not worth a line */

/* mpk_size_complete - fill in which of the parts, which are there already, have equal content, and the functions of host
 * code, of the symbol table or, of a stripped file, of what it exports
 * Returns  MPK_OK, also where symbols do not read: there are none then, and --verify says why; MPK_E_NOMEM */
enum mpk_code mpk_size_complete(const struct mpk_view *view, struct mpk_arena *arena,
				struct mpk_size *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
