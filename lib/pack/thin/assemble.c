/* SPDX-License-Identifier: Apache-2.0 */
/* assemble.c - writes a thinned library: adjusted headers, new containers, everything else
 * unchanged
 *
 * The file is written as a list of changed regions, with the original bytes between them. So bytes
 * outside of these regions cannot change. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "thin/internal/thin.h"

enum {
	EHDR_BYTES = sizeof(Elf64_Ehdr),
	PHDR_BYTES = sizeof(Elf64_Phdr),
	SHDR_BYTES = sizeof(Elf64_Shdr),
};

/* A part of the file that changes. */
struct region {
	uint64_t off, len;
	/* NULL: use bytes, because a rope for every patched word would be too large */
	const struct mpk_rope *content;
	const uint8_t *bytes;
};

/* --- what leaves the file -------------------------------------------------------------------------------- */

/* Whether a range touches the bytes that are removed. */
static bool touches_cut(const struct mpk_thin_layout *l, uint64_t off, uint64_t len)
{
	for (size_t i = 0; len && i < l->section_count; i++) {
		const struct mpk_thin_hole *h = &l->holes[i];

		if (mpk_thin_is_cut(h) && off < h->cut_end &&
		    (off > h->cut_off || len > h->cut_off - off))
			return true;
	}
	return false;
}

static enum mpk_code overlap(const struct mpk_thin_layout *l, uint64_t off)
{
	return mpk_fail_offset(l->err, MPK_E_CORRUPT, "file", off,
			       "something else of the file lies in its device code");
}

/* Only holes may be in the part that leaves the file. */
static enum mpk_code check_cuts(const struct mpk_thin_layout *l)
{
	const GElf_Ehdr *e = &l->elf->header;

	if (touches_cut(l, 0, EHDR_BYTES) ||
	    touches_cut(l, e->e_phoff, (uint64_t)e->e_phnum * PHDR_BYTES) ||
	    touches_cut(l, e->e_shoff, l->elf->section_count * SHDR_BYTES))
		return overlap(l, 0);
	for (size_t i = 1, own = 0; i < l->elf->section_count; i++) {
		GElf_Shdr h;

		MPK_TRY(mpk_elf_section(l->elf, i, &h, l->err));
		for (own = 0; own < l->section_count && l->sections[own].index != i;)
			own++;
		if (own == l->section_count && h.sh_type != SHT_NOBITS && h.sh_type != SHT_NULL &&
		    touches_cut(l, h.sh_offset, h.sh_size))
			return overlap(l, h.sh_offset);
	}
	for (size_t i = 0; i < l->elf->segment_count; i++) {
		const GElf_Phdr *p = &l->segments[i];
		bool own = false;

		for (size_t k = 0; k < l->section_count; k++)
			own |= l->holes[k].segment == i;
		if (!own && touches_cut(l, p->p_offset, p->p_filesz))
			return overlap(l, p->p_offset);
	}
	return MPK_OK;
}

/* --- headers ------------------------------------------------------------------------------------------ */

static void store(uint8_t *at, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

#define STORE(p, type, name, value)                                                                \
	store((p) + offsetof(type, name), value, sizeof(((type *)0)->name))

/* Returns the largest alignment that holds where the segment is now. */
static uint64_t align_at(uint64_t off, uint64_t address, uint64_t align)
{
	while (align > 1 && ((off - address) & (align - 1)))
		align >>= 1;
	return align;
}

/* Splits a segment of code and constants: a part without code need not be executable. */
static uint64_t flags_of(const struct mpk_thin_layout *l, const GElf_Phdr *p, uint64_t off,
			 uint64_t end)
{
	if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) ||
	    (off == p->p_offset && end == p->p_offset + p->p_filesz))
		return p->p_flags;
	for (size_t i = 1; i < l->elf->section_count; i++) {
		GElf_Shdr h;

		if (mpk_elf_section(l->elf, i, &h, NULL) == MPK_OK &&
		    (h.sh_flags & SHF_EXECINSTR) && h.sh_offset < end &&
		    h.sh_offset + h.sh_size > off)
			return p->p_flags;
	}
	return p->p_flags & ~(uint64_t)PF_X;
}

/* Returns the new offset of a byte in the file; for a removed byte, the offset of the first byte
 * after the cut. */
static uint64_t moved_off(const struct mpk_thin_layout *l, uint64_t off)
{
	uint64_t by = 0;

	for (size_t i = 0; i < l->section_count; i++) {
		const struct mpk_thin_hole *h = &l->holes[i];

		if (mpk_thin_is_cut(h) && off > h->cut_off)
			by += (off < h->cut_end ? off : h->cut_end) - h->cut_off;
	}
	return off - by;
}

