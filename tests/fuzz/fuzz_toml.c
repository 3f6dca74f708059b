/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_toml - TOML; the parser of another project is most of it */
#include "fuzz.h"
#include "toml/toml.h"

static void walk(const struct mpk_toml *v)
{
	fuzz_touch(mpk_toml_text(v));
	for (size_t i = 0; i < v->count; i++) {
		if (v->type == MPK_TOML_TABLE)
			FUZZ_REQUIRE(mpk_toml_find(v, v->entries[i].key) != NULL);
		walk(&v->entries[i].value);
	}
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_toml root;

	if (mpk_toml_parse(bytes, arena, &root, NULL) == MPK_OK)
		walk(&root);
}
