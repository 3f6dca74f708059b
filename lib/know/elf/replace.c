/* SPDX-License-Identifier: Apache-2.0 */
/* replace.c - replaces the blob of a finished library
 *
 * There are three ways, tried in this order: overwrite the old blob, extend it at the end of the
 * file (extend.c), add a new segment. A new segment needs a program header, and none can be added,
 * because the code after the table cannot move. So a header that loaders do not need is reused. */
#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "elf/edit.h"
#include "elf/internal/elf.h"

enum {
	PAGE_BYTES = 4096,
	ALIGN_MAX = 64 << 20, /* linkers align to 2 MiB at most for large pages, to 64 KiB on Arm */
};

/* The new segment for content that does not fit. */
struct room {
	uint64_t header; /* file offset of the program header to reuse */
	uint64_t align;  /* alignment of segments in bytes */
	uint64_t off, addr;
};

/* Sets value, section and size together, because tools compare them. */
static enum mpk_code set_symbol(const struct mpk_patch *p, const struct mpk_patch_symbol *s,
				uint64_t value, uint64_t section, uint64_t size,
				struct mpk_error *err)
{
	for (size_t i = 0; i < s->count; i++) {
		uint64_t at = s->entries[i];

		MPK_TRY(mpk_patch_put(p, at, MPK_PATCH_FIELD(p, Sym, st_value), value, err));
		MPK_TRY(mpk_patch_put(p, at, MPK_PATCH_FIELD(p, Sym, st_shndx), section, err));
		MPK_TRY(mpk_patch_put(p, at, MPK_PATCH_FIELD(p, Sym, st_size), size, err));
	}
	return MPK_OK;
}

/* Loaders want PT_LOAD headers in the order of their addresses, so the reused header must follow
 * all others. */
static enum mpk_code find_room(const struct mpk_patch *p, struct room *room, struct mpk_error *err)
{
	uint64_t end = 0, top;
	GElf_Phdr s;

	*room = (struct room){ .align = PAGE_BYTES };
	for (size_t i = 0; mpk_elf_segment(&p->elf, i, &s); i++) {
		if (s.p_type == PT_GNU_PROPERTY || (s.p_type == PT_NOTE && !room->header))
			room->header = mpk_patch_segment_at(p, i);
		if (s.p_type != PT_LOAD)
			continue;
		room->header = 0;
		if (s.p_align > ALIGN_MAX)
			return mpk_fail(err, MPK_E_CORRUPT,
					"a segment is aligned to %" PRIu64 " bytes", s.p_align);
		if (s.p_align > room->align && (s.p_align & (s.p_align - 1)) == 0)
			room->align = s.p_align;
		if (!mpk_add_u64(s.p_vaddr, s.p_memsz, &top))
			return mpk_fail(err, MPK_E_CORRUPT, "a segment leaves the address space");
		end = top > end ? top : end;
	}
	if (!room->header)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"the blob does not fit where the old one is, and the library has no program header to spare; link it anew from its objects");
	if (!mpk_align_up(end, room->align, &room->addr) ||
	    !mpk_align_up(p->elf.bytes.len, room->align, &room->off))
		return mpk_fail(err, MPK_E_RANGE, "the library is too large");
	return MPK_OK;
}

/* --- one more section ------------------------------------------------------------ */

/* Returns the number of the new section. strip and objcopy do not change the section numbers in
 * .dynsym, because loaded sections come first. So the new section must be the first after the
 * loaded ones, and the numbers of all later sections increase by one. */
static size_t new_index(const struct mpk_patch *p)
{
	size_t last = 0;

	for (size_t i = 1; i < p->elf.section_count; i++)
		if (mpk_patch_section(p, i).sh_flags & SHF_ALLOC)
			last = i;
	return last + 1;
}

/* Numbers below the new section keep their meaning. */
static enum mpk_code shift(const struct mpk_patch *p, uint64_t at, struct mpk_patch_field f,
			   uint64_t number, size_t from, struct mpk_error *err)
{
	return number < from ? MPK_OK : mpk_patch_put(p, at, f, number + 1, err);
}

struct shifting {
	const struct mpk_patch *p;
	size_t from;
};

static enum mpk_code shift_symbol(void *data, const struct mpk_symbol *s, uint64_t at,
				  struct mpk_error *err)
{
	const struct shifting *all = data;

	return shift(all->p, at, MPK_PATCH_FIELD(all->p, Sym, st_shndx), s->section, all->from,
		     err);
}

/* Increases all section numbers from `from` on, in every table. */
static enum mpk_code shift_numbers(const struct mpk_patch *p, size_t from, struct mpk_error *err)
{
	MPK_TRY(mpk_patch_symbols(p, shift_symbol, &(struct shifting){ p, from }, err));
	for (size_t i = 1; i < p->elf.section_count; i++) {
		GElf_Shdr s = mpk_patch_section(p, i);
		uint64_t at = mpk_patch_section_at(p, i);

		MPK_TRY(shift(p, at, MPK_PATCH_FIELD(p, Shdr, sh_link), s.sh_link, from, err));
		if ((s.sh_flags & SHF_INFO_LINK) || s.sh_type == SHT_REL || s.sh_type == SHT_RELA)
			MPK_TRY(shift(p, at, MPK_PATCH_FIELD(p, Shdr, sh_info), s.sh_info, from,
				      err));
	}
	return shift(p, 0, MPK_PATCH_FIELD(p, Ehdr, e_shstrndx), p->elf.header.e_shstrndx, from,
		     err);
}

/* Writes the section headers with one for the new segment, because strip would drop a segment
 * without a section. It has the name of the section that the blob was in. */
