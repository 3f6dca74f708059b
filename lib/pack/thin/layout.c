/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - a library with shorter sections: what leaves the file, and the headers that say so
 *
 * A section of device code lies between others whose addresses host code has. So no address changes but within the
 * section, where containers move together; what is free behind them is a hole in the addresses. Whole pages of a hole
 * leave the file: the segment (PT_LOAD) is split in two, of which the second begins at the first page after the hole
 * and is loaded where it was. File offsets from there on are smaller by a multiple of the page size, so that every
 * segment goes on to be loaded at its address.
 *
 * A segment more is a program header more, for which linkers leave no room behind the table. What follows the table
 * then moves to the beginning of the hole; where that is not possible, the table does. Linkers put notes and the tables
 * of the dynamic linker there. Nothing but the dynamic section, headers and section symbols has their addresses, so they
 * can be loaded from somewhere else as a block, with the same distances between their parts.
 */

#include <elf.h>
#include <string.h>

#include "base/cursor.h"
#include "elf/symbols.h"
#include "thin/internal/thin.h"

enum {
	PAGE = 4096,
	PAGE_MAX = 65536, /* largest page size of AArch64 */
	ALIGN_MAX = 64 << 20,
	EHDR_BYTES = sizeof(Elf64_Ehdr),
	PHDR_BYTES = sizeof(Elf64_Phdr),
	SHDR_BYTES = sizeof(Elf64_Shdr),
	BLOCK_ALIGN = 64,
	ROUNDS_MAX = 16,
	DYN_BYTES = sizeof(Elf64_Dyn),
	SYM_BYTES = sizeof(Elf64_Sym),
};

/* --- holes and cuts ---------------------------------------------------------------------------- */

static bool is_loaded_by(const GElf_Phdr *p, const GElf_Shdr *h)
{
	return p->p_type == PT_LOAD && h->sh_offset >= p->p_offset &&
	       h->sh_offset - p->p_offset <= p->p_filesz &&
	       h->sh_size <= p->p_filesz - (h->sh_offset - p->p_offset) &&
	       h->sh_addr - p->p_vaddr == h->sh_offset - p->p_offset;
}

static enum mpk_code find_segment(struct mpk_thin_layout *l, const GElf_Shdr *h, size_t *out)
{
	size_t found = l->elf->segment_count;

	for (size_t i = 0; (h->sh_flags & SHF_ALLOC) && i < l->elf->segment_count; i++) {
		if (!is_loaded_by(&l->segments[i], h))
			continue;
		if (found < l->elf->segment_count)
			return mpk_fail_offset(l->err, MPK_E_CORRUPT, "file", h->sh_offset,
					       "two segments load the same device code");
		found = i;
	}
	if ((h->sh_flags & SHF_ALLOC) && found == l->elf->segment_count)
		return mpk_fail_offset(l->err, MPK_E_UNSUPPORTED, "file", h->sh_offset,
				       "no segment loads the device code as its section says");
	*out = found;
	return MPK_OK;
}

/* Returns the whole pages of the free bytes. */
static void cut_hole(const struct mpk_thin_layout *l, struct mpk_thin_hole *h)
{
	h->cut_off = (h->off + l->page - 1) & ~(l->page - 1);
	h->cut_end = h->end & ~(l->page - 1);
	if (h->cut_end <= h->cut_off)
		h->cut_end = h->cut_off = h->end;
}

static enum mpk_code find_holes(struct mpk_thin_layout *l)
{
	for (size_t i = 0; i < l->section_count; i++) {
		const struct mpk_thin_section *s = &l->sections[i];
		struct mpk_thin_hole *h = &l->holes[i];
		const GElf_Phdr *p;

		h->section = s;
		h->off = s->header.sh_offset + s->size;
		h->end = s->header.sh_offset + s->header.sh_size;
		MPK_TRY(find_segment(l, &s->header, &h->segment));
		if (h->segment < l->elf->segment_count) {
			p = &l->segments[h->segment];
			if ((p->p_offset - p->p_vaddr) & (l->page - 1))
				return mpk_fail(l->err, MPK_E_UNSUPPORTED,
						"a segment is not aligned to pages");
			h->at_tail =
				h->end == p->p_offset + p->p_filesz && p->p_filesz == p->p_memsz;
		}
		cut_hole(l, h);
	}
	return MPK_OK;
}

static bool is_split(const struct mpk_thin_layout *l, const struct mpk_thin_hole *h)
{
	return mpk_thin_is_cut(h) && h->segment < l->elf->segment_count && !h->at_tail;
}

static size_t count_splits(const struct mpk_thin_layout *l)
{
	size_t count = 0;

	for (size_t i = 0; i < l->section_count; i++)
		count += is_split(l, &l->holes[i]);
	return count;
}

/* --- the table of program headers ---------------------------------------------------------------- */

