/* SPDX-License-Identifier: Apache-2.0 */
/* strip.c - removes the debug sections of a cubin
 *
 * Section numbers are stored in the symbol table, in relocations, in `e_flags` and in places that
 * NVIDIA does not document. So all sections keep their numbers: the header of a removed section is
 * zeroed, which makes it an unused entry (SHT_NULL), and only its bytes are removed. The bytes
 * after it move by multiples of the largest alignment, so that every part stays aligned, and
 * distances within a segment stay. Sections may share bytes, as those of the two forms of code for
 * sm_100 and later do: bytes of a kept section are kept. */
#include "cubin/cubin.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/num.h"
#include "base/vec.h"
#include "cubin/elf.h"

enum {
	ELF_BYTES = 64,
	SECTION_BYTES = 64,
	SEGMENT_BYTES = 56,
	/* largest alignment in GPU memory (.text: 128) */
	ALIGN_MIN = 128,
	ALIGN_MAX = 4096,
	SHF_ALLOC_FLAG = 2,
	/* offsets in the ELF header */
	SEGMENTS_AT = 32,
	SECTIONS_AT = 40,
	SECTION_OFF_AT = 24,
	SECTION_ALIGN_AT = 48,
	SEGMENT_OFF_AT = 8,
	SEGMENT_SIZE_AT = 32,
};

/* A part of the file to remove, or to keep. */
struct part {
	uint64_t off, end;
};

struct parts {
	struct part *items; /* malloc'ed */
	size_t count, cap;
};

/* Bytes to remove, and the bytes after them that are too few to remove and are zeroed. */
struct cut {
	uint64_t off, end, zero_end;
	uint64_t before; /* total length of the cuts before this one */
};

struct strip {
	struct mpk_cubin_elf elf;
	struct parts drop, keep;
	struct cut *cuts; /* malloc'ed */
	size_t cut_count, cut_cap;
	uint64_t align, dropped; /* in bytes */
};

static void strip_fini(struct strip *s)
{
	free(s->drop.items);
	free(s->keep.items);
	free(s->cuts);
}

/* Debug sections: "debug_line", "nv_debug_ptx_txt.1210066946", their relocations, and those of the
 * second form of code for sm_100 and later. */
static bool is_debug(struct mpk_span name)
{
	static const char *const before[] = { ".nv.merc.rela", ".nv.merc.rel", ".nv.merc",
					      ".rela",         ".rel",         "" };

	for (size_t i = 0; i < MPK_ARRAY_COUNT(before); i++) {
		struct mpk_span rest = name;
		size_t n = strlen(before[i]);

		if (!mpk_span_starts(name, before[i]))
			continue;
		rest = mpk_span_from(name, n);
		if (mpk_span_starts(rest, ".debug_") || mpk_span_starts(rest, ".nv_debug_"))
			return true;
	}
	return false;
}

static enum mpk_code strip_add(struct parts *p, uint64_t off, uint64_t len, struct mpk_error *err)
{
	uint64_t end;

	if (!len)
		return MPK_OK;
	if (!mpk_add_u64(off, len, &end))
		return mpk_fail(err, MPK_E_CORRUPT, "cubin: a part lies beyond the end");
	MPK_TRY_ALLOC(MPK_VEC_ROOM(p->items, p->count, p->cap), err);
	p->items[p->count++] = (struct part){ off, end };
	return MPK_OK;
}

MPK_ORDER_BY2(by_part_offset, struct part, off, end)

/* --- bytes to remove and to keep ---------------------------------------------------------- */

static const uint8_t *header_of(const struct strip *s, size_t i)
{
	return s->elf.bytes.data + s->elf.sections_off + i * SECTION_BYTES;
}

static enum mpk_code add_section(struct strip *s, size_t i, struct mpk_error *err)
{
	struct mpk_cubin_section section;
	struct mpk_span data;
	uint64_t align = mpk_load_u64(header_of(s, i) + SECTION_ALIGN_AT);

	MPK_TRY(mpk_cubin_elf_section(&s->elf, i, &section, err));
	if (section.type == MPK_CUBIN_SHT_NOBITS || !section.type)
		return MPK_OK;
	MPK_TRY(mpk_cubin_elf_data(&s->elf, &section, &data, err));
	if (align > ALIGN_MAX || (align & (align - 1)))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "cubin: a section of unusual alignment");
	s->align = align > s->align ? align : s->align;
	return strip_add(!(section.flags & SHF_ALLOC_FLAG) && is_debug(section.name) ? &s->drop
										     : &s->keep,
			 section.off, section.size, err);
}

