/* SPDX-License-Identifier: Apache-2.0 */
/* notes.h - every note of an ELF file, one after the other */
#ifndef MPK_ELF_NOTES_H
#define MPK_ELF_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "elf/reader.h"

struct mpk_elf_note {
	uint32_t type;
	struct mpk_span owner, text; /* owner with its NUL */
	uint64_t off;                /* of text in the ELF file */
};

/* mpk_elf_note_is - whether a note is of an owner, "FDO", and a type */
bool mpk_elf_note_is(const struct mpk_elf_note *n, const char *owner, uint32_t type);

/* mpk_elf_notes - see the notes of all sections, or, in a file without section headers, of all
 * segments; the first thousand of them
 * Nothing in a file makes this fail: what is damaged ends its list.
 * @see     returns false to end the walk */
void mpk_elf_notes(const struct mpk_elf *e, bool (*see)(void *data, const struct mpk_elf_note *n),
		   void *data);

#endif
