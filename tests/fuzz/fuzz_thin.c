/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_thin - a library, object or archive whose device code is thinned, as mpack thin does: what comes out opens, is not longer, and is
 * the same when it is thinned again; a cubin that loses its debug sections
 *
 * The first byte chooses what is asked for. */
#include <elf.h>
#include <string.h>

#include "fuzz.h"

#include "cubin/cubin.h"
#include "elf/image.h"
#include "thin/thin.h"

enum { WORDS = 4 };

static void strip(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_rope once = mpk_rope_of(arena), twice = mpk_rope_of(arena);
	struct mpk_span made;
	uint64_t dropped;

	if (mpk_cubin_strip(bytes, &once, &dropped, NULL) != MPK_OK || !dropped)
		return;
	FUZZ_REQUIRE(once.len <= bytes.len);
	FUZZ_REQUIRE(mpk_rope_flat(&once, &made, NULL) == MPK_OK);
	FUZZ_REQUIRE(mpk_cubin_strip(made, &twice, &dropped, NULL) != MPK_OK || !dropped);
}

static bool thin(struct mpk_span bytes, const struct mpk_thin_options *o, struct mpk_arena *arena,
		 struct mpk_span *out)
{
	struct mpk_thin_report report = { 0 };
	struct mpk_rope rope = mpk_rope_of(arena);
	bool done = mpk_thin_library(bytes, o, arena, &rope, &report, NULL) == MPK_OK;

	mpk_strbuf_fini(&report.present);
	return done && mpk_rope_flat(&rope, out, NULL) == MPK_OK;
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	const struct mpk_span words[WORDS] = { mpk_span_str("sm_90"), mpk_span_str("gfx1100"),
					       mpk_span_str("compute_90"), mpk_span_str("spir64") };
	unsigned how = fuzz_choice(bytes, 128);
	struct mpk_span file = fuzz_rest(bytes), once, twice;
	struct mpk_thin_options o = { .keep = words,
				      .keep_count = how & 32 ? WORDS : how % 4,
				      .drop_debug = how & 4,
				      .drop_relocatable = how & 8,
				      .compress = how & 16,
				      .allow_missing = !(how & 64) };
	const struct mpk_image_device *devices;
	struct mpk_elf elf = { 0 };
	size_t count;

	strip(file, arena);
	if (!thin(file, &o, arena, &once))
		return;
	FUZZ_REQUIRE(once.len <= file.len);
	/* a container by itself, such as a bundle, stays one */
	if (file.len > SELFMAG && memcmp(file.data, ELFMAG, SELFMAG) == 0) {
		FUZZ_REQUIRE(mpk_elf_open(once, 0, &elf, NULL) == MPK_OK);
		FUZZ_REQUIRE(mpk_elf_device_code(&elf, &(struct mpk_image){ 0 }, arena, &devices,
						 &count, NULL) == MPK_OK);
		mpk_elf_close(&elf);
	}
	if (thin(once, &o, arena, &twice))
		FUZZ_REQUIRE(twice.len <= once.len);
}
