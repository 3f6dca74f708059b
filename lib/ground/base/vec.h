/* SPDX-License-Identifier: Apache-2.0 */
/* vec.h - growing a plain array held as pointer, count and capacity */
#ifndef MPK_BASE_VEC_H
#define MPK_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

/* mpk_vec_reserve - make room for need elements of size bytes in a malloc'ed array
 * @data    address of the array pointer (any object pointer type); NULL when empty
 * @cap     its capacity in elements; updated, as is *data
 * Returns  false when memory is out or the size overflows; the array is then unchanged */
bool mpk_vec_reserve(void *data, size_t *cap, size_t need, size_t size) MPK_MUST_CHECK;

#endif
