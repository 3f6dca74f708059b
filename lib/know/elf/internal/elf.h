/* SPDX-License-Identifier: Apache-2.0 */
/* elf.h - what the files of this folder share, and nobody else includes */
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

/* --- What symbols tell, in an image --- */

/* mpk_image_read_symbols - mpk_exports_read into the fields that an image has for it
 * Returns  as that */
enum mpk_code mpk_image_read_symbols(const struct mpk_symbol_source *source,
				     const struct mpk_survey *found, const enum mpk_generation *gen,
				     struct mpk_arena *arena, struct mpk_image *image,
				     struct mpk_error *err) MPK_MUST_CHECK;

/* --- Files as images --- */

/* How files of some formats become images.
 * @read    fills all parts of an image that the file tells, member left out
 *          off: of bytes in the input; gen: as mpk_image_read_symbols; image: zeroed
 *          Returns MPK_OK; MPK_E_CORRUPT; MPK_E_SYNTAX: a C source, or the array that is its blob;
 *          MPK_E_UNSUPPORTED: no blob, but another kind of file, which the text names; MPK_E_NOMEM */
struct mpk_image_reader {
	enum mpk_code (*read)(enum mpk_file_format format, struct mpk_span bytes, uint64_t off,
			      const enum mpk_generation *gen, struct mpk_arena *arena,
			      struct mpk_image *image, struct mpk_error *err);
};

/* ELF; Mach-O, COFF, PE and C; code for GPUs; and bytes of no other format, as a bare blob. */
extern const struct mpk_image_reader mpk_elf_images, mpk_object_images, mpk_device_images,
	mpk_blob_images;

/* An ELF file changed in place: what extending a stub and replacing a blob share
 *
 * The file is read through elf/reader.h, so by libelf and with every size checked, like any
 * other. It is not written by libelf, whose elf_update() lays a file out anew: here every byte
 * that has no reason to change stays, so single fields are overwritten where they stand.
 */

/* The place of a field in its structure, for the file's class. */
struct mpk_patch_field {
	size_t off, size;
};

#define MPK_PATCH_FIELD(p, type, name)                                                             \
	((p)->wide ? (struct mpk_patch_field){ offsetof(Elf64_##type, name),                       \
					       sizeof(((Elf64_##type *)0)->name) }                 \
		   : (struct mpk_patch_field){ offsetof(Elf32_##type, name),                       \
					       sizeof(((Elf32_##type *)0)->name) })
#define MPK_PATCH_SIZE(p, type) ((p)->wide ? sizeof(Elf64_##type) : sizeof(Elf32_##type))

/* Zero-initialise; mpk_patch_open; mpk_patch_close. What has been patched is not to be read
 * again through elf: libelf may or may not have a copy. */
struct mpk_patch {
	struct mpk_elf elf;
	const struct mpk_private *file; /* the bytes of elf */
	bool wide, big;
	bool linked; /* ET_DYN, not ET_REL */
};

/* A data symbol: its section and its entries in .symtab and .dynsym. */
struct mpk_patch_symbol {
	size_t section;
	GElf_Shdr home;      /* of the section */
	uint64_t entries[2]; /* file offsets */
	size_t count;
	uint64_t value, size; /* st_value, st_size */
};

/* mpk_patch_open - check the headers and every section
 * @file    borrowed
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (no shared library or object, or of unusual form);
 *          MPK_E_CORRUPT; MPK_E_NOMEM. On failure *out stays closed. */
enum mpk_code mpk_patch_open(const struct mpk_private *file, struct mpk_patch *out,
			     struct mpk_error *err) MPK_MUST_CHECK;
void mpk_patch_close(struct mpk_patch *p);

/* mpk_patch_put - set a field of the structure at file offset base
 * Returns  MPK_OK; MPK_E_RANGE: the file's class cannot hold the value; MPK_E_CORRUPT: it
 *          is where the file is not to be changed
 * mpk_patch_store - the same in a structure of our own */
enum mpk_code mpk_patch_put(const struct mpk_patch *p, uint64_t base, struct mpk_patch_field f,
			    uint64_t v, struct mpk_error *err) MPK_MUST_CHECK;
enum mpk_code mpk_patch_store(const struct mpk_patch *p, uint8_t *at, struct mpk_patch_field f,
			      uint64_t v, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_patch_section_at, mpk_patch_segment_at - the file offset of a header */
uint64_t mpk_patch_section_at(const struct mpk_patch *p, size_t index);
uint64_t mpk_patch_segment_at(const struct mpk_patch *p, size_t index);

/* mpk_patch_section - section index < elf.section_count, which mpk_patch_open has checked */
GElf_Shdr mpk_patch_section(const struct mpk_patch *p, size_t index);

/* mpk_patch_has_bytes - whether a section takes room in the file */
bool mpk_patch_has_bytes(const GElf_Shdr *s);

/* mpk_patch_symbols - look at every symbol of every symbol table
 * @see     gets the file offset of the symbol; what it returns but MPK_OK ends the walk
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM; what see returned */
typedef enum mpk_code mpk_patch_see_fn(void *data, const struct mpk_symbol *s, uint64_t at,
				       struct mpk_error *err);
enum mpk_code mpk_patch_symbols(const struct mpk_patch *p, mpk_patch_see_fn *see, void *data,
				struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_patch_find - the symbol of this name
 * Returns  MPK_OK; MPK_E_UNSUPPORTED (not there, undefined, several that differ);
 *          MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_patch_find(const struct mpk_patch *p, const char *symbol,
			     struct mpk_patch_symbol *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_patch_put_zeros - append zeros to a rope */
void mpk_patch_put_zeros(struct mpk_rope *out, uint64_t count);

#endif
