/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - whether two cubins have the same code
 *
 * Compiling a program twice gives two different cubins: debug sections contain paths, notes contain
 * versions and times, and symbols for debuggers change the numbers of all other symbols. So
 * sections are matched by name, and words that are numbers of symbols are compared by symbol. */
#include "cubin/cubin.h"

#include <stdlib.h>

#include "base/cursor.h"
#include "base/strmap.h"
#include "base/vec.h"
#include "cubin/elf.h"

enum {
	OSABI_V2 = 0x41, /* CUDA 13 */
	SHT_CUDA_INFO = 0x70000000,
	SHT_CUDA_PROTOTYPE = 0x70000002,
};

/* One of the two cubins. */
struct file {
	struct mpk_cubin_elf elf;
	struct mpk_span symbols, strings;
	struct mpk_strmap sections; /* the first section of each name */
};

struct comparison {
	struct file a, b;
	struct mpk_cubin_difference *items; /* malloc'ed */
	size_t count, cap;
	uint64_t bytes_left; /* bytes that may still be compared, since sections of a hostile file
			      * may overlap */
	struct mpk_error *err;
};

static void comparison_fini(struct comparison *c)
{
	mpk_strmap_fini(&c->a.sections);
	mpk_strmap_fini(&c->b.sections);
	free(c->items);
}

/* Sections that no driver uses may differ. Code for sm_100 and later has a second form, whose
 * sections have the names of the first form after a prefix. */
static bool is_beside_code(struct mpk_span name)
{
	static const char second[] = ".nv.merc";
	static const char *const beginnings[] = { ".debug",        ".nv_debug",     ".note",
						  ".comment",      ".rel.debug",    ".rela.debug",
						  ".rel.nv_debug", ".rela.nv_debug" };
	static const char *const tables[] = { "", ".symtab", ".strtab", ".shstrtab",
					      ".symtab_shndx" };

	if (mpk_span_starts(name, second))
		name = mpk_span_of(name.data + sizeof second - 1, name.len - (sizeof second - 1));
	for (size_t i = 0; i < MPK_ARRAY_COUNT(beginnings); i++)
		if (mpk_span_starts(name, beginnings[i]))
			return true;
	for (size_t i = 0; i < MPK_ARRAY_COUNT(tables); i++)
		if (mpk_span_is(name, tables[i]))
			return true;
	return false;
}

static enum mpk_code cubin_open_file(struct mpk_span bytes, struct file *f, struct mpk_error *err)
{
	struct mpk_cubin_section s, strings;
	size_t found;

	MPK_TRY(mpk_cubin_elf_open(bytes, MPK_CUBIN_EM_CUDA, "cubin", &f->elf, err));
	for (size_t i = 0; i < f->elf.section_count; i++) {
		MPK_TRY(mpk_cubin_elf_section(&f->elf, i, &s, err));
		MPK_TRY_ALLOC(mpk_strmap_put(&f->sections, s.name, i, &found) >= 0, err);
		if (s.type != MPK_CUBIN_SHT_SYMTAB || s.link >= f->elf.section_count)
			continue;
		MPK_TRY(mpk_cubin_elf_section(&f->elf, s.link, &strings, err));
		MPK_TRY(mpk_cubin_elf_data(&f->elf, &s, &f->symbols, err));
		MPK_TRY(mpk_cubin_elf_data(&f->elf, &strings, &f->strings, err));
	}
	return MPK_OK;
}

static bool symbol(const struct file *f, uint32_t i, struct mpk_cubin_symbol *out,
		   struct mpk_span *section)
{
	struct mpk_cubin_section s;

	if (i >= f->symbols.len / MPK_CUBIN_SYMBOL_BYTES ||
	    mpk_cubin_elf_symbol(&f->elf, f->symbols, f->strings, i, out, NULL) != MPK_OK ||
	    out->section >= f->elf.section_count ||
	    mpk_cubin_elf_section(&f->elf, out->section, &s, NULL) != MPK_OK)
		return false;
	*section = s.name;
	return true;
}

/* Whether two numbers are those of one symbol. The symbol of a section has no name; the sections'
 * names are compared. */
static bool same_symbol(const struct comparison *c, uint32_t i, uint32_t k)
{
	struct mpk_cubin_symbol x, y;
	struct mpk_span x_section, y_section;

	return symbol(&c->a, i, &x, &x_section) && symbol(&c->b, k, &y, &y_section) &&
	       x.type == y.type && x.other == y.other && mpk_span_equal(x.name, y.name) &&
	       mpk_span_equal(x_section, y_section);
}

