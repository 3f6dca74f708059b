/* SPDX-License-Identifier: Apache-2.0 */
/* replace.h - another blob in a finished library, its code and layout kept */
#ifndef MPK_ELF_REPLACE_H
#define MPK_ELF_REPLACE_H

#include "base/error.h"
#include "base/rope.h"
#include "io/mapping.h"

/* mpk_elf_replace - the shared library with symbol holding content
 * A content that fits takes the old one's place, the rest of its room zeroed. Else
 * the old one is extended (elf/extend.h) when it is the last thing of the file; else content
 * gets a segment and a section of its own at the end of the file. The segment takes the
 * program header of PT_GNU_PROPERTY, else of PT_NOTE, whose sections stay. Nothing else of
 * the file changes but the symbol's address and size.
 * @file    changed in place (headers and symbols); out borrows it
 * @content not empty
 * @arena   receives the new section headers
 * @out     receives the whole new file
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (no shared library, no such symbol, no program
 *          header to spare), with the reason; MPK_E_CORRUPT (also: headers stand in
 *          what is kept of file); MPK_E_RANGE (a 32-bit file would pass 4 GiB);
 *          MPK_E_NOMEM. On failure file may have been changed. */
enum mpk_code mpk_elf_replace(const struct mpk_private *file, const char *symbol,
			      const struct mpk_rope *content, struct mpk_arena *arena,
			      struct mpk_rope *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