/* Writes a segment, or a part of a split one: file bytes [off, end), and zeros up to its size in
 * memory. */
static void put_segment(const struct mpk_thin_layout *l, const GElf_Phdr *p, uint64_t off,
			uint64_t end, uint64_t memory, uint8_t *to)
{
	uint64_t address = p->p_vaddr + (off - p->p_offset), now = moved_off(l, off);
	uint64_t shift = 0;

	if (p->p_type != PT_LOAD && end > off && mpk_thin_in_block(l, off, end - off)) {
		now = moved_off(l, l->block_to + (off - l->block_off));
		shift = l->block_address + (off - l->block_off) - address;
	}
	STORE(to, Elf64_Phdr, p_type, p->p_type);
	STORE(to, Elf64_Phdr, p_flags, flags_of(l, p, off, end));
	STORE(to, Elf64_Phdr, p_offset, now);
	STORE(to, Elf64_Phdr, p_vaddr, address + shift);
	STORE(to, Elf64_Phdr, p_paddr, p->p_paddr + (off - p->p_offset) + shift);
	STORE(to, Elf64_Phdr, p_filesz, end - off);
	STORE(to, Elf64_Phdr, p_memsz, memory);
	STORE(to, Elf64_Phdr, p_align,
	      p->p_type == PT_LOAD ? align_at(now, address, p->p_align) : p->p_align);
}

/* Lists the parts of a segment with holes; holes are in order. */
static uint8_t *put_parts(const struct mpk_thin_layout *l, size_t segment, uint8_t *to)
{
	const GElf_Phdr *p = &l->segments[segment];
	uint64_t off = p->p_offset, end = p->p_offset + p->p_filesz;

	for (size_t i = 0; i < l->section_count; i++) {
		const struct mpk_thin_hole *h = &l->holes[i];

		if (h->segment != segment || !mpk_thin_is_cut(h))
			continue;
		put_segment(l, p, off, h->off, h->off - off, to);
		to += PHDR_BYTES;
		off = h->cut_end;
		if (h->at_tail)
			return to;
	}
	put_segment(l, p, off, end, p->p_memsz - (off - p->p_offset), to);
	return to + PHDR_BYTES;
}

/* Loaders align a library by its most aligned segment, which may now be less aligned. The first
 * segment stays where it is. */
static void keep_alignment(const struct mpk_thin_layout *l, uint8_t *table)
{
	const GElf_Phdr *first = NULL;
	uint64_t most = 0, now;
	size_t at = 0;

	for (size_t i = 0; i < l->elf->segment_count; i++) {
		const GElf_Phdr *p = &l->segments[i];

		if (p->p_type != PT_LOAD)
			continue;
		if (!first) {
			first = p;
			at = i;
		}
		most = p->p_align > most ? p->p_align : most;
	}
	if (!first)
		return;
	now = align_at(first->p_offset, first->p_vaddr, most);
	if (now > first->p_align)
		STORE(table + at * PHDR_BYTES, Elf64_Phdr, p_align, now);
}

static void put_own_header(const struct mpk_thin_layout *l, const GElf_Phdr *p, uint8_t *to)
{
	uint64_t bytes = (l->elf->segment_count + l->split_count) * PHDR_BYTES;
	uint64_t shift = 0;

	for (size_t i = 0; i < l->elf->segment_count; i++) {
		const GElf_Phdr *load = &l->segments[i];

		if (load->p_type == PT_LOAD && l->table_off >= load->p_offset &&
		    l->table_off - load->p_offset < load->p_filesz)
			shift = load->p_vaddr - load->p_offset;
	}
	put_segment(l, p, p->p_offset, p->p_offset + bytes, bytes, to);
	STORE(to, Elf64_Phdr, p_offset, moved_off(l, l->table_off));
	STORE(to, Elf64_Phdr, p_vaddr, l->table_off + shift);
	STORE(to, Elf64_Phdr, p_paddr, l->table_off + shift);
}

static enum mpk_code new_segments(const struct mpk_thin_layout *l, struct mpk_rope *out)
{
	size_t count = l->elf->segment_count + l->split_count;
	uint8_t *table = mpk_arena_alloc(l->arena, count * PHDR_BYTES + 1), *to = table;

	MPK_TRY_ALLOC(table, l->err);
	for (size_t i = 0; i < l->elf->segment_count; i++) {
		const GElf_Phdr *p = &l->segments[i];

		if (p->p_type == PT_LOAD) {
			to = put_parts(l, i, to);
			continue;
		}
		if (p->p_type == PT_PHDR)
			put_own_header(l, p, to);
		else
			put_segment(l, p, p->p_offset, p->p_offset + p->p_filesz, p->p_memsz, to);
		to += PHDR_BYTES;
	}
	keep_alignment(l, table);
	mpk_rope_put_view(out, mpk_span_of(table, count * PHDR_BYTES));
	return mpk_rope_status(out, l->err);
}

