/* SPDX-License-Identifier: Apache-2.0 */
/* module_api.h - the functions that module code expects of its loader, and how it gets them */
#ifndef MPK_RUNTIME_INTERNAL_MODULE_API_H
#define MPK_RUNTIME_INTERNAL_MODULE_API_H

#include <stdbool.h>

#include "base/error.h"
#include "runtime/host.h"
#include "runtime/stub.h"
#include "value/module.h"

/* mpk_module_api - what the runtime stubs forward to and context pointers point at; static */
const struct mpk_stub_table *mpk_module_api(void);

/* mpk_host_link - open what module code imports by name, then the library, then look whether
 * anything is missing; fills host->handle
 * Returns  as mpk_library_open */
enum mpk_code mpk_host_link(struct mpk_host *host, struct mpk_error *err) MPK_MUST_CHECK;

#define MPK_TVM_FFI_SONAME "libtvm_ffi.so"

/* mpk_tvm_ffi_global - a function of the real registry, as a handle that is never given
 * back; false when there is no real library or it has none of that name */
bool mpk_tvm_ffi_global(const char *name, void **out);

#endif
