/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tileir - Tile IR bytecode, and containers of NVVM IR */
#include "fuzz.h"
#include "ltoir/ltoir.h"
#include "tileir/tileir.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_tileir t;
	struct mpk_ltoir l;

	(void)!mpk_tileir_read(bytes, arena, &t, NULL);
	(void)!mpk_ltoir_read(bytes, &l, NULL);
}
