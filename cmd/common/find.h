/* SPDX-License-Identifier: Apache-2.0 */
/* find.h - where compilers, plug-ins and the package tvm_ffi are */
#ifndef MPK_CMD_COMMON_FIND_H
#define MPK_CMD_COMMON_FIND_H

#include "base/arena.h"
#include "base/error.h"
#include "process/process.h"

/* mpk_compiler_find - the drivers of C and C++, as words: CC may be "ccache gcc"
 * @cc      as the user named it; NULL: $CC, else cc
 * @cxx     the same for C++; NULL: $CXX unless cc was named, else the one beside that of C
 * @arena   receives the words
 * Returns  MPK_OK; MPK_E_USAGE: a name of blanks; MPK_E_NOMEM */
enum mpk_code mpk_compiler_find(struct mpk_arena *arena, const char *cc, const char *cxx,
				struct mpk_words *cc_out, struct mpk_words *cxx_out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_libexec_find - a file or directory that is opened when it is needed
 * Looked for beside the program, in ../libexec: so it lies in the build tree and wherever
 * an installation was moved; else where it was to be installed.
 * @name    below libexec: "mpack/llvm.so"
 * Returns  a path in arena, which may turn out not to exist; NULL: memory is out */
const char *mpk_libexec_find(struct mpk_arena *arena, const char *name);

/* mpk_tvm_ffi_find - the paths at which libtvm_ffi.so may be; one of no environment need not exist
 * @arena   receives them
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_tvm_ffi_find(struct mpk_arena *arena, struct mpk_words *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tvm_headers_find - options that let a compiler find the headers of those environments, and of TVM's own
 * package in them, after all others; none for folders that are not there
 * @arena   receives them
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_tvm_headers_find(struct mpk_arena *arena, struct mpk_words *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

#endif
