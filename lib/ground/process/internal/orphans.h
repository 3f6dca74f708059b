/* SPDX-License-Identifier: Apache-2.0 */
/* orphans.h - the processes that a contained child leaves behind; for this room only */
#ifndef MPK_PROCESS_INTERNAL_ORPHANS_H
#define MPK_PROCESS_INTERNAL_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* Children of this process. Zero-initialise; free pids. */
struct mpk_children {
	pid_t *pids;
	size_t count, cap;
};

/* mpk_children_list - append those that there are
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_children_list(struct mpk_children *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_children_has - whether it is a child of this process, one that runs or one that nobody has reaped */
bool mpk_children_has(pid_t pid);

/* mpk_orphans_kill - kill and reap every child of this process that is not among the spared
 * What a child started is this process's own once the child is dead: it is a "subreaper"
 * (prctl(2)). */
void mpk_orphans_kill(const struct mpk_children *spared);

#endif
