/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_offload - Clang's offload bundles and binaries, also compressed; the library that unpacks is most
 * of the time of those */
#include "fuzz.h"
#include "offload/offload.h"

enum { LIMIT = 1 << 18 }; /* memory of the fuzzer, not of the reader */

static void read_packed(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_offload_packed packed;
	struct mpk_offload list;
	const uint64_t *sizes;
	struct mpk_span plain;

	if (mpk_offload_read_packed(bytes, &packed, NULL) != MPK_OK || packed.plain_bytes > LIMIT)
		return;
	if (mpk_offload_unpack(&packed, 4096, arena, &plain, NULL) == MPK_OK)
		(void)!mpk_offload_list_head(plain, arena, &list, &sizes, NULL);
	if (mpk_offload_unpack(&packed, SIZE_MAX, arena, &plain, NULL) == MPK_OK)
		(void)!mpk_offload_read(plain, arena, &list, NULL);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_offload list;

	if (mpk_offload_is_packed(bytes))
		read_packed(bytes, arena);
	else
		(void)!mpk_offload_read(bytes, arena, &list, NULL);
}
