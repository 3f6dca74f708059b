/* SPDX-License-Identifier: Apache-2.0 */
/* open.h - opening the plug-in when it is needed */
#ifndef MPK_LLVM_OPEN_H
#define MPK_LLVM_OPEN_H

#include "base/error.h"
#include "llvm/llvm.h"

/* mpk_llvm_open - the functions of the plug-in at path; it stays open
 * Returns  MPK_OK; MPK_E_LOAD with the loader's reason and what to do */
enum mpk_code mpk_llvm_open(const char *path, const struct mpk_llvm **out,
			    struct mpk_error *err) MPK_MUST_CHECK;

#endif
