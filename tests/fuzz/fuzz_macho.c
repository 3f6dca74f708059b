/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_macho - a Mach-O file, or a universal one, each of its slices */
#include "object.h"
#include "object/object.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_macho_slice *slices;
	struct mpk_object object;
	size_t count;

	if (!mpk_macho_is_universal(bytes)) {
		if (mpk_macho_reader.read(bytes, arena, &object, NULL) == MPK_OK)
			fuzz_object(&object);
		return;
	}
	if (mpk_macho_slices(bytes, arena, &slices, &count, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < count && i < 4; i++)
		if (mpk_macho_reader.read(slices[i].bytes, arena, &object, NULL) == MPK_OK)
			fuzz_object(&object);
}
