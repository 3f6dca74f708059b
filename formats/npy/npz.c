/* SPDX-License-Identifier: Apache-2.0 */
/* npz.c - the zip archives that numpy.savez writes: a stored member for each array
 *
 * In a file of its own, so that programs that read no compressed archives link no zlib. */
#include "npy/npy.h"

#include <string.h>

bool mpk_npz_is(struct mpk_span bytes)
{
	return mpk_zip_is(bytes);
}

static bool ends_npy(struct mpk_span name)
{
	return name.len >= 4 && memcmp(name.data + name.len - 4, ".npy", 4) == 0;
}

struct mpk_span mpk_npz_name(struct mpk_span name)
{
	return ends_npy(name) ? mpk_span_of(name.data, name.len - 4) : name;
}

enum mpk_code mpk_npz_list(struct mpk_span bytes, struct mpk_arena *arena,
			   struct mpk_zip_member **out, size_t *count, struct mpk_error *err)
{
	MPK_TRY(mpk_zip_list(bytes, "npz", arena, out, count, err));
	for (size_t i = 0; i < *count; i++)
		(*out)[i].name = mpk_npz_name((*out)[i].name);
	return MPK_OK;
}