/* Whether bytes of the file belong to nothing: some linkers and editors leave gaps. */
static bool is_unused(const struct mpk_thin_layout *l, uint64_t off, uint64_t len)
{
	struct mpk_span bytes;

	if (!mpk_span_sub(l->elf->bytes, off, len, &bytes))
		return false;
	for (size_t i = 0; i < bytes.len; i++)
		if (bytes.data[i])
			return false;
	for (size_t i = 1; i < l->elf->section_count; i++) {
		GElf_Shdr h;

		if (mpk_elf_section(l->elf, i, &h, NULL) == MPK_OK && h.sh_type != SHT_NULL &&
		    h.sh_offset < off + len && h.sh_offset + h.sh_size >= off)
			return false;
	}
	return off + len <= l->elf->header.e_shoff ||
	       off >= l->elf->header.e_shoff + l->elf->section_count * SHDR_BYTES;
}

/* Returns the table of the dynamic section; empty if there is none. */
static struct mpk_span find_dynamic(const struct mpk_elf *elf, uint64_t *off)
{
	struct mpk_span table = { 0 };
	GElf_Phdr p;

	for (size_t i = 0; i < elf->segment_count && !table.len; i++)
		if (mpk_elf_segment(elf, i, &p) && p.p_type == PT_DYNAMIC &&
		    mpk_span_sub(elf->bytes, p.p_offset, p.p_filesz, &table))
			*off = p.p_offset;
	return table;
}

/* Whether the kernel starts the file as a program. Static programs have DF_1_PIE too. */
static bool is_program(const struct mpk_elf *elf)
{
	uint64_t off;
	struct mpk_span table = find_dynamic(elf, &off);

	for (size_t at = 0; at + DYN_BYTES <= table.len; at += DYN_BYTES)
		if (mpk_load_u64(table.data + at) == DT_FLAGS_1 &&
		    mpk_load_u64(table.data + at + 8) & DF_1_PIE)
			return true;
	return elf->header.e_type == ET_EXEC;
}

/* Older kernels take the file offset of the table for its address, counted from the beginning of
 * the first segment, and a static program reads its table there. */
static bool takes_table(const struct mpk_thin_layout *l, const struct mpk_thin_hole *h,
			uint64_t bytes)
{
	const GElf_Phdr *p, *first = NULL;
	bool starts = is_program(l->elf);

	if (h->segment >= l->elf->segment_count || !mpk_thin_is_cut(h) ||
	    h->end - h->off < bytes + 8)
		return false;
	p = &l->segments[h->segment];
	for (size_t i = 0; i < l->elf->segment_count; i++) {
		starts |= l->segments[i].p_type == PT_INTERP;
		if (l->segments[i].p_type == PT_LOAD && !first)
			first = &l->segments[i];
	}
	return !starts || (first && p->p_vaddr - p->p_offset == first->p_vaddr - first->p_offset);
}

static struct mpk_thin_hole *largest_hole(struct mpk_thin_layout *l, uint64_t bytes)
{
	struct mpk_thin_hole *best = NULL;

	for (size_t i = 0; i < l->section_count; i++) {
		struct mpk_thin_hole *h = &l->holes[i];

		if (takes_table(l, h, bytes) && (!best || h->end - h->off > best->end - best->off))
			best = h;
	}
	return best;
}

/* Not if a program header (PT_INTERP) points to it: the name of the dynamic linker. */
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

/* Returns the end of a block, extended over items that begin in it: notes of several sections share
 * one program header. */
static uint64_t grow_block(const struct mpk_thin_layout *l, uint64_t off, uint64_t end)
{
	for (size_t i = 0; i < l->elf->segment_count; i++) {
		const GElf_Phdr *p = &l->segments[i];

		if (p->p_type != PT_LOAD && p->p_offset >= off && p->p_offset < end &&
		    p->p_filesz > end - p->p_offset &&
		    p->p_filesz <= l->elf->bytes.len - p->p_offset)
			end = p->p_offset + p->p_filesz;
	}
	return end;
}

/* Finds the sections that begin where headers are to be, and everything that begins before those
 * end. Returns false: one of them must stay. */
