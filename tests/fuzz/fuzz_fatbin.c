/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_fatbin - a fatbin, its images unpacked */
#include "fatbin/fatbin.h"
#include "fuzz.h"

enum { LIMIT = 1 << 18 };

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_fatbin fatbin;
	struct mpk_span image;
	uint64_t left = LIMIT;

	if (mpk_fatbin_read(bytes, arena, &fatbin, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < fatbin.entry_count; i++)
		if (mpk_fatbin_unpack(&fatbin.entries[i], &left, NULL, arena, &image, NULL) ==
		    MPK_OK)
			fuzz_touch(image);
	FUZZ_REQUIRE(left <= LIMIT);
}
