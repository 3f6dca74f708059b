/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - zlib with a limit: the output is counted before memory is allocated; and parts of the
 * content, from kept copies of the decoder's state */
#include "deflate/deflate.h"

#include <inttypes.h>
#include <limits.h>
#include <stdalign.h>
#include <stddef.h>

#define ZLIB_CONST /* next_in points to const bytes */
#include <zlib.h>

/* windowBits of inflateInit2 (zlib.h) */
enum { WINDOW_RAW = -15, WINDOW_GZIP = 15 + 16 };

/* Bytes of input at a time, because zlib's counters have 32 bits. */
enum { INFLATE_PIECE = 4 << 20 };

enum {
	SCRATCH_BYTES = 32768,
	USUAL_RATIO = 20, /* objects and weights have a lower ratio */
};

/* A decoding in progress. into NULL: only count the output. */
struct decoder {
	struct mpk_span bytes;
	int window;
	uint64_t limit;
	const struct mpk_deflate_reader
		*reader; /* called when the bytes are read for the last time; or NULL */
	uint8_t *into;
	size_t in_pos;
	uint64_t out_len;
};

bool mpk_gzip_is(struct mpk_span bytes)
{
	return bytes.len >= 3 && bytes.data[0] == 0x1f && bytes.data[1] == 0x8b &&
	       bytes.data[2] == 8;
}

/* Reports a failure of inflate
 * @bytes   the whole input
 * @in_pos  the bytes of it that inflate has read
 * @detail  z_stream.msg, or NULL
 * Returns  MPK_E_CORRUPT with the offset in "file"; MPK_E_NOMEM */
static enum mpk_code inflate_fail(struct mpk_span bytes, size_t in_pos, int rc, const char *detail,
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

/* Reports more than limit bytes of output: MPK_E_UNSUPPORTED */
static enum mpk_code inflate_fail_limit(uint64_t limit, struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_UNSUPPORTED,
			"compressed data: more than %" PRIu64 " bytes when unpacked", limit);
}

/* Checks that a bare stream has used all its bytes
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "file" */
static enum mpk_code inflate_check_end(struct mpk_span bytes, size_t in_pos, struct mpk_error *err)
{
	if (in_pos != bytes.len)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", in_pos,
				       "compressed data: bytes behind its end");
	return MPK_OK;
}

/* Calls inflate once, with as much as zlib's 32-bit counters can take. */
static int deflate_read_step(struct decoder *d, z_stream *z, uint8_t *scratch)
{
	size_t in_left = d->bytes.len - d->in_pos;
	uint64_t out_left = d->into ? d->limit - d->out_len : SCRATCH_BYTES;
	uInt in = in_left < INFLATE_PIECE ? (uInt)in_left : INFLATE_PIECE;
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
			return inflate_fail_limit(d->limit, err);
	} while (rc == Z_OK);
	return rc == Z_STREAM_END ? MPK_OK : inflate_fail(d->bytes, d->in_pos, rc, z->msg, err);
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
		return inflate_fail(d->bytes, d->in_pos, rc, NULL, err);
	do {
		code = run_stream(d, &z, err);
		if (code == MPK_OK && d->window == WINDOW_RAW)
			break;
		inflateReset(&z);
	} while (code == MPK_OK && !only_zeros(d->bytes, d->in_pos));
	inflateEnd(&z);
	return code;
}

static enum mpk_code deflate_check_end(const struct decoder *d, struct mpk_error *err)
{
	return d->window == WINDOW_RAW ? inflate_check_end(d->bytes, d->in_pos, err) : MPK_OK;
}

static enum mpk_code deflate_unpack(struct decoder d, const struct mpk_deflate_reader *reader,
				    struct mpk_arena *arena, struct mpk_span *out,
				    struct mpk_error *err)
{
	struct decoder again = d;

	if (d.window == WINDOW_RAW && d.limit <= USUAL_RATIO * (uint64_t)d.bytes.len) {
		/* Decodes once, into space for one byte more than the limit: content that fills it is too long. */
		uint64_t limit = d.limit++;
		enum mpk_code code;

		d.reader = reader;
		d.into = mpk_arena_alloc(arena, (size_t)d.limit);
		MPK_TRY_ALLOC(d.into, err);
		code = deflate_run(&d, err);
		if (d.out_len > limit)
			return inflate_fail_limit(limit, err);
		if (code != MPK_OK)
			return code;
		MPK_TRY(deflate_check_end(&d, err));
		*out = mpk_span_of(d.into, (size_t)d.out_len);
		return MPK_OK;
	}
	again.reader = reader;
	MPK_TRY(deflate_run(&d, err));
	MPK_TRY(deflate_check_end(&d, err));
	if (d.out_len >= SIZE_MAX)
		return mpk_fail_nomem(err);
	/* one byte more than needed, so that inflate reaches the end of the stream */
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
	struct decoder d = { .bytes = bytes, .window = WINDOW_GZIP, .limit = limit };

