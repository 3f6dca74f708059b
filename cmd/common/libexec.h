/* libexec.h - where the parts of an installed program are */
#ifndef MPK_CMD_COMMON_LIBEXEC_H
#define MPK_CMD_COMMON_LIBEXEC_H

#include "base/arena.h"

/* mpk_libexec_find - a file or directory that is opened when it is needed
 * Looked for beside the program, in ../libexec: so it lies in the build tree and wherever
 * an installation was moved; else where it was to be installed.
 * @name     below libexec: "mpack/llvm.so"
 * @fallback  the path in the installation; static storage
 * Returns   a path in arena or fallback; whether it can be opened is seen then */
const char *mpk_libexec_find(struct mpk_arena *arena, const char *name, const char *fallback);

#endif
