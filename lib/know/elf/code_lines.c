/* SPDX-License-Identifier: Apache-2.0 */
/* code_lines.c - the source lines of a function, from the debug information of the file */
#include <string.h>

#include "elf/code.h"

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

/* Objects are left out: their line programs have no addresses before a linker has put them in. */
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
		f->has_no_lines = true; /* and they are not looked for again */
		return MPK_OK;
	}
	code = mpk_dwarf_rows(&d, function->address, function->address + function->bytes.len,
			      &f->line_budget, arena, out, count, NULL);
	return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : MPK_OK;
}
