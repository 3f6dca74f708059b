/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ptx - PTX, its instructions and source lines */
#include "fuzz.h"
#include "ptx/ptx.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	const struct mpk_dwarf_row *rows;
	struct mpk_work work;
	struct mpk_ptx ptx;
	size_t count;

	(void)!mpk_ptx_read_head(bytes, &ptx, NULL);
	(void)!mpk_ptx_read(bytes, arena, &ptx, NULL);
	(void)!mpk_ptx_count_instructions(bytes, &work);
	if (mpk_ptx_lines(bytes, arena, &rows, &count, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < count; i++) {
		FUZZ_REQUIRE(rows[i].from < rows[i].to && rows[i].to <= bytes.len);
		FUZZ_REQUIRE(i == 0 || rows[i - 1].to <= rows[i].from);
		fuzz_touch(mpk_span_str(rows[i].file));
	}
}
