/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_provenance - what a library says it was made from; what reads is written and reads as the same */
#include <string.h>

#include "fuzz.h"
#include "trust/origin.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_provenance p, again;
	const char *text, *second;

	(void)mpk_provenance_version(bytes, arena);
	if (mpk_provenance_read(bytes, arena, &p, NULL) != MPK_OK ||
	    mpk_provenance_write(&p, arena, &text, NULL) != MPK_OK)
		return;
	FUZZ_REQUIRE(mpk_provenance_read(mpk_span_str(text), arena, &again, NULL) == MPK_OK);
	FUZZ_REQUIRE(mpk_provenance_write(&again, arena, &second, NULL) == MPK_OK);
	FUZZ_REQUIRE(strcmp(text, second) == 0);
}