/* Keeps headers and everything that is loaded, because distances in a segment are distances of
 * addresses. */
static enum mpk_code add_headers(struct strip *s, struct mpk_error *err)
{
	const uint8_t *p = s->elf.bytes.data;
	uint64_t at = mpk_load_u64(p + SEGMENTS_AT);
	size_t count = mpk_load_u16(p + 56);
	struct mpk_span table, loaded;

	MPK_TRY(strip_add(&s->keep, 0, ELF_BYTES, err));
	MPK_TRY(strip_add(&s->keep, s->elf.sections_off,
			  (uint64_t)s->elf.section_count * SECTION_BYTES, err));
	if (!count)
		return MPK_OK;
	if (mpk_load_u16(p + 54) != SEGMENT_BYTES ||
	    !mpk_span_sub(s->elf.bytes, at, (uint64_t)count * SEGMENT_BYTES, &table))
		return mpk_fail(err, MPK_E_CORRUPT, "cubin: program headers beyond the end");
	MPK_TRY(strip_add(&s->keep, at, table.len, err));
	for (size_t i = 0; i < count; i++) {
		const uint8_t *h = table.data + i * SEGMENT_BYTES;

		if (!mpk_span_sub(s->elf.bytes, mpk_load_u64(h + SEGMENT_OFF_AT),
				  mpk_load_u64(h + SEGMENT_SIZE_AT), &loaded))
			return mpk_fail(err, MPK_E_CORRUPT, "cubin: a segment beyond the end");
		MPK_TRY(strip_add(&s->keep, mpk_load_u64(h + SEGMENT_OFF_AT), loaded.len, err));
	}
	return MPK_OK;
}

/* Cuts the parts of [at, end) that no kept part has, in whole units of the alignment. */
static enum mpk_code cut_between(struct strip *s, uint64_t at, uint64_t end, struct mpk_error *err)
{
	const struct cut *last;

	if (at >= end)
		return MPK_OK;
	MPK_TRY_ALLOC(MPK_VEC_ROOM(s->cuts, s->cut_count, s->cut_cap), err);
	last = s->cut_count ? &s->cuts[s->cut_count - 1] : NULL;
	s->cuts[s->cut_count++] = (struct cut){
		.off = at,
		.end = at + (end - at) / s->align * s->align,
		.zero_end = end,
		.before = last ? last->before + (last->end - last->off) : 0,
	};
	s->dropped += end - at;
	return MPK_OK;
}

/* Walks both sorted lists once. Parts to remove that touch or overlap are joined. */
static enum mpk_code find_cuts(struct strip *s, struct mpk_error *err)
{
	size_t k = 0;

	qsort(s->drop.items, s->drop.count, sizeof *s->drop.items, by_part_offset);
	qsort(s->keep.items, s->keep.count, sizeof *s->keep.items, by_part_offset);
	for (size_t i = 0; i < s->drop.count;) {
		uint64_t at = s->drop.items[i].off, end = s->drop.items[i].end;

		for (i++; i < s->drop.count && s->drop.items[i].off <= end; i++)
			end = s->drop.items[i].end > end ? s->drop.items[i].end : end;
		for (; k < s->keep.count && s->keep.items[k].off < end; k++) {
			const struct part *p = &s->keep.items[k];

			MPK_TRY(cut_between(s, at, p->off, err));
			at = p->end > at ? p->end : at;
		}
		MPK_TRY(cut_between(s, at, end, err));
	}
	return MPK_OK;
}

/* --- the new file --------------------------------------------------------------------------- */

static uint64_t moved(const struct strip *s, uint64_t off)
{
	size_t low = mpk_first_from(s->cuts, s->cut_count, sizeof *s->cuts,
				    offsetof(struct cut, off), off);

	if (!low)
		return off;
	const struct cut *c = &s->cuts[low - 1];
	return off - c->before - ((off < c->end ? off : c->end) - c->off);
}

