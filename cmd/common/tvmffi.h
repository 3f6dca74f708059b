/* SPDX-License-Identifier: Apache-2.0 */
/* tvmffi.h - where Python environments keep the package tvm_ffi: its library, its headers */
#ifndef MPK_CMD_COMMON_TVMFFI_H
#define MPK_CMD_COMMON_TVMFFI_H

#include "base/arena.h"
#include "base/error.h"
#include "process/argv.h"

/* mpk_tvm_ffi_find - the paths at which libtvm_ffi.so may be; one of no environment need not exist
 * @arena   receives them
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_tvm_ffi_find(struct mpk_arena *arena, struct mpk_words *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tvm_headers_find - options that let a compiler find the headers of those environments, and of TVM's own
 * package in them, behind all others; none for folders that are not there
 * @arena   receives them
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_tvm_headers_find(struct mpk_arena *arena, struct mpk_words *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

#endif
