/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.h - the symbol tables of an ELF file, and what the dynamic section names */
#ifndef MPK_ELF_SYMBOLS_H
#define MPK_ELF_SYMBOLS_H

#include "base/arena.h"
#include "elf/reader.h"

/* One symbol table; views into the file. Zero count: there is none. */
struct mpk_symtab {
	const struct mpk_elf *elf;
	Elf_Data *symbols;
	Elf_Data *extended; /* section indices beyond 0xff00, or NULL */
	size_t count;
	struct mpk_span strings;
	uint64_t off; /* of the table in the file, for messages */
};

struct mpk_symbol {
	const char *name; /* "" when it has none */
	uint64_t value, bytes;
	size_t section;                 /* 0: undefined or not in a section */
	uint8_t type, bind, visibility; /* STT_, STB_, STV_ */
	bool defined;
	bool common; /* room for it is made by the linker */
};

/* mpk_symtab_dynamic - what a loader sees: .dynsym, or without section headers the table
 * that PT_DYNAMIC names, its length taken from the hash table
 * mpk_symtab_static - .symtab, which strip removes
 * Returns  MPK_OK, with count 0 when the file has no such table; MPK_E_CORRUPT */
enum mpk_code mpk_symtab_dynamic(const struct mpk_elf *e, struct mpk_symtab *out,
				 struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_symtab_static(const struct mpk_elf *e, struct mpk_symtab *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_symtab_loaded - the table that PT_DYNAMIC names, whatever section headers say; their table is taken where it
 * is the same one, as a hash table leaves out symbols behind the last that is defined
 * Returns  as those */
enum mpk_code mpk_symtab_loaded(const struct mpk_elf *e, struct mpk_symtab *out,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_symtab_open - the symbol table in section index
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_symtab_open(const struct mpk_elf *e, size_t index, struct mpk_symtab *out,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_symtab_get - symbol index < count
 * Returns  MPK_OK; MPK_E_CORRUPT when its name lies outside the string table */
enum mpk_code mpk_symtab_get(const struct mpk_symtab *t, size_t index, struct mpk_symbol *out,
			     struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_symbol_suffix - whether a name ends so: of a library for one system the same names begin with a prefix
 * @prefix_len  receives the length of the prefix, 0 for the plain name */
bool mpk_symbol_suffix(const char *name, const char *suffix, size_t *prefix_len);

/* mpk_symbol_bytes - where a defined data symbol's bytes stand in the file
 * @out     its st_size bytes; when that is 0, all to the end of its section or segment
 * @off     receives their offset in the ELF file
 * Returns  MPK_OK; MPK_E_CORRUPT when there are no such bytes */
enum mpk_code mpk_symbol_bytes(const struct mpk_elf *e, const struct mpk_symbol *s,
			       struct mpk_span *out, uint64_t *off,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_elf_check_names - refuse names that overlap, the end of one being another: a linker saves some bytes with
 * that, never most, and whoever reads all of them reads the same ones again and again
 * @whose   "symbols"
 * @base    of the file in its container
 * @size    of the file; a megabyte of names is for files that are small
 * @count   names that were read so far, which have bytes bytes
 * Returns  MPK_OK; MPK_E_CORRUPT */
enum mpk_code mpk_elf_check_names(const char *whose, uint64_t base, uint64_t size, size_t count,
				  uint64_t bytes, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_elf_needed - the DT_NEEDED names in order
 * Returns  MPK_OK, also with none; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_elf_needed(const struct mpk_elf *e, struct mpk_arena *arena,
			     const char *const **out, size_t *count,
			     struct mpk_error *err) MPK_MUST_CHECK;

#endif
