/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.h - files that are no ELF files: as images, of Mach-O, COFF, PE and C sources; and those that hold no module, but
 * that people try: what they are, and what to do with them */
#ifndef MPK_ELF_FOREIGN_H
#define MPK_ELF_FOREIGN_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
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

#define MPK_FOREIGN_MANIFEST "a manifest"

struct mpk_foreign {
	const char *what; /* static: "PTX text", "a GGUF model" */
	char how[160];    /* "pack it as 'data' of ..."; "": no advice */
};

/* mpk_foreign_find - recognise a file that is no library, archive or blob, and kernels that are ELF
 * files: device code, arrays and parameters, models of other frameworks, packed files
 * @bytes   the whole file
 * Returns  whether it is one; *out is untouched when it is not */
bool mpk_foreign_find(struct mpk_span bytes, struct mpk_foreign *out);

/* mpk_foreign_fail - say why a file without a module has none
 * @otherwise  the sentence for a file that is not recognised
 * Returns  MPK_E_NO_BLOB */
enum mpk_code mpk_foreign_fail(struct mpk_span bytes, const char *otherwise, struct mpk_error *err);

#endif
