/* SPDX-License-Identifier: Apache-2.0 */
/* edit.h - changes to a finished ELF file: extend its blob, replace it, append notes
 *
 * Code and layout stay as the linker made them, so nothing is linked or copied again. */
#ifndef MPK_ELF_EDIT_H
#define MPK_ELF_EDIT_H

#include "base/arena.h"
#include "base/error.h"
#include "base/rope.h"
#include "base/span.h"
#include "io/mapping.h"

/* --- extend the stub of a blob in a linked library or object to the blob -------------------------
 *
 * A linker that is given gigabytes of constants copies, hashes and holds them. So the linker is
 * given a stub of MPK_STUB_BYTES in section .lrodata, which GNU ld places as the last loaded
 * section of the file. The finished file is then extended: the sizes of the symbol, section and
 * segment are increased, and the rest of the file moves. The result is, byte for byte, what GNU ld
 * makes of an object with the whole blob (tests/unit/check_extend.c). Relocatable objects are
 * extended in the same way; in them only file offsets change. */

enum { MPK_STUB_BYTES = 64 };

/* mpk_elf_extend - replace the stub of a symbol by a larger content
 * ET_DYN and ET_REL, 32 and 64 bits, both byte orders.
 * @file    changed in place (headers and symbol sizes); out borrows it
 * @symbol  the stub's name. It must be defined once and end its section; nothing loadable and no
 *          other symbol may begin after it
 * @content replaces the stub; at least as long
 * @out     receives the whole new file
 * Returns  MPK_OK; MPK_E_UNSUPPORTED if the linker's layout cannot be extended, with the reason
 *          (the caller then links the whole object); MPK_E_CORRUPT for tables outside the file;
 *          MPK_E_RANGE if a 32-bit file would exceed 4 GiB; MPK_E_NOMEM. After MPK_E_UNSUPPORTED
 *          file is unchanged. */
enum mpk_code mpk_elf_extend(const struct mpk_private *file, const char *symbol,
			     const struct mpk_rope *content, struct mpk_rope *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* --- replace the blob of a finished library; code and layout stay -------------------------------- */

/* mpk_elf_replace - replace the content of a symbol in a shared library
 * Content that fits is written over the old one, and the remaining bytes are zeroed. Else the old
 * one is extended (mpk_elf_extend) if it is the last thing of the file. Else the content gets a new
 * segment and a new section at the end of the file; the segment takes the program header of
 * PT_GNU_PROPERTY, or of PT_NOTE, whose sections stay. Nothing else changes but the address and
 * size of the symbol.
 * @file    changed in place (headers and symbols); out borrows it
 * @content not empty
 * @arena   receives the new section headers
 * @out     receives the whole new file
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (not a shared library, no such symbol, no program header to
 *          reuse), with the reason; MPK_E_CORRUPT (also if headers lie inside the bytes that are
 *          kept); MPK_E_RANGE (a 32-bit file would exceed 4 GiB); MPK_E_NOMEM. On failure file may
 *          have been changed. */
enum mpk_code mpk_elf_replace(const struct mpk_private *file, const char *symbol,
			      const struct mpk_rope *content, struct mpk_arena *arena,
			      struct mpk_rope *out, struct mpk_error *err) MPK_MUST_CHECK;

/* --- append notes to a finished ELF file, after everything that is loaded ------------------------
 *
 * Each note gets a section that no segment covers: loaders do not see it, and no loaded byte or
 * address changes. New are only the end of the file, which includes the section headers, and three
 * fields of the ELF header that locate them. So a file of gigabytes gets a note in place, without
 * being copied. */

enum { MPK_APPEND_MAX = 4 };

/* A note to append. */
struct mpk_elf_append {
	const char *section; /* ".note.mpack.signature" */
	const char *owner;
	uint32_t type;
	struct mpk_span text;
};

/* How the file changes. */
struct mpk_elf_appended {
	struct mpk_span header; /* new bytes for the beginning of the file */
	uint64_t tail_at;       /* offset at which the changed end begins */
	struct mpk_span tail;   /* new bytes from there to the end of the file, which is never
				 * shorter than before */
	uint64_t text_off[MPK_APPEND_MAX]; /* offset of each note's text in the new file */
};

/* mpk_elf_append - compute the changes that append notes to a library or an object
 * Linkers drop these sections from objects: a note describes its own file, not what is linked from
 * it.
 * @file    the whole file; not changed
 * @count   number of notes, at most MPK_APPEND_MAX
 * @out     in arena
 * Returns  MPK_OK; MPK_E_UNSUPPORTED: not an ELF library or object, no section headers, or too
 *          many; MPK_E_CORRUPT; MPK_E_RANGE: a 32-bit file would exceed 4 GiB; MPK_E_NOMEM */
enum mpk_code mpk_elf_append(const struct mpk_private *file, const struct mpk_elf_append *notes,
			     size_t count, struct mpk_arena *arena, struct mpk_elf_appended *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

#endif
