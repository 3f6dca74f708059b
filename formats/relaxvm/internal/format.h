/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - numbers of the format that reading and writing share (relaxvm/ only) */
#ifndef MPK_RELAXVM_INTERNAL_FORMAT_H
#define MPK_RELAXVM_INTERNAL_FORMAT_H

#include "relaxvm/relaxvm.h"

#define MPK_RELAX_MAGIC UINT64_C(0xD225DE2F4214151D)
#define MPK_RELAX_MAGIC_SCOPES UINT64_C(0xD225DE2F4214151E)

/* FORMAT.md 3: the same numbers mean different things in different generations */
extern const int32_t mpk_relax_tags[MPK_GENERATION_COUNT][MPK_RELAX_CONST_KINDS];

#endif
