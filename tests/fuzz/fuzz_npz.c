/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_npz - arrays of NumPy in an archive */
#include "fuzz.h"
#include "npy/npy.h"

enum { LIMIT = 1 << 16 };

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_zip_member *members;
	struct mpk_span content;
	struct mpk_npy npy;
	size_t count;

	if (mpk_npz_list(bytes, arena, &members, &count, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < count && i < 8; i++)
		if (members[i].plain < LIMIT &&
		    mpk_npz_read(bytes, &members[i], arena, &content, NULL) == MPK_OK &&
		    mpk_npy_read(content, &npy, NULL) == MPK_OK)
			fuzz_touch(npy.data);
}
