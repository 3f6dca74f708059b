/* SPDX-License-Identifier: Apache-2.0 */
/* magic.h - the number that a parameter file begins with */
#ifndef MPK_FORMATS_PARAMS_MAGIC_H
#define MPK_FORMATS_PARAMS_MAGIC_H

#define MPK_PARAMS_MAGIC UINT64_C(0xF7E58D4F05049CB7)

#endif
