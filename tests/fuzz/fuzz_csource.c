/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_csource - C that a blob may stand in */
#include "object.h"
#include "object/object.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_object object;
	struct mpk_span out;

	if (mpk_csource_strings(bytes, arena, &out, NULL) == MPK_OK)
		fuzz_touch(out);
	if (mpk_csource_reader.read(bytes, arena, &object, NULL) != MPK_OK)
		return;
	fuzz_object(&object);
	for (size_t i = 0; i < object.symbol_count && i < 64; i++)
		if (object.symbols[i].content.len &&
		    mpk_csource_reader.bytes(&object.symbols[i], arena, &out, NULL) == MPK_OK)
			fuzz_touch(out);
}
