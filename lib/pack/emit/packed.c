/* SPDX-License-Identifier: Apache-2.0 */
/* The digest is known late and its note stands early: either everything is read twice, or what
 * was written is corrected. The first is for small blobs and for outputs that cannot seek. */
#include "emit/packed.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "elf/reader.h"
#include "emit/internal/follow.h"

enum { DIGITS = 2 * MPK_XXH128_BYTES, ID_BYTES = 2 * MPK_NOTE_ID_HALF };

/* --- finding --------------------------------------------------------------------- */

/* Where a note of GNU's with this id is; 0: nowhere. */
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

/* Where the blob begins in the rope; false when it is not there in one run. */
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

/* Where bytes of the file that are to be renewed are in the rope; false when there are none, no
 * single piece shows them, or they cannot be changed. */
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

/* What is renewed, and where in the rope. */
struct renewal {
	bool has_digits, has_id;
	uint64_t digits_at, id_at;
};

static void renew(const struct mpk_packed *s, const struct renewal *r,
		  const uint8_t digest[MPK_XXH128_BYTES])
{
	char text[MPK_DIGEST_TEXT];

	(void)mpk_digest_print(digest, MPK_XXH128_BYTES, text);
	if (r->has_digits)
		memcpy(s->file->data + s->note.digits_off, text, DIGITS);
	if (r->has_id)
		memcpy(s->file->data + s->note.id_off, digest, MPK_NOTE_ID_HALF);
}

/* Bytes of the file that were written before they were renewed. */
static enum mpk_code write_again(const struct mpk_output *o, const uint8_t *bytes, size_t len,
				 uint64_t at, struct mpk_error *err)
{
	if (pwrite(mpk_output_fd(o), bytes, len, (off_t)at) != (ssize_t)len)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot write");
	return MPK_OK;
}

static enum mpk_code write_following(const struct mpk_packed *s, const struct renewal *r,
				     const struct mpk_follow *f, struct mpk_output *o,
				     struct mpk_error *err)
{
	uint8_t digest[MPK_DIGEST_BYTES], old[MPK_DIGEST_BYTES];

	MPK_TRY(mpk_follow_write(f, o, digest, old, err));
	if (f->old)
		MPK_TRY(mpk_note_compare(&s->note, old, err));
	renew(s, r, digest);
	if (r->has_digits)
		MPK_TRY(write_again(o, s->file->data + s->note.digits_off, DIGITS, r->digits_at,
				    err));
	return r->has_id ? write_again(o, s->file->data + s->note.id_off, MPK_NOTE_ID_HALF,
				       r->id_at, err)
			 : MPK_OK;
}

static enum mpk_code write_after_reading(const struct mpk_packed *s, const struct renewal *r,
					 const struct mpk_rope *old, struct mpk_output *o,
					 struct mpk_error *err)
{
	uint8_t digest[MPK_DIGEST_BYTES];

	if (old) {
		MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, old, NULL, digest, err));
		MPK_TRY(mpk_note_compare(&s->note, digest, err));
	}
	MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, s->blob, NULL, digest, err));
	renew(s, r, digest);
	return mpk_output_write_rope(o, s->rope, err);
}

enum mpk_code mpk_packed_write(const struct mpk_packed *s, struct mpk_output *o,
			       struct mpk_error *err)
{
	const struct mpk_rope *old = s->note.name ? s->old : NULL;
	struct mpk_follow follow = { .rope = s->rope };
	struct renewal r;

	r.has_digits = find_bytes(s, s->note.digits_off, DIGITS, &r.digits_at);
	r.has_id = find_bytes(s, s->note.id_off, MPK_NOTE_ID_HALF, &r.id_at);
	if (!r.has_digits && !r.has_id)
		return mpk_output_write_rope(o, s->rope, err);
	follow.len = s->blob->len;
	if (old && old->count == 1 && !old->pieces[0].data)
		follow.old = &old->pieces[0];
	/* What is out at once can neither be patched nor taken back. */
	if (s->blob->len < MPK_LARGE_BYTES || (old && !follow.old) || mpk_output_is_through(o) ||
	    !find_blob(s, &follow.at))
		return write_after_reading(s, &r, old, o, err);
	return write_following(s, &r, &follow, o, err);
}
