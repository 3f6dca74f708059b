/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - how much of the system a process may take; for this room only */
#ifndef MPK_SANDBOX_INTERNAL_LIMITS_H
#define MPK_SANDBOX_INTERNAL_LIMITS_H

#include <stdint.h>

/* mpk_limits_set - no core dump, and with memory_bytes so much memory beyond what the process has, and files in
 * memory no larger; 0: as much as there is
 * mpk_limits_set_threads - not many; in a user namespace, as they are counted by user
 * Whoever may raise limits must be kept from it otherwise. */
void mpk_limits_set(uint64_t memory_bytes);
void mpk_limits_set_threads(void);

#endif
