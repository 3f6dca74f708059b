/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.c - reads and writes the model in a standalone library
 *
 * The reader runs in the process that calls the model, so it trusts nothing: every range is
 * compared with the end, and pieces must follow one another in the order of the writer, which
 * limits the work by the size of the file. */
#include "standalone/standalone.h"

#include <inttypes.h>
#include <string.h>

#include "base/cursor.h"

static const char magic[] = "MPKMODEL";

enum {
	HEADER_BYTES = 128,
	PIECE_BYTES = 24,
	/* flags of the header */
	IS_LINKED = 1,
	HAS_PACKED = 2,
	/* flags of a piece */
	IS_TENSOR = 1,
	IS_PACKED = 2,
	PACKED_SHIFT = 8, /* higher bits: number of bytes of the frame */
};

#define SPACE "standalone model"

/* --- reading ---------------------------------------------------------------------------------- */

struct reader {
	struct mpk_span bytes; /* as many as the header says */
	uint64_t end;          /* end of the last range that was read */
};

static enum mpk_code standalone_corrupt(uint64_t off, const char *what, struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, SPACE, off, "%s", what);
}

/* Ranges must come in file order, so that none is read twice. */
static enum mpk_code take_range(struct reader *r, uint64_t off, uint64_t len, uint64_t at,
				struct mpk_span *out, struct mpk_error *err)
{
	if (off < r->end || off > r->bytes.len || len > r->bytes.len - off)
		return standalone_corrupt(at, "bytes lie outside of it, or over others", err);
	*out = mpk_span_of(r->bytes.data + off, (size_t)len);
	r->end = off + len;
	return MPK_OK;
}

/* Pieces that are not tensors come before all tensors. */
static enum mpk_code read_pieces(struct reader *between, struct mpk_cursor *c,
				 struct mpk_standalone *s, struct mpk_standalone_piece *pieces,
				 struct mpk_error *err)
{
	struct reader tensors = *between;
	uint64_t at = 0, off, len, kind, stored;

	for (size_t i = 0; i < s->piece_count; i++) {
		struct mpk_standalone_piece *p = &pieces[i];
		uint64_t where = mpk_cursor_offset(c);

		MPK_TRY(mpk_read_u64(c, "bytes of a piece", &len, err));
		MPK_TRY(mpk_read_u64(c, "offset of a piece", &off, err));
		MPK_TRY(mpk_read_u64(c, "kind of a piece", &kind, err));
		p->is_tensor = kind & IS_TENSOR;
		p->is_packed = s->is_packed && (kind & IS_PACKED);
		stored = p->is_packed ? kind >> PACKED_SHIFT : len;
		kind &= ~(uint64_t)(p->is_packed ? IS_PACKED | UINT64_MAX << PACKED_SHIFT : 0);
		if (!len || len > s->blob_bytes - at || kind > IS_TENSOR || !stored ||
		    (p->is_tensor && off % MPK_STANDALONE_ALIGN))
			return standalone_corrupt(where, "a piece of the blob cannot be", err);
		MPK_TRY(take_range(p->is_tensor ? &tensors : between, off, stored, where, &p->bytes,
				   err));
		p->blob_off = at;
		p->plain = len;
		s->packed_bytes += p->is_packed ? stored : 0;
		s->plain_bytes += p->is_packed ? len : 0;
		at += len;
	}
	if (s->plain_bytes > MPK_STANDALONE_PLAIN_MAX(s->bytes))
		return standalone_corrupt(128, "its pieces are said to unpack to too much", err);
	if (at != s->blob_bytes)
		return standalone_corrupt(64, "its pieces do not make up the blob", err);
	return MPK_OK;
}

/* Tensors begin after the last piece that is not a tensor. */
static enum mpk_code check_tensors(const struct mpk_standalone *s, const struct reader *between,
				   struct mpk_error *err)
{
	for (size_t i = 0; i < s->piece_count; i++)
		if (s->pieces[i].is_tensor &&
		    s->pieces[i].bytes.data < between->bytes.data + between->end)
			return standalone_corrupt(72, "a tensor lies over what is between tensors",
						  err);
	return MPK_OK;
}

static enum mpk_code read_header(struct mpk_span bytes, struct mpk_standalone *out,
				 struct reader *r, uint64_t *pieces_off, struct mpk_error *err)
{
	struct mpk_cursor c = mpk_cursor_of(bytes, 0, SPACE);
	uint64_t off[2], len[2], all, count;
	struct mpk_span mark, version;
	uint32_t number, gen, flags;

