/* SPDX-License-Identifier: Apache-2.0 */
/* append.h - notes more in a finished ELF file, after everything that is loaded
 *
 * Each note gets a section of its own that no segment covers: loaders do not see it, and no address
 * and no byte of what they load changes. What is new is the end of the file, the section headers among
 * it, and three fields of the ELF header that say where these are. So a file of gigabytes gets a note
 * in place, without being copied.
 */
#ifndef MPK_ELF_APPEND_H
#define MPK_ELF_APPEND_H

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "io/mapping.h"

enum { MPK_APPEND_MAX = 4 };

/* A note to be. */
struct mpk_elf_append {
	const char *section; /* ".note.mpack.signature" */
	const char *owner;
	uint32_t type;
	struct mpk_span text;
};

/* What is to be written. */
struct mpk_elf_appended {
	struct mpk_span header;            /* at the beginning of the file */
	uint64_t tail_at;                  /* where the new end begins */
	struct mpk_span tail;              /* to the new end of the file, which is never shorter */
	uint64_t text_off[MPK_APPEND_MAX]; /* of each note, in the new file */
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
