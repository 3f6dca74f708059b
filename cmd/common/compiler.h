/* SPDX-License-Identifier: Apache-2.0 */
/* compiler.h - which compilers both programs call */
#ifndef MPK_CMD_COMMON_COMPILER_H
#define MPK_CMD_COMMON_COMPILER_H

#include "base/arena.h"
#include "base/error.h"
#include "process/argv.h"

/* mpk_compiler_find - the drivers of C and C++, as words: CC may be "ccache gcc"
 * @cc      as the user named it; NULL: $CC, else cc
 * @cxx     likewise; NULL: $CXX unless cc was named, else the one beside that of C
 * @arena   receives the words
 * Returns  MPK_OK; MPK_E_USAGE: a name of blanks; MPK_E_NOMEM */
enum mpk_code mpk_compiler_find(struct mpk_arena *arena, const char *cc, const char *cxx,
				struct mpk_words *cc_out, struct mpk_words *cxx_out,
				struct mpk_error *err) MPK_MUST_CHECK;

#endif