	if (!mpk_gzip_is(bytes))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", 0,
				       "compressed data: no gzip header");
	return deflate_unpack(d, NULL, arena, out, err);
}

enum mpk_code mpk_deflate_read(struct mpk_span bytes, uint64_t limit,
			       const struct mpk_deflate_reader *reader, struct mpk_arena *arena,
			       struct mpk_span *out, struct mpk_error *err)
{
	struct decoder d = { .bytes = bytes, .window = WINDOW_RAW, .limit = limit };

	return deflate_unpack(d, reader, arena, out, err);
}

/* Errors are ignored: a caller that reads the whole stream gets them. */
size_t mpk_deflate_head(struct mpk_span bytes, uint8_t *into, size_t cap)
{
	struct decoder d = { .bytes = bytes, .window = WINDOW_RAW, .limit = cap, .into = into };
	z_stream z = { 0 };
	int rc = inflateInit2(&z, d.window);

	if (rc != Z_OK)
		return 0;
	while (rc == Z_OK && d.out_len < cap)
		rc = deflate_read_step(&d, &z, NULL);
	inflateEnd(&z);
	return (size_t)d.out_len;
}

/* --- an index: copies of the decoder's state ------------------------------
 *
 * All memory of zlib comes from the arena, and while parts are read from a buffer allocated before.
 * Nothing is freed individually, so inflateEnd is not needed. */

enum {
	WINDOW_BYTES = 64 * 1024, /* at least what a decoder without a window may still allocate */
	NEAR_BYTES =
		64 * 1024, /* bytes of a mapped file that the system may read before and after those
		       * asked for */
};

/* The memory that zlib allocates from. */
struct memory {
	struct mpk_arena *arena; /* NULL: use bytes */
	uint8_t *bytes;
	size_t used, size;
};

struct state {
	z_stream z;
	size_t in_pos;
};

struct mpk_deflate_index {
	struct mpk_span bytes;
	struct mpk_deflate_reader reader;
	size_t interval;
	struct state *states; /* states[k] is the one at k * interval */
	size_t count;
	uint64_t len;
	struct memory kept, scratch;
	/* the decoder: of the whole stream, later of the last part read */
	z_stream z;
	size_t in_pos;
	uint64_t out_pos;
	bool is_open; /* the decoder can continue at out_pos */
};

static voidpf deflate_take(voidpf opaque, uInt items, uInt size)
{
	const size_t align = alignof(max_align_t);
	struct memory *m = opaque;
	size_t bytes;

	if (__builtin_mul_overflow((size_t)items, (size_t)size, &bytes) || bytes > SIZE_MAX - align)
		return NULL;
	bytes = (bytes + align - 1) / align * align;
	if (!m->arena && bytes > m->size - m->used)
		return NULL;

	void *p = m->arena ? mpk_arena_alloc(m->arena, bytes) : m->bytes + m->used;

	m->used += bytes;
	return p;
}

static void give_back(voidpf opaque, voidpf p)
{
	(void)opaque;
	(void)p;
}

static void tell(const struct mpk_deflate_index *x, size_t from, size_t to)
{
	if (x->reader.done)
		x->reader.done(x->reader.arg, mpk_span_of(x->bytes.data + from, to - from));
}

/* Calls inflate once, with as much as zlib's 32-bit counters can take. */
static int deflate_step(struct mpk_deflate_index *x, uint8_t *into, size_t len, size_t *made)
{
	size_t left = x->bytes.len - x->in_pos;
	uInt in = left < INFLATE_PIECE ? (uInt)left : INFLATE_PIECE;
	uInt out = len < INFLATE_PIECE ? (uInt)len : INFLATE_PIECE;
	int rc;

	x->z.next_in = x->bytes.data + x->in_pos;
	x->z.avail_in = in;
	x->z.next_out = into;
	x->z.avail_out = out;
	rc = inflate(&x->z, Z_NO_FLUSH);
	x->in_pos += in - x->z.avail_in;
	*made = out - x->z.avail_out;
	x->out_pos += *made;
	return rc;
}

