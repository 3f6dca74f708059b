/* SPDX-License-Identifier: Apache-2.0 */
/* calls.h - the system calls that a process keeps in a sandbox; for this room only */
#ifndef MPK_SANDBOX_INTERNAL_CALLS_H
#define MPK_SANDBOX_INTERNAL_CALLS_H

#include <stdbool.h>

#include "sandbox/sandbox.h"

/* mpk_calls_restrict - to reading and writing open files, memory that is not executable, threads, time; and
 * to what s says beside: files that appear, modes of those that are replaced, code
 * Returns  false where the system cannot */
bool mpk_calls_restrict(const struct mpk_sandbox *s);

/* mpk_calls_known - whether it could */
bool mpk_calls_known(void);

#endif
