/* SPDX-License-Identifier: Apache-2.0 */
/* patch.c - changes fields of a finished ELF file in memory, and finds the blob's symbol
 *
 * A library that was linked with a stub for its blob is changed afterwards (extend.c, replace.c,
 * append.c). These files read headers through this one and write them with mpk_patch_put, which
 * knows the class and the byte order and refuses to write into the blob. A file with overlapping
 * tables is refused when it is opened: changing one table would change another. */
#include "elf/internal/elf.h"

#include <string.h>

/* A part of the file that has a structure. */
struct table {
	const char *what;
	uint64_t off, bytes;
};

enum { TABLES_MAX = 8 };

/* Compares differences, because sums of offsets and sizes from a file could wrap. */
static bool overlap(const struct table *a, const struct table *b)
{
	uint64_t start = a->off > b->off ? a->off : b->off;

	return start - a->off < a->bytes && start - b->off < b->bytes;
}

/* Refuses overlapping tables: patching one would change the other. */
static enum mpk_code check_overlaps(const struct mpk_patch *p, struct mpk_error *err)
{
	const GElf_Ehdr *h = &p->elf.header;
	struct table tables[TABLES_MAX] = {
		{ "the ELF header", 0, MPK_PATCH_SIZE(p, Ehdr) },
		{ "the program headers", h->e_phoff, h->e_phnum * MPK_PATCH_SIZE(p, Phdr) },
		{ "the section headers", h->e_shoff,
		  p->elf.section_count * MPK_PATCH_SIZE(p, Shdr) },
	};
	size_t count = 3;

	for (size_t i = 1; i < p->elf.section_count; i++) {
		GElf_Shdr s = mpk_patch_section(p, i);

		if (s.sh_type != SHT_SYMTAB && s.sh_type != SHT_DYNSYM)
			continue;
		if (count == TABLES_MAX)
			return mpk_fail(err, MPK_E_UNSUPPORTED, "more than %d symbol tables",
					TABLES_MAX - 3);
		tables[count++] = (struct table){ "a symbol table", s.sh_offset, s.sh_size };
	}
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			if (overlap(&tables[i], &tables[k]))
				return mpk_fail_offset(err, MPK_E_CORRUPT, "file", tables[i].off,
						       "%s overlaps %s", tables[i].what,
						       tables[k].what);
	return MPK_OK;
}

/* Refuses section numbers beyond 0xff00, which are stored elsewhere. */
static enum mpk_code check_form(const struct mpk_patch *p, struct mpk_error *err)
{
	const GElf_Ehdr *h = &p->elf.header;
	GElf_Shdr ignored;

	if (h->e_type != ET_DYN && h->e_type != ET_REL)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "neither a shared library nor an object");
	if (h->e_shnum == 0 || h->e_shnum + 1 >= SHN_LORESERVE || h->e_shstrndx >= SHN_LORESERVE ||
	    h->e_phnum == PN_XNUM)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "ELF tables of unusual form");
	for (size_t i = 1; i < p->elf.section_count; i++)
		MPK_TRY(mpk_elf_section(&p->elf, i, &ignored, err));
	return check_overlaps(p, err);
}

/* *out is closed again if the file cannot be patched. */
enum mpk_code mpk_patch_open(const struct mpk_private *file, struct mpk_patch *out,
			     struct mpk_error *err)
{
	struct mpk_patch p = { .file = file };
	struct mpk_span bytes = mpk_span_of(file->data, file->len);

	if (!mpk_span_starts(bytes, ELFMAG))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "not an ELF file");
	MPK_TRY(mpk_elf_open(bytes, 0, &p.elf, err));
	p.wide = p.elf.header.e_ident[EI_CLASS] == ELFCLASS64;
	p.big = p.elf.header.e_ident[EI_DATA] == ELFDATA2MSB;
	p.linked = p.elf.header.e_type == ET_DYN;
	enum mpk_code code = check_form(&p, err);
	if (code != MPK_OK)
		mpk_patch_close(&p);
	else
		*out = p;
	return code;
}

void mpk_patch_close(struct mpk_patch *p)
{
	mpk_elf_close(&p->elf);
}

/* Writes byte by byte in the byte order of the file, so that a big-endian library can be made on
 * any machine. */
enum mpk_code mpk_patch_store(const struct mpk_patch *p, uint8_t *at, struct mpk_patch_field f,
			      uint64_t v, struct mpk_error *err)
{
	if (f.size < 8 && v >> 8 * f.size)
		return mpk_fail(err, MPK_E_RANGE,
				"a 32-bit ELF file cannot hold a blob of this size");
	for (size_t i = 0; i < f.size; i++)
		at[f.off + i] = (uint8_t)(v >> 8 * (p->big ? f.size - 1 - i : i));
	return MPK_OK;
}

/* A field inside the blob is refused: it would be overwritten when the blob is copied. */
enum mpk_code mpk_patch_put(const struct mpk_patch *p, uint64_t base, struct mpk_patch_field f,
			    uint64_t v, struct mpk_error *err)
{
	uint64_t off = base + f.off, end = p->file->keep_off + p->file->keep_len;

	if (off < end && off + f.size > p->file->keep_off)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", off,
				       "the blob symbol covers headers or symbols of the file");
	MPK_TRY(mpk_private_touch(p->file, off, f.size, err));
	return mpk_patch_store(p, p->file->data + base, f, v, err);
}

