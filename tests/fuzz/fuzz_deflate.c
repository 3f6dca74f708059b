/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_deflate - a gzip file, or a deflate stream as a whole and in parts: the first byte chooses. zlib's own time is
 * most of it. */
#include <string.h>

#include "deflate/deflate.h"
#include "deflate/inflate.h"
#include "fuzz.h"

enum { LIMIT = 1 << 16, INTERVAL = 1 << 13 };

static void see(void *arg, uint64_t off, struct mpk_span piece)
{
	uint64_t *len = arg;

	FUZZ_REQUIRE(off == *len);
	*len += piece.len;
	fuzz_touch(piece);
}

/* The last part first: the same bytes, or the same answer. */
static void in_parts(struct mpk_span bytes, enum mpk_code code, struct mpk_span content,
		     struct mpk_arena *arena)
{
	static uint8_t part[INTERVAL];
	struct mpk_deflate_index *x;
	uint64_t len = 0;
	const struct mpk_deflate_sink sink = { see, &len };

	FUZZ_REQUIRE(mpk_deflate_index_build(bytes, LIMIT, INTERVAL, NULL, &sink, arena, &x,
					     NULL) == code);
	if (code != MPK_OK)
		return;
	FUZZ_REQUIRE(len == content.len && !mpk_deflate_index_read(x, len, part, 1));
	for (size_t end = content.len; end;) {
		size_t from = (end - 1) / INTERVAL * INTERVAL;

		FUZZ_REQUIRE(mpk_deflate_index_read(x, from, part, end - from));
		FUZZ_REQUIRE(memcmp(part, content.data + from, end - from) == 0);
		end = from;
	}
}

/* The decoder of the library says the same. */
static void without_zlib(struct mpk_span bytes, enum mpk_code code, struct mpk_span content)
{
	static uint8_t own[LIMIT];

	if (code == MPK_OK) {
		FUZZ_REQUIRE(mpk_inflate(bytes, own, content.len, NULL) == MPK_OK);
		FUZZ_REQUIRE(!content.len || memcmp(own, content.data, content.len) == 0);
	} else {
		(void)mpk_inflate(bytes, own, LIMIT, NULL);
	}
}

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_span rest = fuzz_rest(bytes), out = { 0 };
	enum mpk_code code;

	if (fuzz_choice(bytes, 2)) {
		code = mpk_gzip_read(rest, LIMIT, arena, &out, NULL);
	} else {
		code = mpk_deflate_read(rest, LIMIT, NULL, arena, &out, NULL);
		in_parts(rest, code, out, arena);
		without_zlib(rest, code, out);
	}
	if (code != MPK_OK)
		return;
	FUZZ_REQUIRE(out.len <= LIMIT);
	fuzz_touch(out);
}
