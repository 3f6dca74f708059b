/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a file that contains a blob. The digest of the blob is known only when all of it has
 * been written, but its note precedes the blob in the file. So either the blob is read twice, or
 * the note is written again. Small blobs are read twice, and so are blobs for outputs that
 * cannot seek. */
#include "emit/emit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "elf/reader.h"

/* --- digests while bytes are written ---------------------------------------------- */

/* Most bytes of an edited blob come from the old blob. Each is read once, copied, and added to both
 * digests on the way. The tap of an output gets only bytes, so counting them tells which piece of
 * the rope they belong to. */
struct follow {
	const struct mpk_rope *rope; /* all bytes to write */
	/* offset and length of the blob in them: a run of whole pieces */
	uint64_t at, len;
	/* the old blob, a range of a file from which the rope may also have ranges; NULL: its
	 * digest is not wanted */
	const struct mpk_piece *old;
};

struct walk {
	const struct follow *f;
	struct mpk_digest fresh, old;
	size_t piece;  /* index of the current piece of the rope */
	uint64_t into; /* number of bytes of that piece that were written */
	uint64_t at;   /* number of bytes of the rope that were written */
	/* offset in its file of the first byte of the old blob that was not hashed */
	uint64_t old_at;
	enum mpk_code code;
	struct mpk_error err;
};

static void walk_fini(struct walk *w)
{
	mpk_digest_fini(&w->fresh);
	mpk_digest_fini(&w->old);
}

/* Returns the end of the old blob, as an offset in its file. */
static uint64_t old_end(const struct walk *w)
{
	return w->f->old->off + w->f->old->len;
}

/* Hashes the old blob up to an offset: a part that the new blob does not contain. */
static enum mpk_code add_old_until(struct walk *w, uint64_t end)
{
	struct mpk_piece piece = { .fd = w->f->old->fd, .off = w->old_at, .len = end - w->old_at };
	struct mpk_rope gap = { .pieces = &piece, .count = 1, .len = piece.len };

	w->old_at = end;
	return piece.len ? mpk_digest_add_rope(&w->old, &gap, NULL, &w->err) : MPK_OK;
}

static enum mpk_code see_piece(struct walk *w, const struct mpk_piece *p, struct mpk_span bytes)
{
	if (w->at >= w->f->at && w->at - w->f->at < w->f->len)
		MPK_TRY(mpk_digest_update(&w->fresh, bytes, &w->err));
	if (w->f->old && !p->data && p->fd == w->f->old->fd) {
		/* While the edit keeps the order of the file, bytes of the old blob arrive in
		 * order. Parts that the new blob omits are read here, so that the digest covers all
		 * of the old blob. */
		uint64_t off = p->off + w->into;

		if (off < w->old_at || off >= old_end(w))
			/* the piece precedes the hashed bytes, or is another part of the file */
			return MPK_OK;
		if (bytes.len > old_end(w) - off)
			bytes.len = (size_t)(old_end(w) - off);
		MPK_TRY(add_old_until(w, off));
		w->old_at = off + bytes.len;
		return mpk_digest_update(&w->old, bytes, &w->err);
	}
	return MPK_OK;
}

/* The tap of the output; it gets all bytes that are written, in order. */
static void emit_packed_see(void *data, struct mpk_span bytes)
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
		bytes = mpk_span_from(bytes, n);
	}
}

static enum mpk_code write_followed(const struct follow *f, struct mpk_output *o,
				    uint8_t digest[MPK_DIGEST_BYTES], uint8_t old[MPK_DIGEST_BYTES],
				    struct mpk_error *err)
{
	MPK_CLEANUP(walk_fini) struct walk w = { .f = f, .old_at = f->old ? f->old->off : 0 };
	struct mpk_tap tap = { emit_packed_see, &w };

	MPK_TRY(mpk_digest_init(&w.fresh, MPK_DIGEST_XXH128, err));
	MPK_TRY(mpk_digest_init(&w.old, MPK_DIGEST_XXH128, err));
	enum mpk_code code = mpk_output_write_rope(o, f->rope, &tap, err);
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

enum { DIGITS = 2 * MPK_XXH128_BYTES, ID_BYTES = 2 * MPK_NOTE_ID_HALF };

/* --- finding --------------------------------------------------------------------- */

/* Returns the offset of the GNU build id note with this id; 0 if there is none. */
static uint64_t find_id(struct mpk_span file, const uint8_t *id)
{
	uint8_t note[4 + ID_BYTES] = { 'G', 'N', 'U', 0 };

	memcpy(note + 4, id, ID_BYTES);
	const uint8_t *at = memmem(file.data, file.len, note, sizeof note);
	return at ? (uint64_t)(at - file.data) + 4 : 0;
}

enum mpk_code mpk_packed_note(struct mpk_span file, const char *symbol, const uint8_t *id,
			      struct mpk_arena *arena, struct mpk_note *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };

	*out = (struct mpk_note){ .name = NULL };

	enum mpk_code code = mpk_elf_open(file, 0, &elf, err);
	if (code != MPK_OK)
		return code == MPK_E_NOMEM ? code : MPK_OK;
	MPK_TRY(mpk_note_find(&elf, symbol, arena, out, err));
	if (id)
		out->id_off = find_id(file, id);
	return MPK_OK;
}

