/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_dwarf - line programs; the names that they mean stand in the same bytes */
#include "dwarf/dwarf.h"
#include "fuzz.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	const struct mpk_dwarf d = { bytes, bytes, bytes };
	const struct mpk_dwarf_row *rows;
	uint64_t budget = 1 << 16;
	size_t count;

	if (mpk_dwarf_rows(&d, 0, UINT64_MAX, &budget, arena, &rows, &count, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < count; i++) {
		FUZZ_REQUIRE(rows[i].from < rows[i].to);
		FUZZ_REQUIRE(i == 0 || rows[i - 1].from <= rows[i].from);
		fuzz_touch(mpk_span_str(rows[i].file));
	}
}
