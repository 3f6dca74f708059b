/* SPDX-License-Identifier: Apache-2.0 */
/* calls.h - the system calls that a process keeps in a sandbox; for this room only */
#ifndef MPK_SANDBOX_CALLS_H
#define MPK_SANDBOX_CALLS_H

#include <stdbool.h>

/* mpk_calls_restrict - to reading and writing files, memory that is not executable, threads, time
 * @runs_code  memory may be executable, and what runtimes of threads ask for is allowed, too
 * Returns  false where the system cannot */
bool mpk_calls_restrict(bool runs_code);

/* mpk_calls_known - whether it could */
bool mpk_calls_known(void);

#endif
