/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - bundles with fewer images than they had
 *
 * Identifiers are copied, not composed: compilers spell them in several ways, and loaders compare them whole. Apart from
 * read.c, so that who reads bundles links no compressor.
 */
#include "offload/offload.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include "base/num.h"

#define BUNDLE "__CLANG_OFFLOAD_BUNDLE__"

enum {
	BUNDLE_ENTRY_BYTES = 24,
	ALIGN_MAX = 4096,
	/* FORMAT.md 2 */
	VERSION_32_BITS = 2,
	METHOD_ZSTD = 1,
};

/* The largest power of two that the offset is a multiple of, within bounds. */
static uint64_t align_of(uint64_t off)
{
	uint64_t align = off ? off & -off : ALIGN_MAX;

	return align < ALIGN_MAX ? align : ALIGN_MAX;
}

/* Where each image goes; false: out of range. */
static bool place_images(const struct mpk_offload_entry *entries, const bool *keep, size_t count,
			 uint64_t *offs)
{
	uint64_t at = strlen(BUNDLE) + 8;

	for (size_t i = 0; i < count; i++)
		at += keep[i] ? BUNDLE_ENTRY_BYTES + entries[i].id.len : 0;
	for (size_t i = 0; i < count; i++) {
		if (!keep[i])
			continue;
		if (!mpk_align_up(at, align_of(entries[i].data_off), &at))
			return false;
		offs[i] = at;
		at += entries[i].data.len;
	}
	return true;
}

enum mpk_code mpk_offload_put_bundle(struct mpk_rope *out, const struct mpk_offload_entry *entries,
				     const bool *keep, size_t count, struct mpk_error *err)
{
	static const uint8_t zeros[ALIGN_MAX];
	uint64_t *offs = mpk_arena_array(out->arena, count + 1, sizeof *offs), start = out->len;
	uint64_t kept = 0;

	MPK_TRY_ALLOC(offs, err);
	for (size_t i = 0; i < count; i++)
		kept += keep[i];
	if (!place_images(entries, keep, count, offs))
		return mpk_fail(err, MPK_E_RANGE, "offload container: it is too large");
	mpk_rope_put_bytes(out, mpk_span_str(BUNDLE));
	mpk_rope_put_u64(out, kept);
	for (size_t i = 0; i < count; i++) {
		if (!keep[i])
			continue;
		mpk_rope_put_u64(out, offs[i]);
		mpk_rope_put_u64(out, entries[i].data.len);
		mpk_rope_put_str(out, entries[i].id);
	}
	for (size_t i = 0; i < count; i++) {
		if (!keep[i] || !entries[i].data.len)
			continue;
		while (out->len - start < offs[i] && !out->failed) {
			uint64_t gap = offs[i] - (out->len - start);

			mpk_rope_put_view(
				out, mpk_span_of(zeros, gap < ALIGN_MAX ? (size_t)gap : ALIGN_MAX));
		}
		mpk_rope_put_view(out, entries[i].data);
	}
	return mpk_rope_status(out, err);
}

/* --- compressed -------------------------------------------------------------------------------- */

static size_t compress_zlib(struct mpk_span in, void *to, size_t most, int level)
{
	uLongf len = most;

	return compress2(to, &len, in.data, in.len, level) == Z_OK ? len : 0;
}

static size_t compress_zstd(struct mpk_span in, void *to, size_t most, int level)
{
	size_t len = ZSTD_compress(to, most, in.data, in.len, level);

	return ZSTD_isError(len) ? 0 : len;
}

/* The hash is the key of caches of unpacked bundles: another bundle must have another one. */
static void put_header(const struct mpk_offload_packed *as, struct mpk_span bundle, size_t packed,
		       struct mpk_rope *out)
{
	bool wide = as->version > VERSION_32_BITS;
	uint64_t head = as->version == 1 ? 20 : wide ? 32 : 24;

	mpk_rope_put_bytes(out, mpk_span_str("CCOB"));
	mpk_rope_put_u16(out, (uint16_t)as->version);
	mpk_rope_put_u16(out, as->method == MPK_OFFLOAD_ZSTD ? METHOD_ZSTD : 0);
	if (wide) {
		mpk_rope_put_u64(out, head + packed);
		mpk_rope_put_u64(out, bundle.len);
	} else {
		if (as->version == VERSION_32_BITS)
			mpk_rope_put_u32(out, (uint32_t)(head + packed));
		mpk_rope_put_u32(out, (uint32_t)bundle.len);
	}
	mpk_rope_put_u64(out, XXH64(bundle.data, bundle.len, 0));
}

enum mpk_code mpk_offload_pack(const struct mpk_offload_packed *as, struct mpk_span bundle,
			       int level, struct mpk_arena *arena, struct mpk_span *out,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	struct mpk_rope rope = mpk_rope_of(arena);
	bool zstd = as->method == MPK_OFFLOAD_ZSTD;
	size_t most = zstd ? ZSTD_compressBound(bundle.len) : compressBound(bundle.len), len;
	void *to = mpk_arena_alloc(&scratch, most + 1);

	MPK_TRY_ALLOC(to, err);
	if (as->version <= VERSION_32_BITS && (bundle.len > UINT32_MAX || most > UINT32_MAX))
		return mpk_fail(err, MPK_E_RANGE, "offload container: it is too large");
	len = (zstd ? compress_zstd : compress_zlib)(bundle, to, most, level);
	if (!len)
		return mpk_fail_nomem(err);
	put_header(as, bundle, len, &rope);
	mpk_rope_put_view(&rope, mpk_span_of(to, len));
	return mpk_rope_flat(&rope, out, err);
}
