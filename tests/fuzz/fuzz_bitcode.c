/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_bitcode - LLVM bitcode: its head, its functions, all of its records */
#include "bitcode/bitcode.h"
#include "fuzz.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_bitcode b;

	(void)!mpk_bitcode_head(bytes, arena, &b, NULL);
	(void)!mpk_bitcode_read(bytes, arena, &b, NULL);
	(void)!mpk_bitcode_verify(bytes, arena, &b, NULL);
}
