/* SPDX-License-Identifier: Apache-2.0 */
/* namespaces.h - a view of the system that has nothing in it; for this room only */
#ifndef MPK_SANDBOX_INTERNAL_NAMESPACES_H
#define MPK_SANDBOX_INTERNAL_NAMESPACES_H

#include "sandbox/sandbox.h"

/* mpk_namespaces_enter - user, network, IPC and mount namespaces of its own, with no file but what s says is
 * readable, nobody's user and group, and no capability in any
 * The process must have one thread.
 * @out     namespaces, own_user and own_root: which of it the system let this process have; the capabilities
 *          go in any case */
void mpk_namespaces_enter(const struct mpk_sandbox *s, struct mpk_sandbox_state *out);

/* mpk_namespaces_try - what it would have; tried in a child process */
void mpk_namespaces_try(struct mpk_sandbox_state *out);

#endif
