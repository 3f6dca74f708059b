/* SPDX-License-Identifier: Apache-2.0 */
/* dynamic.h - PT_DYNAMIC, the loader's table of contents; needs no section headers */
#ifndef MPK_ELF_DYNAMIC_H
#define MPK_ELF_DYNAMIC_H

#include "elf/reader.h"

/* mpk_dynamic_open - the dynamic section as an array
 * @count   receives 0 when the file has none
 * Returns  MPK_OK; MPK_E_CORRUPT */
enum mpk_code mpk_dynamic_open(const struct mpk_elf *e, Elf_Data **out, size_t *count,
			       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_dynamic_find - the value of the first entry with this tag; false when there is none */
bool mpk_dynamic_find(Elf_Data *dynamic, size_t count, int64_t tag, uint64_t *value);

/* mpk_dynamic_strings - DT_STRTAB, DT_STRSZ bytes long; empty when there is none
 * Returns  MPK_OK; MPK_E_CORRUPT */
enum mpk_code mpk_dynamic_strings(const struct mpk_elf *e, Elf_Data *dynamic, size_t count,
				  struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

#endif
