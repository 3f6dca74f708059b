/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_blob - a blob of any generation: an error, or a tree that hangs together
 *
 * The first byte chooses generation and framing. What reads is written and must read again. */
#include "tree.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_span blob = fuzz_rest(bytes);
	enum mpk_generation gen = (enum mpk_generation)fuzz_choice(bytes, MPK_GENERATION_COUNT);
	bool bare = bytes.len && bytes.data[0] & 0x80;
	struct mpk_tree tree;

	if ((bare ? mpk_blob_read_bare(blob, gen, arena, &tree, NULL)
		  : mpk_blob_read(blob, gen, arena, &tree, NULL)) == MPK_OK)
		fuzz_tree(&tree, blob, arena);
}
