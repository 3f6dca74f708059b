#include "emit/symbols.h"

#include <gelf.h>
#include <libelf.h>
#include <string.h>

static bool is_defined(const GElf_Sym *s)
{
	unsigned bind = GELF_ST_BIND(s->st_info);

	return s->st_shndx != SHN_UNDEF &&
	       (bind == STB_GLOBAL || bind == STB_WEAK || bind == STB_GNU_UNIQUE);
}

static enum mpk_code read_table(Elf *elf, Elf_Scn *scn, struct mpk_arena *arena,
				const struct mpk_span **out, size_t *count, struct mpk_error *err)
{
	GElf_Shdr header;
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT), found = 0;

	if (!data || !gelf_getshdr(scn, &header) || !entry)
		return mpk_fail(err, MPK_E_CORRUPT, "broken symbol table: %s", elf_errmsg(-1));
	size_t most = data->d_size / entry;
	struct mpk_span *list = mpk_arena_array(arena, most, sizeof *list);
	if (most && !list)
		return mpk_fail_nomem(err);
	for (size_t i = 1; i < most && i <= INT32_MAX; i++) {
		GElf_Sym s;
		const char *name;

		if (!gelf_getsym(data, (int)i, &s) || !is_defined(&s))
			continue;
		name = elf_strptr(elf, header.sh_link, s.st_name);
		if (name && *name)
			list[found++] = mpk_span_str(name);
	}
	*out = list;
	*count = found;
	return MPK_OK;
}

enum mpk_code mpk_object_symbols(struct mpk_span bytes, struct mpk_arena *arena,
				 const struct mpk_span **out, size_t *count, struct mpk_error *err)
{
	*out = NULL;
	*count = 0;
	if (bytes.len < SELFMAG || memcmp(bytes.data, ELFMAG, SELFMAG) != 0)
		return MPK_OK;
	(void)elf_version(EV_CURRENT);

	Elf *elf = elf_memory((char *)(uintptr_t)bytes.data, bytes.len);
	enum mpk_code code =
		elf ? MPK_OK : mpk_fail(err, MPK_E_CORRUPT, "broken ELF file: %s", elf_errmsg(-1));
	for (Elf_Scn *scn = NULL; elf && code == MPK_OK && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr header;

		if (gelf_getshdr(scn, &header) && header.sh_type == SHT_SYMTAB)
			code = read_table(elf, scn, arena, out, count, err);
	}
	if (elf)
		(void)elf_end(elf);
	return code;
}