static bool same_words(const struct comparison *c, struct mpk_span x, struct mpk_span y)
{
	if (x.len != y.len || x.len % 4)
		return false;
	for (size_t i = 0; i < x.len; i += 4) {
		uint32_t p = mpk_load_u32(x.data + i), q = mpk_load_u32(y.data + i);

		if (p != q && !same_symbol(c, p, q))
			return false;
	}
	return true;
}

static bool same_section(struct comparison *c, const struct mpk_cubin_section *s,
			 const struct mpk_cubin_section *t)
{
	bool names_symbols = s->type == MPK_CUBIN_SHT_REL || s->type == MPK_CUBIN_SHT_RELA ||
			     (s->type >= SHT_CUDA_INFO && s->type <= SHT_CUDA_PROTOTYPE);
	struct mpk_span x, y;

	if (s->type != t->type || s->size != t->size)
		return false;
	if (s->type == MPK_CUBIN_SHT_NOBITS)
		return true;
	if (mpk_cubin_elf_data(&c->a.elf, s, &x, NULL) != MPK_OK ||
	    mpk_cubin_elf_data(&c->b.elf, t, &y, NULL) != MPK_OK)
		return false;
	if (x.len > c->bytes_left)
		return false; /* not certainly the same */
	c->bytes_left -= x.len;
	return mpk_span_equal(x, y) || (names_symbols && same_words(c, x, y));
}

static enum mpk_code cubin_add(struct comparison *c, struct mpk_span name)
{
	MPK_TRY_ALLOC(MPK_VEC_ROOM(c->items, c->count, c->cap), c->err);
	c->items[c->count++] = (struct mpk_cubin_difference){ name, !is_beside_code(name) };
	return MPK_OK;
}

/* From CUDA 13 on, bits 24-31 are the number of a section of notes. */
static uint32_t flags_of(const struct mpk_cubin_elf *elf)
{
	return elf->osabi == OSABI_V2 ? elf->flags & 0xffffff : elf->flags;
}

/* Returns the section of f that corresponds to section i of the other file: the one of its name; if
 * there are several, the one at the same position among them. */
static enum mpk_code find_counterpart(const struct file *f, size_t i, struct mpk_span name,
				      struct mpk_cubin_section *out, bool *found,
				      struct mpk_error *err)
{
	*found = true;
	if (i < f->elf.section_count) {
		MPK_TRY(mpk_cubin_elf_section(&f->elf, i, out, err));
		if (mpk_span_equal(out->name, name))
			return MPK_OK;
	}
	*found = mpk_strmap_find(&f->sections, name, &i);
	return *found ? mpk_cubin_elf_section(&f->elf, i, out, err) : MPK_OK;
}

static enum mpk_code compare_sections(struct comparison *c)
{
	struct mpk_cubin_section s, t;
	bool found;
	size_t at;

	if (flags_of(&c->a.elf) != flags_of(&c->b.elf) || c->a.elf.abi != c->b.elf.abi ||
	    c->a.elf.osabi != c->b.elf.osabi || c->a.elf.type != c->b.elf.type)
		MPK_TRY(cubin_add(c, mpk_span_str("ELF header")));
	for (size_t i = 0; i < c->a.elf.section_count; i++) {
		MPK_TRY(mpk_cubin_elf_section(&c->a.elf, i, &s, c->err));
		MPK_TRY(find_counterpart(&c->b, i, s.name, &t, &found, c->err));
		if (!found || !same_section(c, &s, &t))
			MPK_TRY(cubin_add(c, s.name));
	}
	for (size_t i = 0; i < c->b.elf.section_count; i++) {
		MPK_TRY(mpk_cubin_elf_section(&c->b.elf, i, &t, c->err));
		if (!mpk_strmap_find(&c->a.sections, t.name, &at))
			MPK_TRY(cubin_add(c, t.name));
	}
	return MPK_OK;
}

enum mpk_code mpk_cubin_compare(struct mpk_span a, struct mpk_span b, struct mpk_arena *arena,
				const struct mpk_cubin_difference **out, size_t *count,
				struct mpk_error *err)
{
	MPK_CLEANUP(comparison_fini)
	struct comparison c = { .bytes_left = 4 * (uint64_t)a.len, .err = err };
	struct mpk_cubin_difference *items;

	MPK_TRY(cubin_open_file(a, &c.a, err));
	MPK_TRY(cubin_open_file(b, &c.b, err));
	MPK_TRY(compare_sections(&c));
	items = mpk_arena_keep(arena, c.items, c.count, sizeof *items);
	MPK_TRY_ALLOC(items, err);
	*out = items;
	*count = c.count;
	return MPK_OK;
}
