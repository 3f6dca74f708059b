/* SPDX-License-Identifier: Apache-2.0 */
/* note.c - notes of ELF files, and the package note that mpack adds to a library
 *
 * The package note is systemd's (systemd.io/ELF_PACKAGE_METADATA): JSON under the owner "FDO".
 * mpack writes the name of the blob's symbol and the digest of the blob to it, so that damage is
 * found without a separate list of digests. The digits have a known place in the file
 * (find_digits), so a new digest is written without changing the layout. */
#include "elf/note.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/rope.h"
#include "io/mapping.h"
#include "text/json.h"
#include "text/json_read.h"

/* A real file has few notes. A file can name the same bytes as notes many times, so the number
 * that is read is limited. */
enum { NOTES_MAX = 1000, NOTE_HEADER = 12 };

struct walk {
	const struct mpk_elf *e;
	bool (*see)(void *data, const struct mpk_elf_note *n);
	void *data;
	unsigned notes; /* number of notes so far */
	bool ended;
};

/* Reads the note at *at of a list and moves past it; false at the end. */
static bool next_note(const struct mpk_elf *e, uint64_t off, uint64_t size, uint64_t align,
		      uint64_t *at, struct mpk_elf_note *out)
{
	uint32_t owner = 0, text = 0;
	uint64_t start = off + *at, body;

	if (size - *at < NOTE_HEADER || !mpk_elf_u32(e, start, &owner) ||
	    !mpk_elf_u32(e, start + 4, &text) || !mpk_elf_u32(e, start + 8, &out->type))
		return false;
	if (!mpk_align_up(NOTE_HEADER + (uint64_t)owner, align, &body) ||
	    !mpk_span_sub(e->bytes, start + NOTE_HEADER, owner, &out->owner) ||
	    !mpk_span_sub(e->bytes, start + body, text, &out->text))
		return false;
	out->off = start + body;
	if (!mpk_align_up(*at + body + text, align, at))
		return false;
	*at = *at < size ? *at : size; /* The last note may lack its padding. */
	return true;
}

/* An alignment other than 8 is read as 4, whatever the header says. */
static void see_list(struct walk *w, uint64_t off, uint64_t size, uint64_t align)
{
	uint64_t at = 0;
	struct mpk_elf_note n;

	while (!w->ended && w->notes < NOTES_MAX &&
	       next_note(w->e, off, size, align == 8 ? 8 : 4, &at, &n)) {
		w->notes++;
		w->ended = !w->see(w->data, &n);
	}
}

/* Reads the sections if there are section headers, else the PT_NOTE segments. With both, each note
 * would be seen twice. */
void mpk_elf_notes(const struct mpk_elf *e, bool (*see)(void *data, const struct mpk_elf_note *n),
		   void *data)
{
	struct walk w = { .e = e, .see = see, .data = data };
	GElf_Shdr section;
	GElf_Phdr segment;

	for (size_t i = 1; i < e->section_count; i++)
		if (mpk_elf_section(e, i, &section, NULL) == MPK_OK && section.sh_type == SHT_NOTE)
			see_list(&w, section.sh_offset, section.sh_size, section.sh_addralign);
	for (size_t i = 0; !e->section_count && i < e->segment_count; i++)
		if (mpk_elf_segment(e, i, &segment) && segment.p_type == PT_NOTE)
			see_list(&w, segment.p_offset, segment.p_filesz, segment.p_align);
}

/* A real file has one package note. */
enum { TEXTS_MAX = 50 };

/* --- writing --------------------------------------------------------------------- */

/* The digest is zeros at first; it is filled in after the blob has been written. */
const char *mpk_note_text(struct mpk_arena *arena, const char *name, const char *symbol,
			  const uint8_t *digest)
{
	static const uint8_t zeros[MPK_XXH128_BYTES];
	MPK_CLEANUP(mpk_strbuf_fini) struct mpk_strbuf printed = { 0 };
	char digits[MPK_DIGEST_TEXT], *out = NULL;
	struct mpk_json j;

	mpk_json_init(&j, 0);
	mpk_json_text(&j, j.root, "type", "mpack");
	mpk_json_text(&j, j.root, "name", name);
	mpk_json_text(&j, j.root, "blob", symbol);
	mpk_json_text(&j, j.root, "xxh128",
		      mpk_digest_print(digest ? digest : zeros, MPK_XXH128_BYTES, digits));
	if (mpk_json_line(&j, &printed, NULL) == MPK_OK)
		out = mpk_arena_text(arena, mpk_span_of(printed.data, printed.len));
	mpk_json_fini(&j);
	return out;
}

/* --- reading --------------------------------------------------------------------- */

struct search {
	const char *symbol;
	struct mpk_arena *arena;
	struct mpk_note *out;
	struct mpk_span id; /* the build id */
	uint64_t id_off;
	unsigned texts; /* number of texts parsed so far */
	bool failed;    /* memory was out */
};

