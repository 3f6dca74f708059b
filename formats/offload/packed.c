/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed bundles, by the libraries that Clang compresses them with. How large one becomes is read
 * from the file, so it is held against a bound before memory is asked for. */
#include "offload/offload.h"

#include <inttypes.h>
#include <limits.h>
#include <zstd.h>

#include "base/compiler.h"
#include "base/cursor.h"

#define ZLIB_CONST /* next_in points to const bytes */
#include <zlib.h>

enum { WINDOW_LOG_MAX = 30 };

bool mpk_offload_is_packed(struct mpk_span bytes)
{
	return bytes.len >= 8 && mpk_span_starts(bytes, "CCOB");
}

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

enum mpk_code mpk_offload_read_packed(struct mpk_span bytes, struct mpk_offload_packed *out,
				      struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(bytes, 0, "payload");
	struct mpk_offload_packed p = { 0 };
	struct mpk_span magic;
	uint16_t version, method;
	uint64_t all, hash;

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

/* --- unpacking -------------------------------------------------------------------------- */

static void end_inflate(z_stream *z)
{
	(void)inflateEnd(z);
}

/* Bytes that came out, at most len; the stream need not end there. */
static enum mpk_code inflate_some(struct mpk_span data, uint8_t *to, size_t len, size_t *got,
				  struct mpk_error *err)
{
	MPK_CLEANUP(end_inflate) z_stream stream = { 0 };
	int rc = inflateInit(&stream);

	if (rc != Z_OK)
		return mpk_fail_nomem(err);
	stream.next_in = data.data;
	stream.next_out = to;
	/* len is at most MPK_OFFLOAD_PLAIN_MAX; of more input than uInt holds the rest is not needed */
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

static void free_stream(ZSTD_DStream **s)
{
	(void)ZSTD_freeDStream(*s);
}

static enum mpk_code zstd_some(struct mpk_span data, uint8_t *to, size_t len, size_t *got,
			       struct mpk_error *err)
{
	MPK_CLEANUP(free_stream) ZSTD_DStream *s = ZSTD_createDStream();
	ZSTD_inBuffer in = { data.data, data.len, 0 };
	ZSTD_outBuffer out = { to, len, 0 };
	size_t rc = 1;

	MPK_TRY_ALLOC(s, err);
	/* Clang matches over long distances in large bundles */
	(void)ZSTD_DCtx_setParameter(s, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	while (rc != 0 && out.pos < out.size) {
		size_t before = in.pos + out.pos;

		rc = ZSTD_decompressStream(s, &out, &in);
		if (ZSTD_isError(rc) || (rc != 0 && in.pos + out.pos == before))
			return mpk_fail(err, MPK_E_CORRUPT,
					"compressed bundle: broken zstd data%s%s",
					ZSTD_isError(rc) ? ": " : "",
					ZSTD_isError(rc) ? ZSTD_getErrorName(rc) : "");
	}
	*got = out.pos;
	return MPK_OK;
}

static enum mpk_code check_plain(const struct mpk_offload_packed *p, struct mpk_error *err)
{
	if (p->plain_bytes > MPK_OFFLOAD_PLAIN_MAX)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"compressed bundle: %" PRIu64
				" bytes when unpacked: more than is looked into",
				p->plain_bytes);
	return MPK_OK;
}

static enum mpk_code some(const struct mpk_offload_packed *p, size_t len, struct mpk_arena *arena,
			  struct mpk_span *out, struct mpk_error *err)
{
	uint8_t *to = mpk_arena_alloc(arena, len + 1);
	size_t got;

	MPK_TRY_ALLOC(to, err);
	MPK_TRY((p->method == MPK_OFFLOAD_ZLIB ? inflate_some : zstd_some)(p->data, to, len, &got,
									   err));
	*out = mpk_span_of(to, got);
	return MPK_OK;
}

enum mpk_code mpk_offload_unpack_head(const struct mpk_offload_packed *p, size_t most,
				      struct mpk_arena *arena, struct mpk_span *out,
				      struct mpk_error *err)
{
	MPK_TRY(check_plain(p, err));
	return some(p, p->plain_bytes < most ? (size_t)p->plain_bytes : most, arena, out, err);
}

/* One byte more is asked for than there should be: a stream that goes on is found out. */
enum mpk_code mpk_offload_unpack(const struct mpk_offload_packed *p, struct mpk_arena *arena,
				 struct mpk_span *out, struct mpk_error *err)
{
	struct mpk_span plain;

	MPK_TRY(check_plain(p, err));
	MPK_TRY(some(p, (size_t)p->plain_bytes + 1, arena, &plain, err));
	if (plain.len != p->plain_bytes)
		return mpk_fail(err, MPK_E_CORRUPT,
				"compressed bundle: it does not unpack to %" PRIu64 " bytes",
				p->plain_bytes);
	*out = plain;
	return MPK_OK;
}