static void put_section(const struct mpk_thin_layout *l, const GElf_Shdr *h, uint8_t *to)
{
	uint64_t off = h->sh_offset;

	if ((h->sh_flags & SHF_ALLOC) && h->sh_type != SHT_NOBITS && h->sh_size &&
	    mpk_thin_in_block(l, off, h->sh_size)) {
		STORE(to, Elf64_Shdr, sh_addr, l->block_address + (off - l->block_off));
		off = l->block_to + (off - l->block_off);
	}
	STORE(to, Elf64_Shdr, sh_offset, moved_off(l, off));
}

static enum mpk_code new_sections(const struct mpk_thin_layout *l, struct mpk_rope *out)
{
	size_t bytes = l->elf->section_count * SHDR_BYTES;
	uint8_t *table = (uint8_t *)mpk_arena_copy(
		l->arena, l->elf->bytes.data + l->elf->header.e_shoff, bytes);

	MPK_TRY_ALLOC(table, l->err);
	for (size_t i = 1; i < l->elf->section_count; i++) {
		GElf_Shdr h;

		MPK_TRY(mpk_elf_section(l->elf, i, &h, l->err));
		put_section(l, &h, table + i * SHDR_BYTES);
	}
	for (size_t i = 0; i < l->section_count; i++)
		STORE(table + l->sections[i].index * SHDR_BYTES, Elf64_Shdr, sh_size,
		      l->sections[i].size);
	mpk_rope_put_view(out, mpk_span_of(table, bytes));
	return mpk_rope_status(out, l->err);
}

static enum mpk_code new_header(const struct mpk_thin_layout *l, struct mpk_rope *out)
{
	uint8_t *p = (uint8_t *)mpk_arena_copy(l->arena, l->elf->bytes.data, EHDR_BYTES);
	const GElf_Ehdr *e = &l->elf->header;

	MPK_TRY_ALLOC(p, l->err);
	STORE(p, Elf64_Ehdr, e_phoff, moved_off(l, l->table_off));
	STORE(p, Elf64_Ehdr, e_phnum, l->elf->segment_count + l->split_count);
	STORE(p, Elf64_Ehdr, e_shoff, moved_off(l, e->e_shoff));
	mpk_rope_put_view(out, mpk_span_of(p, EHDR_BYTES));
	return mpk_rope_status(out, l->err);
}

/* --- contents ------------------------------------------------------------------------------------------ */

static void put_zeros(struct mpk_rope *out, uint64_t count)
{
	static uint8_t
		zeros[1 << 16]; /* not const, so that it takes no space in the program's file */

	for (uint64_t n; count && !out->failed; count -= n) {
		n = count < sizeof zeros ? count : sizeof zeros;
		mpk_rope_put_view(out, mpk_span_of(zeros, (size_t)n));
	}
}

/* Whether something was placed into the free bytes at the end of a section. */
static bool is_in_hole(const struct mpk_thin_hole *h, uint64_t off)
{
	return off >= h->section->header.sh_offset + h->section->size && off < h->off;
}

/* Writes a section up to its cut: containers at their new places, then perhaps the program
 * headers. */
static void put_containers(const struct mpk_thin_layout *l, const struct mpk_thin_hole *h,
			   const struct mpk_rope *segments, struct mpk_rope *out)
{
	const struct mpk_thin_section *s = h->section;
	uint64_t begin = s->header.sh_offset;

	for (size_t i = 0; i < s->container_count; i++) {
		const struct mpk_thin_container *c = &s->containers[i];

		put_zeros(out, c->moved - s->header.sh_addr - out->len);
		mpk_rope_put_rope(out, &c->content);
	}
	put_zeros(out, s->size - out->len);
	if (l->table_moves && is_in_hole(h, l->table_off)) {
		put_zeros(out, l->table_off - begin - out->len);
		mpk_rope_put_rope(out, segments);
	}
	if (l->block_off < l->block_end && is_in_hole(h, l->block_to)) {
		put_zeros(out, l->block_to - begin - out->len);
		mpk_rope_put_view(out,
				  mpk_span_of(l->block, (size_t)(l->block_end - l->block_off)));
	}
	put_zeros(out, h->cut_off - begin - out->len);
}

struct regions {
	struct region *items;
	size_t count;
	struct mpk_arena *arena;
};

