/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_npy - an array of NumPy; its header is written and reads as the same */
#include <string.h>

#include "fuzz.h"
#include "npy/npy.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_rope rope = mpk_rope_of(arena);
	struct mpk_npy npy, again;
	struct mpk_span flat;

	if (mpk_npy_read(bytes, &npy, NULL) != MPK_OK)
		return;
	fuzz_touch(npy.data);
	if (mpk_npy_write_header(&rope, npy.dtype, npy.shape, npy.ndim, NULL) != MPK_OK)
		return;
	mpk_rope_put_view(&rope, npy.data);
	FUZZ_REQUIRE(mpk_rope_flat(&rope, &flat, NULL) == MPK_OK);
	FUZZ_REQUIRE(mpk_npy_read(flat, &again, NULL) == MPK_OK);
	FUZZ_REQUIRE(again.ndim == npy.ndim &&
		     memcmp(again.shape, npy.shape, npy.ndim * sizeof npy.shape[0]) == 0 &&
		     mpk_span_equal(again.data, npy.data));
}
