/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_amdgpu - AMD's code objects: the MessagePack in their notes, line tables, instructions */
#include "amdgpu/amdgpu.h"
#include "dwarf/dwarf.h"
#include "fuzz.h"
#include "work/work.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	static const char *const targets[] = { "gfx90a", "gfx1030", "gfx1100", "gfx1201" };
	const struct mpk_dwarf_row *rows;
	struct mpk_amdgpu amdgpu;
	struct mpk_work work;
	size_t count;

	(void)!mpk_amdgpu_read_head(bytes, &amdgpu, NULL);
	if (mpk_amdgpu_lines(bytes, arena, &rows, &count, NULL) == MPK_OK)
		for (size_t i = 0; i < count; i++)
			FUZZ_REQUIRE(rows[i].from < rows[i].to && rows[i].to <= bytes.len);
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
		(void)mpk_amdgpu_count_instructions(targets[i], bytes, &work);
	if (mpk_amdgpu_read(bytes, arena, &amdgpu, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < amdgpu.kernel_count && !amdgpu.shares_code; i++)
		(void)mpk_amdgpu_count_instructions(amdgpu.target, amdgpu.kernels[i].code, &work);
}
