/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - source lines of machine code (FORMAT.md 11)
 *
 * In a cubin each kernel has its own section, which begins at address 0. Only relocations show
 * which kernel a line program belongs to. They are applied to a copy, with the offset of the code
 * in the file as its address. */
#include "cubin/cubin.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/cursor.h"
#include "base/vec.h"
#include "cubin/elf.h"

/* Addresses below it were not relocated, and belong to no known kernel. */
static const uint64_t BASE = UINT64_C(1) << 40;

enum {
	R_CUDA_64 = 2,         /* the only type in line programs */
	RELOCATION_BYTES = 16, /* 24 with an addend */
	PASSES = 64,           /* limit of the bytes read, as a multiple of the line programs */
};

/* The sections that are read. */
struct found {
	struct mpk_cubin_section line, str, line_str, symbols, relocations;
	size_t line_index;
};

static enum mpk_code find_sections(const struct mpk_cubin_elf *elf, struct found *out,
				   struct mpk_error *err)
{
	struct mpk_cubin_section s;

	for (size_t i = 0; i < elf->section_count; i++) {
		MPK_TRY(mpk_cubin_elf_section(elf, i, &s, err));
		if (mpk_span_is(s.name, ".debug_line")) {
			out->line = s;
			out->line_index = i;
		} else if (mpk_span_is(s.name, ".debug_str")) {
			out->str = s;
		} else if (mpk_span_is(s.name, ".debug_line_str")) {
			out->line_str = s;
		} else if (s.type == MPK_CUBIN_SHT_SYMTAB) {
			out->symbols = s;
		} else if (mpk_span_is(s.name, ".rel.debug_line") ||
			   mpk_span_is(s.name, ".rela.debug_line")) {
			out->relocations = s;
		}
	}
	return MPK_OK;
}

/* Sets *out to BASE plus the offset of a symbol's code in the file; false: its section has no
 * bytes. */
static bool place_of(const struct mpk_cubin_elf *elf, struct mpk_span symbols, uint64_t index,
		     uint64_t *out)
{
	struct mpk_cubin_section s;
	const uint8_t *p;

	if (index >= symbols.len / MPK_CUBIN_SYMBOL_BYTES)
		return false;
	p = symbols.data + index * MPK_CUBIN_SYMBOL_BYTES;
	if (mpk_load_u16(p + 6) >= elf->section_count ||
	    mpk_cubin_elf_section(elf, mpk_load_u16(p + 6), &s, NULL) != MPK_OK ||
	    s.type == MPK_CUBIN_SHT_NOBITS || s.off > elf->bytes.len)
		return false;
	*out = BASE + s.off + mpk_load_u64(p + 8);
	return true;
}

static void put_u64(uint8_t *p, uint64_t v)
{
	for (unsigned i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

/* An invalid relocation is skipped: its kernel then has no lines. */
static void relocate(const struct mpk_cubin_elf *elf, const struct found *f, struct mpk_span rows,
		     struct mpk_span symbols, uint8_t *line, size_t len)
{
	bool has_addend = f->relocations.type == MPK_CUBIN_SHT_RELA;
	size_t step = RELOCATION_BYTES + (has_addend ? 8 : 0);

	for (size_t at = 0; at + step <= rows.len; at += step) {
		uint64_t off = mpk_load_u64(rows.data + at),
			 info = mpk_load_u64(rows.data + at + 8);
		uint64_t place;

		if ((uint32_t)info != R_CUDA_64 || off > len || len - off < 8 ||
		    !place_of(elf, symbols, info >> 32, &place))
			continue;
		put_u64(line + off, place + (has_addend ? mpk_load_u64(rows.data + at + 16)
							: mpk_load_u64(line + off)));
	}
}

static enum mpk_code section_data(const struct mpk_cubin_elf *elf,
				  const struct mpk_cubin_section *s, struct mpk_span *out,
				  struct mpk_error *err)
{
	*out = (struct mpk_span){ 0 };
	return s->size ? mpk_cubin_elf_data(elf, s, out, err) : MPK_OK;
}

struct mpk_span mpk_cubin_code(struct mpk_span bytes, struct mpk_span section)
{
	struct mpk_span none = { 0 }, out;
	struct mpk_cubin_section s;
	struct mpk_cubin_elf elf;

	if (mpk_cubin_elf_open(bytes, MPK_CUBIN_EM_CUDA, "cubin", &elf, NULL) != MPK_OK)
		return none;
	for (size_t i = 0; i < elf.section_count; i++)
		if (mpk_cubin_elf_section(&elf, i, &s, NULL) == MPK_OK &&
		    mpk_span_equal(s.name, section))
			return mpk_cubin_elf_data(&elf, &s, &out, NULL) == MPK_OK ? out : none;
	return none;
}

static void free_bytes(uint8_t **p)
{
	free(*p);
}

enum mpk_code mpk_cubin_lines(struct mpk_span bytes, struct mpk_arena *arena,
			      const struct mpk_dwarf_row **out, size_t *count,
			      struct mpk_error *err)
{
	MPK_CLEANUP(free_bytes) uint8_t *copy = NULL;
	struct mpk_span line, rows, symbols;
	const struct mpk_dwarf_row *list;
	struct mpk_dwarf_row *kept;
	struct mpk_cubin_elf elf;
	struct found f = { 0 };
	struct mpk_dwarf d;
	uint64_t budget;
	size_t n;

	MPK_TRY(mpk_cubin_elf_open(bytes, MPK_CUBIN_EM_CUDA, "cubin", &elf, err));
	MPK_TRY(find_sections(&elf, &f, err));
	*out = NULL;
	*count = 0;
	/* without relocations no line belongs to a kernel */
	if (!f.line.size || !f.relocations.size || f.relocations.info != f.line_index)
		return MPK_OK;
	MPK_TRY(section_data(&elf, &f.line, &line, err));
	MPK_TRY(section_data(&elf, &f.relocations, &rows, err));
	MPK_TRY(section_data(&elf, &f.symbols, &symbols, err));
	MPK_TRY(section_data(&elf, &f.str, &d.str, err));
	MPK_TRY(section_data(&elf, &f.line_str, &d.line_str, err));
	copy = malloc(line.len);
	MPK_TRY_ALLOC(copy, err);
	memcpy(copy, line.data, line.len);
	relocate(&elf, &f, rows, symbols, copy, line.len);
	d.line = mpk_span_of(copy, line.len);
	budget = PASSES * (uint64_t)line.len;
	MPK_TRY(mpk_dwarf_rows(&d, BASE, BASE + bytes.len, &budget, arena, &list, &n, err));
	kept = mpk_arena_keep(arena, list, n, sizeof *kept);
	MPK_TRY_ALLOC(kept, err);
	for (size_t i = 0; i < n; i++) {
		kept[i].from = kept[i].from < BASE ? 0 : kept[i].from - BASE;
		kept[i].to -= BASE;
	}
	*out = kept;
	*count = n;
	return MPK_OK;
}
