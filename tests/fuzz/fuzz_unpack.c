/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_unpack - a blob taken apart into a manifest and files; the first byte is its generation. That the
 * package gives the same blob again is part of what is called. */
#include "fuzz.h"
#include "package/package.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	enum mpk_generation gen = (enum mpk_generation)fuzz_choice(bytes, MPK_GENERATION_COUNT);
	struct mpk_unpack_input input = { .blob = fuzz_rest(bytes), .name = "x" };
	struct mpk_error err = { 0 };
	struct mpk_unpack plan;
	struct mpk_tree tree;

	if (mpk_blob_read(input.blob, gen, arena, &tree, NULL) != MPK_OK)
		return;
	input.tree = &tree;
	if (mpk_unpack_plan(&input, arena, &plan, &err) != MPK_OK) {
		FUZZ_REQUIRE(err.code == MPK_E_UNSUPPORTED && err.text[0]);
		return;
	}
	for (size_t i = 0; i < plan.count; i++)
		fuzz_touch(plan.files[i].bytes);
}