/* The offset of the header, not of the contents. */
uint64_t mpk_patch_section_at(const struct mpk_patch *p, size_t index)
{
	return p->elf.header.e_shoff + index * MPK_PATCH_SIZE(p, Shdr);
}

uint64_t mpk_patch_segment_at(const struct mpk_patch *p, size_t index)
{
	return p->elf.header.e_phoff + index * MPK_PATCH_SIZE(p, Phdr);
}

/* Index 0 and unreadable headers give a section of type SHT_NULL, which every caller skips. */
GElf_Shdr mpk_patch_section(const struct mpk_patch *p, size_t index)
{
	GElf_Shdr s = { .sh_type = SHT_NULL };

	if (index)
		(void)!mpk_elf_section(&p->elf, index, &s, NULL);
	return s;
}

/* SHT_NOBITS has a size in memory only. */
bool mpk_patch_has_bytes(const GElf_Shdr *s)
{
	return s->sh_type != SHT_NULL && s->sh_type != SHT_NOBITS;
}

void mpk_patch_put_zeros(struct mpk_rope *out, uint64_t count)
{
	static uint8_t
		zeros[1 << 20]; /* not const, so that it takes no room in the program's file */

	for (uint64_t n; count; count -= n) {
		n = count < sizeof zeros ? count : sizeof zeros;
		mpk_rope_put_view(out, mpk_span_of(zeros, (size_t)n));
	}
}

/* --- the symbol ------------------------------------------------------------------ */

/* Returns the section that is loaded at an address; 0: none. The section numbers of .dynsym cannot
 * be used: objcopy --remove-section does not update them, and loaders ignore them. */
static size_t section_at(const struct mpk_patch *p, uint64_t address)
{
	for (size_t i = 1; i < p->elf.section_count; i++) {
		GElf_Shdr s = mpk_patch_section(p, i);

		if ((s.sh_flags & SHF_ALLOC) && !(s.sh_flags & SHF_TLS) &&
		    mpk_patch_has_bytes(&s) && address >= s.sh_addr &&
		    address - s.sh_addr < s.sh_size)
			return i;
	}
	return 0;
}

/* Passes the offset of each entry, because callers change entries in the file. */
static enum mpk_code see_table(const struct mpk_patch *p, size_t section, mpk_patch_see_fn *see,
			       void *data, struct mpk_error *err)
{
	struct mpk_symtab t;
	struct mpk_symbol s;

	MPK_TRY(mpk_symtab_open(&p->elf, section, &t, err));
	for (size_t i = 0; i < t.count; i++) {
		MPK_TRY(mpk_symtab_get(&t, i, &s, err));
		MPK_TRY(see(data, &s, t.off + i * MPK_PATCH_SIZE(p, Sym), err));
	}
	return MPK_OK;
}

/* Walks both tables: strip removes .symtab, loaders read .dynsym, and the two must agree. */
enum mpk_code mpk_patch_symbols(const struct mpk_patch *p, mpk_patch_see_fn *see, void *data,
				struct mpk_error *err)
{
	for (size_t i = 1; i < p->elf.section_count; i++) {
		GElf_Shdr s = mpk_patch_section(p, i);

		if (s.sh_type == SHT_SYMTAB || s.sh_type == SHT_DYNSYM)
			MPK_TRY(see_table(p, i, see, data, err));
	}
	return MPK_OK;
}

struct wanted {
	const struct mpk_patch *p;
	const char *name;
	struct mpk_patch_symbol found;
};

static enum mpk_code see_symbol(void *data, const struct mpk_symbol *s, uint64_t at,
				struct mpk_error *err)
{
	struct wanted *w = data;
	struct mpk_patch_symbol *found = &w->found;
	size_t section = s->section;

	if (strcmp(s->name, w->name) != 0)
		return MPK_OK;
	if (w->p->linked && s->defined)
		section = section_at(w->p, s->value);
	if (!section)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "the blob symbol has no section");
	if (found->count == 0) {
		found->section = section;
		found->home = mpk_patch_section(w->p, section);
		found->value = s->value;
		found->size = s->bytes;
		/* One entry is allowed in each of the two tables, and both must be equal. */
	} else if (found->count == 2 || found->section != section || found->value != s->value ||
		   found->size != s->bytes) {
		return mpk_fail(err, MPK_E_UNSUPPORTED, "the blob symbol stands there twice");
	}
	found->entries[found->count++] = at;
	return MPK_OK;
}

/* A file may have the symbol in one of its tables or in both. */
enum mpk_code mpk_patch_find(const struct mpk_patch *p, const char *symbol,
			     struct mpk_patch_symbol *out, struct mpk_error *err)
{
	struct wanted w = { .p = p, .name = symbol };

	MPK_TRY(mpk_patch_symbols(p, see_symbol, &w, err));
	if (w.found.count == 0)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "it has no symbol for the blob");
	*out = w.found;
	return MPK_OK;
}
