/* SPDX-License-Identifier: Apache-2.0 */
/* index.c - states of zlib's decoder, copied while it runs
 *
 * All memory of zlib comes from the arena, and for reading from a buffer that was allocated before. Nothing is
 * freed by itself, so inflateEnd is not needed. */
#include "deflate/index.h"

#include <stdalign.h>
#include <stddef.h>

#define ZLIB_CONST /* next_in points to const bytes */
#include <zlib.h>

#include "deflate/inflate.h"

enum {
	WINDOW_BYTES = 64 * 1024, /* at least what a decoder without a window may still allocate */
	NEAR_BYTES =
		64 *
		1024, /* as much of a mapped file may be read ahead of and after what is touched */
};

/* What zlib allocates from. */
struct memory {
	struct mpk_arena *arena; /* NULL: from bytes */
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
	struct state *states; /* that at k * interval is states[k] */
	size_t count;
	uint64_t len;
	struct memory kept, scratch;
	/* the decoder: of the whole stream, and afterwards of the last part that was read */
	z_stream z;
	size_t in_pos;
	uint64_t out_pos;
	bool is_open; /* the decoder can go on from out_pos */
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

/* One call of inflate, with what zlib's 32-bit counters can take. */
static int deflate_step(struct mpk_deflate_index *x, uint8_t *into, size_t len, size_t *made)
{
	size_t left = x->bytes.len - x->in_pos;
	uInt in = left < MPK_INFLATE_PIECE ? (uInt)left : MPK_INFLATE_PIECE;
	uInt out = len < MPK_INFLATE_PIECE ? (uInt)len : MPK_INFLATE_PIECE;
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

/* --- the whole stream, once ------------------------------------------------------------- */

static enum mpk_code keep_state(struct mpk_deflate_index *x, struct mpk_error *err)
{
	struct state *s = &x->states[x->count];

	if (inflateCopy(&s->z, &x->z) != Z_OK)
		return mpk_fail_nomem(err);
	s->z.opaque = &x->scratch; /* a copy of this copy allocates from there */
	s->in_pos = x->in_pos;
	x->count++;
	return MPK_OK;
}

static enum mpk_code deflate_decode(struct mpk_deflate_index *x, uint64_t limit,
				    const struct mpk_deflate_sink *sink, uint8_t *piece,
				    struct mpk_error *err)
{
	size_t told = 0, made;
	int rc;

	do {
		if (x->out_pos == x->count * (uint64_t)x->interval)
			MPK_TRY(keep_state(x, err));

		uint64_t left = x->count * (uint64_t)x->interval - x->out_pos;

		rc = deflate_step(x, piece,
				  left < MPK_DEFLATE_SINK_BYTES ? (size_t)left
								: MPK_DEFLATE_SINK_BYTES,
				  &made);
		if (x->out_pos > limit)
			return mpk_inflate_fail_limit(limit, err);
		if (made)
			sink->put(sink->arg, x->out_pos - made, mpk_span_of(piece, made));
		if (x->in_pos - told >= MPK_INFLATE_PIECE || rc != Z_OK) {
			tell(x, told, x->in_pos);
			told = x->in_pos;
		}
	} while (rc == Z_OK);
	return rc == Z_STREAM_END ? mpk_inflate_check_end(x->bytes, x->in_pos, err)
				  : mpk_inflate_fail(x->bytes, x->in_pos, rc, x->z.msg, err);
}

/* As much as a copy of the decoder takes, which has all that it will ever allocate. */
static enum mpk_code take_scratch(struct mpk_deflate_index *x, struct mpk_arena *arena,
				  struct mpk_error *err)
{
	size_t before = x->kept.used;
	z_stream copy;

	if (inflateCopy(&copy, &x->z) != Z_OK)
		return mpk_fail_nomem(err);
	x->scratch.size = x->kept.used - before + WINDOW_BYTES;
	x->scratch.bytes = mpk_arena_alloc(arena, x->scratch.size);
	MPK_TRY_ALLOC(x->scratch.bytes, err);
	return MPK_OK;
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
	x->states = mpk_arena_array(arena, (size_t)states, sizeof *x->states);
	MPK_TRY_ALLOC(x->states, err);
	x->kept.arena = arena;
	x->z = (z_stream){ .zalloc = deflate_take, .zfree = give_back, .opaque = &x->kept };

	int rc = inflateInit2(&x->z, MPK_WINDOW_RAW);

	if (rc != Z_OK)
		return mpk_inflate_fail(bytes, 0, rc, NULL, err);
	MPK_TRY(deflate_decode(x, limit, sink, piece, err));
	MPK_TRY(take_scratch(x, arena, err));
	x->len = x->out_pos;
	*out = x;
	return MPK_OK;
}

/* --- its parts --------------------------------------------------------------------------- */

uint64_t mpk_deflate_index_bytes(const struct mpk_deflate_index *x)
{
	return x->len;
}

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
