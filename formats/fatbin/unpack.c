/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.c - packed images, by the libraries that the toolkit packs them with
 *
 * How large one becomes is read from the file, so it is held against bounds before memory is asked for.
 * Apart from read.c, so that who lists what a fatbin has needs none of these libraries.
 */
#include "fatbin/fatbin.h"

#include <inttypes.h>
#include <lz4.h>
#include <zstd.h>

/* A byte of an LZ4 block expands to this many at most. */
enum { LZ4_RATIO = 255 };

static enum mpk_code check_bounds(const struct mpk_fatbin_entry *e, uint64_t left,
				  struct mpk_error *err)
{
	if (e->packing == MPK_FATBIN_LZ4 && e->plain_bytes / LZ4_RATIO > e->data.len)
		return mpk_fail(err, MPK_E_CORRUPT,
				"fatbin: %zu packed bytes cannot become %" PRIu64, e->data.len,
				e->plain_bytes);
	if (e->plain_bytes > MPK_FATBIN_PLAIN_MAX || e->plain_bytes > left)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"fatbin: images that unpack to %" PRIu64
				" bytes and more are not looked into",
				e->plain_bytes);
	return MPK_OK;
}

/* Whether data became exactly len bytes. */
static bool fatbin_unpack(enum mpk_fatbin_packing packing, struct mpk_span data, void *to,
			  size_t len)
{
	if (packing == MPK_FATBIN_ZSTD)
		return ZSTD_decompress(to, len, data.data, data.len) == len;
	return data.len <= LZ4_MAX_INPUT_SIZE &&
	       LZ4_decompress_safe((const char *)data.data, to, (int)data.len, (int)len) ==
		       (int)len;
}

enum mpk_code mpk_fatbin_unpack(const struct mpk_fatbin_entry *e, uint64_t *left,
				struct mpk_arena *arena, struct mpk_span *out,
				struct mpk_error *err)
{
	if (e->packing == MPK_FATBIN_STORED) {
		*out = e->data;
		return MPK_OK;
	}
	MPK_TRY(check_bounds(e, *left, err));
	size_t len = (size_t)e->plain_bytes;
	void *plain = mpk_arena_alloc(arena, len + 1);
	MPK_TRY_ALLOC(plain, err);
	if (!e->data.len || !fatbin_unpack(e->packing, e->data, plain, len))
		return mpk_fail(err, MPK_E_CORRUPT,
				"fatbin: %s data that does not unpack to %" PRIu64 " bytes",
				e->packing == MPK_FATBIN_LZ4 ? "LZ4" : "zstd", e->plain_bytes);
	*left -= e->plain_bytes;
	*out = mpk_span_of(plain, len);
	return MPK_OK;
}
