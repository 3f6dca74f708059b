/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_standalone - what a standalone library carries, as its own process reads it, and as minspect does */
#include <zstd.h>

#include "fuzz.h"
#include "standalone/standalone.h"

void fuzz_one(struct mpk_span bytes, struct mpk_arena *arena)
{
	struct mpk_standalone s;
	struct mpk_span library;
	uint64_t at = 0;

	if (mpk_standalone_read(bytes, arena, &s, NULL) != MPK_OK)
		return;
	for (size_t i = 0; i < s.piece_count; i++) {
		FUZZ_REQUIRE(s.pieces[i].blob_off == at);
		fuzz_touch(s.pieces[i].bytes);
		FUZZ_REQUIRE(s.pieces[i].is_packed || s.pieces[i].bytes.len == s.pieces[i].plain);
		at += s.pieces[i].plain;
	}
	FUZZ_REQUIRE(at == s.blob_bytes);
	FUZZ_REQUIRE(s.before.len + s.blob_bytes - s.plain_bytes + s.packed_bytes + s.after.len <=
		     bytes.len);
	FUZZ_REQUIRE(s.plain_bytes <= MPK_STANDALONE_PLAIN_MAX(bytes.len));
	if (mpk_standalone_library(&s, ZSTD_decompress, arena, &library, NULL) == MPK_OK)
		fuzz_touch(library);
	if (mpk_standalone_unpack_tensors(&s, ZSTD_decompress, arena, NULL) == MPK_OK)
		for (size_t i = 0; i < s.piece_count; i++)
			fuzz_touch(s.pieces[i].bytes);
}
