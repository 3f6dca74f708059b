/* raw.h - fields of an ELF file patched in place: what growing and replacing share
 *
 * 32 and 64 bits, both byte orders, no copies. For files that a linker has just made and
 * libraries that a user names; every table is checked before it is read.
 */
#ifndef MPK_ELF_RAW_H
#define MPK_ELF_RAW_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Where a field lies in its structure, for the file's class. */
struct mpk_raw_field {
	size_t off, size;
};

#define MPK_RAW_FIELD(e, type, name)                                                               \
	((e)->wide ? (struct mpk_raw_field){ offsetof(Elf64_##type, name),                         \
					     sizeof(((Elf64_##type *)0)->name) }                   \
		   : (struct mpk_raw_field){ offsetof(Elf32_##type, name),                         \
					     sizeof(((Elf32_##type *)0)->name) })
#define MPK_RAW_SIZE(e, type) ((e)->wide ? sizeof(Elf64_##type) : sizeof(Elf32_##type))

struct mpk_raw {
	uint8_t *data;
	size_t len;
	bool wide, big;
	bool linked; /* ET_DYN, not ET_REL */
	uint64_t phoff, shoff;
	uint64_t phnum, shnum;
};

struct mpk_raw_section {
	size_t index;
	uint64_t type, flags, addr, off, size, align, link, entsize;
};

/* A data symbol: its section and its entries in .symtab and .dynsym. */
struct mpk_raw_symbol {
	struct mpk_raw_section home;
	uint64_t entries[2]; /* file offsets */
	size_t count;
	uint64_t value, size; /* st_value, st_size */
};

/* mpk_raw_open - check the headers and every section of a file whose data and len are set
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (no shared library or object, or of unusual form);
 *          MPK_E_CORRUPT (tables that leave the file) */
enum mpk_code mpk_raw_open(struct mpk_raw *e, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_raw_get - the field f of the structure at file offset base, in the file's byte order */
uint64_t mpk_raw_get(const struct mpk_raw *e, uint64_t base, struct mpk_raw_field f);

/* mpk_raw_put - set a field; MPK_E_RANGE when the file's class cannot hold the value */
enum mpk_code mpk_raw_put(struct mpk_raw *e, uint64_t base, struct mpk_raw_field f, uint64_t v,
			  struct mpk_error *err) MPK_MUST_CHECK;

/* The file offset of a section's header, and the section; index < shnum. */
uint64_t mpk_raw_section_at(const struct mpk_raw *e, size_t index);
struct mpk_raw_section mpk_raw_section(const struct mpk_raw *e, size_t index);

/* Whether a section takes room in the file. */
bool mpk_raw_has_bytes(const struct mpk_raw_section *s);

/* mpk_raw_find - the symbol of this name
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (not there, undefined, several that differ) */
enum mpk_code mpk_raw_find(const struct mpk_raw *e, const char *symbol, struct mpk_raw_symbol *out,
			   struct mpk_error *err) MPK_MUST_CHECK;

#endif
