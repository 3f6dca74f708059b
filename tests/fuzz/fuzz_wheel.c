/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_wheel - a wheel whose libraries are thinned, as mpack thin does: what comes out lists, its RECORD tells of its
 * members, and nothing is left to thin
 *
 * The first byte chooses what is asked for. */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#include "io/mapping.h"
#include "io/reader.h"
#include "thin/thin.h"
#include "zip/zip.h"

/* Members that unpack to more are what mutation does not need. */
enum { LIMIT = 1 << 20 };

static bool is_small(struct mpk_span file, struct mpk_arena *arena)
{
	struct mpk_zip_member *members;
	uint64_t sum = 0;
	size_t count;

	if (mpk_zip_list(file, "file", arena, &members, &count, NULL) != MPK_OK)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (members[i].plain > LIMIT)
			return false;
		sum += members[i].plain;
	}
	return sum <= LIMIT;
}

/* A rope with ranges of a file in it, as one piece. */
static bool flatten(const struct mpk_rope *rope, struct mpk_arena *arena, struct mpk_span *out)
{
	uint8_t *made = mpk_arena_alloc(arena, (size_t)rope->len + 1);
	struct mpk_reader *r = mpk_arena_alloc(arena, sizeof *r);
	struct mpk_span piece;
	size_t at = 0;

	FUZZ_REQUIRE(made && r);
	mpk_reader_init(r, rope);
	while (mpk_reader_next(r, &piece, NULL) == MPK_OK && piece.len) {
		FUZZ_REQUIRE(piece.len <= rope->len - at);
		memcpy(made + at, piece.data, piece.len);
		at += piece.len;
	}
	mpk_reader_fini(r);
	*out = mpk_span_of(made, at);
	return at == rope->len;
}

static void thin(struct mpk_span bytes, const struct mpk_thin_options *o,
		 const struct mpk_thin_scratch *scratch, struct mpk_arena *arena)
{
	const struct mpk_mapping file = { .bytes = bytes, .fd = -1 };
	struct mpk_rope rope = mpk_rope_of(arena);
	struct mpk_thin_report report = { 0 };
	struct mpk_mapping made = { .fd = -1 };
	enum mpk_code code = mpk_thin_wheel(&file, scratch, o, arena, &rope, &report, NULL);

	mpk_strbuf_fini(&report.present);
	if (code != MPK_OK)
		return;
	FUZZ_REQUIRE(flatten(&rope, arena, &made.bytes));
	FUZZ_REQUIRE(mpk_thin_confirm_wheel(&file, &made, scratch, o, NULL) == MPK_OK);
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	static const struct mpk_span word = { (const uint8_t *)"sm_90", 5 };
	unsigned how = fuzz_choice(bytes, 8);
	struct mpk_span file = fuzz_rest(bytes);
	const struct mpk_thin_options o = { .keep = &word,
					    .keep_count = 1,
					    .drop_debug = how & 1,
					    .compress = how & 2,
					    .allow_missing = !(how & 4) };
	struct mpk_thin_scratch scratch;

	if (!is_small(file, arena))
		return;
	scratch = (struct mpk_thin_scratch){ memfd_create("plain", MFD_CLOEXEC),
					     memfd_create("packed", MFD_CLOEXEC) };
	FUZZ_REQUIRE(scratch.plain >= 0 && scratch.packed >= 0);
	thin(file, &o, &scratch, arena);
	(void)close(scratch.plain);
	(void)close(scratch.packed);
}
