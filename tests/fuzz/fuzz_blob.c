/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_blob - any bytes as a blob of any generation: an error, or a tree that hangs together
 *
 * The first byte chooses generation and framing. What reads is written and must read again. */
#include <stdint.h>
#include <stdlib.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mpk_arena arena MPK_CLEANUP(mpk_arena_fini) = { 0 };
	struct mpk_tree tree;
	struct mpk_span blob;
	enum mpk_generation gen;
	bool bare;

	if (size == 0)
		return 0;
	gen = (enum mpk_generation)(data[0] % MPK_GENERATION_COUNT);
	bare = data[0] & 0x80;
	blob = mpk_span_of(data + 1, size - 1);
	if ((bare ? mpk_blob_read_bare(blob, gen, &arena, &tree, NULL)
		  : mpk_blob_read(blob, gen, &arena, &tree, NULL)) != MPK_OK)
		return 0;
	fuzz_tree(&tree, blob, &arena);
	return 0;
}
