#include "emit/stamped.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "elf/reader.h"
#include "emit/follow.h"

enum { DIGITS = 2 * MPK_XXH128_BYTES, ID_BYTES = 2 * MPK_STAMP_ID_HALF };

/* Bytes to be changed: of the file they stand in, and of what is written. */
struct place {
	size_t len;  /* 0: there is none */
	uint64_t at; /* in the rope */
	uint8_t bytes[DIGITS];
};

struct places {
	struct place digits, id;
};

static void set_places(struct places *p, const uint8_t digest[MPK_XXH128_BYTES])
{
	char text[MPK_DIGEST_TEXT];

	(void)mpk_digest_print(digest, MPK_XXH128_BYTES, text);
	memcpy(p->digits.bytes, text, DIGITS);
	memcpy(p->id.bytes, digest, MPK_STAMP_ID_HALF);
}

/* --- finding them ---------------------------------------------------------------- */

/* Where len bytes of the file are in the rope; len 0 when no single piece shows them. */
static struct place find_place(const struct mpk_stamped *s, uint64_t off, size_t len)
{
	uintptr_t want = (uintptr_t)s->file.data + off;
	uint64_t at = 0;

	for (size_t i = 0; off && i < s->rope->count; i++) {
		const struct mpk_piece *p = &s->rope->pieces[i];
		uintptr_t start = (uintptr_t)p->data;

		if (p->data && want >= start && want - start < p->len &&
		    p->len - (want - start) >= len)
			return (struct place){ .len = len, .at = at + (want - start) };
		at += p->len;
	}
	return (struct place){ .len = 0 };
}

/* Where a note of GNU's with this id is; 0: nowhere. */
static uint64_t find_id(struct mpk_span file, const uint8_t *id)
{
	uint8_t note[4 + ID_BYTES] = { 'G', 'N', 'U', 0 };

	memcpy(note + 4, id, ID_BYTES);
	const uint8_t *at = memmem(file.data, file.len, note, sizeof note);
	return at ? (uint64_t)(at - file.data) + 4 : 0;
}

enum mpk_code mpk_stamped_find(struct mpk_span file, const char *symbol, const uint8_t *id,
			       struct mpk_arena *arena, struct mpk_stamp *out,
			       struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };

	*out = (struct mpk_stamp){ .name = NULL };
	if (mpk_elf_open(file, 0, &elf, NULL) != MPK_OK)
		return MPK_OK;
	MPK_TRY(mpk_stamp_find(&elf, symbol, arena, out, err));
	if (id)
		out->id_off = find_id(file, id);
	return MPK_OK;
}

/* Where the blob begins in the rope; false when it is not there in one run. */
static bool find_blob(const struct mpk_stamped *s, uint64_t *at)
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

/* --- the digest first, then the file --------------------------------------------- */

static void put_patched(struct mpk_rope *out, const struct mpk_piece *p, const struct place *first,
			const struct place *second, uint64_t at)
{
	const struct place *places[] = { first, second };
	uint64_t done = 0;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(places); i++) {
		const struct place *place = places[i];
		uint64_t into = place->at - at;

		if (!place->len || place->at < at || into >= p->len)
			continue;
		mpk_rope_put_view(out, mpk_span_of(p->data + done, (size_t)(into - done)));
		mpk_rope_put_view(out, mpk_span_of(place->bytes, place->len));
		done = into + place->len;
	}
	mpk_rope_put_view(out, mpk_span_of(p->data + done, (size_t)(p->len - done)));
}

static enum mpk_code write_patched(const struct mpk_stamped *s, const struct places *places,
				   struct mpk_arena *arena, struct mpk_output *o,
				   struct mpk_error *err)
{
	const struct place *first = &places->digits, *second = &places->id;
	struct mpk_rope patched = mpk_rope_of(arena);
	uint64_t at = 0;

	if (second->len && second->at < first->at) {
		first = &places->id;
		second = &places->digits;
	}
	for (size_t i = 0; i < s->rope->count; i++) {
		const struct mpk_piece *p = &s->rope->pieces[i];

		if (p->data)
			put_patched(&patched, p, first, second, at);
		else
			mpk_rope_put_file(&patched, p->fd, p->off, p->len);
		at += p->len;
	}
	MPK_TRY(mpk_rope_status(&patched, err));
	return mpk_output_write_rope(o, &patched, err);
}

/* --- both at once ---------------------------------------------------------------- */

static enum mpk_code patch(const struct mpk_output *o, const struct place *p, struct mpk_error *err)
{
	if (p->len && pwrite(mpk_output_fd(o), p->bytes, p->len, (off_t)p->at) != (ssize_t)p->len)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot write");
	return MPK_OK;
}

static enum mpk_code write_following(const struct mpk_follow *f, const struct mpk_stamp *stamp,
				     struct places *places, struct mpk_output *o,
				     struct mpk_error *err)
{
	uint8_t digest[MPK_DIGEST_BYTES], old[MPK_DIGEST_BYTES];

	MPK_TRY(mpk_follow_write(f, o, digest, old, err));
	if (f->old)
		MPK_TRY(mpk_stamp_compare(stamp, old, err));
	set_places(places, digest);
	MPK_TRY(patch(o, &places->digits, err));
	return patch(o, &places->id, err);
}

static enum mpk_code write_after_reading(const struct mpk_stamped *s, const struct mpk_rope *old,
					 struct places *places, struct mpk_arena *arena,
					 struct mpk_output *o, struct mpk_error *err)
{
	uint8_t digest[MPK_DIGEST_BYTES];

	if (old) {
		MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, old, NULL, digest, err));
		MPK_TRY(mpk_stamp_compare(&s->stamp, digest, err));
	}
	MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, s->blob, NULL, digest, err));
	set_places(places, digest);
	return write_patched(s, places, arena, o, err);
}

enum mpk_code mpk_stamped_write(const struct mpk_stamped *s, struct mpk_arena *arena,
				struct mpk_output *o, struct mpk_error *err)
{
	struct places places = { find_place(s, s->stamp.digits_off, DIGITS),
				 find_place(s, s->stamp.id_off, MPK_STAMP_ID_HALF) };
	const struct mpk_rope *old = s->stamp.name ? s->old : NULL;
	struct mpk_follow follow = { .rope = s->rope };

	if (!places.digits.len && !places.id.len)
		return mpk_output_write_rope(o, s->rope, err);
	follow.len = s->blob->len;
	if (old && old->count == 1 && !old->pieces[0].data)
		follow.old = &old->pieces[0];
	/* What is out at once can neither be patched nor taken back. */
	if (s->blob->len < MPK_LARGE_BYTES || (old && !follow.old) || mpk_output_is_through(o) ||
	    !find_blob(s, &follow.at))
		return write_after_reading(s, old, &places, arena, o, err);
	return write_following(&follow, &s->stamp, &places, o, err);
}
