/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_request - any bytes as what a confined reader hands to the builder: what is taken stays inside of the
 * files that are open, and leads no compiler elsewhere. The first 16 bytes are the input that both have. */
#include <string.h>

#include "emit/emit.h"
#include "fuzz.h"

enum { INPUT_BYTES = 16 };

static void check_blob(const struct mpk_rope *blob)
{
	uint64_t len = 0;

	for (size_t i = 0; i < blob->count; i++) {
		FUZZ_REQUIRE(blob->pieces[i].len && blob->pieces[i].data);
		fuzz_touch(mpk_span_of(blob->pieces[i].data, blob->pieces[i].len));
		len += blob->pieces[i].len;
	}
	FUZZ_REQUIRE(len == blob->len);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	const struct mpk_mapping input = { .bytes = fuzz_take(&bytes, INPUT_BYTES), .fd = -1 };
	struct mpk_request_maps maps = { 0 };
	struct mpk_request got;

	if (mpk_request_read(bytes, &input, NULL, arena, &got, &maps, NULL) == MPK_OK) {
		FUZZ_REQUIRE(got.gen < MPK_GENERATION_COUNT && !strchr(got.name, '/'));
		for (size_t i = 0; i < got.source_count; i++) {
			const struct mpk_compile_source *s = &got.sources[i];

			FUZZ_REQUIRE(*s->path != '-' && *s->path != '@');
			FUZZ_REQUIRE(!s->text.data || !strchr(s->path, '/'));
			fuzz_touch(s->text);
		}
		for (size_t i = 0; i < got.files.count; i++)
			FUZZ_REQUIRE(got.files.items[i]);
		check_blob(&got.blob);
	}
	mpk_request_close(&maps);
}
