/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - reads a library's machine code and all that gives its addresses a meaning: symbols,
 * sections, words that a loader fills in */
#include "compare/compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "compare/internal/compare.h"
#include "elf/symbols.h"

/* Limits the comparison to a fifth of a second, for tables of megabytes that hundreds of places
 * refer to. */
#define DATA_BYTES ((uint64_t)1 << 31)

static int by_begin(const void *a, const void *b)
{
	const struct mpk_host_place *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	/* several names may share one address */
	return (x->order > y->order) - (x->order < y->order);
}

/* A loader fills a word once, so addresses of slots are unique in a valid file; of duplicates, any
 * may be found. */
MPK_ORDER_BY(by_slot, struct mpk_host_slot, at)

/* The static symbol table names local functions too. A stripped library has only the dynamic table,
 * so only its exported functions are compared. */
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
		/* names of a hostile file may overlap: their sum is limited by the file size before
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

/* Reads the relocations of one section. A relocation with a symbol is compared by the symbol's
 * name, one without by the address in its addend. */
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

/* Reads the relocations left for the loader. Those of objects are for the linker. */
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
				/* 12 bytes is the smaller size of the two ELF classes, so at worst
				 * the array is twice as large as needed */
				most += section.sh_size / sizeof(Elf32_Rela);
			left -= pass ? 0 : section.sh_size;
		}
	}
	if (h->slot_count)
		qsort(slots, h->slot_count, sizeof *slots, by_slot);
	h->slots = slots;
	return MPK_OK;
}

/* Only loaded sections (SHF_ALLOC) count: code cannot refer to others. */
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
	/* functions may overlap in a hostile file; each function of a real file is compared once,
	 * so four times the file size is enough */
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