static void put_u64(uint8_t *at, uint64_t value)
{
	for (size_t i = 0; i < 8; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

/* A part of the file that is replaced: the ELF header, or a table of headers. */
struct table {
	uint64_t off;
	struct mpk_span bytes;
};

static enum mpk_code new_header(const struct strip *s, struct mpk_arena *arena, struct table *out,
				struct mpk_error *err)
{
	uint8_t *p = (uint8_t *)mpk_arena_copy(arena, s->elf.bytes.data, ELF_BYTES);

	MPK_TRY_ALLOC(p, err);
	if (mpk_load_u64(p + SEGMENTS_AT))
		put_u64(p + SEGMENTS_AT, moved(s, mpk_load_u64(p + SEGMENTS_AT)));
	put_u64(p + SECTIONS_AT, moved(s, s->elf.sections_off));
	*out = (struct table){ 0, mpk_span_of(p, ELF_BYTES) };
	return MPK_OK;
}

static enum mpk_code new_sections(const struct strip *s, struct mpk_arena *arena, struct table *out,
				  struct mpk_error *err)
{
	size_t bytes = s->elf.section_count * SECTION_BYTES;
	uint8_t *p = (uint8_t *)mpk_arena_copy(arena, header_of(s, 0), bytes);

	MPK_TRY_ALLOC(p, err);
	for (size_t i = 1; i < s->elf.section_count; i++) {
		struct mpk_cubin_section section;
		uint8_t *h = p + i * SECTION_BYTES;

		MPK_TRY(mpk_cubin_elf_section(&s->elf, i, &section, err));
		if (!(section.flags & SHF_ALLOC_FLAG) && is_debug(section.name))
			memset(h, 0, SECTION_BYTES);
		else
			put_u64(h + SECTION_OFF_AT, moved(s, section.off));
	}
	*out = (struct table){ s->elf.sections_off, mpk_span_of(p, bytes) };
	return MPK_OK;
}

static enum mpk_code new_segments(const struct strip *s, struct mpk_arena *arena, struct table *out,
				  struct mpk_error *err)
{
	uint64_t at = mpk_load_u64(s->elf.bytes.data + SEGMENTS_AT);
	size_t count = mpk_load_u16(s->elf.bytes.data + 56), bytes = count * SEGMENT_BYTES;
	uint8_t *p = (uint8_t *)mpk_arena_copy(arena, s->elf.bytes.data + (count ? at : 0), bytes);

	MPK_TRY_ALLOC(p, err);
	for (size_t i = 0; i < count; i++) {
		uint8_t *h = p + i * SEGMENT_BYTES + SEGMENT_OFF_AT;

		put_u64(h, moved(s, mpk_load_u64(h)));
	}
	*out = (struct table){ at, mpk_span_of(p, bytes) };
	return MPK_OK;
}

/* No cut overlaps a kept part, so none overlaps a table; overlapping tables are refused. */
static enum mpk_code strip_put_file(const struct strip *s, const struct table *tables, size_t count,
				    struct mpk_rope *out, struct mpk_error *err)
{
	static const uint8_t zeros[ALIGN_MAX];
	uint64_t at = 0, len = s->elf.bytes.len;
	size_t c = 0, t = 0;

	for (;;) {
		uint64_t cut = c < s->cut_count ? s->cuts[c].off : len;
		uint64_t table = t < count ? tables[t].off : len;
		uint64_t next = cut < table ? cut : table;

		if (next < at)
			return mpk_fail(err, MPK_E_CORRUPT, "cubin: its tables overlap");
		mpk_rope_put_view(out, mpk_span_of(s->elf.bytes.data + at, (size_t)(next - at)));
		if (next == len)
			return mpk_rope_status(out, err);
		if (next == table) {
			mpk_rope_put_view(out, tables[t].bytes);
			at = next + tables[t++].bytes.len;
		} else {
			mpk_rope_put_view(out, mpk_span_of(zeros, (size_t)(s->cuts[c].zero_end -
									   s->cuts[c].end)));
			at = s->cuts[c++].zero_end;
		}
	}
}

MPK_ORDER_BY(by_place, struct table, off)

enum mpk_code mpk_cubin_strip(struct mpk_span bytes, struct mpk_rope *out, uint64_t *dropped,
			      struct mpk_error *err)
{
	MPK_CLEANUP(strip_fini) struct strip s = { .align = ALIGN_MIN };

	MPK_TRY(mpk_cubin_elf_open(bytes, MPK_CUBIN_EM_CUDA, "cubin", &s.elf, err));
	for (size_t i = 1; i < s.elf.section_count; i++)
		MPK_TRY(add_section(&s, i, err));
	*dropped = 0;
	if (!s.drop.count)
		return MPK_OK;
	MPK_TRY(add_headers(&s, err));
	MPK_TRY(find_cuts(&s, err));

	struct table tables[3];
	size_t count = 2;

	MPK_TRY(new_header(&s, out->arena, &tables[0], err));
	MPK_TRY(new_sections(&s, out->arena, &tables[1], err));
	MPK_TRY(new_segments(&s, out->arena, &tables[2], err));
	if (tables[2].bytes.len)
		count++;
	qsort(tables, count, sizeof *tables, by_place);
	MPK_TRY(strip_put_file(&s, tables, count, out, err));

	*dropped = s.dropped;
	return MPK_OK;
}
