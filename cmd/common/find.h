/* SPDX-License-Identifier: Apache-2.0 */
/* find.h - finds compilers, plug-ins and the package tvm_ffi */
#ifndef MPK_CMD_COMMON_FIND_H
#define MPK_CMD_COMMON_FIND_H

#include "base/arena.h"
#include "base/error.h"
#include "process/process.h"

/* mpk_compiler_find - find the C and C++ compilers, as words: CC may be "ccache gcc"
 * @cc      the name that the user gave; NULL: $CC, else cc
 * @cxx     the same for C++; NULL: $CXX unless cc was given, else the compiler that belongs to the
 *          C compiler
 * @arena   receives the words
 * Returns  MPK_OK; MPK_E_USAGE: a name of blanks; MPK_E_NOMEM */
enum mpk_code mpk_compiler_find(struct mpk_arena *arena, const char *cc, const char *cxx,
				struct mpk_words *cc_out, struct mpk_words *cxx_out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_libexec_find - get the path of a file or directory in libexec
 * It is searched relative to the program, in ../libexec, as in the build tree and in a moved
 * installation; else it is the configured path.
 * @name    path below libexec: "mpack/llvm.so"
 * Returns  a path in arena, which may not exist; NULL if memory is out */
const char *mpk_libexec_find(struct mpk_arena *arena, const char *name);

/* mpk_tvm_ffi_find - list the possible paths of libtvm_ffi.so; those outside Python environments
 * may not exist
 * @arena   receives the paths
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_tvm_ffi_find(struct mpk_arena *arena, struct mpk_words *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tvm_headers_find - get compiler options that add the headers of those environments, and of
 * the TVM package in them, after all other folders; folders that do not exist are omitted
 * @arena   receives the options
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_tvm_headers_find(struct mpk_arena *arena, struct mpk_words *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

#endif
