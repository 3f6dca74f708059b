/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_canon - digests of device code of any format, which are the same a second time */
#include "canon/canon.h"
#include "fuzz.h"

#include <string.h>

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_canon_rows first, second;
	struct mpk_code_info info;

	if (mpk_code_info_read(bytes, 0, NULL, arena, &info, NULL) != MPK_OK ||
	    mpk_canon_code(&info, arena, &first, NULL) != MPK_OK ||
	    mpk_canon_code(&info, arena, &second, NULL) != MPK_OK)
		return;
	FUZZ_REQUIRE(first.count == second.count);
	for (size_t i = 0; i < first.count; i++) {
		fuzz_touch(first.items[i].name);
		FUZZ_REQUIRE(memcmp(first.items[i].digest, second.items[i].digest,
				    sizeof first.items[i].digest) == 0);
	}
}
