/* SPDX-License-Identifier: Apache-2.0 */
#include "trust/origin.h"

#include <string.h>

#include "elf/note.h"

static bool is_empty(struct mpk_span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i])
			return false;
	return true;
}

static void see_seal(struct mpk_origin *o, const struct mpk_elf_note *n)
{
	static const uint8_t head[MPK_SEAL_KEY_AT] = { MPK_SEAL_VERSION, 1, 0, 0 };
	const uint8_t *text = n->text.data;

	if (n->text.len == MPK_SEAL_BYTES && is_empty(n->text)) {
		o->has_room = true;
		o->room_off = n->off;
		return;
	}
	o->seal_count++;
	if (n->text.len != MPK_SEAL_BYTES || memcmp(text, head, sizeof head) != 0) {
		o->is_unknown = true;
		return;
	}
	if (o->has_seal)
		return;
	o->has_seal = true;
	o->seal.off = n->off;
	memcpy(o->seal.key.bytes, text + MPK_SEAL_KEY_AT, sizeof o->seal.key.bytes);
	memcpy(o->seal.fingerprint, text + MPK_SEAL_FINGERPRINT_AT, sizeof o->seal.fingerprint);
	memcpy(o->seal.signature, text + MPK_SEAL_SIGNATURE_AT, sizeof o->seal.signature);
}

static void see_provenance(struct mpk_origin *o, const struct mpk_elf_note *n)
{
	size_t len = strnlen((const char *)n->text.data, n->text.len);

	if (is_empty(n->text))
		return;
	o->provenance_count++;
	o->provenance = o->provenance_count == 1 && len <= MPK_PROVENANCE_MAX
				? mpk_span_of(n->text.data, len)
				: (struct mpk_span){ 0 };
	o->provenance_off = n->off;
}

static bool see_note(void *data, const struct mpk_elf_note *n)
{
	if (mpk_elf_note_is(n, MPK_ORIGIN_OWNER, MPK_SEAL_TYPE))
		see_seal(data, n);
	else if (mpk_elf_note_is(n, MPK_ORIGIN_OWNER, MPK_PROVENANCE_TYPE))
		see_provenance(data, n);
	return true;
}

void mpk_origin_find(const struct mpk_elf *e, struct mpk_origin *out)
{
	*out = (struct mpk_origin){ 0 };
	mpk_elf_notes(e, see_note, out);
}

void mpk_seal_write(const struct mpk_seal *seal, uint8_t out[MPK_SEAL_BYTES])
{
	memset(out, 0, MPK_SEAL_BYTES);
	out[0] = MPK_SEAL_VERSION;
	out[1] = 1;
	memcpy(out + MPK_SEAL_KEY_AT, seal->key.bytes, sizeof seal->key.bytes);
	memcpy(out + MPK_SEAL_FINGERPRINT_AT, seal->fingerprint, sizeof seal->fingerprint);
	memcpy(out + MPK_SEAL_SIGNATURE_AT, seal->signature, sizeof seal->signature);
}

/* --- emptying -------------------------------------------------------------------- */

/* As found first, and emptied then: what is emptied may be a part of another note. */
enum { EMPTIED_MAX = 16 };

struct emptying {
	struct {
		uint64_t off, len;
	} ranges[EMPTIED_MAX];
	size_t count;
};

static bool see_own(void *data, const struct mpk_elf_note *n)
{
	struct emptying *e = data;

	if (!mpk_elf_note_is(n, MPK_ORIGIN_OWNER, MPK_SEAL_TYPE) &&
	    !mpk_elf_note_is(n, MPK_ORIGIN_OWNER, MPK_PROVENANCE_TYPE))
		return true;
	if (is_empty(n->text))
		return true;
	e->ranges[e->count].off = n->off;
	e->ranges[e->count++].len = n->text.len;
	return e->count < EMPTIED_MAX;
}

enum mpk_code mpk_origin_void(const struct mpk_private *file, bool *had, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_elf_close) struct mpk_elf elf = { 0 };
	struct emptying e = { .count = 0 };
	uint64_t keep_end = file->keep_off + file->keep_len;

	if (had)
		*had = false;
	if (mpk_elf_open(mpk_span_of(file->data, file->len), 0, &elf, NULL) != MPK_OK)
		return MPK_OK;
	mpk_elf_notes(&elf, see_own, &e);
	for (size_t i = 0; i < e.count; i++) {
		uint64_t off = e.ranges[i].off, end = off + e.ranges[i].len;

		if (off < keep_end && end > file->keep_off)
			return mpk_fail_offset(err, MPK_E_CORRUPT, "file", off,
					       "a note of mpack stands within the blob");
		memset(file->data + off, 0, (size_t)e.ranges[i].len);
	}
	if (had)
		*had = e.count > 0;
	return MPK_OK;
}
