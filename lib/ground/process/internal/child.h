/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - what happens in a child before the work itself; for this room only */
#ifndef MPK_PROCESS_INTERNAL_CHILD_H
#define MPK_PROCESS_INTERNAL_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/internal/keeper.h"
#include "process/process.h"

/* A page that parent and child both see. A module that the child runs may write anything here:
 * the parent believes none of it further than to its own length. */
struct mpk_process_self {
	int exec_errno;         /* of a program that could not be executed; 0 */
	volatile bool returned; /* run came back, error is set */
	struct mpk_error error;
};

/* mpk_process_child_main - do the work of a child, in the child
 * @output  the end of a pipe that it prints into; MPK_OUTPUT_COPIED
 * @others  the process that forked it, which may be gone by now; of one that is contained, whom it must not
 *          reach */
MPK_NORETURN void mpk_process_child_main(const struct mpk_process *p, struct mpk_process_self *self,
					 int output, const struct mpk_keeper_others *others);

#endif
