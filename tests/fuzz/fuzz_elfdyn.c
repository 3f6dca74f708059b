/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_elfdyn - a library as its loader reads it before the dynamic linker does */
#include "elfdyn/elfdyn.h"
#include "fuzz.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_survey found = { 0 };
	struct mpk_exports exports;
	struct mpk_elfdyn d;

	if (mpk_elfdyn_read(bytes, arena, &d, NULL) != MPK_OK)
		return;
	const struct mpk_symbol_source source = mpk_elfdyn_source(&d);

	for (size_t i = 0; i < d.slot_count; i++)
		FUZZ_REQUIRE(d.slots[i].entry < bytes.len);
	if (mpk_symbols_survey(&source, &found, NULL) == MPK_OK &&
	    mpk_exports_read(&source, &found, NULL, arena, &exports, NULL) == MPK_OK)
		fuzz_touch(exports.blob);
}
