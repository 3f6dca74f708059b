/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cubin - a cubin and its source lines, also compared with itself */
#include "cubin/cubin.h"
#include "fuzz.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	const struct mpk_cubin_difference *differences;
	const struct mpk_dwarf_row *rows;
	struct mpk_cubin cubin;
	size_t count;

	(void)!mpk_cubin_read_head(bytes, &cubin, NULL);
	if (mpk_cubin_lines(bytes, arena, &rows, &count, NULL) == MPK_OK)
		for (size_t i = 0; i < count; i++) {
			FUZZ_REQUIRE(rows[i].from < rows[i].to);
			FUZZ_REQUIRE(i == 0 || rows[i - 1].from <= rows[i].from);
			fuzz_touch(mpk_span_str(rows[i].file));
		}
	if (mpk_cubin_read(bytes, arena, &cubin, NULL) != MPK_OK)
		return;
	if (mpk_cubin_compare(bytes, bytes, arena, &differences, &count, NULL) == MPK_OK)
		for (size_t i = 0; i < count; i++)
			fuzz_touch(differences[i].name);
}
