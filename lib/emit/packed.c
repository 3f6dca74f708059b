#include "emit/packed.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "elf/reader.h"
#include "emit/follow.h"
#include "io/mapping.h"

enum { DIGITS = 2 * MPK_XXH128_BYTES, ID_BYTES = 2 * MPK_NOTE_ID_HALF };

/* Bytes to be changed. */
struct patch {
	size_t len;  /* 0: there is none */
	uint64_t at; /* in the rope */
	uint8_t bytes[DIGITS];
};

struct patches {
	struct patch digits, id;
};

static void set_patches(struct patches *p, const uint8_t digest[MPK_XXH128_BYTES])
{
	char text[MPK_DIGEST_TEXT];

	(void)mpk_digest_print(digest, MPK_XXH128_BYTES, text);
	memcpy(p->digits.bytes, text, DIGITS);
	memcpy(p->id.bytes, digest, MPK_NOTE_ID_HALF);
}

/* --- finding them ---------------------------------------------------------------- */

/* Where len bytes of the file are in the rope; len 0 when no single piece shows them. */
static struct patch find_patch(const struct mpk_packed *s, uint64_t off, size_t len)
{
	uintptr_t want = (uintptr_t)s->file.data + off;
	uint64_t at = 0;

	for (size_t i = 0; off && i < s->rope->count; i++) {
		const struct mpk_piece *p = &s->rope->pieces[i];
		uintptr_t start = (uintptr_t)p->data;

		if (p->data && want >= start && want - start < p->len &&
		    p->len - (want - start) >= len)
			return (struct patch){ .len = len, .at = at + (want - start) };
		at += p->len;
	}
	return (struct patch){ .len = 0 };
}

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
	if (mpk_elf_open(file, 0, &elf, NULL) != MPK_OK)
		return MPK_OK;
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

/* --- the digest first, then the file --------------------------------------------- */

static void put_patched(struct mpk_rope *out, const struct mpk_piece *p, const struct patch *first,
			const struct patch *second, uint64_t at)
{
	const struct patch *both[] = { first, second };
	uint64_t done = 0;

	for (size_t i = 0; i < MPK_ARRAY_COUNT(both); i++) {
		const struct patch *patch = both[i];
		uint64_t into = patch->at - at;

		if (!patch->len || patch->at < at || into >= p->len)
			continue;
		mpk_rope_put_view(out, mpk_span_of(p->data + done, (size_t)(into - done)));
		mpk_rope_put_view(out, mpk_span_of(patch->bytes, patch->len));
		done = into + patch->len;
	}
	mpk_rope_put_view(out, mpk_span_of(p->data + done, (size_t)(p->len - done)));
}

static enum mpk_code write_patched(const struct mpk_packed *s, const struct patches *patches,
				   struct mpk_arena *arena, struct mpk_output *o,
				   struct mpk_error *err)
{
	const struct patch *first = &patches->digits, *second = &patches->id;
	struct mpk_rope patched = mpk_rope_of(arena);
	uint64_t at = 0;

	if (second->len && second->at < first->at) {
		first = &patches->id;
		second = &patches->digits;
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

static enum mpk_code overwrite(const struct mpk_output *o, const struct patch *p,
			       struct mpk_error *err)
{
	if (p->len && pwrite(mpk_output_fd(o), p->bytes, p->len, (off_t)p->at) != (ssize_t)p->len)
		return mpk_fail_errno(err, MPK_E_IO, errno, "cannot write");
	return MPK_OK;
}

static enum mpk_code write_following(const struct mpk_follow *f, const struct mpk_note *note,
				     struct patches *patches, struct mpk_output *o,
				     struct mpk_error *err)
{
	uint8_t digest[MPK_DIGEST_BYTES], old[MPK_DIGEST_BYTES];

	MPK_TRY(mpk_follow_write(f, o, digest, old, err));
	if (f->old)
		MPK_TRY(mpk_note_compare(note, old, err));
	set_patches(patches, digest);
	MPK_TRY(overwrite(o, &patches->digits, err));
	return overwrite(o, &patches->id, err);
}

static enum mpk_code write_after_reading(const struct mpk_packed *s, const struct mpk_rope *old,
					 struct patches *patches, struct mpk_arena *arena,
					 struct mpk_output *o, struct mpk_error *err)
{
	uint8_t digest[MPK_DIGEST_BYTES];

	if (old) {
		MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, old, NULL, digest, err));
		MPK_TRY(mpk_note_compare(&s->note, digest, err));
	}
	MPK_TRY(mpk_digest_rope(MPK_DIGEST_XXH128, s->blob, NULL, digest, err));
	set_patches(patches, digest);
	return write_patched(s, patches, arena, o, err);
}

enum mpk_code mpk_packed_write(const struct mpk_packed *s, struct mpk_arena *arena,
			       struct mpk_output *o, struct mpk_error *err)
{
	struct patches patches = { find_patch(s, s->note.digits_off, DIGITS),
				   find_patch(s, s->note.id_off, MPK_NOTE_ID_HALF) };
	const struct mpk_rope *old = s->note.name ? s->old : NULL;
	struct mpk_follow follow = { .rope = s->rope };

	if (!patches.digits.len && !patches.id.len)
		return mpk_output_write_rope(o, s->rope, err);
	follow.len = s->blob->len;
	if (old && old->count == 1 && !old->pieces[0].data)
		follow.old = &old->pieces[0];
	/* What is out at once can neither be patched nor taken back. */
	if (s->blob->len < MPK_MAPPING_LARGE || (old && !follow.old) || mpk_output_is_through(o) ||
	    !find_blob(s, &follow.at))
		return write_after_reading(s, old, &patches, arena, o, err);
	return write_following(&follow, &s->note, &patches, o, err);
}
