/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_triton - metadata and IR of Triton: what is read lies within the text and its bounds; the first byte chooses */
#include "fuzz.h"
#include "triton/triton.h"

static void read_metadata(struct mpk_span text, struct mpk_arena *arena)
{
	struct mpk_triton t;

	if (mpk_triton_read(text, arena, &t, NULL) != MPK_OK)
		return;
	FUZZ_REQUIRE(t.name && *t.name);
	FUZZ_REQUIRE(t.threads >= 1 && t.threads <= 1024);
	for (unsigned i = 0; i < 3; i++)
		FUZZ_REQUIRE(t.cluster[i] >= 1 && t.cluster[i] <= 16);
}

static bool lies_within(struct mpk_span part, struct mpk_span whole)
{
	return !part.len ||
	       (part.data >= whole.data && part.data + part.len <= whole.data + whole.len);
}

static void read_arguments(struct mpk_span text, struct mpk_arena *arena)
{
	const struct mpk_triton_param *p;
	struct mpk_triton_param type;
	size_t count;

	if (mpk_triton_read_type(text, &type))
		FUZZ_REQUIRE(type.dtype.bits && lies_within(type.text, text));
	if (mpk_triton_read_ir(text, "k", arena, &p, &count, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < count; i++) {
		FUZZ_REQUIRE(lies_within(p[i].name, text) && lies_within(p[i].text, text));
		FUZZ_REQUIRE(p[i].divisible >= 1 && p[i].divisible <= 4096);
	}
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	if (fuzz_choice(bytes, 2))
		read_metadata(fuzz_rest(bytes), arena);
	else
		read_arguments(fuzz_rest(bytes), arena);
}
