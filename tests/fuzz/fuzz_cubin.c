/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cubin - a cubin, also compared with itself */
#include "cubin/cubin.h"
#include "fuzz.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	const struct mpk_cubin_difference *differences;
	struct mpk_cubin cubin;
	size_t count;

	(void)!mpk_cubin_read_head(bytes, &cubin, NULL);
	if (mpk_cubin_read(bytes, arena, &cubin, NULL) != MPK_OK)
		return;
	if (mpk_cubin_compare(bytes, bytes, arena, &differences, &count, NULL) == MPK_OK)
		for (size_t i = 0; i < count; i++)
			fuzz_touch(differences[i].name);
}
