/* SPDX-License-Identifier: Apache-2.0 */
/* csource.h - what a C or C++ source defines at file scope: functions, and arrays of bytes
 *
 * Exports of a package with a C host hold the blob as the text of an array, beside the source of
 * the host code. Both are read here, neither is preprocessed nor compiled.
 */
#ifndef MPK_FORMATS_CSOURCE_CSOURCE_H
#define MPK_FORMATS_CSOURCE_CSOURCE_H

#include "base/arena.h"
#include "base/error.h"
#include "object/object.h"

/* mpk_csource_read - list what a source defines, in its order
 * Declarations alone are left out, static definitions are not global. Both branches of an #if
 * count; what macros make is not found.
 * @bytes   the text; NULs at its end do not count; borrowed
 * @arena   receives the lists and names
 * Returns  MPK_OK; MPK_E_SYNTAX with line and column (a comment, parenthesis or brace without
 *          end); MPK_E_CORRUPT with the offset in "file" (a NUL inside the text); MPK_E_NOMEM.
 *          Linear in the text.
 * Format   FORMAT.md 1 */
enum mpk_code mpk_csource_read(struct mpk_span bytes, struct mpk_arena *arena,
			       struct mpk_object *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_csource_bytes - the bytes that an initializer of an array of characters makes
 * @symbol  defined, of mpk_csource_read; its initializer is numbers in braces or string literals
 * @arena   receives the bytes, at most as many as the text has
 * Returns  MPK_OK; MPK_E_SYNTAX with the line: it is neither, has a value beyond a byte, or not as
 *          many as the array is declared to have; MPK_E_NOMEM
 * Format   FORMAT.md 2 */
enum mpk_code mpk_csource_bytes(const struct mpk_object_symbol *symbol, struct mpk_arena *arena,
				struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_csource_strings - the texts of a source, one after the other and each with a NUL, as a
 * compiler would put them among the constants
 * Adjacent literals are one text. What is no literal that C allows is left out.
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_csource_strings(struct mpk_span bytes, struct mpk_arena *arena,
				  struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
