/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cfunction - functions of C and C++; the first byte says which */
#include "fuzz.h"
#include "sourcecode/cfunction.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	const struct mpk_cfunction *list;
	size_t count;

	if (mpk_cfunctions_read(fuzz_rest(bytes), fuzz_choice(bytes, 2) != 0, arena, &list, &count,
				NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < count; i++)
		for (size_t p = 0; p < list[i].param_count; p++)
			for (size_t d = 0; d < list[i].params[p].dim_count; d++)
				FUZZ_REQUIRE(list[i].params[p].dims[d].param == SIZE_MAX ||
					     list[i].params[p].dims[d].param < list[i].param_count);
}
