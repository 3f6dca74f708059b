/* SPDX-License-Identifier: Apache-2.0 */
/* libexec.h - where the parts of an installed program are */
#ifndef MPK_CMD_COMMON_LIBEXEC_H
#define MPK_CMD_COMMON_LIBEXEC_H

#include "base/arena.h"

/* mpk_libexec_find - a file or directory that is opened when it is needed
 * Looked for beside the program, in ../libexec: so it lies in the build tree and wherever
 * an installation was moved; else where it was to be installed.
 * @name    below libexec: "mpack/llvm.so"
 * Returns  a path in arena, which may turn out not to exist; NULL: memory is out */
const char *mpk_libexec_find(struct mpk_arena *arena, const char *name);

#endif