static enum mpk_code replace_add_section(const struct mpk_patch *p,
					 const struct mpk_patch_symbol *s, const struct room *room,
					 size_t index, uint64_t size, uint8_t *table,
					 struct mpk_error *err)
{
	size_t entry = MPK_PATCH_SIZE(p, Shdr), at = index * entry;
	const uint8_t *old = p->file->data + mpk_patch_section_at(p, 0);
	const struct {
		struct mpk_patch_field field;
		uint64_t value;
	} rows[] = {
		{ MPK_PATCH_FIELD(p, Shdr, sh_addr), room->addr },
		{ MPK_PATCH_FIELD(p, Shdr, sh_offset), room->off },
		{ MPK_PATCH_FIELD(p, Shdr, sh_size), size },
		{ MPK_PATCH_FIELD(p, Shdr, sh_addralign), PAGE_BYTES },
	};

	memcpy(table, old, at);
	memcpy(table + at, old + s->section * entry, entry);
	memcpy(table + at + entry, old + at, (p->elf.section_count - index) * entry);
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		MPK_TRY(mpk_patch_store(p, table + at, rows[i].field, rows[i].value, err));
	return MPK_OK;
}

/* All patches go into the private copy first. The rope then consists of the file, the content and
 * the new table. */
static enum mpk_code put_behind(const struct mpk_patch *p, const struct mpk_patch_symbol *s,
				const struct mpk_rope *content, struct mpk_arena *arena,
				struct mpk_rope *out, struct mpk_error *err)
{
	size_t count = p->elf.section_count + 1, table_bytes = count * MPK_PATCH_SIZE(p, Shdr);
	size_t index = new_index(p);
	uint8_t *table = mpk_arena_alloc(arena, table_bytes);
	struct room room;
	uint64_t end, table_off;

	MPK_TRY_ALLOC(table, err);
	MPK_TRY(find_room(p, &room, err));
	if (!mpk_add_u64(room.off, content->len, &end) || !mpk_align_up(end, 8, &table_off))
		return mpk_fail(err, MPK_E_RANGE, "the blob is too large for a file");
	MPK_TRY(shift_numbers(p, index, err));
	MPK_TRY(replace_add_section(p, s, &room, index, content->len, table, err));

	/* The flags are those of constants: a blob is read, not executed. */
	uint64_t size = content->len;
	const struct {
		struct mpk_patch_field field;
		uint64_t value;
	} rows[] = {
		{ MPK_PATCH_FIELD(p, Phdr, p_type), PT_LOAD },
		{ MPK_PATCH_FIELD(p, Phdr, p_flags), PF_R },
		{ MPK_PATCH_FIELD(p, Phdr, p_offset), room.off },
		{ MPK_PATCH_FIELD(p, Phdr, p_vaddr), room.addr },
		{ MPK_PATCH_FIELD(p, Phdr, p_paddr), room.addr },
		{ MPK_PATCH_FIELD(p, Phdr, p_filesz), size },
		{ MPK_PATCH_FIELD(p, Phdr, p_memsz), size },
		{ MPK_PATCH_FIELD(p, Phdr, p_align), room.align },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		MPK_TRY(mpk_patch_put(p, room.header, rows[i].field, rows[i].value, err));

	MPK_TRY(set_symbol(p, s, room.addr, index, content->len, err));
	MPK_TRY(mpk_patch_put(p, 0, MPK_PATCH_FIELD(p, Ehdr, e_shoff), table_off, err));
	MPK_TRY(mpk_patch_put(p, 0, MPK_PATCH_FIELD(p, Ehdr, e_shnum), count, err));
	mpk_rope_put_view(out, p->elf.bytes);
	mpk_patch_put_zeros(out, room.off - p->elf.bytes.len);
	mpk_rope_put_rope(out, content);
	mpk_patch_put_zeros(out, table_off - end);
	mpk_rope_put_view(out, mpk_span_of(table, table_bytes));
	return mpk_rope_status(out, err);
}

enum mpk_code mpk_elf_replace(const struct mpk_private *file, const char *symbol,
			      const struct mpk_rope *content, struct mpk_arena *arena,
			      struct mpk_rope *out, struct mpk_error *err)
{
	MPK_CLEANUP(mpk_patch_close) struct mpk_patch p = { 0 };
	struct mpk_patch_symbol s;

	MPK_TRY(mpk_patch_open(file, &p, err));
	if (!p.linked)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "not a shared library");
	MPK_TRY(mpk_patch_find(&p, symbol, &s, err));

	uint64_t into = s.value - s.home.sh_addr;
	if (s.home.sh_type != SHT_PROGBITS || s.value < s.home.sh_addr || into > s.home.sh_size ||
	    s.size > s.home.sh_size - into)
		return mpk_fail(err, MPK_E_CORRUPT, "the blob symbol leaves its section");
	if (content->len <= s.size) {
		/* The remaining bytes are zeroed, so that nothing of the old blob stays in the file. */
		uint64_t start = s.home.sh_offset + (s.value - s.home.sh_addr),
			 end = start + s.size;

		MPK_TRY(set_symbol(&p, &s, s.value, s.section, content->len, err));
		mpk_rope_put_view(out, mpk_span_of(p.file->data, (size_t)start));
		mpk_rope_put_rope(out, content);
		mpk_patch_put_zeros(out, s.size - content->len);
		mpk_rope_put_view(out,
				  mpk_span_of(p.file->data + end, p.elf.bytes.len - (size_t)end));
		return mpk_rope_status(out, err);
	}

	enum mpk_code code = mpk_elf_extend(file, symbol, content, out, err);
	return code == MPK_E_UNSUPPORTED ? put_behind(&p, &s, content, arena, out, err) : code;
}
