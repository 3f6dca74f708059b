/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ptx - PTX */
#include "fuzz.h"
#include "ptx/ptx.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_ptx ptx;

	(void)!mpk_ptx_read_head(bytes, &ptx, NULL);
	(void)!mpk_ptx_read(bytes, arena, &ptx, NULL);
}
