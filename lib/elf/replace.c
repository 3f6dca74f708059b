#include "elf/replace.h"

#include <string.h>

#include "base/num.h"
#include "base/span.h"
#include "elf/grow.h"
#include "elf/raw.h"

enum { PAGE_BYTES = 4096 };

/* Where the content goes when it does not fit. */
struct room {
	uint64_t header; /* file offset of the program header to be used */
	uint64_t align;  /* of segments, bytes */
	uint64_t off, addr;
};

static void put_zeros(struct mpk_rope *out, uint64_t count)
{
	static const uint8_t zeros[PAGE_BYTES];

	while (count) {
		size_t n = count < sizeof zeros ? (size_t)count : sizeof zeros;

		mpk_rope_put_view(out, mpk_span_of(zeros, n));
		count -= n;
	}
}

static enum mpk_code set_symbol(struct mpk_raw *e, const struct mpk_raw_symbol *s, uint64_t value,
				uint64_t index, uint64_t size, struct mpk_error *err)
{
	for (size_t i = 0; i < s->count; i++) {
		uint64_t at = s->entries[i];

		MPK_TRY(mpk_raw_put(e, at, MPK_RAW_FIELD(e, Sym, st_value), value, err));
		MPK_TRY(mpk_raw_put(e, at, MPK_RAW_FIELD(e, Sym, st_shndx), index, err));
		MPK_TRY(mpk_raw_put(e, at, MPK_RAW_FIELD(e, Sym, st_size), size, err));
	}
	return MPK_OK;
}

static enum mpk_code put_in_place(struct mpk_raw *e, const struct mpk_raw_symbol *s,
				  const struct mpk_rope *content, struct mpk_rope *out,
				  struct mpk_error *err)
{
	uint64_t start = s->home.off + (s->value - s->home.addr), end = start + s->size;

	MPK_TRY(set_symbol(e, s, s->value, s->home.index, content->len, err));
	mpk_rope_put_view(out, mpk_span_of(e->data, (size_t)start));
	mpk_rope_put_rope(out, content);
	put_zeros(out, s->size - content->len);
	mpk_rope_put_view(out, mpk_span_of(e->data + end, e->len - (size_t)end));
	return mpk_rope_status(out, err);
}

/* Loaders want PT_LOAD headers in the order of their addresses, so the one that is used
 * must stand behind the others. */
static enum mpk_code find_room(const struct mpk_raw *e, struct room *room, struct mpk_error *err)
{
	uint64_t end = 0;

	*room = (struct room){ .align = PAGE_BYTES };
	for (uint64_t i = 0; i < e->phnum; i++) {
		uint64_t at = e->phoff + i * MPK_RAW_SIZE(e, Phdr);
		uint64_t type = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Phdr, p_type)), top;
		uint64_t align = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Phdr, p_align));

		if (type == PT_GNU_PROPERTY || (type == PT_NOTE && !room->header))
			room->header = at;
		if (type != PT_LOAD)
			continue;
		room->header = 0;
		if (align > room->align && (align & (align - 1)) == 0)
			room->align = align;
		if (!mpk_add_u64(mpk_raw_get(e, at, MPK_RAW_FIELD(e, Phdr, p_vaddr)),
				 mpk_raw_get(e, at, MPK_RAW_FIELD(e, Phdr, p_memsz)), &top))
			return mpk_fail(err, MPK_E_CORRUPT, "a segment leaves the address space");
		end = top > end ? top : end;
	}
	if (!room->header)
		return mpk_fail(
			err, MPK_E_UNSUPPORTED,
			"the blob does not fit where the old one is, and the library has no program header to spare; link it anew from its objects");
	if (!mpk_align_up(end, room->align, &room->addr) ||
	    !mpk_align_up(e->len, room->align, &room->off))
		return mpk_fail(err, MPK_E_RANGE, "the library is too large");
	return MPK_OK;
}

static enum mpk_code set_segment(struct mpk_raw *e, const struct room *room, uint64_t size,
				 struct mpk_error *err)
{
	const struct {
		struct mpk_raw_field field;
		uint64_t value;
	} rows[] = {
		{ MPK_RAW_FIELD(e, Phdr, p_type), PT_LOAD },
		{ MPK_RAW_FIELD(e, Phdr, p_flags), PF_R },
		{ MPK_RAW_FIELD(e, Phdr, p_offset), room->off },
		{ MPK_RAW_FIELD(e, Phdr, p_vaddr), room->addr },
		{ MPK_RAW_FIELD(e, Phdr, p_paddr), room->addr },
		{ MPK_RAW_FIELD(e, Phdr, p_filesz), size },
		{ MPK_RAW_FIELD(e, Phdr, p_memsz), size },
		{ MPK_RAW_FIELD(e, Phdr, p_align), room->align },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		MPK_TRY(mpk_raw_put(e, room->header, rows[i].field, rows[i].value, err));
	return MPK_OK;
}

/* strip and objcopy keep the section numbers of .dynsym as they are, because sections
 * that are loaded come first. So must the new one; what comes behind it gets the next
 * number. */
static size_t new_index(const struct mpk_raw *e)
{
	size_t last = 0;

	for (size_t i = 0; i < e->shnum; i++)
		if (mpk_raw_section(e, i).flags & SHF_ALLOC)
			last = i;
	return last + 1;
}

static enum mpk_code shift(struct mpk_raw *e, uint64_t at, struct mpk_raw_field f, size_t from,
			   struct mpk_error *err)
{
	uint64_t v = mpk_raw_get(e, at, f);