/* Converts one digit; lower case only, as mpack writes it. */
static bool note_hex_digit(char c, uint8_t *out)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	if (at)
		*out = (uint8_t)(at - digits);
	return at != NULL;
}

/* Converts the digits of a digest; the text must have exactly that many. */
static bool parse_digest(const char *text, uint8_t out[MPK_XXH128_BYTES])
{
	for (size_t i = 0; i < MPK_XXH128_BYTES; i++) {
		uint8_t high, low;

		if (!note_hex_digit(text[2 * i], &high) || !note_hex_digit(text[2 * i + 1], &low))
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return text[2 * (size_t)MPK_XXH128_BYTES] == '\0';
}

/* Finds the member as mpack prints it. No other text can contain these characters, because quotes
 * inside texts are escaped. A note with another layout can be read, but its digest cannot be
 * replaced. */
static uint64_t find_digits(const struct mpk_elf_note *n, const char *digits)
{
	char member[64];
	int len = snprintf(member, sizeof member, "\"xxh128\":\"%s\"", digits);
	const uint8_t *at = memmem(n->text.data, n->text.len, member, (size_t)len);

	if (!at)
		return 0;
	return n->off + (uint64_t)(at - n->text.data) + strlen("\"xxh128\":\"");
}

static void take_note(struct search *s, const struct mpk_elf_note *n)
{
	size_t len = strnlen((const char *)n->text.data, n->text.len);
	const char *name, *blob, *digits;
	struct mpk_json_value o = { 0 };
	struct mpk_note note = { 0 };

	if (mpk_json_read(mpk_span_of(n->text.data, len), &o, NULL) != MPK_OK ||
	    !mpk_json_value_is(mpk_json_value_get(o, "type"), "mpack"))
		return;
	if (mpk_json_value_text(mpk_json_value_get(o, "name"), s->arena, &name, NULL) != MPK_OK ||
	    mpk_json_value_text(mpk_json_value_get(o, "blob"), s->arena, &blob, NULL) != MPK_OK ||
	    mpk_json_value_text(mpk_json_value_get(o, "xxh128"), s->arena, &digits, NULL) !=
		    MPK_OK) {
		s->failed = true;
	} else if (name && blob && digits && (!s->symbol || strcmp(blob, s->symbol) == 0) &&
		   parse_digest(digits, note.digest)) {
		note.name = name;
		note.symbol = blob;
		note.digits_off = find_digits(n, digits);
		*s->out = note;
	}
}

static bool see_note(void *data, const struct mpk_elf_note *n)
{
	struct search *s = data;

	if (mpk_elf_note_is(n, ELF_NOTE_GNU, NT_GNU_BUILD_ID)) {
		s->id = n->text;
		s->id_off = n->off;
	} else if (mpk_elf_note_is(n, MPK_NOTE_OWNER, MPK_NOTE_TYPE) &&
		   n->text.len <= MPK_NOTE_TEXT_MAX && !s->out->name && s->texts < TEXTS_MAX) {
		s->texts++;
		take_note(s, n);
	}
	return true;
}

/* If the build id was made from the digest, which its first half shows, both change together. */
enum mpk_code mpk_note_find(const struct mpk_elf *e, const char *symbol, struct mpk_arena *arena,
			    struct mpk_note *out, struct mpk_error *err)
{
	struct mpk_note found = { 0 };
	struct search s = { .symbol = symbol, .arena = arena, .out = &found };

	mpk_elf_notes(e, see_note, &s);
	if (s.failed)
		return mpk_fail_nomem(err);
	if (found.name && s.id.len == 2 * (size_t)MPK_NOTE_ID_HALF &&
	    memcmp(s.id.data, found.digest, MPK_NOTE_ID_HALF) == 0)
		found.id_off = s.id_off;
	*out = found;
	return MPK_OK;
}

/* The digest is not a secret, so the comparison need not take constant time. */
enum mpk_code mpk_note_compare(const struct mpk_note *note, const uint8_t digest[MPK_XXH128_BYTES],
			       struct mpk_error *err)
{
	if (memcmp(digest, note->digest, MPK_XXH128_BYTES) == 0)
		return MPK_OK;
	return mpk_fail(
		err, MPK_E_CORRUPT,
		"the blob is damaged: its digest is not the one in the file's note; to go on with it as it is, remove the note: objcopy --remove-section " MPK_NOTE_SECTION);
}

/* Reads through the file if there is one, so that a blob of gigabytes does not become resident. */
enum mpk_code mpk_note_digest(struct mpk_span blob, const struct mpk_mapping *map,
			      const struct mpk_tap *tap, struct mpk_arena *arena,
			      uint8_t out[MPK_DIGEST_BYTES], struct mpk_error *err)
{
	struct mpk_rope rope = mpk_rope_of(arena);

	mpk_rope_put_view(&rope, blob);
	if (map)
		mpk_mapping_use_file(map, &rope);
	MPK_TRY(mpk_rope_status(&rope, err));
	return mpk_digest_rope(MPK_DIGEST_XXH128, &rope, tap, out, err);
}
