/* SPDX-License-Identifier: Apache-2.0 */
/* spirv.h - whether two SPIR-V modules are one but for what only people and debuggers read */
#ifndef MPK_COMPARE_SPIRV_H
#define MPK_COMPARE_SPIRV_H

#include <stdbool.h>

#include "base/span.h"

/* mpk_spirv_same_code - whether two modules have the same instructions, but for names, source texts and
 * lines, and the number of the tool that wrote them
 * @a, @b   any bytes; what does not read is not the same */
bool mpk_spirv_same_code(struct mpk_span a, struct mpk_span b);

#endif
