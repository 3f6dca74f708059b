/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.h - files that are not ELF: Mach-O, COFF, PE and C sources as images; and names and
 * advice for files that hold no module */
#ifndef MPK_ELF_FOREIGN_H
#define MPK_ELF_FOREIGN_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "elf/constants.h"
#include "elf/image.h"
#include "object/object.h"

/* mpk_file_format_of - the format of a file, by its first bytes
 * Returns  MPK_FILE_BLOB for everything else: a module blob perhaps, or C */
enum mpk_file_format mpk_file_format_of(struct mpk_span bytes);

/* mpk_file_read_object - read a file in a format other than ELF and MPK_FILE_BLOB
 * Returns  as the reader of struct mpk_object_reader */
enum mpk_code mpk_file_read_object(enum mpk_file_format format, struct mpk_span bytes,
				   struct mpk_arena *arena, struct mpk_object *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

#define MPK_FOREIGN_MANIFEST "a manifest"

struct mpk_foreign {
	const char *what; /* static: "PTX text", "a GGUF model" */
	char how[160];    /* "pack it as 'data' of ..."; "": no advice */
};

/* mpk_foreign_find - name a file that is not a library, an archive or a blob: GPU code, arrays and
 * parameters, models of other frameworks, compressed files
 * @bytes   the whole file
 * Returns  whether it is known; *out is untouched if not */
bool mpk_foreign_find(struct mpk_span bytes, struct mpk_foreign *out);

/* mpk_foreign_fail - report that a file holds no module, and why
 * @otherwise  the message for a file that is not recognised
 * Returns  MPK_E_NO_BLOB */
enum mpk_code mpk_foreign_fail(struct mpk_span bytes, const char *otherwise, struct mpk_error *err);

#endif
