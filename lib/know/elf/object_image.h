/* SPDX-License-Identifier: Apache-2.0 */
/* object_image.h - files that are no ELF files as images: Mach-O, COFF, PE and C sources */
#ifndef MPK_ELF_OBJECT_IMAGE_H
#define MPK_ELF_OBJECT_IMAGE_H

#include "base/arena.h"
#include "elf/constants.h"
#include "elf/image.h"
#include "object/object.h"

/* mpk_file_format_of - what the bytes of one file are, by their first bytes
 * Returns  MPK_FILE_BLOB: something else, a module blob perhaps, or C */
enum mpk_file_format mpk_file_format_of(struct mpk_span bytes);

/* mpk_file_is_csource - whether a text names what only the sources of modules do: their blob, their
 * context, functions in TVM's convention. Any text may be C; who asks knows it is nothing else. */
bool mpk_file_is_csource(struct mpk_span bytes);

/* mpk_file_read_object - read a file of a format other than ELF and MPK_FILE_BLOB
 * Returns  as the reader of struct mpk_object_reader */
enum mpk_code mpk_file_read_object(enum mpk_file_format format, struct mpk_span bytes,
				   struct mpk_arena *arena, struct mpk_object *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_object_constants - where texts of code can stand, as mpk_elf_constants says for ELF: read-only
 * sections without code; of a C source its string literals
 * @skip    bytes of the file to leave out (the blob); may be empty
 * Returns  MPK_OK, also with none; MPK_E_NOMEM. What cannot be read has none. */
enum mpk_code mpk_object_constants(struct mpk_span bytes, struct mpk_span skip,
				   struct mpk_arena *arena, struct mpk_constants **out,
				   size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

#endif
