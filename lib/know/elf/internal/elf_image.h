/* SPDX-License-Identifier: Apache-2.0 */
/* elf_image.h - an ELF file as an image */
#ifndef MPK_ELF_INTERNAL_ELF_IMAGE_H
#define MPK_ELF_INTERNAL_ELF_IMAGE_H

#include "base/arena.h"
#include "elf/image.h"
#include "elf/reader.h"

/* mpk_image_read_elf - fill all parts of an image that one ELF file tells, member left out
 * @elf     open; may be closed afterwards
 * @gen     as mpk_image_read_symbols
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_image_read_elf(const struct mpk_elf *elf, const enum mpk_generation *gen,
				 struct mpk_arena *arena, struct mpk_image *image,
				 struct mpk_error *err) MPK_MUST_CHECK;

#endif
