/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.h - a private directory for intermediate files that never outlives us */
#ifndef MPK_TOOLCHAIN_SCRATCH_H
#define MPK_TOOLCHAIN_SCRATCH_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "process/helper.h"

/* Zero-initialise; mpk_scratch_open; mpk_scratch_close. */
struct mpk_scratch {
	char *path;                 /* no trailing slash */
	bool keep;                  /* a directory of the user's */
	char *env[2];               /* "TMPDIR=..." for tools, and NULL: what a killed one leaves is
				     * removed with the rest. A user's directory is not for that. */
	struct mpk_cleanup cleanup; /* removes the directory after our death */
};

/* mpk_scratch_open - make PARENT/mpack-XXXXXX, readable by its owner only
 * A process of its own waits for our end, whatever it is, and removes the directory with all
 * that is in it when mpk_scratch_close did not.
 * @keep    a directory to use instead, made when it is not there and left as it is
 *          afterwards; NULL: none
 * Returns  MPK_OK; MPK_E_IO, also when keep has files that no build has put there; MPK_E_NOMEM */
enum mpk_code mpk_scratch_open(const char *parent, const char *keep, struct mpk_scratch *out,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_scratch_file - the path of a file in it, in arena; NULL when memory is out */
const char *mpk_scratch_file(const struct mpk_scratch *s, struct mpk_arena *arena,
			     const char *name);

/* mpk_scratch_close - remove the directory; safe on a zeroed or closed one */
void mpk_scratch_close(struct mpk_scratch *s);

#endif
