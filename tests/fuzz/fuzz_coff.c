/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_coff - a COFF object, or a PE library */
#include "coff/coff.h"
#include "object.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_object object = { 0 };

	if ((mpk_pe_is(bytes) ? mpk_pe_read : mpk_coff_read)(bytes, arena, &object, NULL) == MPK_OK)
		fuzz_object(&object);
}
