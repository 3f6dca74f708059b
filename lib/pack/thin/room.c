/* SPDX-License-Identifier: Apache-2.0 */
/* room.c - room behind the program headers, for more of them
 *
 * Linkers put notes and the tables of the dynamic linker there. Nothing but the dynamic section, headers and section
 * symbols has their addresses, so they can be loaded from somewhere else as a block. The block goes to where device
 * code was, with the same distances between its parts.
 */
#include <elf.h>
#include <string.h>

#include "base/cursor.h"
#include "elf/symbols.h"
#include "thin/internal/layout.h"

enum {
	BLOCK_ALIGN = 64,
	ROUNDS_MAX = 16,
	DYN_BYTES = sizeof(Elf64_Dyn),
	SYM_BYTES = sizeof(Elf64_Sym)
};

/* The name of the dynamic linker is found by its program header (PT_INTERP). */
static bool is_movable(const struct mpk_elf *elf, size_t index, const GElf_Shdr *h)
{
	const char *name = mpk_elf_section_name(elf, index);

	if (!(h->sh_flags & SHF_ALLOC) || (h->sh_flags & (SHF_WRITE | SHF_EXECINSTR | SHF_TLS)))
		return false;
	switch (h->sh_type) {
	case SHT_NOTE:
	case SHT_HASH:
	case SHT_GNU_HASH:
	case SHT_DYNSYM:
	case SHT_GNU_versym:
		return true;
	default:
		return name && strcmp(name, ".interp") == 0;
	}
}

/* Sections that begin where headers are to be, and all that begins before those end; false: one of them must stay. */
static bool find_block(const struct mpk_thin_layout *l, uint64_t off, uint64_t end, uint64_t *out)
{
	bool grows = true;

	*out = off;
	for (int round = 0; grows; round++) {
		grows = false;
		if (round == ROUNDS_MAX)
			return false;
		for (size_t i = 1; i < l->elf->section_count; i++) {
			GElf_Shdr h;

			if (mpk_elf_section(l->elf, i, &h, NULL) != MPK_OK ||
			    h.sh_type == SHT_NULL || h.sh_type == SHT_NOBITS ||
			    h.sh_offset + h.sh_size <= off ||
			    h.sh_offset >= (*out > end ? *out : end))
				continue;
			if (h.sh_offset < off || !is_movable(l->elf, i, &h))
				return false;
			if (h.sh_offset + h.sh_size > *out) {
				*out = h.sh_offset + h.sh_size;
				grows = true;
			}
		}
	}
	return *out >= end;
}

/* Both must be constants that one segment each loads whole, without anything of a header in them. */
static bool is_loaded(const struct mpk_thin_layout *l, uint64_t off, uint64_t end,
		      uint64_t *address)
{
	const GElf_Ehdr *e = &l->elf->header;

	if (e->e_shoff < end && e->e_shoff + l->elf->section_count * sizeof(Elf64_Shdr) > off)
		return false;
	for (size_t i = 0; i < l->elf->segment_count; i++) {
		const GElf_Phdr *p = &l->segments[i];

		if (p->p_type != PT_LOAD || off < p->p_offset || off - p->p_offset > p->p_filesz ||
		    end - off > p->p_filesz - (off - p->p_offset))
			continue;
		*address = p->p_vaddr + (off - p->p_offset);
		return true;
	}
	return false;
}

/* --- what refers to it ---------------------------------------------------------------------- */

static bool is_pointer_tag(uint64_t tag)
{
	switch (tag) {
	case DT_HASH:
	case DT_SYMTAB:
	case DT_GNU_HASH:
	case DT_VERSYM:
		return true;
	default:
		return false;
	}
}

static enum mpk_code patch_dynamic(const struct mpk_thin_layout *l, uint64_t address,
				   uint64_t bytes, struct mpk_thin_patches *out)
{
	for (size_t i = 0; i < l->elf->segment_count; i++) {
		const GElf_Phdr *p = &l->segments[i];
		struct mpk_span table;

		if (p->p_type != PT_DYNAMIC ||
		    !mpk_span_sub(l->elf->bytes, p->p_offset, p->p_filesz, &table))
			continue;
		for (size_t at = 0; at + DYN_BYTES <= table.len; at += DYN_BYTES) {
			uint64_t tag = mpk_load_u64(table.data + at);
			uint64_t value = mpk_load_u64(table.data + at + 8);

			if (tag == DT_NULL)
				break;
			if (is_pointer_tag(tag) && value >= address && value - address < bytes)
				MPK_TRY(mpk_thin_patch_add(out, p->p_offset + at + 8,
							   l->block_address + (value - address), 8,
							   l->err));
		}
	}
	return MPK_OK;
}

static enum mpk_code patch_symbols(const struct mpk_thin_layout *l, uint64_t address,
				   uint64_t bytes, struct mpk_thin_patches *out)
{
	for (size_t i = 1; i < l->elf->section_count; i++) {
		struct mpk_symtab table;
		GElf_Shdr h;

		MPK_TRY(mpk_elf_section(l->elf, i, &h, l->err));
		if (h.sh_type != SHT_SYMTAB && h.sh_type != SHT_DYNSYM)
			continue;
		MPK_TRY(mpk_symtab_open(l->elf, i, &table, l->err));
		for (size_t k = 1; k < table.count; k++) {
			struct mpk_symbol s;

			MPK_TRY(mpk_symtab_get(&table, k, &s, l->err));
			if (!s.defined || !s.section || s.type == STT_TLS || s.value < address ||
			    s.value - address >= bytes)
				continue;
			MPK_TRY(mpk_thin_patch_add(out, table.off + k * SYM_BYTES + 8,
						   l->block_address + (s.value - address), 8,
						   l->err));
		}
	}
	return MPK_OK;
}

/* --- the whole --------------------------------------------------------------------------------- */

enum mpk_code mpk_thin_make_room(struct mpk_thin_layout *l, uint64_t bytes,
				 struct mpk_thin_hole *hole, struct mpk_thin_patches *patches)
{
	const GElf_Ehdr *e = &l->elf->header;
	uint64_t off = e->e_phoff + (uint64_t)e->e_phnum * sizeof(Elf64_Phdr), end, address,
		 ignored;
	uint64_t to = (hole->off + BLOCK_ALIGN - 1) & ~(uint64_t)(BLOCK_ALIGN - 1);

	/* Program headers belong behind the ELF header, or they have been moved before. */
	if (e->e_phoff != sizeof(Elf64_Ehdr) || !find_block(l, off, off + bytes, &end) ||
	    !is_loaded(l, off, end, &address))
		return MPK_OK;
	to += off % BLOCK_ALIGN;
	if (to > hole->end || end - off > hole->end - to ||
	    !is_loaded(l, to, to + (end - off), &ignored))
		return MPK_OK;
	l->block =
		(uint8_t *)mpk_arena_copy(l->arena, l->elf->bytes.data + off, (size_t)(end - off));
	MPK_TRY_ALLOC(l->block, l->err);
	l->block_off = off;
	l->block_end = end;
	l->block_to = to;
	l->block_address = ignored;
	hole->off = to + (end - off);
	mpk_thin_cut_hole(l, hole);
	MPK_TRY(patch_dynamic(l, address, end - off, patches));
	return patch_symbols(l, address, end - off, patches);
}
