/* SPDX-License-Identifier: Apache-2.0 */
/* append.c - notes at the end of an ELF file
 *
 * Linkers put the names of sections and the section headers at the end of a file. Longer ones
 * replace them there. Where they are elsewhere, the old ones stay in the file, unused. */
#include "elf/edit.h"

#include <string.h>

#include "base/num.h"
#include "elf/internal/elf.h"

enum { NOTE_ALIGN = 4, TABLE_ALIGN = 8, GAP_BYTES = 16 };

/* The new end of the file, before it is written. */
struct tail {
	const struct mpk_patch *p;
	const struct mpk_elf_append *notes;
	size_t count;
	uint64_t at, names_at, table_at, end;
	uint64_t note_at[MPK_APPEND_MAX], note_bytes[MPK_APPEND_MAX];
	uint8_t *bytes;
};

/* --- layout ---------------------------------------------------------------------- */

/* Returns the offset at which everything but the section names and the section headers ends. */
static uint64_t end_of_others(const struct mpk_patch *p)
{
	const GElf_Ehdr *h = &p->elf.header;
	uint64_t end = MPK_PATCH_SIZE(p, Ehdr), some;
	GElf_Phdr segment;

	some = h->e_phoff + h->e_phnum * MPK_PATCH_SIZE(p, Phdr);
	end = some > end ? some : end;
	for (size_t i = 0; mpk_elf_segment(&p->elf, i, &segment); i++) {
		some = segment.p_offset + segment.p_filesz;
		end = some > end ? some : end;
	}
	for (size_t i = 1; i < p->elf.section_count; i++) {
		GElf_Shdr s = mpk_patch_section(p, i);

		some = s.sh_offset + s.sh_size;
		if (i != h->e_shstrndx && mpk_patch_has_bytes(&s) && some > end)
			end = some;
	}
	return end;
}

/* Returns the offset at which the new end may begin: that of the old names, if only names and
 * headers follow it; else the end of the file. */
static uint64_t find_start(const struct mpk_patch *p)
{
	GElf_Shdr names = mpk_patch_section(p, p->elf.header.e_shstrndx);
	uint64_t table = p->elf.header.e_shoff, names_end = names.sh_offset + names.sh_size;
	uint64_t table_end = table + p->elf.section_count * MPK_PATCH_SIZE(p, Shdr);
	bool is_last = names.sh_offset >= end_of_others(p) && table >= names_end &&
		       table - names_end < GAP_BYTES && table_end == p->elf.bytes.len;

	return is_last ? names.sh_offset : p->elf.bytes.len;
}

static enum mpk_code too_large(struct mpk_error *err)
{
	return mpk_fail(err, MPK_E_RANGE, "the file is too large for a note more");
}

static enum mpk_code lay_out(struct tail *t, struct mpk_error *err)
{
	size_t names = t->p->elf.names.len, sections = t->p->elf.section_count + t->count;
	uint64_t at = t->at;

	for (size_t i = 0; i < t->count; i++) {
		const struct mpk_elf_append *n = &t->notes[i];
		uint64_t owner = (strlen(n->owner) + 1 + NOTE_ALIGN - 1) / NOTE_ALIGN * NOTE_ALIGN;

		t->note_bytes[i] = sizeof(Elf64_Nhdr) + owner +
				   (n->text.len + NOTE_ALIGN - 1) / NOTE_ALIGN * NOTE_ALIGN;
		if (!mpk_align_up(at, NOTE_ALIGN, &t->note_at[i]) ||
		    !mpk_add_u64(t->note_at[i], t->note_bytes[i], &at))
			return too_large(err);
		names += strlen(n->section) + 1;
	}
	t->names_at = at;
	if (!mpk_add_u64(at, names + 1, &at) || !mpk_align_up(at, TABLE_ALIGN, &t->table_at) ||
	    !mpk_add_u64(t->table_at, sections * MPK_PATCH_SIZE(t->p, Shdr), &t->end))
		return too_large(err);
	return MPK_OK;
}

/* --- bytes ----------------------------------------------------------------------- */

static void put_u32(const struct mpk_patch *p, uint8_t *at, uint64_t v)
{
	for (size_t i = 0; i < 4; i++)
		at[i] = (uint8_t)(v >> 8 * (p->big ? 3 - i : i));
}

/* Returns the offset of the note's text in the file. */
static uint64_t append_put_note(const struct tail *t, size_t index)
{
	const struct mpk_elf_append *n = &t->notes[index];
	uint8_t *at = t->bytes + (t->note_at[index] - t->at);
	size_t owner = strlen(n->owner) + 1;
	size_t text_at = sizeof(Elf64_Nhdr) + (owner + NOTE_ALIGN - 1) / NOTE_ALIGN * NOTE_ALIGN;

	put_u32(t->p, at, owner);
	put_u32(t->p, at + 4, n->text.len);
	put_u32(t->p, at + 8, n->type);
	memcpy(at + sizeof(Elf64_Nhdr), n->owner, owner);
	if (n->text.len)
		memcpy(at + text_at, n->text.data, n->text.len);
	return t->note_at[index] + text_at;
}

