/* SPDX-License-Identifier: Apache-2.0 */
/* packed.c - compressed bundles, by the libraries that Clang uses. The decompressed size is read
 * from the file, so it is compared with a limit before memory is allocated. */
#include "offload/offload.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/account.h"
#include "base/compiler.h"
#include "base/cursor.h"
#include "base/vec.h"

#define ZLIB_CONST /* next_in points to const bytes */
#include <zlib.h>

enum { WINDOW_LOG_MAX = 30 };

static enum mpk_code read_sizes(struct mpk_cursor *c, unsigned version, uint64_t *all,
				uint64_t *plain, struct mpk_error *err)
{
	uint32_t u32[2] = { 0, 0 };

	if (version == 3) {
		MPK_TRY(mpk_read_u64(c, "compressed bundle: size", all, err));
		return mpk_read_u64(c, "compressed bundle: size", plain, err);
	}
	if (version == 2)
		MPK_TRY(mpk_read_u32(c, "compressed bundle: size", &u32[0], err));
	MPK_TRY(mpk_read_u32(c, "compressed bundle: size", &u32[1], err));
	*all = version == 2 ? u32[0] : c->bytes.len;
	*plain = u32[1];
	return MPK_OK;
}

/* --- frames and streams without a header: FORMAT.md 2, 4 --------------------------------- */

enum {
	DISCARD_BYTES = 64 << 10,
	RATIO_MAX = 64, /* device code compresses to a tenth; data that compresses far better is
			 * hostile, or zeros */
};

static void free_zstd(ZSTD_DStream **s)
{
	(void)ZSTD_freeDStream(*s);
}

/* Whether zstd failed for lack of memory, which is noted: otherwise it would look like a broken
 * frame. */
static bool lacks_memory(const ZSTD_DStream *s, size_t rc)
{
	bool lacks = !s || ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation;

	if (lacks)
		mpk_memory_failed();
	return lacks;
}

/* Counts the decompressed bytes of a frame that does not store them. Returns false if the frame is
 * broken. */
static bool count_frame(struct mpk_span data, ZSTD_DStream *s, uint8_t *scratch, uint64_t *out)
{
	ZSTD_inBuffer in = { data.data, data.len, 0 };
	size_t rc = 1;

	*out = 0;
	while (rc != 0) {
		ZSTD_outBuffer to = { scratch, DISCARD_BYTES, 0 };
		size_t before = in.pos;

		rc = ZSTD_decompressStream(s, &to, &in);
		*out += to.pos;
		(void)lacks_memory(s, rc);
		if (ZSTD_isError(rc) || (rc != 0 && in.pos == before && !to.pos) ||
		    *out > DISCARD_BYTES + RATIO_MAX * (uint64_t)data.len)
			return false;
	}
	return true;
}

static enum mpk_code count_plain(struct mpk_span data, uint64_t *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_arena_fini) struct mpk_arena scratch = { 0 };
	MPK_CLEANUP(free_zstd) ZSTD_DStream *s = ZSTD_createDStream();
	uint8_t *discard = mpk_arena_alloc(&scratch, DISCARD_BYTES);

	MPK_TRY_ALLOC(!lacks_memory(s, 0) && discard, err);
	(void)ZSTD_DCtx_setParameter(s, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	if (!count_frame(data, s, discard, out))
		return mpk_fail(err, MPK_E_CORRUPT, "broken zstd frame");
	/* the work counts, although the bytes are discarded */
	MPK_TRY(mpk_account_take(*out, err));
	return MPK_OK;
}

enum mpk_code mpk_offload_read_packed(struct mpk_span bytes, struct mpk_offload_packed *out,
				      struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(bytes, 0, "payload");
	struct mpk_offload_packed p = { 0 };
	struct mpk_span magic;
	uint16_t version, method;
	uint64_t all, hash;

	if (mpk_offload_is_frame(bytes)) {
		/* The decompressed bytes of a frame that is an image by itself. */
		unsigned long long plain = ZSTD_getFrameContentSize(bytes.data, bytes.len);
		size_t n = ZSTD_findFrameCompressedSize(bytes.data, bytes.len);
		uint64_t counted = plain;

		if (plain == ZSTD_CONTENTSIZE_ERROR || ZSTD_isError(n))
			return mpk_fail_offset(
				err, MPK_E_CORRUPT, "payload", 0,
				"broken zstd frame: it was cut off, or its blocks are wrong");
		if (plain == ZSTD_CONTENTSIZE_UNKNOWN)
			MPK_TRY(count_plain(mpk_span_of(bytes.data, n), &counted, err));
		*out = (struct mpk_offload_packed){ .method = MPK_OFFLOAD_ZSTD,
						    .data = mpk_span_of(bytes.data, n),
						    .plain_bytes = counted,
						    .used = n };
		return MPK_OK;
	}
	MPK_TRY(mpk_read_bytes(&c, "compressed bundle: magic", 4, &magic, err));
	MPK_TRY(mpk_read_u16(&c, "compressed bundle: version", &version, err));
	MPK_TRY(mpk_read_u16(&c, "compressed bundle: method", &method, err));
	if (version < 1 || version > 3 || method > 1)
		return mpk_fail_offset(err, MPK_E_UNSUPPORTED, "payload", 4,
				       "compressed bundle: version %u with method %u is not known",
				       version, method);
	MPK_TRY(read_sizes(&c, version, &all, &p.plain_bytes, err));
	MPK_TRY(mpk_read_u64(&c, "compressed bundle: hash", &hash, err));
	p.version = version;
	p.method = method == 0 ? MPK_OFFLOAD_ZLIB : MPK_OFFLOAD_ZSTD;
	p.data_off = mpk_cursor_offset(&c);
	if (all < p.data_off || !mpk_span_sub(bytes, p.data_off, all - p.data_off, &p.data))
		return mpk_fail_offset(
			err, MPK_E_CORRUPT, "payload", 8,
			"compressed bundle: it reaches beyond the end; it was cut off");
	p.used = all;
	*out = p;
	return MPK_OK;
}

