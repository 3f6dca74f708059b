/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_payload - a payload: the first byte chooses the kind, the second the generation
 *
 * What decodes must encode to the same bytes, list its parts and print its listing. */
#include "tree.h"

static size_t count_kinds(void)
{
	static size_t kinds;

	while (mpk_kinds[kinds].name)
		kinds++;
	return kinds;
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	size_t kinds = count_kinds();

	if (bytes.len < 2)
		return;
	fuzz_payload(&mpk_kinds[bytes.data[0] % kinds],
		     (enum mpk_generation)(bytes.data[1] % MPK_GENERATION_COUNT),
		     (struct mpk_source){ mpk_span_of(bytes.data + 2, bytes.len - 2), 0 }, arena);
}
