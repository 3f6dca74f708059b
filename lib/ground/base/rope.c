/* SPDX-License-Identifier: Apache-2.0 */
/* rope.c - the list of pieces is in the arena; small values share one block, so that a header is
 * one piece */
#include "base/rope.h"

#include <string.h>

#include "base/num.h"

enum { TAIL_BYTES = 1024 };

static struct mpk_piece *add_piece(struct mpk_rope *r, uint64_t len)
{
	uint64_t total;

	if (r->failed || !mpk_add_u64(r->len, len, &total))
		goto failed;
	if (r->count == r->cap) {
		size_t cap = r->cap * 2 + 1; /* most ropes have one piece */
		struct mpk_piece *grown = mpk_arena_array(r->arena, cap, sizeof *grown);

		if (!grown)
			goto failed;
		if (r->pieces)
			memcpy(grown, r->pieces, r->count * sizeof *grown);
		r->pieces = grown;
		r->cap = cap;
	}
	r->len = total;
	return &r->pieces[r->count++];
failed:
	r->failed = true;
	return NULL;
}

/* Small values between two views continue in the rest of the current block. A tree of a hundred
 * thousand modules has that many small values. */
static bool extend_or_add(struct mpk_rope *r, size_t len)
{
	struct mpk_piece *last = r->count ? &r->pieces[r->count - 1] : NULL;

	if (!last || !last->data || last->data + last->len != r->tail) {
		last = add_piece(r, len);
		if (last)
			*last = (struct mpk_piece){ .data = r->tail, .fd = -1, .len = len };
		return last != NULL;
	}
	if (!mpk_add_u64(r->len, len, &r->len))
		return false;
	last->len += len;
	return true;
}

void mpk_rope_put_bytes(struct mpk_rope *r, struct mpk_span s)
{
	if (s.len == 0 || r->failed)
		return;
	if (r->tail_left < s.len) {
		size_t room = s.len > TAIL_BYTES ? s.len : TAIL_BYTES;

		r->tail = mpk_arena_alloc(r->arena, room);
		r->tail_left = r->tail ? room : 0;
	}
	if (!r->tail || !extend_or_add(r, s.len)) {
		r->failed = true;
		return;
	}
	memcpy(r->tail, s.data, s.len);
	r->tail += s.len;
	r->tail_left -= s.len;
}

void mpk_rope_put_u8(struct mpk_rope *r, uint8_t v)
{
	mpk_rope_put_bytes(r, mpk_span_of(&v, 1));
}

void mpk_rope_put_u16(struct mpk_rope *r, uint16_t v)
{
	uint8_t b[2] = { (uint8_t)v, (uint8_t)(v >> 8) };

	mpk_rope_put_bytes(r, mpk_span_of(b, sizeof b));
}

void mpk_rope_put_u32(struct mpk_rope *r, uint32_t v)
{
	uint8_t b[4];

	for (unsigned i = 0; i < sizeof b; i++)
		b[i] = (uint8_t)(v >> 8 * i);
	mpk_rope_put_bytes(r, mpk_span_of(b, sizeof b));
}

void mpk_rope_put_u64(struct mpk_rope *r, uint64_t v)
{
	uint8_t b[8];

	for (unsigned i = 0; i < sizeof b; i++)
		b[i] = (uint8_t)(v >> 8 * i);
	mpk_rope_put_bytes(r, mpk_span_of(b, sizeof b));
}

void mpk_rope_put_str(struct mpk_rope *r, struct mpk_span s)
{
	mpk_rope_put_u64(r, s.len);
	mpk_rope_put_bytes(r, s);
}

void mpk_rope_put_view(struct mpk_rope *r, struct mpk_span s)
{
	struct mpk_piece *piece = s.len ? add_piece(r, s.len) : NULL;

	if (piece)
		*piece = (struct mpk_piece){ .data = s.data, .fd = -1, .len = s.len };
}

void mpk_rope_put_file(struct mpk_rope *r, int fd, uint64_t off, uint64_t len)
{
	struct mpk_piece *piece = len ? add_piece(r, len) : NULL;

	if (piece)
		*piece = (struct mpk_piece){ .fd = fd, .off = off, .len = len };
}

void mpk_rope_put_rope(struct mpk_rope *r, const struct mpk_rope *other)
{
	if (other->failed)
		r->failed = true;
	for (size_t i = 0; i < other->count; i++) {
		struct mpk_piece *piece = add_piece(r, other->pieces[i].len);

		if (!piece)
			return;
		*piece = other->pieces[i];
	}
}

enum mpk_code mpk_rope_status(const struct mpk_rope *r, struct mpk_error *err)
{
	return r->failed ? mpk_fail_nomem(err) : MPK_OK;
}

bool mpk_rope_equals(const struct mpk_rope *r, struct mpk_span bytes)
{
	size_t at = 0;

	if (r->failed || r->len != bytes.len)
		return false;
	for (size_t i = 0; i < r->count; i++) {
		const struct mpk_piece *p = &r->pieces[i];
		const uint8_t *here = bytes.data + at;

		if (!p->data || (p->data != here && memcmp(p->data, here, (size_t)p->len) != 0))
			return false;
		at += (size_t)p->len;
	}
	return true;
}

enum mpk_code mpk_rope_flat(const struct mpk_rope *r, struct mpk_span *out, struct mpk_error *err)
{
	size_t at = 0;

	MPK_TRY(mpk_rope_status(r, err));

	char *data = r->len < SIZE_MAX ? mpk_arena_alloc(r->arena, (size_t)r->len + 1) : NULL;
	MPK_TRY_ALLOC(data, err);
	for (size_t i = 0; i < r->count; i++) {
		if (!r->pieces[i].data)
			return mpk_fail(err, MPK_E_INTERNAL, "rope with a file range flattened");
		memcpy(data + at, r->pieces[i].data, (size_t)r->pieces[i].len);
		at += (size_t)r->pieces[i].len;
	}
	*out = mpk_span_of(data, at);
	return MPK_OK;
}
