/* SPDX-License-Identifier: Apache-2.0 */
/* The rope is walked beside the copying: the tap gets bytes, and which piece they belong to
 * follows from how many have gone by. */
#include "emit/internal/follow.h"

struct walk {
	const struct mpk_follow *f;
	struct mpk_digest fresh, old;
	size_t piece;    /* of the rope */
	uint64_t into;   /* bytes of it that were seen */
	uint64_t at;     /* bytes of the rope that were seen */
	uint64_t old_at; /* where in its file the rest of the old blob begins */
	enum mpk_code code;
	struct mpk_error err;
};

static void walk_fini(struct walk *w)
{
	mpk_digest_fini(&w->fresh);
	mpk_digest_fini(&w->old);
}

static uint64_t old_end(const struct walk *w)
{
	return w->f->old->off + w->f->old->len;
}

/* The old blob up to an offset: what the new one has not taken over. */
static enum mpk_code add_old_until(struct walk *w, uint64_t end)
{
	struct mpk_piece piece = { .fd = w->f->old->fd, .off = w->old_at, .len = end - w->old_at };
	struct mpk_rope gap = { .pieces = &piece, .count = 1, .len = piece.len };

	w->old_at = end;
	return piece.len ? mpk_digest_add_rope(&w->old, &gap, NULL, &w->err) : MPK_OK;
}

static enum mpk_code see_old(struct walk *w, uint64_t off, struct mpk_span bytes)
{
	if (off < w->old_at || off >= old_end(w))
		return MPK_OK; /* moved before what was seen, or another part of the file */
	if (bytes.len > old_end(w) - off)
		bytes.len = (size_t)(old_end(w) - off);
	MPK_TRY(add_old_until(w, off));
	w->old_at = off + bytes.len;
	return mpk_digest_update(&w->old, bytes, &w->err);
}

static enum mpk_code see_piece(struct walk *w, const struct mpk_piece *p, struct mpk_span bytes)
{
	if (w->at >= w->f->at && w->at - w->f->at < w->f->len)
		MPK_TRY(mpk_digest_update(&w->fresh, bytes, &w->err));
	if (w->f->old && !p->data && p->fd == w->f->old->fd)
		return see_old(w, p->off + w->into, bytes);
	return MPK_OK;
}

static void see(void *data, struct mpk_span bytes)
{
	struct walk *w = data;

	while (bytes.len && w->code == MPK_OK) {
		const struct mpk_piece *p = &w->f->rope->pieces[w->piece];
		uint64_t left = p->len - w->into;
		size_t n = left < bytes.len ? (size_t)left : bytes.len;

		w->code = see_piece(w, p, mpk_span_of(bytes.data, n));
		w->at += n;
		w->into += n;
		if (w->into == p->len) {
			w->piece++;
			w->into = 0;
		}
		bytes = mpk_span_of(bytes.data + n, bytes.len - n);
	}
}

enum mpk_code mpk_follow_write(const struct mpk_follow *f, struct mpk_output *o,
			       uint8_t digest[MPK_DIGEST_BYTES], uint8_t old[MPK_DIGEST_BYTES],
			       struct mpk_error *err)
{
	MPK_CLEANUP(walk_fini) struct walk w = { .f = f, .old_at = f->old ? f->old->off : 0 };
	struct mpk_tap tap = { see, &w };

	MPK_TRY(mpk_digest_init(&w.fresh, MPK_DIGEST_XXH128, err));
	MPK_TRY(mpk_digest_init(&w.old, MPK_DIGEST_XXH128, err));
	mpk_output_tap(o, &tap);
	enum mpk_code code = mpk_output_write_rope(o, f->rope, err);
	mpk_output_tap(o, NULL);
	if (code != MPK_OK)
		return code;
	if (w.code == MPK_OK && f->old)
		w.code = add_old_until(&w, old_end(&w));
	if (w.code != MPK_OK && err)
		*err = w.err;
	if (w.code != MPK_OK)
		return w.code;
	if (f->old)
		MPK_TRY(mpk_digest_final(&w.old, old, err));
	return mpk_digest_final(&w.fresh, digest, err);
}
