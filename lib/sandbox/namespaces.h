/* SPDX-License-Identifier: Apache-2.0 */
/* namespaces.h - a view of the system that has nothing in it; for this room only */
#ifndef MPK_SANDBOX_NAMESPACES_H
#define MPK_SANDBOX_NAMESPACES_H

#include <stdbool.h>

/* mpk_namespaces_enter - user, network, IPC and mount namespaces of its own, and no capability in any
 * The process must have one thread.
 * Returns  false: the system does not let users have them */
bool mpk_namespaces_enter(void);

/* mpk_namespaces_known - whether it could; tried in a child process */
bool mpk_namespaces_known(void);

#endif
