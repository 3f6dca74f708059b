/* SPDX-License-Identifier: Apache-2.0 */
/* magic.h - the number that a stored tensor begins with */
#ifndef MPK_TENSOR_INTERNAL_MAGIC_H
#define MPK_TENSOR_INTERNAL_MAGIC_H

#define MPK_TENSOR_MAGIC UINT64_C(0xDD5E40F096B4A13F)

#endif
