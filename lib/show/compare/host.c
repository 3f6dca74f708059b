/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - a library's machine code with what its addresses mean: symbols, sections, imported functions
 *
 * When a function grows, all that follows in the file moves. Two distances in code are the same when they lead
 * to the same name, or to the same bytes, wherever both are. */
#include "compare/compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "compare/internal/compare.h"
#include "elf/symbols.h"

/* Addresses that have a name: those of a symbol or of a section. */
struct mpk_host_place {
	uint64_t begin, bytes;
	const char *name;
	uint64_t flags; /* of a section */
	size_t order;   /* in its table */
};

/* A word that a loader fills in. */
struct mpk_host_slot {
	uint64_t at;
	const char *name; /* of the symbol whose address it becomes; NULL: addend alone */
	uint64_t addend;
};

enum { TEXT_MAX = 4096, DATA_MIN = 64 };

/* A fifth of a second: tables of megabytes that hundreds of places refer to. */
#define DATA_BYTES ((uint64_t)1 << 31)

/* --- what a file has -------------------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
	const struct mpk_host_place *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order); /* one place may have several names */
}

/* A loader fills a word once, so that addresses of slots are unique in a file that works; of
 * duplicates any may be found. */
static int by_slot(const void *a, const void *b)
{
	const struct mpk_host_slot *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* The static symbol table names local functions, too; a stripped library has the dynamic one
 * alone, and is then compared by what it exports. */
static enum mpk_code compare_host_read_symbols(struct mpk_host_code *h, struct mpk_arena *arena,
					       struct mpk_error *err)
{
	struct mpk_symtab t;
	struct mpk_host_function *functions;
	struct mpk_host_place *places;
	struct mpk_symbol s;
	uint64_t off, bytes = 0;

	MPK_TRY(mpk_symtab_static(&h->elf, &t, err));
	if (!t.count)
		MPK_TRY(mpk_symtab_dynamic(&h->elf, &t, err));
	functions = mpk_arena_array(arena, t.count, sizeof *functions);
	places = mpk_arena_array(arena, t.count, sizeof *places);
	MPK_TRY_ALLOC(functions && places, err);
	for (size_t i = 1; i < t.count; i++) {
		struct mpk_host_function *f = &functions[h->count];

		MPK_TRY(mpk_symtab_get(&t, i, &s, err));
		bytes += strlen(s.name);
		/* names of a hostile file may overlap: their sum is bounded by the file before
		 * they are compared */
		MPK_TRY(mpk_elf_check_names("symbols", h->elf.base, h->elf.bytes.len, i, bytes,
					    err));
		if (!s.defined || !s.bytes || (s.type != STT_FUNC && s.type != STT_OBJECT))
			continue;
		places[h->place_count++] = (struct mpk_host_place){
			.begin = s.value, .bytes = s.bytes, .name = s.name, .order = i
		};
		if (s.type != STT_FUNC ||
		    mpk_symbol_bytes(&h->elf, &s, &f->code, &off, NULL) != MPK_OK)
			continue;
		f->symbol = s.name;
		f->address = s.value;
		h->count++;
	}
	if (h->place_count)
		qsort(places, h->place_count, sizeof *places, by_begin);
	h->functions = functions;
	h->places = places;
	return MPK_OK;
}

/* The relocations of one section. A relocation by symbol is compared by the symbol's name, one
 * without by the address that its addend is. */
static enum mpk_code read_slots_of(struct mpk_host_code *h, const GElf_Shdr *section,
				   struct mpk_host_slot *out, size_t *count, struct mpk_error *err)
{
	size_t n = mpk_elf_relocations(&h->elf, section);
	struct mpk_symtab symbols = { 0 };
	struct mpk_symbol s;
	GElf_Rela r;

	if (section->sh_link && section->sh_link < h->elf.section_count)
		MPK_TRY(mpk_symtab_open(&h->elf, section->sh_link, &symbols, err));
	for (size_t i = 0; i < n && mpk_elf_relocation(&h->elf, section, i, &r); i++) {
		struct mpk_host_slot slot = { .at = r.r_offset, .addend = (uint64_t)r.r_addend };
		uint64_t symbol = GELF_R_SYM(r.r_info);

		if (symbol && symbol < symbols.count &&
		    mpk_symtab_get(&symbols, (size_t)symbol, &s, NULL) == MPK_OK)
			slot.name = s.name;
		out[(*count)++] = slot;
	}
	return MPK_OK;
}

/* Relocations that are left for the loader; those of objects are the linker's. */
static enum mpk_code read_slots(struct mpk_host_code *h, struct mpk_arena *arena,
				struct mpk_error *err)
{
	struct mpk_host_slot *slots;
	uint64_t left = h->elf.bytes.len;
	GElf_Shdr section;
	size_t most = 0;

	for (int pass = 0; pass < 2; pass++) {
		slots = pass ? mpk_arena_array(arena, most, sizeof *slots) : NULL;
		if (pass)
			MPK_TRY_ALLOC(slots, err);
		for (size_t i = 1; i < h->elf.section_count; i++) {
			MPK_TRY(mpk_elf_section(&h->elf, i, &section, err));
			if (section.sh_type != SHT_RELA || h->elf.header.e_type == ET_REL)
				continue;
			if (pass)
				MPK_TRY(read_slots_of(h, &section, slots, &h->slot_count, err));
			else if (section.sh_size > left)
				return mpk_fail_offset(err, MPK_E_CORRUPT, "file",
						       h->elf.base + section.sh_offset,
						       "sections of relocations overlap");
			else
				/* 12 bytes, the smaller of both classes: at worst there is twice
				 * the room that is needed */
				most += section.sh_size / sizeof(Elf32_Rela);
			left -= pass ? 0 : section.sh_size;
		}
	}
	if (h->slot_count)
		qsort(slots, h->slot_count, sizeof *slots, by_slot);
	h->slots = slots;
	return MPK_OK;
}

/* Only sections that are loaded (SHF_ALLOC): code cannot refer to any other. */
static enum mpk_code compare_host_read_sections(struct mpk_host_code *h, struct mpk_arena *arena,
						struct mpk_error *err)
{
	struct mpk_host_place *list = mpk_arena_array(arena, h->elf.section_count, sizeof *list);
	GElf_Shdr s;

	MPK_TRY_ALLOC(list, err);
	for (size_t i = 1; i < h->elf.section_count; i++) {
		const char *name = mpk_elf_section_name(&h->elf, i);

		MPK_TRY(mpk_elf_section(&h->elf, i, &s, err));
		if (name && (s.sh_flags & SHF_ALLOC) && s.sh_size)
			list[h->section_count++] = (struct mpk_host_place){ s.sh_addr, s.sh_size,
									    name, s.sh_flags, i };
	}
	if (h->section_count)
		qsort(list, h->section_count, sizeof *list, by_begin);
	h->sections = list;
	return MPK_OK;
}

static enum mpk_code compare_host_read_all(struct mpk_host_code *h, struct mpk_arena *arena,
					   struct mpk_error *err)
{
	MPK_TRY(compare_host_read_symbols(h, arena, err));
	MPK_TRY(compare_host_read_sections(h, arena, err));
	return read_slots(h, arena, err);
}

enum mpk_code mpk_host_code_open(const struct mpk_image *image, struct mpk_arena *arena,
				 struct mpk_host_code *out, struct mpk_error *err)
{
	*out = (struct mpk_host_code){ 0 };
	if (image->format != MPK_FILE_ELF)
		return MPK_OK;
	MPK_TRY(mpk_elf_open(image->bytes, image->bytes_off, &out->elf, err));
	/* functions may overlap in a hostile file; a real one is compared once, so that four
	 * times its size is plenty */
	out->bytes_left = 4 * (uint64_t)image->bytes.len;
	out->data_left = DATA_BYTES;

	enum mpk_code code = compare_host_read_all(out, arena, err);

	if (code != MPK_OK)
		mpk_host_code_close(out);
	return code;
}

void mpk_host_code_close(struct mpk_host_code *h)
{
	mpk_elf_close(&h->elf);
	*h = (struct mpk_host_code){ 0 };
}

/* --- what an address means ---------------------------------------------------------------- */

/* The word at exactly this address, if a loader fills it. */
static const struct mpk_host_slot *slot_at(const struct mpk_host_code *h, uint64_t address)
{
	struct mpk_host_slot key = { .at = address };

	return h->slot_count ? bsearch(&key, h->slots, h->slot_count, sizeof key, by_slot) : NULL;
}

/* The last place that begins at or before an address, if that lies in it, else NULL. */
static const struct mpk_host_place *compare_host_find(const struct mpk_host_place *places,
						      size_t count, uint64_t address)
{
	const struct mpk_host_place behind = { .begin = address, .order = SIZE_MAX };
	size_t next = mpk_lower_bound(places, count, sizeof behind, &behind, by_begin);
	const struct mpk_host_place *last = next ? &places[next - 1] : NULL;

	return last && address - last->begin < last->bytes ? last : NULL;
}

/* The symbol that begins last before the address and reaches over it. One that encloses it and
 * began earlier is not looked for. */
static const struct mpk_host_place *place_at(const struct mpk_host_code *h, uint64_t address)
{
	return compare_host_find(h->places, h->place_count, address);
}

static const struct mpk_host_place *section_at(const struct mpk_host_code *h, uint64_t address)
{
	return compare_host_find(h->sections, h->section_count, address);
}

/* The slot through which an entry of the PLT jumps, or NULL. */
static const struct mpk_host_slot *plt_slot(const struct mpk_host_code *h, uint64_t address)
{
	uint64_t slot;

	return mpk_plt_slot(&h->elf, address, &slot) ? slot_at(h, slot) : NULL;
}

/* Empty names are those of section symbols: two of them say nothing about being the same. */
static bool same_symbol(const char *a, const char *b)
{
	return a && b && a[0] && strcmp(a, b) == 0;
}

/* A text, or so many bytes as both symbols have; without symbols enough for any vector. */
static bool same_data(struct mpk_host_code *a, uint64_t x, const struct mpk_host_code *b,
		      uint64_t y)
{
	const struct mpk_host_place *p = place_at(a, x), *q = place_at(b, y);
	struct mpk_span s, t, text, other;
	uint64_t off, len = DATA_MIN;

	if (!mpk_elf_at_address(&a->elf, x, &s, &off) || !mpk_elf_at_address(&b->elf, y, &t, &off))
		return false;
	if (p && q) {
		len = p->bytes - (x - p->begin);
		if (len != q->bytes - (y - q->begin))
			return false;
	} else if (mpk_span_text(s, 0, TEXT_MAX, &text) && mpk_span_text(t, 0, TEXT_MAX, &other) &&
		   text.len > 3) {
		return mpk_span_equal(text, other);
	}
	if (len > s.len || len > t.len || len > a->data_left)
		return false;
	a->data_left -= len;
	return memcmp(s.data, t.data, (size_t)len) == 0;
}

bool mpk_host_same_target(struct mpk_host_code *a, uint64_t x, const struct mpk_host_code *b,
			  uint64_t y, bool again)
{
	const struct mpk_host_slot *p = slot_at(a, x), *q = slot_at(b, y);
	const struct mpk_host_place *m, *n;
	const struct mpk_host_place *s = section_at(a, x), *t = section_at(b, y);

	if (p && q) {
		/* what the loader stores there counts, and not what the file has in its place */
		if (p->name || q->name)
			return same_symbol(p->name, q->name) && p->addend == q->addend;
		/* one step only: a pointer to a pointer to itself would not end */
		return again && mpk_host_same_target(a, p->addend, b, q->addend, false);
	}
	if (p || q || !s || !t || strcmp(s->name, t->name) != 0)
		return false;
	if (strncmp(s->name, ".plt", 4) == 0) {
		p = plt_slot(a, x);
		q = plt_slot(b, y);
		return p && q && same_symbol(p->name, q->name);
	}
	/* names of constants are numbers that move: their content counts */
	if (!(s->flags & (SHF_EXECINSTR | SHF_WRITE)))
		return same_data(a, x, b, y);
	m = place_at(a, x);
	n = place_at(b, y);
	if (m && n)
		return same_symbol(m->name, n->name) && x - m->begin == y - n->begin;
	return !m && !n && !(s->flags & SHF_EXECINSTR) && x - s->begin == y - t->begin;
}

/* Answers only what is certain: two entries of the PLT whose slots are filled with symbols of
 * different names. */
bool mpk_host_other_import(const struct mpk_host_code *a, uint64_t x, const struct mpk_host_code *b,
			   uint64_t y)
{
	const struct mpk_host_place *s = section_at(a, x), *t = section_at(b, y);
	const struct mpk_host_slot *m, *n;

	if (!s || !t || strncmp(s->name, ".plt", 4) != 0 || strncmp(t->name, ".plt", 4) != 0)
		return false;
	m = plt_slot(a, x);
	n = plt_slot(b, y);
	return m && n && m->name && n->name && strcmp(m->name, n->name) != 0;
}

/* --- the same of one file alone ------------------------------------------------------------- */

/* A text; or what a symbol has from here on; without a symbol as much as any vector, up to the next one or the end of
 * the section. */
static bool host_put_data(struct mpk_host_code *h, const struct mpk_host_place *section, uint64_t x,
			  struct mpk_canon_hash *out)
{
	const struct mpk_host_place *p = place_at(h, x);
	const struct mpk_host_place behind = { .begin = x, .order = SIZE_MAX };
	size_t next = mpk_lower_bound(h->places, h->place_count, sizeof behind, &behind, by_begin);
	uint64_t off, len = section->bytes - (x - section->begin);
	struct mpk_span s;
	size_t text;

	if (!mpk_elf_at_address(&h->elf, x, &s, &off))
		return false;
	if (next < h->place_count && h->places[next].begin - x < len)
		len = h->places[next].begin - x;
	if (len > s.len)
		return false;
	text = strnlen((const char *)s.data, len < TEXT_MAX ? (size_t)len : TEXT_MAX);
	if (p)
		len = p->bytes - (x - p->begin);
	else if (text > 3 && text < TEXT_MAX)
		len = text;
	else if (len > DATA_MIN)
		len = DATA_MIN;
	if (len > s.len || len > h->data_left)
		return false;
	h->data_left -= len;
	/* zeros may be what aligns the next symbol */
	while (!p && len && !s.data[len - 1])
		len--;
	mpk_canon_bytes(out, mpk_span_str("data"));
	mpk_canon_bytes(out, mpk_span_of(s.data, (size_t)len));
	return true;
}

static void put_name(struct mpk_canon_hash *out, const char *what, const char *name,
		     uint64_t distance)
{
	mpk_canon_bytes(out, mpk_span_str(what));
	mpk_canon_symbol(out, mpk_span_str(name));
	mpk_canon_u64(out, distance);
}

bool mpk_host_put_target(struct mpk_host_code *h, uint64_t x, bool again,
			 struct mpk_canon_hash *out)
{
	const struct mpk_host_slot *slot = slot_at(h, x);
	const struct mpk_host_place *s = section_at(h, x), *p;

	if (slot && !slot->name)
		return again && mpk_host_put_target(h, slot->addend, false, out);
	if (!slot && !s)
		return false;
	if (!slot && strncmp(s->name, ".plt", 4) == 0) {
		slot = plt_slot(h, x);
		if (!slot || !slot->name)
			return false;
	}
	if (slot) {
		put_name(out, "import", slot->name, slot->addend);
		return true;
	}
	if (!(s->flags & (SHF_EXECINSTR | SHF_WRITE)))
		return host_put_data(h, s, x, out);
	p = place_at(h, x);
	if (!p && s->flags & SHF_EXECINSTR)
		return false;
	put_name(out, p ? "symbol" : "section", p ? p->name : s->name,
		 x - (p ? p->begin : s->begin));
	return true;
}
