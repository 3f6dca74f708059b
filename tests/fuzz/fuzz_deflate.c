/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_deflate - a gzip file, or a deflate stream: the first byte chooses. zlib's own time is most of it. */
#include "deflate/deflate.h"
#include "fuzz.h"

enum { LIMIT = 1 << 16 };

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_span rest = fuzz_rest(bytes), out;

	if ((fuzz_choice(bytes, 2)
		     ? mpk_gzip_read(rest, LIMIT, arena, &out, NULL)
		     : mpk_deflate_read(rest, LIMIT, NULL, arena, &out, NULL)) != MPK_OK)
		return;
	FUZZ_REQUIRE(out.len <= LIMIT);
	fuzz_touch(out);
}
