/* SPDX-License-Identifier: Apache-2.0 */
/* root.h - a file system that has nothing in it but what a process keeps; for this room only */
#ifndef MPK_SANDBOX_INTERNAL_ROOT_H
#define MPK_SANDBOX_INTERNAL_ROOT_H

#include <stdbool.h>

#include "sandbox/sandbox.h"

/* mpk_root_change - to one in memory, with what s says is readable at the same paths, not to be written, and the
 * current folder, which is empty
 * In a mount namespace of the process's own, with the right to mount.
 * @is_own_user  the namespace has users of its own: then no mount made in it is seen outside
 * Returns  false: the system does not let it; what is visible stays as it is */
bool mpk_root_change(const struct mpk_sandbox *s, bool is_own_user);

#endif
