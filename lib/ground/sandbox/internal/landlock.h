/* SPDX-License-Identifier: Apache-2.0 */
/* landlock.h - files that a process keeps in a sandbox; for this room only */
#ifndef MPK_SANDBOX_INTERNAL_LANDLOCK_H
#define MPK_SANDBOX_INTERNAL_LANDLOCK_H

#include "sandbox/sandbox.h"

/* mpk_landlock_restrict - to what s says; sets no_new_privs
 * Returns  false where the system cannot, with nothing changed but that */
bool mpk_landlock_restrict(const struct mpk_sandbox *s);

/* mpk_landlock_scope - files stay as they are; but no process outside is signalled, however that is done, or
 * traced; sets no_new_privs unless the process may do without
 * Returns  false where the system cannot */
bool mpk_landlock_scope(void);

/* mpk_landlock_version - of the kernel's interface; 0: there is none */
int mpk_landlock_version(void);

#endif
