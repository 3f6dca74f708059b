/* SPDX-License-Identifier: Apache-2.0 */
/* standalone.c - reading and writing what a standalone library carries
 *
 * The reader runs in the process of whoever calls the model, so it believes nothing: every range is held
 * against the end, pieces must follow each other in the file as the writer puts them, which bounds what can be
 * made of a file by its size.
 */
#include "standalone/standalone.h"

#include <string.h>

#include "base/cursor.h"

static const char magic[] = "MPKMODEL";

enum { HEADER_BYTES = 128, PIECE_BYTES = 24, IS_LINKED = 1 };

#define SPACE "standalone model"

/* --- reading ---------------------------------------------------------------------------------- */

struct reader {
	struct mpk_span bytes; /* as many as the header tells */
	uint64_t end;          /* of what was read last */
};

static enum mpk_code standalone_corrupt(uint64_t off, const char *what, struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, SPACE, off, "%s", what);
}

/* Ranges come in the order of the file, so that none is read twice. */
static enum mpk_code take_range(struct reader *r, uint64_t off, uint64_t len, uint64_t at,
				struct mpk_span *out, struct mpk_error *err)
{
	if (off < r->end || off > r->bytes.len || len > r->bytes.len - off)
		return standalone_corrupt(at, "bytes lie outside of it, or over others", err);
	*out = mpk_span_of(r->bytes.data + off, (size_t)len);
	r->end = off + len;
	return MPK_OK;
}

/* What is between tensors comes before all tensors. */
static enum mpk_code read_pieces(struct reader *between, struct mpk_cursor *c,
				 struct mpk_standalone *s, struct mpk_standalone_piece *pieces,
				 struct mpk_error *err)
{
	struct reader tensors = *between;
	uint64_t at = 0, off, len, kind;

	for (size_t i = 0; i < s->piece_count; i++) {
		struct mpk_standalone_piece *p = &pieces[i];
		uint64_t where = mpk_cursor_offset(c);

		MPK_TRY(mpk_read_u64(c, "bytes of a piece", &len, err));
		MPK_TRY(mpk_read_u64(c, "offset of a piece", &off, err));
		MPK_TRY(mpk_read_u64(c, "kind of a piece", &kind, err));
		if (!len || len > s->blob_bytes - at || kind > 1 ||
		    (kind && off % MPK_STANDALONE_ALIGN))
			return standalone_corrupt(where, "a piece of the blob cannot be", err);
		MPK_TRY(take_range(kind ? &tensors : between, off, len, where, &p->bytes, err));
		p->blob_off = at;
		p->is_tensor = kind == 1;
		at += len;
	}
	if (at != s->blob_bytes)
		return standalone_corrupt(64, "its pieces do not make up the blob", err);
	return MPK_OK;
}

/* Tensors may begin where the last piece between them ends, and not before. */
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
	if (flags & ~(uint32_t)IS_LINKED)
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
	pieces = mpk_arena_array(arena, s.piece_count + 1, sizeof *pieces);
	MPK_TRY_ALLOC(pieces, err);
	c = mpk_cursor_of(mpk_span_of(bytes.data + pieces_off, s.piece_count * PIECE_BYTES),
			  pieces_off, SPACE);
	MPK_TRY(read_pieces(&r, &c, &s, pieces, err));
	s.pieces = pieces;
	MPK_TRY(check_tensors(&s, &r, err));
	*out = s;
	return MPK_OK;
}

enum mpk_code mpk_standalone_library(const struct mpk_standalone *s, struct mpk_arena *arena,
				     struct mpk_span *out, struct mpk_error *err)
{
	size_t len = s->before.len + (size_t)s->blob_bytes + s->after.len;
	uint8_t *to = mpk_arena_alloc(arena, len + 1), *blob;