static struct mpk_rope *add_region(struct regions *r, uint64_t off, uint64_t len)
{
	struct mpk_rope *rope = mpk_arena_alloc(r->arena, sizeof *rope);

	if (!rope)
		return NULL;
	*rope = mpk_rope_of(r->arena);
	r->items[r->count++] = (struct region){ .off = off, .len = len, .content = rope };
	return rope;
}

static enum mpk_code add_section(const struct mpk_thin_layout *l, const struct mpk_thin_hole *h,
				 const struct mpk_rope *segments, struct regions *r)
{
	struct mpk_rope *content =
		add_region(r, h->section->header.sh_offset, h->section->header.sh_size);

	MPK_TRY_ALLOC(content, l->err);
	put_containers(l, h, segments, content);
	put_zeros(content, h->end - h->cut_end);
	return mpk_rope_status(content, l->err);
}

static enum mpk_code add_tables(const struct mpk_thin_layout *l, const struct mpk_rope *segments,
				struct regions *r)
{
	const GElf_Ehdr *e = &l->elf->header;
	uint64_t old = (uint64_t)e->e_phnum * PHDR_BYTES;
	struct mpk_rope *header = add_region(r, 0, EHDR_BYTES);
	struct mpk_rope *sections = add_region(r, e->e_shoff, l->elf->section_count * SHDR_BYTES);
	uint64_t end = l->block_off < l->block_end ? l->block_end : e->e_phoff + segments->len;
	struct mpk_rope *table = add_region(r, e->e_phoff, l->table_moves ? old : end - e->e_phoff);

	MPK_TRY_ALLOC(header && sections && table, l->err);
	MPK_TRY(new_header(l, header));
	MPK_TRY(new_sections(l, sections));
	if (l->table_moves)
		put_zeros(table, old);
	else
		mpk_rope_put_rope(table, segments);
	put_zeros(table, end > e->e_phoff + table->len && !l->table_moves
				 ? end - e->e_phoff - table->len
				 : 0);
	return mpk_rope_status(table, l->err);
}

MPK_ORDER_BY2(by_region_offset, struct region, off, len)

/* Copies the file between regions. */
static enum mpk_code thin_put_file(const struct mpk_thin_layout *l, const struct regions *r,
				   struct mpk_rope *out)
{
	struct mpk_span file = l->elf->bytes;
	uint64_t at = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct region *x = &r->items[i];

		if (x->off < at || x->off > file.len || x->len > file.len - x->off)
			return overlap(l, x->off);
		mpk_rope_put_view(out, mpk_span_of(file.data + at, (size_t)(x->off - at)));
		if (x->content)
			mpk_rope_put_rope(out, x->content);
		else
			mpk_rope_put_bytes(out, mpk_span_of(x->bytes, (size_t)x->len));
		at = x->off + x->len;
	}
	mpk_rope_put_view(out, mpk_span_of(file.data + at, file.len - (size_t)at));
	return mpk_rope_status(out, l->err);
}

/* --- the whole ------------------------------------------------------------------------------------------- */

enum mpk_code mpk_thin_assemble(const struct mpk_thin_layout *l,
				const struct mpk_thin_patches *patches, struct mpk_rope *out)
{
	struct mpk_rope segments = mpk_rope_of(l->arena);
	struct regions r = { .arena = l->arena };

	MPK_TRY(check_cuts(l));
	MPK_TRY_ARRAY(r.items, l->arena, l->section_count + 3 + patches->count, l->err);
	MPK_TRY(new_segments(l, &segments));
	MPK_TRY(add_tables(l, &segments, &r));
	for (size_t i = 0; i < l->section_count; i++)
		MPK_TRY(add_section(l, &l->holes[i], &segments, &r));
	for (size_t i = 0; i < patches->count; i++) {
		const struct mpk_thin_patch *p = &patches->items[i];

		if (mpk_thin_in_block(l, p->off, p->len))
			memcpy(l->block + (p->off - l->block_off), p->bytes, p->len);
		else
			r.items[r.count++] =
				(struct region){ .off = p->off, .len = p->len, .bytes = p->bytes };
	}
	qsort(r.items, r.count, sizeof *r.items, by_region_offset);

	/* A word that is relocated twice is patched twice, to the same value. */
	size_t kept = 0;

	for (size_t i = 0; i < r.count; i++) {
		const struct region *last = kept ? &r.items[kept - 1] : NULL;
		struct region x = r.items[i];

		if (last && last->off == x.off && last->len == x.len && last->bytes && x.bytes &&
		    memcmp(last->bytes, x.bytes, (size_t)x.len) == 0)
			continue;
		r.items[kept++] = x;
	}
	r.count = kept;
	return thin_put_file(l, &r, out);
}
