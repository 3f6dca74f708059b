/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/calls.h"

#include <string.h>

#include "base/cursor.h"
#include "elf/aarch64.h"
#include "elf/symbols.h"

/* --- calls ---------------------------------------------------------------------------- */

static bool x86_64_target(struct mpk_span code, size_t at, uint64_t address, uint64_t *out)
{
	if (at + 5 > code.len || (code.data[at] != 0xe8 && code.data[at] != 0xe9))
		return false;
	*out = address + at + 5 + (uint64_t)(int64_t)(int32_t)mpk_load_u32(code.data + at + 1);
	return true;
}

static bool aarch64_target(struct mpk_span code, size_t at, uint64_t address, uint64_t *out)
{
	return at % 4 == 0 && at + 4 <= code.len &&
	       mpk_aarch64_branch(mpk_load_u32(code.data + at), address + at, out);
}

size_t mpk_elf_callees(const struct mpk_elf *e, const struct mpk_plt_names *plt, uint64_t address,
		       uint64_t bytes, struct mpk_callee *out, size_t most)
{
	uint16_t machine = e->header.e_machine;
	struct mpk_span code;
	uint64_t off, slot;
	size_t count = 0;

	if ((machine != EM_X86_64 && machine != EM_AARCH64) || e->header.e_type == ET_REL ||
	    bytes > MPK_CALLER_BYTES || !mpk_elf_at_address(e, address, &code, &off) ||
	    !mpk_span_sub(code, 0, bytes, &code))
		return 0;
	for (size_t at = 0; at < code.len && count < most; at++) {
		struct mpk_callee c = { 0 };

		if (!(machine == EM_X86_64 ? x86_64_target : aarch64_target)(code, at, address,
									     &c.address))
			continue;
		if (mpk_plt_slot(e, c.address, &slot))
			c.symbol = mpk_plt_names_find(plt, slot);
		out[count++] = c;
	}
	return count;
}

/* --- objects -------------------------------------------------------------------------- */

static enum mpk_code find_definition(const struct mpk_symtab *t, const char *name,
				     struct mpk_symbol *out, bool *found, struct mpk_error *err)
{
	*found = false;
	for (size_t i = 1; i < t->count && !*found; i++) {
		MPK_TRY(mpk_symtab_get(t, i, out, err));
		*found = out->defined && out->section && strcmp(out->name, name) == 0;
	}
	return MPK_OK;
}

static enum mpk_code add_relocated(const struct mpk_elf *e, const GElf_Shdr *section,
				   const struct mpk_symtab *symbols, const struct mpk_symbol *in,
				   struct mpk_callee *out, size_t most, size_t *count,
				   struct mpk_error *err)
{
	size_t n = mpk_elf_relocations(e, section);
	struct mpk_symbol symbol;
	GElf_Rela r;

	for (size_t i = 0; i < n && *count < most && mpk_elf_relocation(e, section, i, &r); i++) {
		if (r.r_offset < in->value || r.r_offset - in->value >= in->bytes ||
		    GELF_R_SYM(r.r_info) >= symbols->count)
			continue;
		MPK_TRY(mpk_symtab_get(symbols, GELF_R_SYM(r.r_info), &symbol, err));
		if (symbol.name[0])
			out[(*count)++] = (struct mpk_callee){ .symbol = symbol.name };
	}
	return MPK_OK;
}

enum mpk_code mpk_elf_object_callees(const struct mpk_elf *e, const char *symbol,
				     struct mpk_callee *out, size_t most, size_t *count,
				     struct mpk_error *err)
{
	struct mpk_symtab symbols;
	struct mpk_symbol in;
	GElf_Shdr section;
	bool found;

	*count = 0;
	if (e->header.e_type != ET_REL)
		return MPK_OK;
	MPK_TRY(mpk_symtab_static(e, &symbols, err));
	MPK_TRY(find_definition(&symbols, symbol, &in, &found, err));
	for (size_t i = 1; found && i < e->section_count; i++) {
		MPK_TRY(mpk_elf_section(e, i, &section, err));
		if ((section.sh_type == SHT_RELA || section.sh_type == SHT_REL) &&
		    section.sh_info == in.section)
			MPK_TRY(add_relocated(e, &section, &symbols, &in, out, most, count, err));
	}
	return MPK_OK;
}