	MPK_TRY_ALLOC(to, err);
	*out = mpk_span_of(to, len);
	if (s->before.len)
		memcpy(to, s->before.data, s->before.len);
	blob = to + s->before.len;
	for (size_t i = 0; i < s->piece_count; i++)
		memcpy(blob + s->pieces[i].blob_off, s->pieces[i].bytes.data,
		       s->pieces[i].bytes.len);
	if (s->after.len)
		memcpy(blob + s->blob_bytes, s->after.data, s->after.len);
	return MPK_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static uint64_t aligned(uint64_t off)
{
	return (off + MPK_STANDALONE_ALIGN - 1) / MPK_STANDALONE_ALIGN * MPK_STANDALONE_ALIGN;
}

/* Where the pieces of a blob will lie. */
struct plan {
	const struct mpk_standalone_tensor *tensors;
	size_t tensor_count, count; /* of tensors, of pieces */
	uint64_t blob_bytes, between_bytes, between_off, tensors_off, end;
};

typedef void see_piece(void *data, uint64_t blob_off, uint64_t len, bool is_tensor);

static void walk(const struct plan *p, see_piece *see, void *data)
{
	uint64_t at = 0;

	for (size_t i = 0; i < p->tensor_count; i++) {
		const struct mpk_standalone_tensor *t = &p->tensors[i];

		if (t->off > at)
			see(data, at, t->off - at, false);
		see(data, t->off, t->bytes, true);
		at = t->off + t->bytes;
	}
	if (at < p->blob_bytes)
		see(data, at, p->blob_bytes - at, false);
}

static void measure(void *data, uint64_t blob_off, uint64_t len, bool is_tensor)
{
	struct plan *p = data;

	(void)blob_off;
	p->count++;
	if (!is_tensor)
		p->between_bytes += len;
}

struct writing {
	struct plan plan;
	struct mpk_span blob;
	struct mpk_rope *out;
	uint64_t between, tensor; /* where the next one lies */
	bool is_tensor;           /* which are written now */
};

static void put_row(void *data, uint64_t blob_off, uint64_t len, bool is_tensor)
{
	struct writing *w = data;
	uint64_t *at = is_tensor ? &w->tensor : &w->between;

	(void)blob_off;
	if (is_tensor)
		*at = aligned(*at);
	mpk_rope_put_u64(w->out, len);
	mpk_rope_put_u64(w->out, *at);
	mpk_rope_put_u64(w->out, is_tensor);
	*at += len;
}

static void put_zeros(struct mpk_rope *out, uint64_t from, uint64_t to)
{
	static const uint8_t zeros[MPK_STANDALONE_ALIGN];

	mpk_rope_put_bytes(out, mpk_span_of(zeros, (size_t)(to - from)));
}

static void put_piece(void *data, uint64_t blob_off, uint64_t len, bool is_tensor)
{
	struct writing *w = data;

	if (is_tensor != w->is_tensor)
		return;
	if (is_tensor) {
		put_zeros(w->out, w->tensor, aligned(w->tensor));
		w->tensor = aligned(w->tensor) + len;
	}
	mpk_rope_put_view(w->out, mpk_span_of(w->blob.data + blob_off, (size_t)len));
}

void mpk_standalone_write(struct mpk_span library, struct mpk_span blob,
			  const struct mpk_standalone_facts *facts,
			  const struct mpk_standalone_tensor *tensors, size_t tensor_count,
			  struct mpk_rope *out)
{
	struct writing w = { .blob = blob, .out = out };
	struct plan *p = &w.plan;
	uint64_t before = (uint64_t)(blob.data - library.data);
	uint64_t after = library.len - before - blob.len, at;
	char version[MPK_STANDALONE_EXECUTOR_BYTES] = { 0 };

	*p = (struct plan){ .tensors = tensors,
			    .tensor_count = tensor_count,
			    .blob_bytes = blob.len };
	walk(p, measure, p);
	at = HEADER_BYTES + p->count * PIECE_BYTES;
	p->between_off = at + before + after;
	p->tensors_off = p->end = p->between_off + p->between_bytes;
	for (size_t i = 0; i < tensor_count; i++)
		p->end = aligned(p->end) + tensors[i].bytes;
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
	mpk_rope_put_u32(out, facts->is_linked ? IS_LINKED : 0);
	put_zeros(out, 108, HEADER_BYTES);
	w.between = p->between_off;
	w.tensor = p->tensors_off;
	walk(p, put_row, &w);
	mpk_rope_put_view(out, mpk_span_of(library.data, (size_t)before));
	mpk_rope_put_view(out, mpk_span_of(blob.data + blob.len, (size_t)after));
	walk(p, put_piece, &w);
	w.tensor = p->tensors_off;
	w.is_tensor = true;
	walk(p, put_piece, &w);
}
