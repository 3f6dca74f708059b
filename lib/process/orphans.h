/* orphans.h - the processes that a contained child leaves behind; for this room only */
#ifndef MPK_PROCESS_ORPHANS_H
#define MPK_PROCESS_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* Children of this process that nobody may touch. Zero-initialise; fill with
 * mpk_children_list; free pids. */
struct mpk_pid_list {
	pid_t *pids;
	size_t count, cap;
};

/* mpk_pid_list_add - MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_pid_list_add(struct mpk_pid_list *list, pid_t pid,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_children_list - append the children of this process
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_children_list(struct mpk_pid_list *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_orphans_kill - kill and reap every child of this process that is not in spared
 * What a child started is this process's own once the child is dead: it is a "subreaper"
 * (prctl(2)). */
void mpk_orphans_kill(const struct mpk_pid_list *spared);

#endif
