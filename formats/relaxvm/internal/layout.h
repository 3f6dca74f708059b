/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - numbers that reader and writer of Relax VM executables share, and nobody else includes */
#ifndef MPK_RELAXVM_INTERNAL_LAYOUT_H
#define MPK_RELAXVM_INTERNAL_LAYOUT_H

#include "blob/blob.h"
#include "relaxvm/relaxvm.h"

#define MPK_RELAX_MAGIC UINT64_C(0xD225DE2F4214151D)
#define MPK_RELAX_MAGIC_SCOPES UINT64_C(0xD225DE2F4214151E)

/* FORMAT.md 3: what a generation has in front of a constant of each kind */
extern const int32_t mpk_relax_tags[MPK_GENERATION_COUNT][MPK_RELAX_CONST_KINDS];

#endif
