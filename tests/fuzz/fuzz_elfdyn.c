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
	struct mpk_elfdyn all = d;
	struct mpk_symbol s;

	mpk_elfdyn_take_all_symbols(&all);
	const struct mpk_symbol_source others = mpk_elfdyn_source(&all);

	for (size_t i = 0; i < d.slot_count; i++)
		FUZZ_REQUIRE(d.slots[i].entry < bytes.len);
	for (size_t i = 0; i < others.count; i++)
		if (others.get(others.self, i, &s, NULL) == MPK_OK)
			fuzz_touch(mpk_span_str(s.name));
	if (mpk_symbols_survey(&source, &found, NULL) == MPK_OK &&
	    mpk_exports_read(&source, &found, NULL, arena, &exports, NULL) == MPK_OK)
		fuzz_touch(exports.blob);
}
