/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.h - scratch memory of compiled functions: taken and given back on each
 * call */
#ifndef MPK_RUNTIME_INTERNAL_WORKSPACE_H
#define MPK_RUNTIME_INTERNAL_WORKSPACE_H

#include <stdint.h>

enum { MPK_WORKSPACE_ALIGN = 128 }; /* what the strictest release of TVM assumed */

/* mpk_workspace_alloc - memory on the CPU; NULL when there is none. Each thread keeps
 * what it freed for its next request; the thread's end frees it. */
void *mpk_workspace_alloc(uint64_t bytes);

/* mpk_workspace_free - from any thread; NULL is fine */
void mpk_workspace_free(void *data);

#endif
