/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_msgpack - MessagePack, one value after the other */
#include "fuzz.h"
#include "msgpack/msgpack.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_cursor skipped = mpk_cursor_of(bytes, 0, "payload"), walked = skipped;
	struct mpk_msgpack value;

	(void)arena;
	while (mpk_cursor_left(&skipped) && mpk_msgpack_skip(&skipped, NULL) == MPK_OK)
		;
	while (mpk_cursor_left(&walked) && mpk_msgpack_next(&walked, &value, NULL) == MPK_OK)
		;
}
