/* SPDX-License-Identifier: Apache-2.0 */
/* confirm.h - a finished file is read again before it takes its name */
#ifndef MPK_TOOLCHAIN_CONFIRM_H
#define MPK_TOOLCHAIN_CONFIRM_H

#include "base/error.h"
#include "base/rope.h"
#include "io/mapping.h"
#include "io/output.h"

/* mpk_confirm_file - that a loader will find the blob in a library, an object, or an archive of such
 * The file must open as minspect opens it and hold a blob that is as long as the one packed and begins
 * as that does. The rest is not read again: it was hashed while it was written.
 * @blob    what was packed; NULL: host code alone, which only has to open
 * Returns  MPK_OK; MPK_E_TOOL: it is something else, what a broken linker leaves; MPK_E_NOMEM */
enum mpk_code mpk_confirm_file(const struct mpk_mapping *file, const struct mpk_rope *blob,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_confirm_output - the same for what was written so far; nothing to say of a pipe
 * Returns  as mpk_confirm_file; MPK_E_IO */
enum mpk_code mpk_confirm_output(const struct mpk_output *o, const struct mpk_rope *blob,
				 struct mpk_error *err) MPK_MUST_CHECK;

#endif
