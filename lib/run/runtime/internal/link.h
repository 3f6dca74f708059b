/* SPDX-License-Identifier: Apache-2.0 */
/* link.h - the shared object of a library and everything it needs, opened */
#ifndef MPK_RUNTIME_INTERNAL_LINK_H
#define MPK_RUNTIME_INTERNAL_LINK_H

#include "base/error.h"
#include "runtime/host.h"

/* mpk_host_link - open what module code imports by name, then the library, then look whether
 * anything is missing; fills host->handle
 * Returns  as mpk_library_open */
enum mpk_code mpk_host_link(struct mpk_host *host, struct mpk_error *err) MPK_MUST_CHECK;

#endif