	MPK_TRY(mpk_read_bytes(&c, "mark", 8, &mark, err));
	if (!mpk_span_is(mark, magic))
		return standalone_corrupt(0, "it does not begin with " SPACE "'s mark", err);
	MPK_TRY(mpk_read_u32(&c, "version", &number, err));
	if (number != MPK_STANDALONE_VERSION)
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a standalone model of version %u; this reads version %d", number,
				MPK_STANDALONE_VERSION);
	MPK_TRY(mpk_read_u32(&c, "generation", &gen, err));
	MPK_TRY(mpk_read_u64(&c, "bytes", &all, err));
	for (int i = 0; i < 2; i++) {
		MPK_TRY(mpk_read_u64(&c, "offset of code", &off[i], err));
		MPK_TRY(mpk_read_u64(&c, "bytes of code", &len[i], err));
	}
	MPK_TRY(mpk_read_u64(&c, "bytes of the blob", &out->blob_bytes, err));
	MPK_TRY(mpk_read_u64(&c, "count of pieces", &count, err));
	MPK_TRY(mpk_read_u64(&c, "offset of pieces", pieces_off, err));
	MPK_TRY(mpk_read_bytes(&c, "executor", MPK_STANDALONE_EXECUTOR_BYTES, &version, err));
	MPK_TRY(mpk_read_u32(&c, "flags", &flags, err));
	if (flags & ~(uint32_t)(IS_LINKED | HAS_PACKED))
		return mpk_fail(err, MPK_E_UNSUPPORTED,
				"a standalone model with unknown flags: 0x%x", flags);
	if (gen >= MPK_GENERATION_COUNT || all < HEADER_BYTES || all > bytes.len)
		return standalone_corrupt(8, "its header says what cannot be", err);
	if (!memchr(version.data, 0, version.len))
		return standalone_corrupt(80, "the executor's version has no end", err);
	r->bytes = mpk_span_of(bytes.data, (size_t)all);
	if (*pieces_off < HEADER_BYTES || *pieces_off > all ||
	    count > (all - *pieces_off) / PIECE_BYTES)
		return standalone_corrupt(64, "its pieces lie outside of it", err);
	out->gen = (enum mpk_generation)gen;
	out->bytes = all;
	out->is_linked = (flags & IS_LINKED) != 0;
	out->is_packed = (flags & HAS_PACKED) != 0;
	out->executor = (const char *)version.data;
	out->piece_count = (size_t)count;
	r->end = *pieces_off + count * PIECE_BYTES;
	MPK_TRY(take_range(r, off[0], len[0], 24, &out->before, err));
	return take_range(r, off[1], len[1], 40, &out->after, err);
}

enum mpk_code mpk_standalone_read(struct mpk_span bytes, struct mpk_arena *arena,
				  struct mpk_standalone *out, struct mpk_error *err)
{
	struct mpk_standalone s = { 0 };
	struct mpk_standalone_piece *pieces;
	struct mpk_cursor c;
	uint64_t pieces_off;
	struct reader r;

	MPK_TRY(read_header(bytes, &s, &r, &pieces_off, err));
	MPK_TRY_ARRAY(pieces, arena, s.piece_count + 1, err);
	c = mpk_cursor_of(mpk_span_of(bytes.data + pieces_off, s.piece_count * PIECE_BYTES),
			  pieces_off, SPACE);
	MPK_TRY(read_pieces(&r, &c, &s, pieces, err));
	s.pieces = pieces;
	MPK_TRY(check_tensors(&s, &r, err));
	*out = s;
	return MPK_OK;
}

enum mpk_code mpk_standalone_copy(const struct mpk_standalone_piece *piece,
				  mpk_standalone_decoder *decode, void *to, struct mpk_error *err)
{
	if (!piece->is_packed) {
		memcpy(to, piece->bytes.data, piece->bytes.len);
		return MPK_OK;
	}
	if (!decode)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "a " SPACE " that is packed with zstd");
	if (decode(to, (size_t)piece->plain, piece->bytes.data, piece->bytes.len) != piece->plain)
		return mpk_fail(err, MPK_E_CORRUPT,
				SPACE ": a broken zstd frame, of the blob's bytes from %" PRIu64
				      " on",
				piece->blob_off);
	return MPK_OK;
}

enum mpk_code mpk_standalone_unpack_tensors(struct mpk_standalone *s,
					    mpk_standalone_decoder *decode, struct mpk_arena *arena,
					    struct mpk_error *err)
{
	struct mpk_standalone_piece *pieces;