static enum mpk_code deflate_decode(struct mpk_deflate_index *x, uint64_t limit,
				    const struct mpk_deflate_sink *sink, uint8_t *piece,
				    struct mpk_error *err)
{
	size_t told = 0, made;
	int rc;

	do {
		if (x->out_pos == x->count * (uint64_t)x->interval) {
			/* --- the whole stream, once --------------------------------------- */
			struct state *s = &x->states[x->count];

			if (inflateCopy(&s->z, &x->z) != Z_OK)
				return mpk_fail_nomem(err);
			s->z.opaque = &x->scratch; /* a copy of this copy allocates from there */
			s->in_pos = x->in_pos;
			x->count++;
		}

		uint64_t left = x->count * (uint64_t)x->interval - x->out_pos;

		rc = deflate_step(x, piece,
				  left < MPK_DEFLATE_SINK_BYTES ? (size_t)left
								: MPK_DEFLATE_SINK_BYTES,
				  &made);
		if (x->out_pos > limit)
			return inflate_fail_limit(limit, err);
		if (made)
			sink->put(sink->arg, x->out_pos - made, mpk_span_of(piece, made));
		if (x->in_pos - told >= INFLATE_PIECE || rc != Z_OK) {
			tell(x, told, x->in_pos);
			told = x->in_pos;
		}
	} while (rc == Z_OK);
	return rc == Z_STREAM_END ? inflate_check_end(x->bytes, x->in_pos, err)
				  : inflate_fail(x->bytes, x->in_pos, rc, x->z.msg, err);
}

enum mpk_code mpk_deflate_index_build(struct mpk_span bytes, uint64_t limit, size_t interval,
				      const struct mpk_deflate_reader *reader,
				      const struct mpk_deflate_sink *sink, struct mpk_arena *arena,
				      struct mpk_deflate_index **out, struct mpk_error *err)
{
	struct mpk_deflate_index *x = mpk_arena_alloc(arena, sizeof *x);
	uint8_t *piece = mpk_arena_alloc(arena, MPK_DEFLATE_SINK_BYTES);
	uint64_t states = limit / interval + 1;

	if (!x || !piece || states > SIZE_MAX)
		return mpk_fail_nomem(err);
	*x = (struct mpk_deflate_index){ .bytes = bytes, .interval = interval };
	if (reader)
		x->reader = *reader;
	MPK_TRY_ARRAY(x->states, arena, (size_t)states, err);
	x->kept.arena = arena;
	x->z = (z_stream){ .zalloc = deflate_take, .zfree = give_back, .opaque = &x->kept };

	int rc = inflateInit2(&x->z, WINDOW_RAW);

	if (rc != Z_OK)
		return inflate_fail(bytes, 0, rc, NULL, err);
	MPK_TRY(deflate_decode(x, limit, sink, piece, err));

	/* The size of a copy of the decoder, which by now has allocated everything. */
	size_t before = x->kept.used;
	z_stream copy;

	if (inflateCopy(&copy, &x->z) != Z_OK)
		return mpk_fail_nomem(err);
	x->scratch.size = x->kept.used - before + WINDOW_BYTES;
	x->scratch.bytes = mpk_arena_alloc(arena, x->scratch.size);
	MPK_TRY_ALLOC(x->scratch.bytes, err);

	x->len = x->out_pos;
	*out = x;
	return MPK_OK;
}

/* --- parts of the content ---------------------------------------------------------------- */

static bool start_at(struct mpk_deflate_index *x, uint64_t from)
{
	uint64_t k = from / x->interval;

	if (from % x->interval || k >= x->count)
		return false;
	x->scratch.used = 0;
	if (inflateCopy(&x->z, &x->states[k].z) != Z_OK)
		return false;
	x->in_pos = x->states[k].in_pos;
	x->out_pos = from;
	return true;
}

bool mpk_deflate_index_read(struct mpk_deflate_index *x, uint64_t from, uint8_t *into, size_t len)
{
	if (from > x->len || len > x->len - from)
		return false;
	if (!x->is_open || x->out_pos != from)
		x->is_open = start_at(x, from);

	size_t begin = x->in_pos < NEAR_BYTES ? 0 : x->in_pos - NEAR_BYTES;

	while (len && x->is_open) {
		size_t made;
		int rc = deflate_step(x, into, len, &made);

		into += made;
		len -= made;
		x->is_open = rc == Z_OK;
	}
	tell(x, begin,
	     x->bytes.len - x->in_pos < NEAR_BYTES ? x->bytes.len : x->in_pos + NEAR_BYTES);
	return len == 0;
}
