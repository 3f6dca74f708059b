/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/notes.h"

#include <string.h>

#include "base/num.h"

/* A real file has a handful of notes. Files can name the same bytes as notes many times, so what is
 * looked at is limited. */
enum { NOTES_MAX = 1000, NOTE_HEADER = 12 };

struct walk {
	const struct mpk_elf *e;
	bool (*see)(void *data, const struct mpk_elf_note *n);
	void *data;
	unsigned notes; /* seen so far */
	bool ended;
};

bool mpk_elf_note_is(const struct mpk_elf_note *n, const char *owner, uint32_t type)
{
	return n->type == type && n->owner.len == strlen(owner) + 1 &&
	       memcmp(n->owner.data, owner, n->owner.len) == 0;
}

/* The note at *at of a list, which is moved behind it; false at the end. */
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
	*at = *at < size ? *at : size; /* the last one may lack its padding */
	return true;
}

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
