/* SPDX-License-Identifier: Apache-2.0 */
/* code_fixups.c - the relocations of an object's functions, and source lines from debug information */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "elf/code.h"
#include "elf/symbols.h"

struct mpk_code_fixups {
	size_t target, index; /* indices of the section that is relocated, and of its relocations */
};

struct mpk_code_relocation {
	uint64_t off; /* offset from the beginning of the section */
	int64_t addend;
	const char *name;
};

MPK_ORDER_BY(compare_relocations, struct mpk_code_relocation, off)

MPK_ORDER_BY2(compare_fixups, struct mpk_code_fixups, target, index)

/* Notes which section has the relocations of which. The relocations themselves are read when a
 * function of the section is shown. */
static bool read_fixups(struct mpk_code_file *f)
{
	GElf_Shdr h;

	if (f->fixups)
		return true;
	f->fixups = mpk_arena_array(f->arena, f->elf.section_count, sizeof *f->fixups);
	if (!f->fixups)
		return false;
	for (size_t i = 1; i < f->elf.section_count; i++)
		if (mpk_elf_section(&f->elf, i, &h, NULL) == MPK_OK &&
		    (h.sh_type == SHT_RELA || h.sh_type == SHT_REL))
			f->fixups[f->fixup_count++] = (struct mpk_code_fixups){ h.sh_info, i };
	qsort(f->fixups, f->fixup_count, sizeof *f->fixups, compare_fixups);
	return true;
}

/* Returns the addend as a distance from the symbol: x86-64 counts it from the end of the four bytes
 * that are filled. */
static int64_t plain_addend(uint16_t machine, uint64_t type, int64_t addend)
{
	switch (type) {
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
	case R_X86_64_GOTPCREL:
	case R_X86_64_GOTPCRELX:
	case R_X86_64_REX_GOTPCRELX:
		return machine == EM_X86_64 && addend < INT64_MAX - 4 ? addend + 4 : addend;
	default:
		return addend;
	}
}

/* Returns the name of the symbol. The symbol of a section has none: the section's name is returned. */
static const char *target_name(const struct mpk_code_file *f, const struct mpk_symtab *symbols,
			       uint64_t index)
{
	struct mpk_symbol s;

	if (!index || index >= symbols->count || mpk_symtab_get(symbols, index, &s, NULL) != MPK_OK)
		return NULL;
	return s.name[0] ? s.name : s.section ? mpk_elf_section_name(&f->elf, s.section) : NULL;
}

/* Unreadable relocations are skipped: a listing without names is better than none. */
static void add_relocations(struct mpk_code_file *f, const GElf_Shdr *h)
{
	size_t count = mpk_elf_relocations(&f->elf, h);
	struct mpk_code_relocation *grown;
	struct mpk_symtab symbols;
	GElf_Rela r;

	if (mpk_symtab_open(&f->elf, h->sh_link, &symbols, NULL) != MPK_OK)
		return;
	grown = reallocarray(f->relocations, f->relocation_count + count + 1, sizeof *grown);
	if (!grown)
		return;
	f->relocations = grown;
	for (size_t i = 0; i < count && mpk_elf_relocation(&f->elf, h, i, &r); i++) {
		const char *name = target_name(f, &symbols, GELF_R_SYM(r.r_info));

		if (name)
			f->relocations[f->relocation_count++] = (struct mpk_code_relocation){
				r.r_offset,
				plain_addend(f->machine, GELF_R_TYPE(r.r_info), r.r_addend), name
			};
	}
}

/* Reads the relocations of a section, unless it is the section of the last call: consecutive
 * functions are mostly in one section. */
static void read_relocations(struct mpk_code_file *f, size_t section)
{
	const struct mpk_code_fixups key = { .target = section };
	size_t i;
	GElf_Shdr h;

	if (f->relocated == section)
		return;
	f->relocated = section;
	f->relocation_count = 0;
	i = mpk_lower_bound(f->fixups, f->fixup_count, sizeof key, &key, compare_fixups);
	for (; i < f->fixup_count && f->fixups[i].target == section; i++)
		if (mpk_elf_section(&f->elf, f->fixups[i].index, &h, NULL) == MPK_OK)
			add_relocations(f, &h);
	if (f->relocation_count)
		qsort(f->relocations, f->relocation_count, sizeof *f->relocations,
		      compare_relocations);
}

/* Appends the first relocation within the instruction; on x86-64 there is at most one. */
bool mpk_code_file_put_relocation(struct mpk_code_file *f, size_t section, uint64_t address,
				  size_t bytes, struct mpk_strbuf *out)
{
	const struct mpk_code_relocation key = { .off = address };
	const struct mpk_code_relocation *r;
	size_t i;

	if (!f->is_elf || !f->relocatable || !read_fixups(f))
		return false;
	read_relocations(f, section);
	i = mpk_lower_bound(f->relocations, f->relocation_count, sizeof key, &key,
			    compare_relocations);
	if (i == f->relocation_count)
		return false;
	r = &f->relocations[i];
	if (r->off - address >= bytes)
		return false;
	mpk_strbuf_puts(out, r->name);
	if (r->addend)
		mpk_strbuf_printf(out, "%s0x%" PRIx64, r->addend < 0 ? "-" : "+",
				  r->addend < 0 ? 0 - (uint64_t)r->addend : (uint64_t)r->addend);
	return true;
}

/* --- source lines -------------------------------------------------------------------------------- */

static struct mpk_span code_lines_section(const struct mpk_elf *e, const char *name)
{
	struct mpk_span bytes;
	GElf_Shdr h;

	for (size_t i = 1; i < e->section_count; i++) {
		const char *own = mpk_elf_section_name(e, i);

		if (own && strcmp(own, name) == 0 && mpk_elf_section(e, i, &h, NULL) == MPK_OK &&
		    h.sh_type == SHT_PROGBITS && !(h.sh_flags & SHF_COMPRESSED) &&
		    mpk_span_sub(e->bytes, h.sh_offset, h.sh_size, &bytes))
			return bytes;
	}
	return (struct mpk_span){ 0 };
}

/* Objects give no lines: the addresses in their line programs are filled in by the linker. */
enum mpk_code mpk_code_file_lines(struct mpk_code_file *f, const struct mpk_code_function *function,
				  struct mpk_arena *arena, const struct mpk_dwarf_row **out,
				  size_t *count, struct mpk_error *err)
{
	struct mpk_dwarf d;
	enum mpk_code code;

	*out = NULL;
	*count = 0;
	if (!f->is_elf || f->relocatable || f->big_endian || f->has_no_lines || !f->line_budget)
		return MPK_OK;
	d = (struct mpk_dwarf){
		.line = code_lines_section(&f->elf, ".debug_line"),
		.line_str = code_lines_section(&f->elf, ".debug_line_str"),
		.str = code_lines_section(&f->elf, ".debug_str"),
	};
	if (!d.line.len) {
		f->has_no_lines = true; /* do not look for the sections again */
		return MPK_OK;
	}
	code = mpk_dwarf_rows(&d, function->address, function->address + function->bytes.len,
			      &f->line_budget, arena, out, count, NULL);
	return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}
