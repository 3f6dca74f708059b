/* SPDX-License-Identifier: Apache-2.0 */
/* elf.h - declarations that the files of this room share */
#ifndef MPK_ELF_INTERNAL_ELF_H
#define MPK_ELF_INTERNAL_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/rope.h"
#include "elf/code.h"
#include "elf/image.h"
#include "elf/reader.h"
#include "elf/symbols.h"
#include "io/mapping.h"

/* --- Symbols of an image --- */

/* mpk_image_read_symbols - call mpk_exports_read for the fields of an image
 * Returns  as mpk_exports_read */
enum mpk_code mpk_image_read_symbols(const struct mpk_symbol_source *source,
				     const struct mpk_survey *found, const enum mpk_generation *gen,
				     struct mpk_arena *arena, struct mpk_image *image,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* --- Files as images --- */

/* Reads files of some formats as images.
 * @read    fills all fields of an image except member
 *          off: offset of bytes in the input; gen: as in mpk_image_read_symbols; image: zeroed
 *          Returns MPK_OK; MPK_E_CORRUPT; MPK_E_SYNTAX: a C source, or the array that is its blob;
 *          MPK_E_UNSUPPORTED: another kind of file without a blob, which the message names;
 *          MPK_E_NOMEM */
struct mpk_image_reader {
	enum mpk_code (*read)(enum mpk_file_format format, struct mpk_span bytes, uint64_t off,
			      const enum mpk_generation *gen, struct mpk_arena *arena,
			      struct mpk_image *image, struct mpk_error *err);
};

/* For ELF; for Mach-O, COFF, PE and C; for GPU code; and for bytes in no other format, as a bare
 * blob. */
extern const struct mpk_image_reader mpk_elf_images, mpk_object_images, mpk_device_images,
	mpk_blob_images;

/* --- Changes to an ELF file in place, for extending a stub and replacing a blob
 *
 * The file is read through elf/reader.h, that is by libelf and with every size checked. It is not
 * written by libelf, whose elf_update() lays out a file again: here only single fields are
 * overwritten, and all other bytes stay. */

/* The place of a field in its structure, for each class. */
struct mpk_patch_field {
	size_t off, size;
};

#define MPK_PATCH_FIELD(p, type, name)                                                             \
	((p)->wide ? (struct mpk_patch_field){ offsetof(Elf64_##type, name),                       \
					       sizeof(((Elf64_##type *)0)->name) }                 \
		   : (struct mpk_patch_field){ offsetof(Elf32_##type, name),                       \
					       sizeof(((Elf32_##type *)0)->name) })
#define MPK_PATCH_SIZE(p, type) ((p)->wide ? sizeof(Elf64_##type) : sizeof(Elf32_##type))

/* Zero-initialise; mpk_patch_open; mpk_patch_close. Do not read patched fields through elf: libelf
 * may have a copy of the old ones. */
struct mpk_patch {
	struct mpk_elf elf;
	const struct mpk_private *file; /* the file that elf reads */
	bool wide, big;
	bool linked; /* true: ET_DYN; false: ET_REL */
};

/* A data symbol: its section and its entries in .symtab and .dynsym. */
struct mpk_patch_symbol {
	size_t section;
	GElf_Shdr home;      /* header of its section */
	uint64_t entries[2]; /* file offsets of its entries in .symtab and .dynsym */
	size_t count;
	uint64_t value, size; /* st_value, st_size */
};

/* mpk_patch_open - check the headers and every section
 * @file    borrowed
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (not a shared library or object, or of unusual form);
 *          MPK_E_CORRUPT; MPK_E_NOMEM. On failure *out stays closed. */
enum mpk_code mpk_patch_open(const struct mpk_private *file, struct mpk_patch *out,
			     struct mpk_error *err) MPK_MUST_CHECK;
void mpk_patch_close(struct mpk_patch *p);

/* mpk_patch_put - set a field of the structure at file offset base
 * Returns  MPK_OK; MPK_E_RANGE: the file's class cannot hold the value; MPK_E_CORRUPT: the field
 *          lies in bytes that must not change
 * mpk_patch_store - set a field of a structure in memory */
enum mpk_code mpk_patch_put(const struct mpk_patch *p, uint64_t base, struct mpk_patch_field f,
			    uint64_t v, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_patch_store(const struct mpk_patch *p, uint8_t *at, struct mpk_patch_field f,
			      uint64_t v, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_patch_section_at, mpk_patch_segment_at - the file offset of a header */
uint64_t mpk_patch_section_at(const struct mpk_patch *p, size_t index);
uint64_t mpk_patch_segment_at(const struct mpk_patch *p, size_t index);

/* mpk_patch_section - the header of section index < elf.section_count */
GElf_Shdr mpk_patch_section(const struct mpk_patch *p, size_t index);

/* mpk_patch_has_bytes - whether a section has bytes in the file */
bool mpk_patch_has_bytes(const GElf_Shdr *s);

/* mpk_patch_symbols - call see for every symbol of every symbol table
 * @see     receives the file offset of the symbol; a result other than MPK_OK ends the walk
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM; the result of see */
typedef enum mpk_code mpk_patch_see_fn(void *data, const struct mpk_symbol *s, uint64_t at,
				       struct mpk_error *err);
enum mpk_code mpk_patch_symbols(const struct mpk_patch *p, mpk_patch_see_fn *see, void *data,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_patch_find - find the symbol of this name
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (missing, undefined, or several that differ); MPK_E_CORRUPT;
 *          MPK_E_NOMEM */
enum mpk_code mpk_patch_find(const struct mpk_patch *p, const char *symbol,
			     struct mpk_patch_symbol *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_patch_put_zeros - append zeros to a rope */
void mpk_patch_put_zeros(struct mpk_rope *out, uint64_t count);

#endif
