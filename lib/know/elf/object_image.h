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

/* mpk_file_read_object - read a file of a format other than ELF and MPK_FILE_BLOB
 * Returns  as the reader of struct mpk_object_reader */
enum mpk_code mpk_file_read_object(enum mpk_file_format format, struct mpk_span bytes,
				   struct mpk_arena *arena, struct mpk_object *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

#endif
