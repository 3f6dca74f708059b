/* SPDX-License-Identifier: Apache-2.0 */
/* extend.h - raise the last read-only symbol of a linked library or object to its full size
 *
 * A linker that is given gigabytes of constants copies, hashes and holds them. So the
 * linker gets a stub of MPK_STUB_BYTES in the section .lrodata, which GNU ld lays out as
 * the last loadable thing of the file, and the finished file is extended: the sizes of
 * symbol, section and segment are raised and what follows in the file moves. The result
 * is, byte for byte, what GNU ld makes of the full object (tests/unit/check_extend.c).
 * The same works on relocatable objects, where nothing but file offsets depends on it.
 */
#ifndef MPK_ELF_EXTEND_H
#define MPK_ELF_EXTEND_H

#include "base/error.h"
#include "base/rope.h"
#include "io/mapping.h"

enum { MPK_STUB_BYTES = 64 };

/* mpk_elf_extend - the file with the stub symbol replaced by content
 * ET_DYN and ET_REL, 32 and 64 bits, both byte orders.
 * @file    changed in place (headers and symbol sizes); out borrows it
 * @symbol  the stub's name; it must be defined once, end its section, and nothing
 *          loadable, and no other symbol, may lie after its start
 * @content replaces the stub; at least its size
 * @out     receives the whole new file
 * Returns  MPK_OK; MPK_E_UNSUPPORTED when the linker laid the file out in a way that
 *          cannot be extended, with the reason (the caller links the full object then);
 *          MPK_E_CORRUPT for tables that leave the file; MPK_E_RANGE when a 32-bit file
 *          would pass 4 GiB; MPK_E_NOMEM. After MPK_E_UNSUPPORTED file is unchanged. */
enum mpk_code mpk_elf_extend(const struct mpk_private *file, const char *symbol,
			     const struct mpk_rope *content, struct mpk_rope *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

#endif