static void end_inflate(z_stream *z)
{
	(void)inflateEnd(z);
}

static uint64_t zlib_bytes(struct mpk_span data)
{
	MPK_CLEANUP(end_inflate) z_stream z = { 0 };
	uint8_t discard[4096];
	int rc = inflateInit(&z);

	z.next_in = data.data;
	z.avail_in = data.len < UINT_MAX ? (uInt)data.len : UINT_MAX;
	while (rc == Z_OK && z.total_out <= DISCARD_BYTES + RATIO_MAX * (uint64_t)z.total_in) {
		z.next_out = discard;
		z.avail_out = sizeof discard;
		rc = inflate(&z, Z_NO_FLUSH);
	}
	return rc == Z_STREAM_END ? z.total_in : 0;
}

uint64_t mpk_offload_packed_bytes(const struct mpk_offload_packed *p)
{
	size_t n;

	if (p->method == MPK_OFFLOAD_ZLIB) {
		uint64_t bytes = zlib_bytes(p->data);

		return bytes ? p->data_off + bytes : 0;
	}
	n = ZSTD_findFrameCompressedSize(p->data.data, p->data.len);
	return ZSTD_isError(n) ? 0 : p->data_off + n;
}

/* --- unpacking -------------------------------------------------------------------------- */

/* Decompresses at most len bytes; more may follow in the stream. */
static enum mpk_code inflate_some(struct mpk_span data, uint8_t *to, size_t len, size_t *got,
				  struct mpk_error *err)
{
	MPK_CLEANUP(end_inflate) z_stream stream = { 0 };
	int rc = inflateInit(&stream);

	if (rc != Z_OK)
		return mpk_fail_nomem(err);
	stream.next_in = data.data;
	stream.next_out = to;
	/* len is at most MPK_OFFLOAD_PLAIN_MAX, so input beyond a uInt is not needed */
	stream.avail_in = data.len < UINT_MAX ? (uInt)data.len : UINT_MAX;
	stream.avail_out = (uInt)len;
	rc = inflate(&stream, Z_FINISH);
	*got = len - stream.avail_out;
	if (rc == Z_MEM_ERROR)
		return mpk_fail_nomem(err);
	return rc == Z_STREAM_END || (rc == Z_BUF_ERROR && *got == len) ||
			       (rc == Z_OK && *got == len)
		       ? MPK_OK
		       : mpk_fail(err, MPK_E_CORRUPT, "compressed bundle: broken zlib data");
}

/* Returns the memory that zstd needs to decompress a frame in pieces (RFC 8878, 3.1.1.1), however
 * few bytes are asked for. A frame without a window keeps its whole content. */
static uint64_t frame_window(struct mpk_span data, uint64_t plain)
{
	enum { DESCRIPTOR = 4, WINDOW = 5, SINGLE_SEGMENT = 1 << 5 };
	uint64_t base;

	if (data.len <= WINDOW || (data.data[DESCRIPTOR] & SINGLE_SEGMENT))
		return plain;
	base = UINT64_C(1) << (10 + (data.data[WINDOW] >> 3));
	return base + base / 8 * (data.data[WINDOW] & 7);
}

static enum mpk_code zstd_some(struct mpk_span data, uint8_t *to, size_t len, size_t *got,
			       struct mpk_error *err)
{
	MPK_CLEANUP(free_zstd) ZSTD_DStream *s = ZSTD_createDStream();
	ZSTD_inBuffer in = { data.data, data.len, 0 };
	ZSTD_outBuffer out = { to, len, 0 };
	size_t rc = 1;

