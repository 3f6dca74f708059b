/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - which code format a file is in (internal) */
#ifndef MPK_PACKAGE_INTERNAL_FORMAT_H
#define MPK_PACKAGE_INTERNAL_FORMAT_H

#include <stddef.h>

#include "base/span.h"

/* mpk_code_format_guess - the format of a code file: what its suffix names among the
 * formats of the kind, else what its bytes look like
 * @formats  of the kind; NULL ends, at most max
 * @kind     key of the kind in the blob
 * Returns   one of the formats, or NULL when none fits */
const char *mpk_code_format_guess(const char *const *formats, size_t max, const char *kind,
				  const char *path, struct mpk_span bytes);

#endif
