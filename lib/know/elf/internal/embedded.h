/* SPDX-License-Identifier: Apache-2.0 */
/* embedded.h - device code that stands in a library beside its blob, or without one
 *
 * tvm-ffi embeds cubins, fatbins and PTX of C++ extensions between the symbols
 * __tvm_ffi__cubin_NAME and __tvm_ffi__cubin_NAME_end, which are local: strip removes them,
 * and nothing tells then where the code is.
 */
#ifndef MPK_ELF_INTERNAL_EMBEDDED_H
#define MPK_ELF_INTERNAL_EMBEDDED_H

#include "elf/image.h"
#include "elf/reader.h"

/* mpk_elf_embedded - the code embedded in one ELF file, by its place in the file
 * @out     in the arena; of several with one name the second is called "NAME.2"
 * Returns  MPK_OK, also with none and for a file whose static symbols do not read: they are not
 *          needed for anything else; MPK_E_NOMEM */
enum mpk_code mpk_elf_embedded(const struct mpk_elf *elf, struct mpk_arena *arena,
			       const struct mpk_image_code **out, size_t *count,
			       struct mpk_error *err) MPK_MUST_CHECK;

#endif
