/* SPDX-License-Identifier: Apache-2.0 */
/* cleanup.h - a process that waits for our end, whatever it is, and then cleans up
 *
 * For what must not stay behind after SIGKILL: a directory of intermediate files. The process
 * is nobody's child, is in a session of its own and has no descriptor of ours, so that neither
 * a terminal's signals nor who reads our output has anything to do with it.
 */
#ifndef MPK_PROCESS_CLEANUP_H
#define MPK_PROCESS_CLEANUP_H

#include <stdbool.h>

#include "base/error.h"

/* Zero-initialise; mpk_cleanup_start; mpk_cleanup_stop. */
struct mpk_cleanup {
	bool is_on;
	int fd; /* its closing tells the process of our end */
};

/* mpk_cleanup_start - from now on, let run(data) happen in another process when this one ends
 * @data    as it is now; later changes are not seen
 * Returns  MPK_OK; MPK_E_IO */
enum mpk_code mpk_cleanup_start(void (*run)(void *data), void *data, struct mpk_cleanup *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cleanup_stop - end the process; safe on a stopped one
 * @needed  it does its work first, which nobody waits for */
void mpk_cleanup_stop(struct mpk_cleanup *c, bool needed);

#endif