static bool find_block(const struct mpk_thin_layout *l, uint64_t off, uint64_t end, uint64_t *out)
{
	bool grows = true;

	*out = off;
	for (int round = 0; grows; round++) {
		if (round == ROUNDS_MAX)
			return false;
		grows = grow_block(l, off, *out) > *out;
		*out = grow_block(l, off, *out);
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

/* Both must be constants that one segment loads whole, without any part of a header. */
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

static bool is_pointer_tag(uint64_t tag)
{
	return tag == DT_HASH || tag == DT_SYMTAB || tag == DT_GNU_HASH || tag == DT_VERSYM;
}

static enum mpk_code patch_dynamic(const struct mpk_thin_layout *l, uint64_t address,
				   uint64_t bytes, struct mpk_thin_patches *out)
{
	uint64_t off;
	struct mpk_span table = find_dynamic(l->elf, &off);

	for (size_t at = 0; at + DYN_BYTES <= table.len; at += DYN_BYTES) {
		uint64_t tag = mpk_load_u64(table.data + at);
		uint64_t value = mpk_load_u64(table.data + at + 8);

		if (tag == DT_NULL)
			break;
		if (is_pointer_tag(tag) && value >= address && value - address < bytes)
			MPK_TRY(mpk_thin_patch_add(out, off + at + 8,
						   l->block_address + (value - address), 8,
						   l->err));
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

/* make_room - find a block behind the program headers that can be loaded elsewhere, and what refers to it
 * @bytes   that are needed
 * @hole    receives the block, if there is one; shrinks then
 * @patches are added to
 * Returns  MPK_OK, also where there is none; MPK_E_CORRUPT; MPK_E_NOMEM */
static enum mpk_code place_block(struct mpk_thin_layout *l, uint64_t bytes,
				 struct mpk_thin_hole *hole, struct mpk_thin_patches *patches)
{
	const GElf_Ehdr *e = &l->elf->header;
	uint64_t off = e->e_phoff + (uint64_t)e->e_phnum * sizeof(Elf64_Phdr), end, address,
		 ignored;
	uint64_t to = (hole->off + BLOCK_ALIGN - 1) & ~(uint64_t)(BLOCK_ALIGN - 1);

	/* Program headers belong behind the ELF header, unless they were moved before. */
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
	cut_hole(l, hole);
	MPK_TRY(patch_dynamic(l, address, end - off, patches));
	return patch_symbols(l, address, end - off, patches);
}

/* GNU strip(1) puts the table behind the ELF header, whatever is there, so it stays there if it
 * can. */
static enum mpk_code place_table(struct mpk_thin_layout *l, struct mpk_thin_patches *patches)
{
	const GElf_Ehdr *e = &l->elf->header;
	uint64_t old = (uint64_t)e->e_phnum * PHDR_BYTES, bytes;
	struct mpk_thin_hole *h;

	l->split_count = count_splits(l);
	l->table_off = e->e_phoff;
	bytes = old + l->split_count * PHDR_BYTES;
	if (!l->split_count || is_unused(l, e->e_phoff + old, bytes - old))
		return MPK_OK;
	h = largest_hole(l, bytes);
	if (h)
		MPK_TRY(place_block(l, bytes - old, h, patches));
	if (h && l->block_off == l->block_end) {
		l->table_off = (h->off + 7) & ~UINT64_C(7);
		h->off = l->table_off + bytes;
		cut_hole(l, h);
		l->table_moves = true;
	}
	if (!h || count_splits(l) < l->split_count) {
		/* The gap is too small for program headers: it stays, as zeros, where a segment would be split. */
		for (size_t i = 0; i < l->section_count; i++)
			if (is_split(l, &l->holes[i]))
				l->holes[i].cut_off = l->holes[i].cut_end = l->holes[i].end;
		l->split_count = 0;
	}
	return MPK_OK;
}

/* --- the whole ------------------------------------------------------------------------------------------- */

/* x86-64 has pages of 4 KiB whatever a linker aligned to; on AArch64 only the linker knows the
 * page size. */
static enum mpk_code read_segments(struct mpk_thin_layout *l)
{
	GElf_Phdr *segments =
		mpk_arena_array(l->arena, l->elf->segment_count + 1, sizeof *segments);
	uint64_t most = PAGE;

	MPK_TRY_ALLOC(segments, l->err);
	for (size_t i = 0; i < l->elf->segment_count; i++) {
		GElf_Phdr *p = &segments[i];

		if (!mpk_elf_segment(l->elf, i, p))
			return mpk_fail(l->err, MPK_E_CORRUPT, "a program header does not read");
		if (p->p_type != PT_LOAD)
			continue;
		if (p->p_align > ALIGN_MAX || (p->p_align & (p->p_align - 1)) ||
		    p->p_memsz < p->p_filesz)
			return mpk_fail(l->err, MPK_E_UNSUPPORTED, "a segment of unusual form");
		most = p->p_align > most ? p->p_align : most;
	}
	most = most < PAGE_MAX ? most : PAGE_MAX;
	l->segments = segments;
	l->page = l->elf->header.e_machine == EM_X86_64 ? PAGE : most;
	return MPK_OK;
}

enum mpk_code mpk_thin_write(const struct mpk_elf *elf, const struct mpk_thin_section *sections,
			     size_t section_count, struct mpk_thin_patches *patches,
			     struct mpk_arena *arena, struct mpk_rope *out, struct mpk_error *err)
{
	struct mpk_thin_layout l = { .elf = elf,
				     .arena = arena,
				     .sections = sections,
				     .section_count = section_count,
				     .err = err };

	if (section_count > MPK_THIN_SECTIONS_MAX ||
	    elf->header.e_phnum + section_count >= PN_XNUM ||
	    elf->header.e_phnum != elf->segment_count ||
	    elf->header.e_shnum != elf->section_count ||
	    (elf->segment_count && elf->header.e_phentsize != PHDR_BYTES) ||
	    elf->header.e_shentsize != SHDR_BYTES)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "ELF tables of unusual form");
	MPK_TRY(read_segments(&l));
	MPK_TRY(find_holes(&l));
	MPK_TRY(place_table(&l, patches));
	return mpk_thin_assemble(&l, patches, out);
}