	MPK_TRY_ALLOC(!lacks_memory(s, 0), err);
	/* for large bundles Clang matches over long distances */
	(void)ZSTD_DCtx_setParameter(s, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	while (rc != 0 && out.pos < out.size) {
		size_t before = in.pos + out.pos;

		rc = ZSTD_decompressStream(s, &out, &in);
		if (lacks_memory(s, rc))
			return mpk_fail_nomem(err);
		if (ZSTD_isError(rc) || (rc != 0 && in.pos + out.pos == before))
			return mpk_fail(err, MPK_E_CORRUPT,
					"compressed bundle: broken zstd data%s%s",
					ZSTD_isError(rc) ? ": " : "",
					ZSTD_isError(rc) ? ZSTD_getErrorName(rc) : "");
	}
	*got = out.pos;
	return MPK_OK;
}

static enum mpk_code some(const struct mpk_offload_packed *p, size_t len, struct mpk_arena *arena,
			  struct mpk_span *out, struct mpk_error *err)
{
	uint8_t *to;
	size_t got;

	uint64_t window = p->method == MPK_OFFLOAD_ZLIB ? 0 : frame_window(p->data, p->plain_bytes);

	MPK_TRY(mpk_account_take(window > len ? window : len, err));
	to = mpk_arena_alloc(arena, len + 1);
	MPK_TRY_ALLOC(to, err);
	MPK_TRY((p->method == MPK_OFFLOAD_ZLIB ? inflate_some : zstd_some)(p->data, to, len, &got,
									   err));
	*out = mpk_span_of(to, got);
	return MPK_OK;
}

/* One byte more than expected is asked for, to find a stream that is too long. */
enum mpk_code mpk_offload_unpack(const struct mpk_offload_packed *p, size_t most,
				 struct mpk_arena *arena, struct mpk_span *out,
				 struct mpk_error *err)
{
	struct mpk_span plain;

	if (p->plain_bytes > MPK_OFFLOAD_PLAIN_MAX)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"compressed bundle: %" PRIu64
				" bytes when unpacked: more than is looked into",
				p->plain_bytes);

	if (most != SIZE_MAX)
		return some(p, p->plain_bytes < most ? (size_t)p->plain_bytes : most, arena, out,
			    err);
	MPK_TRY(some(p, (size_t)p->plain_bytes + 1, arena, &plain, err));
	if (plain.len != p->plain_bytes)
		return mpk_fail(err, MPK_E_CORRUPT,
				"compressed bundle: it does not unpack to %" PRIu64 " bytes",
				p->plain_bytes);
	*out = plain;
	return MPK_OK;
}

/* --- writing bundles with fewer images --- */

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

/* Returns the largest power of two, within limits, that divides the offset. */
static uint64_t align_of(uint64_t off)
{
	uint64_t align = off ? off & -off : ALIGN_MAX;

	return align < ALIGN_MAX ? align : ALIGN_MAX;
}

/* Computes the offset of each image. Returns false if one is out of range. */
static bool place_images(const struct mpk_offload_entry *entries, const bool *keep, size_t count,
			 uint64_t *offs)
{
	uint64_t at = strlen(BUNDLE) + 8;

	for (size_t i = 0; i < count; i++)
		at += keep[i] ? BUNDLE_ENTRY_BYTES + entries[i].id.len : 0;
	for (size_t i = 0; i < count; i++) {
		if (!keep[i] || !entries[i].data.len)
			continue;
		if (!mpk_align_up(at, align_of(entries[i].data_off), &at))
			return false;
		offs[i] = at;
		at += entries[i].data.len;
	}
	/* an image without bytes gets the offset of the next image, or the end */
	for (size_t i = count; i--;) {
		if (keep[i] && !entries[i].data.len)
			offs[i] = at;
		else if (keep[i])
			at = offs[i];
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

	/* The hash is the key in caches of decompressed bundles: another bundle must have another hash. */
	bool wide = as->version > VERSION_32_BITS;
	uint64_t head = as->version == 1 ? 20 : wide ? 32 : 24;

	mpk_rope_put_bytes(&rope, mpk_span_str("CCOB"));
	mpk_rope_put_u16(&rope, (uint16_t)as->version);
	mpk_rope_put_u16(&rope, as->method == MPK_OFFLOAD_ZSTD ? METHOD_ZSTD : 0);
	if (wide) {
		mpk_rope_put_u64(&rope, head + len);
		mpk_rope_put_u64(&rope, bundle.len);
	} else {
		if (as->version == VERSION_32_BITS)
			mpk_rope_put_u32(&rope, (uint32_t)(head + len));
		mpk_rope_put_u32(&rope, (uint32_t)bundle.len);
	}
	mpk_rope_put_u64(&rope, XXH64(bundle.data, bundle.len, 0));

	mpk_rope_put_view(&rope, mpk_span_of(to, len));
	return mpk_rope_flat(&rope, out, err);
}
