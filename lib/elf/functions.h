/* SPDX-License-Identifier: Apache-2.0 */
/* functions.h - which symbols of a library are its blob, its functions and its helpers */
#ifndef MPK_ELF_FUNCTIONS_H
#define MPK_ELF_FUNCTIONS_H

#include "base/arena.h"
#include "elf/image.h"
#include "elf/symbols.h"

/* mpk_image_read_elf - fill all ELF parts of an image but container and member
 * @elf     open; may be closed afterwards
 * @gen     generation that functions are to be taken as, when the file itself does not
 *          tell (objects of an archive whose blob is in another member); may be NULL
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_image_read_elf(const struct mpk_elf *elf, const enum mpk_generation *gen,
				 struct mpk_arena *arena, struct mpk_image *image,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_image_sort_functions - by name, in the order of mpk_natural_compare, then symbol */
void mpk_image_sort_functions(struct mpk_image_function *functions, size_t count);

#endif