	if (!s->is_packed)
		return MPK_OK;
	MPK_TRY_ARRAY(pieces, arena, s->piece_count + 1, err);
	for (size_t i = 0; i < s->piece_count; i++) {
		struct mpk_standalone_piece *p = &pieces[i];
		uint8_t *to;

		*p = s->pieces[i];
		if (!p->is_packed || !p->is_tensor)
			continue;

		/* An arena aligns less than tensors need. */
		uint64_t bytes = p->plain;
		uint8_t *at = mpk_arena_alloc(arena, (size_t)bytes + MPK_STANDALONE_ALIGN);

		to = at ? at + (-(uintptr_t)at) % MPK_STANDALONE_ALIGN : NULL;

		MPK_TRY_ALLOC(to, err);
		MPK_TRY(mpk_standalone_copy(p, decode, to, err));
		p->bytes = mpk_span_of(to, (size_t)p->plain);
		p->is_packed = false;
	}
	s->pieces = pieces;
	return MPK_OK;
}

enum mpk_code mpk_standalone_library(const struct mpk_standalone *s, mpk_standalone_decoder *decode,
				     struct mpk_arena *arena, struct mpk_span *out,
				     struct mpk_error *err)
{
	size_t len = s->before.len + (size_t)s->blob_bytes + s->after.len;
	uint8_t *to = mpk_arena_alloc(arena, len + 1), *blob;

	MPK_TRY_ALLOC(to, err);
	if (s->before.len)
		memcpy(to, s->before.data, s->before.len);
	blob = to + s->before.len;
	for (size_t i = 0; i < s->piece_count; i++)
		MPK_TRY(mpk_standalone_copy(&s->pieces[i], decode, blob + s->pieces[i].blob_off,
					    err));
	if (s->after.len)
		memcpy(blob + s->blob_bytes, s->after.data, s->after.len);
	*out = mpk_span_of(to, len);
	return MPK_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static uint64_t aligned(uint64_t off)
{
	return (off + MPK_STANDALONE_ALIGN - 1) / MPK_STANDALONE_ALIGN * MPK_STANDALONE_ALIGN;
}

/* The pieces of a blob in order, and their places in the file. */
struct plan {
	struct mpk_standalone_piece *pieces;
	size_t count;
	uint64_t between_off, tensors_off, end;
	uint64_t plain; /* decompressed bytes of the compressed pieces */
};

static void add_piece(struct plan *p, struct mpk_span blob, uint64_t off, uint64_t end,
		      bool is_tensor)
{
	if (end > off)
		p->pieces[p->count++] = (struct mpk_standalone_piece){
			.blob_off = off,
			.plain = end - off,
			.bytes = mpk_span_of(blob.data + off, (size_t)(end - off)),
			.is_tensor = is_tensor,
		};
}

static enum mpk_code list_pieces(struct plan *p, struct mpk_span blob,
				 const struct mpk_standalone_tensor *tensors, size_t count,
				 struct mpk_arena *arena, struct mpk_error *err)
{
	uint64_t at = 0;

