/* SPDX-License-Identifier: Apache-2.0 */
/* For libraries without section headers (sstrip, some packers), which a loader does not need. */
#include "elf/dynamic.h"

enum mpk_code mpk_dynamic_open(const struct mpk_elf *e, Elf_Data **out, size_t *count,
			       struct mpk_error *err)
{
	GElf_Phdr p;

	*count = 0;
	for (size_t i = 0; mpk_elf_segment(e, i, &p); i++)
		if (p.p_type == PT_DYNAMIC && p.p_filesz)
			return mpk_elf_chunk(e,
					     &(struct mpk_elf_table){ p.p_offset, p.p_filesz,
								      ELF_T_DYN,
								      "dynamic section" },
					     out, count, err);
	return MPK_OK;
}

bool mpk_dynamic_find(Elf_Data *dynamic, size_t count, int64_t tag, uint64_t *value)
{
	GElf_Dyn d;

	for (size_t i = 0; i < count && gelf_getdyn(dynamic, (int)i, &d); i++) {
		if (d.d_tag == DT_NULL)
			return false;
		if (d.d_tag == tag) {
			*value = d.d_un.d_val;
			return true;
		}
	}
	return false;
}

enum mpk_code mpk_dynamic_strings(const struct mpk_elf *e, Elf_Data *dynamic, size_t count,
				  struct mpk_span *out, struct mpk_error *err)
{
	uint64_t address, size, off;
	struct mpk_span rest;

	if (!mpk_dynamic_find(dynamic, count, DT_STRTAB, &address) ||
	    !mpk_dynamic_find(dynamic, count, DT_STRSZ, &size)) {
		*out = (struct mpk_span){ 0 };
		return MPK_OK;
	}
	if (!mpk_elf_at_address(e, address, &rest, &off) || !mpk_span_sub(rest, 0, size, out))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base,
				       "the dynamic string table lies outside the file");
	*out = mpk_elf_strings(*out);
	return MPK_OK;
}