/* Finds the blob in the rope. Returns false if it is not there as one run of pieces. */
static bool find_blob(const struct mpk_packed *s, uint64_t *at)
{
	const struct mpk_piece *first = s->blob->pieces;

	*at = 0;
	for (size_t i = 0; s->blob->count && i < s->rope->count; i++) {
		const struct mpk_piece *p = &s->rope->pieces[i];

		if (p->data == first->data && p->fd == first->fd && p->off == first->off &&
		    p->len == first->len)
			return s->rope->len - *at >= s->blob->len;
		*at += p->len;
	}
	return false;
}

/* Finds the offset in the rope of bytes of the file that will be renewed. Returns false if there
 * are none, if they are not in a single piece, or if they cannot be changed. */
static bool find_bytes(const struct mpk_packed *s, uint64_t off, size_t len, uint64_t *at)
{
	uintptr_t want = off ? (uintptr_t)s->file->data + off : 0;

	*at = 0;
	if (!off || (off < s->file->keep_off + s->file->keep_len && off + len > s->file->keep_off))
		return false;
	for (size_t i = 0; i < s->rope->count; i++) {
		const struct mpk_piece *p = &s->rope->pieces[i];
		uintptr_t start = (uintptr_t)p->data;

		if (p->data && want >= start && want - start < p->len &&
		    p->len - (want - start) >= len) {
			*at += want - start;
			return true;
		}
		*at += p->len;
	}
	return false;
}

/* --- renewing -------------------------------------------------------------------- */

/* Bytes to renew, and their offset in the rope. */
struct renewal {
	bool has_digits, has_id;
	uint64_t digits_at, id_at;
};

/* Changes the private copy of the file; the rope has views of it. */
static enum mpk_code renew(const struct mpk_packed *s, const struct renewal *r,
			   const uint8_t digest[MPK_XXH128_BYTES], struct mpk_error *err)
{
	char text[MPK_DIGEST_TEXT];

	(void)mpk_digest_print(digest, MPK_XXH128_BYTES, text);
	if (r->has_digits) {
		MPK_TRY(mpk_private_touch(s->file, s->note.digits_off, DIGITS, err));
		memcpy(s->file->data + s->note.digits_off, text, DIGITS);
	}
	if (r->has_id) {
		MPK_TRY(mpk_private_touch(s->file, s->note.id_off, MPK_NOTE_ID_HALF, err));
		memcpy(s->file->data + s->note.id_off, digest, MPK_NOTE_ID_HALF);
	}
	return MPK_OK;
}

/* Writes bytes of the file again that were written before they were renewed. */
static enum mpk_code write_again(const struct mpk_output *o, const uint8_t *bytes, size_t len,
				 uint64_t at, struct mpk_error *err)
{
	if (pwrite(mpk_output_fd(o), bytes, len, (off_t)at) != (ssize_t)len)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot write");
	return MPK_OK;
}

static enum mpk_code write_following(const struct mpk_packed *s, const struct renewal *r,
				     const struct follow *f, struct mpk_output *o,
				     struct mpk_error *err)
{
	uint8_t digest[MPK_DIGEST_BYTES], old[MPK_DIGEST_BYTES];

	MPK_TRY(write_followed(f, o, digest, old, err));
	if (f->old)
		MPK_TRY(mpk_note_compare(&s->note, old, err));
	MPK_TRY(renew(s, r, digest, err));
	if (r->has_digits)
		MPK_TRY(write_again(o, s->file->data + s->note.digits_off, DIGITS, r->digits_at,
				    err));
	return r->has_id ? write_again(o, s->file->data + s->note.id_off, MPK_NOTE_ID_HALF,
				       r->id_at, err)
			 : MPK_OK;
}

enum mpk_code mpk_packed_write(const struct mpk_packed *s, struct mpk_output *o,
			       struct mpk_error *err)
{
	const struct mpk_rope *old = s->note.name ? s->old : NULL;
	struct follow follow = { .rope = s->rope };
	struct renewal r;

	r.has_digits = find_bytes(s, s->note.digits_off, DIGITS, &r.digits_at);
	r.has_id = find_bytes(s, s->note.id_off, MPK_NOTE_ID_HALF, &r.id_at);
	if (!r.has_digits && !r.has_id)
		return mpk_output_write_rope(o, s->rope, NULL, err);
	follow.len = s->blob->len;
	if (old && old->count == 1 && !old->pieces[0].data)
		follow.old = &old->pieces[0];
	/* bytes that went to a pipe cannot be written again or removed */
	if (s->blob->len < MPK_LARGE_BYTES || (old && !follow.old) || mpk_output_is_through(o) ||
	    !find_blob(s, &follow.at)) {
		uint8_t digest[MPK_DIGEST_BYTES];

		if (old) {
			MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, old, NULL, digest, err));
			MPK_TRY(mpk_note_compare(&s->note, digest, err));
		}
		MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, s->blob, NULL, digest, err));
		MPK_TRY(renew(s, &r, digest, err));
		return mpk_output_write_rope(o, s->rope, NULL, err);
	}
	return write_following(s, &r, &follow, o, err);
}
