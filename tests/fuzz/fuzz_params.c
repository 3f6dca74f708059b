/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_params - a parameter dictionary; what reads is written as the same bytes */
#include "fuzz.h"
#include "tensor/tensor.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_rope rope = mpk_rope_of(arena);
	struct mpk_params params;
	struct mpk_span flat;

	if (mpk_params_read(bytes, arena, &params, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < params.names.count; i++)
		FUZZ_REQUIRE(mpk_params_find(&params, params.names.items[i]) <= i);
	mpk_params_write(&rope, &params);
	FUZZ_REQUIRE(mpk_rope_flat(&rope, &flat, NULL) == MPK_OK);
	FUZZ_REQUIRE(mpk_span_equal(flat, bytes));
}
