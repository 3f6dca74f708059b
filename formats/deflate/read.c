/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - zlib with a limit: the output is counted before memory is taken for it */
#include "deflate/deflate.h"

#include <inttypes.h>
#include <limits.h>

#define ZLIB_CONST /* next_in points to const bytes */
#include <zlib.h>

#include "deflate/inflate.h"

enum {
	SCRATCH_BYTES = 32768,
	USUAL_RATIO = 20, /* objects and weights unpack to less */
};

/* A decoding in progress. into NULL: the output is only counted. */
struct decoder {
	struct mpk_span bytes;
	int window;
	uint64_t limit;
	const struct mpk_deflate_reader
		*reader; /* of the last time that the bytes are read; or NULL */
	uint8_t *into;
	size_t in_pos;
	uint64_t out_len;
};

bool mpk_gzip_is(struct mpk_span bytes)
{
	return bytes.len >= 3 && bytes.data[0] == 0x1f && bytes.data[1] == 0x8b &&
	       bytes.data[2] == 8;
}

enum mpk_code mpk_inflate_fail(struct mpk_span bytes, size_t in_pos, int rc, const char *detail,
			       struct mpk_error *err)
{
	if (rc == Z_MEM_ERROR)
		return mpk_fail_nomem(err);
	if (rc == Z_BUF_ERROR || rc == Z_OK)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", bytes.len,
				       "compressed data: cut off");
	return mpk_fail_offset(err, MPK_E_CORRUPT, "file", in_pos, "compressed data: %s",
			       detail ? detail : "not what it claims");
}

enum mpk_code mpk_inflate_fail_limit(uint64_t limit, struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_UNSUPPORTED,
			"compressed data: more than %" PRIu64 " bytes when unpacked", limit);
}

enum mpk_code mpk_inflate_check_end(struct mpk_span bytes, size_t in_pos, struct mpk_error *err)
{
	if (in_pos != bytes.len)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", in_pos,
				       "compressed data: bytes behind its end");
	return MPK_OK;
}

/* One call of inflate with what zlib's 32-bit counters can take. */
static int deflate_read_step(struct decoder *d, z_stream *z, uint8_t *scratch)
{
	size_t in_left = d->bytes.len - d->in_pos;
	uint64_t out_left = d->into ? d->limit - d->out_len : SCRATCH_BYTES;
	uInt in = in_left < MPK_INFLATE_PIECE ? (uInt)in_left : MPK_INFLATE_PIECE;
	uInt out = out_left < UINT_MAX ? (uInt)out_left : UINT_MAX;
	int rc;

	z->next_in = d->bytes.data + d->in_pos;
	z->avail_in = in;
	z->next_out = d->into ? d->into + d->out_len : scratch;
	z->avail_out = out;
	rc = inflate(z, Z_NO_FLUSH);
	if (d->reader)
		d->reader->done(d->reader->arg,
				mpk_span_of(d->bytes.data + d->in_pos, in - z->avail_in));
	d->in_pos += in - z->avail_in;
	d->out_len += out - z->avail_out;
	return rc;
}

static enum mpk_code run_stream(struct decoder *d, z_stream *z, struct mpk_error *err)
{
	uint8_t scratch[SCRATCH_BYTES];
	int rc;

	do {
		rc = deflate_read_step(d, z, scratch);
		if (d->out_len > d->limit)
			return mpk_inflate_fail_limit(d->limit, err);
	} while (rc == Z_OK);
	return rc == Z_STREAM_END ? MPK_OK : mpk_inflate_fail(d->bytes, d->in_pos, rc, z->msg, err);
}

uint64_t mpk_deflate_limit(uint64_t packed)
{
	const uint64_t least = UINT64_C(64) << 20;
	uint64_t most;

	return __builtin_mul_overflow(packed, 128, &most) ||
			       __builtin_add_overflow(most, least, &most)
		       ? UINT64_MAX
		       : most;
}

static bool only_zeros(struct mpk_span bytes, size_t from)
{
	while (from < bytes.len)
		if (bytes.data[from++])
			return false;
	return true;
}

static enum mpk_code deflate_run(struct decoder *d, struct mpk_error *err)
{
	enum mpk_code code = MPK_OK;
	z_stream z = { 0 };
	int rc = inflateInit2(&z, d->window);

	if (rc != Z_OK)
		return mpk_inflate_fail(d->bytes, d->in_pos, rc, NULL, err);
	do {
		code = run_stream(d, &z, err);
		if (code == MPK_OK && d->window == MPK_WINDOW_RAW)
			break;
		inflateReset(&z);
	} while (code == MPK_OK && !only_zeros(d->bytes, d->in_pos));
	inflateEnd(&z);
	return code;
}

static enum mpk_code deflate_check_end(const struct decoder *d, struct mpk_error *err)
{
	return d->window == MPK_WINDOW_RAW ? mpk_inflate_check_end(d->bytes, d->in_pos, err)
					   : MPK_OK;
}

/* Once, into room for one byte more than the limit: who fills that has more. */
static enum mpk_code unpack_once(struct decoder d, const struct mpk_deflate_reader *reader,
				 struct mpk_arena *arena, struct mpk_span *out,
				 struct mpk_error *err)
{
	uint64_t limit = d.limit++;
	enum mpk_code code;

	d.reader = reader;
	d.into = mpk_arena_alloc(arena, (size_t)d.limit);
	MPK_TRY_ALLOC(d.into, err);
	code = deflate_run(&d, err);
	if (d.out_len > limit)
		return mpk_inflate_fail_limit(limit, err);
	if (code != MPK_OK)
		return code;
	MPK_TRY(deflate_check_end(&d, err));
	*out = mpk_span_of(d.into, (size_t)d.out_len);
	return MPK_OK;
}

static enum mpk_code deflate_unpack(struct decoder d, const struct mpk_deflate_reader *reader,
				    struct mpk_arena *arena, struct mpk_span *out,
				    struct mpk_error *err)
{
	struct decoder again = d;

	if (d.window == MPK_WINDOW_RAW && d.limit <= USUAL_RATIO * (uint64_t)d.bytes.len)
		return unpack_once(d, reader, arena, out, err);
	again.reader = reader;
	MPK_TRY(deflate_run(&d, err));
	MPK_TRY(deflate_check_end(&d, err));
	if (d.out_len >= SIZE_MAX)
		return mpk_fail_nomem(err);
	/* one byte more than needed: inflate must meet the end without running out of room */
	again.limit = d.out_len + 1;
	again.into = mpk_arena_alloc(arena, (size_t)again.limit);
	MPK_TRY_ALLOC(again.into, err);
	MPK_TRY(deflate_run(&again, err));
	*out = mpk_span_of(again.into, (size_t)again.out_len);
	return MPK_OK;
}

enum mpk_code mpk_gzip_read(struct mpk_span bytes, uint64_t limit, struct mpk_arena *arena,
			    struct mpk_span *out, struct mpk_error *err)
{
	struct decoder d = { .bytes = bytes, .window = MPK_WINDOW_GZIP, .limit = limit };

	if (!mpk_gzip_is(bytes))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", 0,
				       "compressed data: no gzip header");
	return deflate_unpack(d, NULL, arena, out, err);
}

enum mpk_code mpk_deflate_read(struct mpk_span bytes, uint64_t limit,
			       const struct mpk_deflate_reader *reader, struct mpk_arena *arena,
			       struct mpk_span *out, struct mpk_error *err)
{
	struct decoder d = { .bytes = bytes, .window = MPK_WINDOW_RAW, .limit = limit };

	return deflate_unpack(d, reader, arena, out, err);
}
