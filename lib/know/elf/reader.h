/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - an ELF file; every size in it is checked before it is used
 *
 * All ELF files are read through this reader: libraries and objects to inspect, those that a linker
 * has just made, and those that are patched (edit.h). libelf converts classes and byte orders; it
 * does not check the sizes that a file states. Here every table is compared with the file's length
 * once, and no caller divides by sh_entsize or follows a string offset. Cubins, which are ELF files
 * inside payloads, have a small reader (cubin/elf.h), because formats/ depends on no library that
 * opens files. Only symbol tables, string tables and the dynamic section are read: a library with a
 * gigabyte of weights is opened as fast as one without. */
#ifndef MPK_ELF_READER_H
#define MPK_ELF_READER_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

#ifndef EM_LOONGARCH /* musl 1.2.3 and glibc before 2.36 do not define it */
#define EM_LOONGARCH 258
#endif

struct mpk_elf_load;
struct mpk_elf_extended;

/* Zero-initialise; fill with mpk_elf_open; mpk_elf_close. */
struct mpk_elf {
	Elf *elf;
	struct mpk_span bytes; /* the ELF file; borrowed */
	uint64_t base; /* offset of bytes in the input; offsets in errors count from there */
	GElf_Ehdr header;
	size_t section_count; /* 0: no section headers; index 0 included */
	size_t segment_count;
	struct mpk_span names;      /* section names, empty when there are none */
	struct mpk_elf_load *loads; /* loaded segments by address; owned */
	size_t load_count;
	struct mpk_elf_extended
		*extended; /* sections of large section numbers, by symbol table; owned */
	size_t extended_count;
	bool is_cut; /* the section headers of this library lie beyond the end of the file;
		      * section_count is 0 */
};

/* mpk_elf_open - read the headers; check that all tables and all loaded segments lie within the
 * file
 * @base    offset of bytes in the input, used in messages only
 * Returns  MPK_OK; MPK_E_CORRUPT with the file offset of the mistake; MPK_E_NOMEM. On failure *out
 *          stays closed. */
enum mpk_code mpk_elf_open(struct mpk_span bytes, uint64_t base, struct mpk_elf *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_elf_open_mapped - as mpk_elf_open, but a shared library that was cut after its last loaded
 * segment is read as a dynamic linker reads it: without sections, with is_cut
 * @cut     receives what is missing in such a file; or NULL */
enum mpk_code mpk_elf_open_mapped(struct mpk_span bytes, uint64_t base, struct mpk_elf *out,
				  struct mpk_error *cut, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_elf_close - release; safe on a zeroed or closed file */
void mpk_elf_close(struct mpk_elf *e);

/* mpk_elf_section - the header of section index, 0 < index < section_count
 * Returns  MPK_OK; MPK_E_CORRUPT: no such section, or its content lies beyond the file */
enum mpk_code mpk_elf_section(const struct mpk_elf *e, size_t index, GElf_Shdr *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_elf_section_name - the name of a section; NULL if it has no readable one */
const char *mpk_elf_section_name(const struct mpk_elf *e, size_t index);

/* mpk_elf_extended - the index of the section SHT_SYMTAB_SHNDX for the symbol table in section
 * `table`; 0: none */
size_t mpk_elf_extended(const struct mpk_elf *e, size_t table);

/* mpk_elf_segment - program header index < segment_count; false when it cannot be read */
bool mpk_elf_segment(const struct mpk_elf *e, size_t index, GElf_Phdr *out);

/* mpk_elf_at_address - the bytes of the file that a loader maps at address
 * @out     from there to the end of the segment's bytes in the file
 * @off     receives their offset in the ELF file
 * Returns  false when no segment has bytes for that address */
bool mpk_elf_at_address(const struct mpk_elf *e, uint64_t address, struct mpk_span *out,
			uint64_t *off);

/* mpk_elf_is_loaded - whether one segment has all these bytes in memory, from the file or as zeros
 * @address may be the end of the segment if bytes is 0
 * @flags   receives the permissions of the memory, PF_R, PF_W and PF_X */
bool mpk_elf_is_loaded(const struct mpk_elf *e, uint64_t address, uint64_t bytes, uint32_t *flags);

/* mpk_elf_strings - a string table up to its last NUL: then every offset within it is that of a
 * string with an end */
static inline struct mpk_span mpk_elf_strings(struct mpk_span table)
{
	const uint8_t *nul = table.len ? memrchr(table.data, 0, table.len) : NULL;

	return mpk_span_of(table.data, nul ? (size_t)(nul - table.data) + 1 : 0);
}

/* mpk_elf_string - the NUL-terminated string at offset at of a string table, or NULL */
const char *mpk_elf_string(struct mpk_span table, uint64_t at);

/* The place of an array in a file. */
struct mpk_elf_table {
	uint64_t off, size; /* bytes */
	Elf_Type type;
	const char *what; /* its name in messages */
};

/* mpk_elf_chunk - an array of the file, in this machine's layout
 * @count   receives the number of whole elements; trailing bytes are an error
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM. The data belongs to e. */
enum mpk_code mpk_elf_chunk(const struct mpk_elf *e, const struct mpk_elf_table *table,
			    Elf_Data **out, size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_elf_relocations - the number of relocations in a section
 * mpk_elf_relocation - one of them, index < that number
 * An object may have a section of relocations for every function. libelf is not used, because it
 * searches a list of all tables that it has been asked for.
 * @section of type SHT_REL or SHT_RELA, from mpk_elf_section or with only sh_type, sh_offset and
 *          sh_size set
 * @out     r_info as in ELFCLASS64; a missing addend is 0 */
size_t mpk_elf_relocations(const struct mpk_elf *e, const GElf_Shdr *section);
bool mpk_elf_relocation(const struct mpk_elf *e, const GElf_Shdr *section, size_t index,
			GElf_Rela *out);

/* mpk_elf_u32 - a 32-bit integer in the file's byte order; false beyond the end */
bool mpk_elf_u32(const struct mpk_elf *e, uint64_t off, uint32_t *out);

/* mpk_elf_word - an integer as wide as an address of the file's class; false beyond the end
 * mpk_elf_word_bytes - its width in bytes, 8 or 4 */
bool mpk_elf_word(const struct mpk_elf *e, uint64_t off, uint64_t *out);
size_t mpk_elf_word_bytes(const struct mpk_elf *e);

/* mpk_elf_machine - "x86-64" for EM_X86_64; NULL for machines without a name here */
const char *mpk_elf_machine(uint16_t machine);

#endif
