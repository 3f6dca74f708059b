/* SPDX-License-Identifier: Apache-2.0 */
/* module_api.h - the functions that module code expects of its loader */
#ifndef MPK_RUNTIME_INTERNAL_MODULE_API_H
#define MPK_RUNTIME_INTERNAL_MODULE_API_H

#include "runtime/host.h"
#include "runtime/stub.h"
#include "value/module.h"

/* mpk_module_api - what the runtime stubs forward to and context pointers point at; static */
const struct mpk_stub_table *mpk_module_api(void);

/* mpk_module_api_fill - store our functions in the library's __TVM... pointers and the module in
 * its context symbol, as its loader is to do before any call */
void mpk_module_api_fill(struct mpk_host *host, struct mpk_module *context);

#endif
