/* SPDX-License-Identifier: Apache-2.0 */
/* tvm_ffi.h - the real libtvm_ffi.so, for libraries that bring it
 *
 * Two implementations of one C API must not meet in a process: when a library needs the
 * real one, our runtime stub of it stays out and calls go through the real functions.
 */
#ifndef MPK_RUNTIME_INTERNAL_TVM_FFI_H
#define MPK_RUNTIME_INTERNAL_TVM_FFI_H

#include <stdbool.h>

#include "base/error.h"
#include "runtime/host.h"

#define MPK_TVM_FFI_SONAME "libtvm_ffi.so"

/* mpk_tvm_ffi_is_needed - whether the library itself names it, or imports functions of
 * tvm-ffi that only the real one has */
bool mpk_tvm_ffi_is_needed(const struct mpk_host_code *code);

/* mpk_tvm_ffi_is_loaded - whether it is in this process */
bool mpk_tvm_ffi_is_loaded(void);

/* mpk_tvm_ffi_open - find it, open it for all, and use it from now on
 * Returns  MPK_OK; MPK_E_LOAD: not found, with every place that was tried and how to get
 *          it, or one whose C API is not the one we know */
enum mpk_code mpk_tvm_ffi_open(const struct mpk_tvm_ffi_search *search,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_tvm_ffi_global - a function of the real registry, as a handle that is never given
 * back; false when there is no real library or it has none of that name */
bool mpk_tvm_ffi_global(const char *name, void **out);

#endif
