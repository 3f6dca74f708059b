/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - what the files of this room do for each other: system calls, signals, namespaces and
 * capabilities that a process gives up */
#ifndef MPK_SANDBOX_INTERNAL_PARTS_H
#define MPK_SANDBOX_INTERNAL_PARTS_H

#include <stdbool.h>

#include "sandbox/sandbox.h"

/* mpk_calls_restrict - to reading and writing open files, memory that is not executable, threads, time; and
 * to what s adds: files that appear, modes of those that are replaced, code
 * Returns  false where the system cannot */
bool mpk_calls_restrict(const struct mpk_sandbox *s);

/* mpk_calls_known - whether mpk_calls_restrict would work here */
bool mpk_calls_known(void);

/* mpk_landlock_scope - files stay as they are; but no process outside is signalled, however that is done, or
 * traced; sets no_new_privs unless the process may do without
 * Returns  false where the system cannot */
bool mpk_landlock_scope(void);

/* mpk_namespaces_enter - user, network, IPC and mount namespaces of its own, with no file but what s says is
 * readable, nobody's user and group, and no capability in any
 * The process must have one thread.
 * @out     namespaces, own_user and own_root: which of it the system let this process have; the capabilities
 *          go in any case */
void mpk_namespaces_enter(const struct mpk_sandbox *s, struct mpk_sandbox_state *out);

/* mpk_namespaces_try - what mpk_namespaces_enter would get; tried in a child process */
void mpk_namespaces_try(struct mpk_sandbox_state *out);

/* mpk_powers_drop_all - keep no capabilities(7); programs that are started later may have them
 * Returns  false: the system refuses */
bool mpk_powers_drop_all(void);

#endif
