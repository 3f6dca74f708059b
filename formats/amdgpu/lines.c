/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - source lines of machine code for AMD GPUs (FORMAT.md 6)
 *
 * A code object is linked, so its line programs have the addresses at which its code is loaded. */
#include "amdgpu/amdgpu.h"

#include "base/compiler.h"
#include "cubin/elf.h"
#include "dwarf/dwarf.h"

enum {
	SHF_EXECINSTR = 4,
	PASSES = 64, /* limit of the bytes read, as a multiple of the line programs */
};

enum mpk_code mpk_amdgpu_lines(struct mpk_span bytes, struct mpk_arena *arena,
			       const struct mpk_dwarf_row **out, size_t *count,
			       struct mpk_error *err)
{
	struct mpk_cubin_section s, code = { 0 };
	const struct mpk_dwarf_row *list;
	struct mpk_dwarf d = { 0 };
	struct mpk_dwarf_row *kept;
	struct mpk_cubin_elf elf;
	uint64_t budget, end;
	size_t n;

	*out = NULL;
	*count = 0;
	MPK_TRY(mpk_cubin_elf_open(bytes, MPK_AMDGPU_EM, "code object", &elf, err));
	for (size_t i = 0; i < elf.section_count; i++) {
		MPK_TRY(mpk_cubin_elf_section(&elf, i, &s, err));
		struct mpk_span *to = mpk_span_is(s.name, ".debug_line")       ? &d.line
				      : mpk_span_is(s.name, ".debug_line_str") ? &d.line_str
				      : mpk_span_is(s.name, ".debug_str")      ? &d.str
									       : NULL;

		if (to && s.type != MPK_CUBIN_SHT_NOBITS && s.size)
			MPK_TRY(mpk_cubin_elf_data(&elf, &s, to, err));
		/* the linker joins all code in one section */
		if (!code.size && s.flags & SHF_EXECINSTR && s.type != MPK_CUBIN_SHT_NOBITS &&
		    s.off <= bytes.len && s.size <= bytes.len - s.off &&
		    s.address <= UINT64_MAX - s.size)
			code = s;
	}
	/* before it is linked, only relocations tell what the addresses belong to */
	if (!d.line.len || !code.size || elf.type == MPK_CUBIN_ET_REL)
		return MPK_OK;
	budget = PASSES * (uint64_t)d.line.len;
	end = code.address + code.size;
	MPK_TRY(mpk_dwarf_rows(&d, code.address, end, &budget, arena, &list, &n, err));
	kept = mpk_arena_keep(arena, list, n, sizeof *kept);
	MPK_TRY_ALLOC(kept, err);
	for (size_t i = 0; i < n; i++) {
		uint64_t from = kept[i].from > code.address ? kept[i].from : code.address;
		uint64_t to = kept[i].to < end ? kept[i].to : end;

		kept[i].from = from - code.address + code.off;
		kept[i].to = to - code.address + code.off;
	}
	*out = kept;
	*count = n;
	return MPK_OK;
}
