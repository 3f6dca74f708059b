/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_itanium - the name that a C++ compiler gives a kernel */
#include "fuzz.h"
#include "itanium/itanium.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_itanium_function f;

	(void)mpk_itanium_is(bytes);
	(void)!mpk_itanium_read(bytes, arena, &f, NULL);
}
