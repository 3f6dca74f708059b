/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_coff - a COFF object, or a PE library */
#include "object.h"
#include "object/object.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_object object = { 0 };

	if ((mpk_pe_reader.is(bytes) ? &mpk_pe_reader : &mpk_coff_reader)
		    ->read(bytes, arena, &object, NULL) == MPK_OK)
		fuzz_object(&object);
}