	if (v < from || (f.size == 2 && v >= SHN_LORESERVE))
		return MPK_OK;
	return mpk_raw_put(e, at, f, v + 1, err);
}

static enum mpk_code shift_numbers(struct mpk_raw *e, size_t from, struct mpk_error *err)
{
	for (size_t i = 0; i < e->shnum; i++) {
		struct mpk_raw_section s = mpk_raw_section(e, i);
		uint64_t at = mpk_raw_section_at(e, i);
		bool info_links =
			(s.flags & SHF_INFO_LINK) || s.type == SHT_REL || s.type == SHT_RELA;

		if (s.type == SHT_SYMTAB || s.type == SHT_DYNSYM)
			for (uint64_t k = 0; s.size - k >= s.entsize; k += s.entsize)
				MPK_TRY(shift(e, s.off + k, MPK_RAW_FIELD(e, Sym, st_shndx), from,
					      err));
		MPK_TRY(shift(e, at, MPK_RAW_FIELD(e, Shdr, sh_link), from, err));
		if (info_links)
			MPK_TRY(shift(e, at, MPK_RAW_FIELD(e, Shdr, sh_info), from, err));
	}
	return shift(e, 0, MPK_RAW_FIELD(e, Ehdr, e_shstrndx), from, err);
}

/* The section headers with one more, for the new place: without it, strip would drop the
 * segment. It goes by the name of the section that the blob was in. */
static enum mpk_code add_section(const struct mpk_raw *e, const struct mpk_raw_symbol *s,
				 const struct room *room, size_t index, uint64_t size,
				 uint8_t *table, struct mpk_error *err)
{
	size_t entry = MPK_RAW_SIZE(e, Shdr), at = index * entry;
	struct mpk_raw t = *e;
	const struct {
		struct mpk_raw_field field;
		uint64_t value;
	} rows[] = {
		{ MPK_RAW_FIELD(e, Shdr, sh_addr), room->addr },
		{ MPK_RAW_FIELD(e, Shdr, sh_offset), room->off },
		{ MPK_RAW_FIELD(e, Shdr, sh_size), size },
		{ MPK_RAW_FIELD(e, Shdr, sh_addralign), PAGE_BYTES },
	};

	memcpy(table, e->data + e->shoff, at);
	memcpy(table + at, e->data + mpk_raw_section_at(e, s->home.index), entry);
	memcpy(table + at + entry, e->data + e->shoff + at, ((size_t)e->shnum - index) * entry);
	t.data = table;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(rows); i++)
		MPK_TRY(mpk_raw_put(&t, at, rows[i].field, rows[i].value, err));
	return MPK_OK;
}

static enum mpk_code put_behind(struct mpk_raw *e, const struct mpk_raw_symbol *s,
				const struct mpk_rope *content, struct mpk_arena *arena,
				struct mpk_rope *out, struct mpk_error *err)
{
	size_t table_bytes = ((size_t)e->shnum + 1) * MPK_RAW_SIZE(e, Shdr);
	size_t index = new_index(e);
	uint8_t *table = mpk_arena_alloc(arena, table_bytes);
	struct room room;
	uint64_t end, table_off;

	if (!table)
		return mpk_fail_nomem(err);
	MPK_TRY(find_room(e, &room, err));
	if (!mpk_add_u64(room.off, content->len, &end) || !mpk_align_up(end, 8, &table_off))
		return mpk_fail(err, MPK_E_RANGE, "the blob is too large for a file");
	MPK_TRY(shift_numbers(e, index, err));
	MPK_TRY(add_section(e, s, &room, index, content->len, table, err));
	MPK_TRY(set_segment(e, &room, content->len, err));
	MPK_TRY(set_symbol(e, s, room.addr, index, content->len, err));
	MPK_TRY(mpk_raw_put(e, 0, MPK_RAW_FIELD(e, Ehdr, e_shoff), table_off, err));
	MPK_TRY(mpk_raw_put(e, 0, MPK_RAW_FIELD(e, Ehdr, e_shnum), e->shnum + 1, err));
	mpk_rope_put_view(out, mpk_span_of(e->data, e->len));
	put_zeros(out, room.off - e->len);
	mpk_rope_put_rope(out, content);
	put_zeros(out, table_off - end);
	mpk_rope_put_view(out, mpk_span_of(table, table_bytes));
	return mpk_rope_status(out, err);
}

enum mpk_code mpk_elf_replace(uint8_t *file, size_t len, const char *symbol,
			      const struct mpk_rope *content, struct mpk_arena *arena,
			      struct mpk_rope *out, struct mpk_error *err)
{
	struct mpk_raw e = { .data = file, .len = len };
	struct mpk_raw_symbol s = { 0 };

	MPK_TRY(mpk_raw_open(&e, err));
	if (!e.linked)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "not a shared library");
	MPK_TRY(mpk_raw_find(&e, symbol, &s, err));
	if (s.home.type != SHT_PROGBITS || s.value < s.home.addr ||
	    s.value - s.home.addr > s.home.size || s.size > s.home.size - (s.value - s.home.addr))
		return mpk_fail(err, MPK_E_CORRUPT, "the blob symbol leaves its section");
	if (content->len <= s.size)
		return put_in_place(&e, &s, content, out, err);

	enum mpk_code code = mpk_elf_grow(file, len, symbol, content, out, err);
	return code == MPK_E_UNSUPPORTED ? put_behind(&e, &s, content, arena, out, err) : code;
}
