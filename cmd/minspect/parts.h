/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - large members of zip archives, unpacked only where they are read */
#ifndef MPK_CMD_MINSPECT_PARTS_H
#define MPK_CMD_MINSPECT_PARTS_H

#include "base/error.h"
#include "minspect/minspect.h"
#include "zip/zip.h"

/* minspect_parts_open - make f->bytes those of a deflated member of the archive that they are
 * All of it is checked first. Its bytes are to be read by this process alone, not by system calls (io/demand.h).
 * Returns  as mpk_zip_index; MPK_E_NOMEM also where the system has no addresses for it */
enum mpk_code minspect_parts_open(struct minspect_file *f, const struct mpk_zip_member *m,
				  const struct mpk_zip_options *options,
				  struct mpk_error *err) MPK_MUST_CHECK;

#endif