static enum mpk_code append_put_header(const struct tail *t, size_t index, uint64_t name,
				       struct mpk_error *err)
{
	const struct mpk_patch *p = t->p;
	size_t entry = MPK_PATCH_SIZE(p, Shdr);
	uint8_t *at = t->bytes + (t->table_at - t->at) + (p->elf.section_count + index) * entry;
	const struct {
		struct mpk_patch_field field;
		uint64_t value;
	} rows[] = {
		{ MPK_PATCH_FIELD(p, Shdr, sh_name), name },
		{ MPK_PATCH_FIELD(p, Shdr, sh_type), SHT_NOTE },
		{ MPK_PATCH_FIELD(p, Shdr, sh_flags), p->linked ? 0 : SHF_EXCLUDE },
		{ MPK_PATCH_FIELD(p, Shdr, sh_offset), t->note_at[index] },
		{ MPK_PATCH_FIELD(p, Shdr, sh_size), t->note_bytes[index] },
		{ MPK_PATCH_FIELD(p, Shdr, sh_addralign), NOTE_ALIGN },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		MPK_TRY(mpk_patch_store(p, at, rows[i].field, rows[i].value, err));
	return MPK_OK;
}

/* Writes the old and new names, and the old headers; the header of the names now points at them. */
static enum mpk_code put_tables(const struct tail *t, struct mpk_error *err)
{
	const struct mpk_patch *p = t->p;
	struct mpk_span names = p->elf.names;
	size_t entry = MPK_PATCH_SIZE(p, Shdr), used = names.len;
	uint8_t *text = t->bytes + (t->names_at - t->at);
	uint8_t *table = t->bytes + (t->table_at - t->at);

	if (names.len)
		memcpy(text, names.data, names.len);
	used += !names.len || names.data[names.len - 1] != 0;
	memcpy(table, p->elf.bytes.data + p->elf.header.e_shoff, p->elf.section_count * entry);
	for (size_t i = 0; i < t->count; i++) {
		size_t len = strlen(t->notes[i].section) + 1;

		memcpy(text + used, t->notes[i].section, len);
		MPK_TRY(append_put_header(t, i, used, err));
		used += len;
	}
	table += p->elf.header.e_shstrndx * entry;
	MPK_TRY(mpk_patch_store(p, table, MPK_PATCH_FIELD(p, Shdr, sh_offset), t->names_at, err));
	return mpk_patch_store(p, table, MPK_PATCH_FIELD(p, Shdr, sh_size), used, err);
}

static enum mpk_code append(struct tail *t, struct mpk_arena *arena, struct mpk_elf_appended *out,
			    struct mpk_error *err)
{
	GElf_Shdr names = mpk_patch_section(t->p, t->p->elf.header.e_shstrndx);
	size_t header_bytes = MPK_PATCH_SIZE(t->p, Ehdr);
	uint8_t *header = mpk_arena_alloc(arena, header_bytes);

	if (names.sh_type != SHT_STRTAB || (names.sh_flags & SHF_ALLOC) ||
	    t->p->elf.section_count + t->count >= SHN_LORESERVE)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "ELF tables of unusual form");
	t->at = find_start(t->p);
	MPK_TRY(lay_out(t, err));
	t->bytes = mpk_arena_alloc(arena, (size_t)(t->end - t->at));
	MPK_TRY_ALLOC(header && t->bytes, err);
	for (size_t i = 0; i < t->count; i++)
		out->text_off[i] = append_put_note(t, i);
	MPK_TRY(put_tables(t, err));

	const struct mpk_patch *p = t->p;

	memcpy(header, p->elf.bytes.data, MPK_PATCH_SIZE(p, Ehdr));
	MPK_TRY(mpk_patch_store(p, header, MPK_PATCH_FIELD(p, Ehdr, e_shoff), t->table_at, err));
	MPK_TRY(mpk_patch_store(p, header, MPK_PATCH_FIELD(p, Ehdr, e_shnum),
				p->elf.section_count + t->count, err));

	out->header = mpk_span_of(header, header_bytes);
	out->tail_at = t->at;
	out->tail = mpk_span_of(t->bytes, (size_t)(t->end - t->at));
	return MPK_OK;
}

enum mpk_code mpk_elf_append(const struct mpk_private *file, const struct mpk_elf_append *notes,
			     size_t count, struct mpk_arena *arena, struct mpk_elf_appended *out,
			     struct mpk_error *err)
{
	MPK_CLEANUP(mpk_patch_close) struct mpk_patch p = { 0 };
	struct tail t = { .p = &p, .notes = notes, .count = count };

	MPK_TRY(mpk_patch_open(file, &p, err));
	return append(&t, arena, out, err);
}
