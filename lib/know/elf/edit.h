/* SPDX-License-Identifier: Apache-2.0 */
/* edit.h - changes to a finished ELF file: a blob that grows, another blob, notes more
 *
 * Code and layout stay, so that what a linker made is neither linked nor copied again.
 */
#ifndef MPK_ELF_EDIT_H
#define MPK_ELF_EDIT_H

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "io/mapping.h"

/* --- raise the last read-only symbol of a linked library or object to its full size --------
 *
 * A linker that is given gigabytes of constants copies, hashes and holds them. So the
 * linker gets a stub of MPK_STUB_BYTES in the section .lrodata, which GNU ld lays out as
 * the last loadable thing of the file, and the finished file is extended: the sizes of
 * symbol, section and segment are raised and what follows in the file moves. The result
 * is, byte for byte, what GNU ld makes of the full object (tests/unit/check_extend.c).
 * The same works on relocatable objects, where nothing but file offsets depends on it. */

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

/* --- another blob in a finished library, its code and layout kept -------------------------- */

/* mpk_elf_replace - the shared library with symbol holding content
 * A content that fits takes the old one's place, the rest of its room zeroed. Else
 * the old one is extended (elf/edit.h) when it is the last thing of the file; else content
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

/* --- notes more in a finished ELF file, after everything that is loaded -----------------------
 *
 * Each note gets a section of its own that no segment covers: loaders do not see it, and no address
 * and no byte of what they load changes. What is new is the end of the file, the section headers among
 * it, and three fields of the ELF header that say where these are. So a file of gigabytes gets a note
 * in place, without being copied. */

enum { MPK_APPEND_MAX = 4 };

/* A note to be. */
struct mpk_elf_append {
	const char *section; /* ".note.mpack.signature" */
	const char *owner;
	uint32_t type;
	struct mpk_span text;
};

/* The new file. */
struct mpk_elf_appended {
	struct mpk_span header; /* bytes at the beginning of the file */
	uint64_t tail_at;       /* offset at which the new end begins */
	struct mpk_span tail;   /* bytes to the new end of the file, which never shrinks */
	uint64_t text_off[MPK_APPEND_MAX]; /* offset of each note in the new file */
};

/* mpk_elf_append - plan count <= MPK_APPEND_MAX notes more, for a library or an object
 * Linkers drop the sections of an object: they tell of that file, not of what is linked from it.
 * @file    the whole file; not changed
 * @out     in arena
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: neither a library nor an object of ELF, no section headers, or
 *          too many; MPK_E_CORRUPT; MPK_E_RANGE: a 32-bit file would pass 4 GiB; MPK_E_NOMEM */
enum mpk_code mpk_elf_append(const struct mpk_private *file, const struct mpk_elf_append *notes,
			     size_t count, struct mpk_arena *arena, struct mpk_elf_appended *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

#endif