	MPK_TRY_ARRAY(p->pieces, arena, 2 * count + 1, err);
	for (size_t i = 0; i < count; i++) {
		add_piece(p, blob, at, tensors[i].off, false);
		at = tensors[i].off + tensors[i].bytes;
		add_piece(p, blob, tensors[i].off, at, true);
	}
	add_piece(p, blob, at, blob.len, false);
	return MPK_OK;
}

static void place(struct plan *p)
{
	p->tensors_off = p->between_off;
	p->plain = 0;
	for (size_t i = 0; i < p->count; i++) {
		p->tensors_off += p->pieces[i].is_tensor ? 0 : p->pieces[i].bytes.len;
		p->plain += p->pieces[i].is_packed ? p->pieces[i].plain : 0;
	}
	p->end = p->tensors_off;
	for (size_t i = 0; i < p->count; i++)
		if (p->pieces[i].is_tensor)
			p->end = aligned(p->end) + p->pieces[i].bytes.len;
}

static void put_zeros(struct mpk_rope *out, uint64_t from, uint64_t to)
{
	static const uint8_t zeros[MPK_STANDALONE_ALIGN];

	mpk_rope_put_bytes(out, mpk_span_of(zeros, (size_t)(to - from)));
}

static void put_rows(const struct plan *p, struct mpk_rope *out)
{
	uint64_t between = p->between_off, tensor = p->tensors_off;

	for (size_t i = 0; i < p->count; i++) {
		const struct mpk_standalone_piece *q = &p->pieces[i];
		uint64_t *at = q->is_tensor ? &tensor : &between;

		if (q->is_tensor)
			tensor = aligned(tensor);
		mpk_rope_put_u64(out, q->plain);
		mpk_rope_put_u64(out, *at);
		mpk_rope_put_u64(out, (q->is_tensor ? IS_TENSOR : 0) |
					      (q->is_packed ? IS_PACKED | (uint64_t)q->bytes.len
										  << PACKED_SHIFT
							    : 0));
		*at += q->bytes.len;
	}
}

static void put_pieces(const struct plan *p, struct mpk_rope *out)
{
	uint64_t at = p->tensors_off;

	for (size_t i = 0; i < p->count; i++)
		if (!p->pieces[i].is_tensor)
			mpk_rope_put_view(out, p->pieces[i].bytes);
	for (size_t i = 0; i < p->count; i++) {
		if (!p->pieces[i].is_tensor)
			continue;
		put_zeros(out, at, aligned(at));
		mpk_rope_put_view(out, p->pieces[i].bytes);
		at = aligned(at) + p->pieces[i].bytes.len;
	}
}

enum mpk_code mpk_standalone_write(struct mpk_span library, struct mpk_span blob,
				   const struct mpk_standalone_facts *facts,
				   const struct mpk_standalone_tensor *tensors, size_t tensor_count,
				   uint64_t *saved, struct mpk_rope *out, struct mpk_error *err)
{
	struct plan plan = { 0 }, *p = &plan;
	uint64_t before = (uint64_t)(blob.data - library.data);
	uint64_t after = library.len - before - blob.len, at;
	char version[MPK_STANDALONE_EXECUTOR_BYTES] = { 0 };

	MPK_TRY(list_pieces(p, blob, tensors, tensor_count, out->arena, err));
	at = HEADER_BYTES + p->count * PIECE_BYTES;
	p->between_off = at + before + after;
	place(p);
	if (facts->pack) {
		/* Pieces that would decompress to more than readers allow stay uncompressed, beginning with the
		 * last. */
		struct mpk_arena *arena = out->arena;
		struct mpk_span packed;

		for (size_t i = 0; i < p->count; i++) {
			packed = (struct mpk_span){ 0 };
			MPK_TRY(facts->pack(p->pieces[i].bytes, arena, &packed, err));
			if (!packed.len || packed.len >= p->pieces[i].plain)
				continue;
			p->pieces[i].bytes = packed;
			p->pieces[i].is_packed = true;
		}
		place(p);
		for (size_t i = p->count; i-- > 0 && p->plain > MPK_STANDALONE_PLAIN_MAX(p->end);) {
			struct mpk_standalone_piece *q = &p->pieces[i];

			q->bytes = mpk_span_of(blob.data + q->blob_off, (size_t)q->plain);
			q->is_packed = false;
			place(p);
		}
	}
	memcpy(version, facts->executor, strnlen(facts->executor, sizeof version - 1));
	mpk_rope_put_bytes(out, mpk_span_str(magic));
	mpk_rope_put_u32(out, MPK_STANDALONE_VERSION);
	mpk_rope_put_u32(out, (uint32_t)facts->gen);
	mpk_rope_put_u64(out, p->end);
	mpk_rope_put_u64(out, at);
	mpk_rope_put_u64(out, before);
	mpk_rope_put_u64(out, at + before);
	mpk_rope_put_u64(out, after);
	mpk_rope_put_u64(out, blob.len);
	mpk_rope_put_u64(out, p->count);
	mpk_rope_put_u64(out, HEADER_BYTES);
	mpk_rope_put_bytes(out, mpk_span_of(version, sizeof version));
	mpk_rope_put_u32(out, (facts->is_linked ? IS_LINKED : 0) | (p->plain ? HAS_PACKED : 0));
	put_zeros(out, 108, HEADER_BYTES);
	put_rows(p, out);
	mpk_rope_put_view(out, mpk_span_of(library.data, (size_t)before));
	mpk_rope_put_view(out, mpk_span_of(blob.data + blob.len, (size_t)after));
	put_pieces(p, out);
	*saved = 0;
	for (size_t i = 0; i < p->count; i++)
		*saved += p->pieces[i].plain - p->pieces[i].bytes.len;
	return MPK_OK;
}
