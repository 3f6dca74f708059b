/* SPDX-License-Identifier: Apache-2.0 */
/* elf.h - sections and symbols of a little-endian ELF64 file, as far as cubins need them
 *
 * Not lib/know/elf's reader: that is built on libelf, and formats/ depends on no library that opens
 * files. Cubins are of one class and byte order, and so are code objects of AMD's GPUs, so that a
 * few loads at fixed offsets do, each after a check of its bounds.
 */
#ifndef MPK_FORMATS_CUBIN_ELF_H
#define MPK_FORMATS_CUBIN_ELF_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

struct mpk_cubin_elf {
	struct mpk_span bytes;
	const char *what; /* names it in messages: "cubin" */
	uint8_t osabi, abi;
	uint16_t type, machine;
	uint32_t flags;
	uint64_t sections_off;
	size_t section_count;
	struct mpk_span section_names;
};

struct mpk_cubin_section {
	struct mpk_span name;
	uint32_t type, link, info;
	uint64_t flags;
	uint64_t address;
	uint64_t off, size, align;
};

struct mpk_cubin_symbol {
	struct mpk_span name;
	uint8_t type; /* STT_* */
	uint8_t other;
	uint16_t section;
	uint64_t value, size;
};

enum {
	MPK_CUBIN_SHT_SYMTAB = 2,
	MPK_CUBIN_SHT_RELA = 4,
	MPK_CUBIN_SHT_NOTE = 7,
	MPK_CUBIN_SHT_NOBITS = 8,
	MPK_CUBIN_SHT_REL = 9,
	MPK_CUBIN_SHT_DYNSYM = 11,
	MPK_CUBIN_SYMBOL_BYTES = 24,
	MPK_CUBIN_EM_CUDA = 190,
	MPK_CUBIN_ET_REL = 1,
};

/* mpk_cubin_elf_open - check the header and where the section table lies
 * @machine EM_*, that the file has to be for; @what names it in messages
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_UNSUPPORTED (32-bit, big-endian) */
enum mpk_code mpk_cubin_elf_open(struct mpk_span bytes, uint16_t machine, const char *what,
				 struct mpk_cubin_elf *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cubin_elf_section - the i-th section header, i < section_count
 * Returns  MPK_OK; MPK_E_CORRUPT (its name lies outside the table of names or has 64 KiB
 *          or more) */
enum mpk_code mpk_cubin_elf_section(const struct mpk_cubin_elf *elf, size_t i,
				    struct mpk_cubin_section *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cubin_elf_data - a section's bytes; MPK_E_CORRUPT when they lie beyond the end */
enum mpk_code mpk_cubin_elf_data(const struct mpk_cubin_elf *elf,
				 const struct mpk_cubin_section *section, struct mpk_span *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cubin_elf_symbol - the i-th symbol of a table; the caller has checked i
 * Returns  MPK_OK; MPK_E_CORRUPT (its name lies outside the strings or has 64 KiB or more) */
enum mpk_code mpk_cubin_elf_symbol(const struct mpk_cubin_elf *elf, struct mpk_span table,
				   struct mpk_span strings, size_t i, struct mpk_cubin_symbol *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

#endif
