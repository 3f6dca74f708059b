/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.c - the symbol tables of an ELF file, and its dynamic section
 *
 * The symbols that a loader sees are found by section headers, which give the size of the table,
 * and in files without section headers by PT_DYNAMIC, which does not. */
#include "elf/symbols.h"

#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "text/escape.h"

static enum mpk_code open_strings(const struct mpk_elf *e, size_t link, struct mpk_span *out,
				  struct mpk_error *err)
{
	GElf_Shdr shdr;

	MPK_TRY(mpk_elf_section(e, link, &shdr, err));
	if (shdr.sh_type != SHT_STRTAB)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file",
				       e->base + e->header.e_shoff + link * e->header.e_shentsize,
				       "section %zu serves as string table but is none", link);
	if (!mpk_span_sub(e->bytes, shdr.sh_offset, shdr.sh_size, out))
		return mpk_fail(err, MPK_E_INTERNAL, "a checked section is out of bounds");
	*out = mpk_elf_strings(*out);
	return MPK_OK;
}

/* Returns the SHT_SYMTAB_SHNDX section for symbol table index, if any. */
static enum mpk_code open_extended(const struct mpk_elf *e, size_t index, struct mpk_symtab *t,
				   struct mpk_error *err)
{
	size_t at = mpk_elf_extended(e, index), count;
	struct mpk_elf_table table;
	GElf_Shdr shdr;

	if (!at)
		return MPK_OK;
	MPK_TRY(mpk_elf_section(e, at, &shdr, err));
	table = (struct mpk_elf_table){ shdr.sh_offset, shdr.sh_size, ELF_T_WORD,
					"extended section index table" };
	return mpk_elf_chunk(e, &table, &t->extended, &count, err);
}

enum mpk_code mpk_symtab_open(const struct mpk_elf *e, size_t index, struct mpk_symtab *out,
			      struct mpk_error *err)
{
	struct mpk_symtab t = { .elf = e };
	struct mpk_elf_table table;
	GElf_Shdr shdr;

	MPK_TRY(mpk_elf_section(e, index, &shdr, err));
	if (shdr.sh_entsize != gelf_fsize(e->elf, ELF_T_SYM, 1, EV_CURRENT))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file",
				       e->base + e->header.e_shoff + index * e->header.e_shentsize,
				       "symbols have an impossible size: %" PRIu64 " bytes",
				       (uint64_t)shdr.sh_entsize);
	MPK_TRY(open_strings(e, shdr.sh_link, &t.strings, err));
	MPK_TRY(open_extended(e, index, &t, err));
	table = (struct mpk_elf_table){ shdr.sh_offset, shdr.sh_size, ELF_T_SYM, "symbol table" };
	MPK_TRY(mpk_elf_chunk(e, &table, &t.symbols, &t.count, err));
	t.off = shdr.sh_offset;
	*out = t;
	return MPK_OK;
}

static size_t find_section(const struct mpk_elf *e, uint32_t type)
{
	for (size_t i = 1; i < e->section_count; i++) {
		GElf_Shdr shdr;

		if (gelf_getshdr(elf_getscn(e->elf, i), &shdr) && shdr.sh_type == type)
			return i;
	}
	return 0;
}

/* DT_HASH: nbucket, nchain; there is one chain entry a symbol. s390x and Alpha have
 * entries of 8 bytes. */
static bool count_sysv(const struct mpk_elf *e, uint64_t off, uint64_t *out)
{
	uint16_t machine = e->header.e_machine;
	bool wide = e->header.e_ident[EI_CLASS] == ELFCLASS64 &&
		    (machine == EM_S390 || machine == EM_ALPHA);
	uint32_t narrow;

	if (wide)
		return mpk_elf_word(e, off + 8, out);
	if (!mpk_elf_u32(e, off + 4, &narrow))
		return false;
	*out = narrow;
	return true;
}

/* DT_GNU_HASH: the last symbol is the end of the chain with the highest start. */
static bool count_gnu(const struct mpk_elf *e, uint64_t off, uint64_t *out)
{
	uint64_t word = mpk_elf_word_bytes(e);
	uint32_t buckets, first, bloom, bucket, hash;
	uint64_t last = 0, at;

	if (!mpk_elf_u32(e, off, &buckets) || !mpk_elf_u32(e, off + 4, &first) ||
	    !mpk_elf_u32(e, off + 8, &bloom))
		return false;
	at = off + 16 + word * bloom; /* cannot wrap: off is within the file, bloom is below 2^32 */
	for (uint32_t i = 0; i < buckets; i++, at += 4) {
		if (!mpk_elf_u32(e, at, &bucket))
			return false;
		last = bucket > last ? bucket : last;
	}
	*out = first;
	if (last < first)
		return true;
	at += 4 * (last - first);
	do {
		if (!mpk_elf_u32(e, at, &hash))
			return false;
		at += 4;
		last++;
	} while (!(hash & 1));
	*out = last;
	return true;
}

/* Returns in *count how many symbols DT_SYMTAB has. No field says it; it follows from DT_HASH or
 * DT_GNU_HASH.
 * Returns  MPK_E_CORRUPT when no hash table can be read */
static enum mpk_code dynamic_symbol_count(const struct mpk_elf *e, Elf_Data *dynamic, size_t count,
					  size_t *out, struct mpk_error *err)
{
	uint64_t address, off, symbols = 0;
	struct mpk_span rest;
	bool known = false;

	if (mpk_dynamic_find(dynamic, count, DT_HASH, &address) &&
	    mpk_elf_at_address(e, address, &rest, &off))
		known = count_sysv(e, off, &symbols);
	if (!known && mpk_dynamic_find(dynamic, count, DT_GNU_HASH, &address) &&
	    mpk_elf_at_address(e, address, &rest, &off))
		known = count_gnu(e, off, &symbols);
	if (!known || symbols > e->bytes.len)
		return mpk_fail_offset(
			err, MPK_E_CORRUPT, "file", e->base,
			"no valid hash table tells how many dynamic symbols there are");
	*out = (size_t)symbols;
	return MPK_OK;
}

static enum mpk_code open_loader_table(const struct mpk_elf *e, struct mpk_symtab *out,
				       struct mpk_error *err)
{
	struct mpk_symtab t = { .elf = e };
	struct mpk_elf_table table;
	uint64_t address, off;
	struct mpk_span rest;
	Elf_Data *dynamic;
	size_t entries, count;

	*out = t;
	MPK_TRY(mpk_dynamic_open(e, &dynamic, &entries, err));
	if (!entries || !mpk_dynamic_find(dynamic, entries, DT_SYMTAB, &address))
		return MPK_OK;
	MPK_TRY(mpk_dynamic_strings(e, dynamic, entries, &t.strings, err));
	MPK_TRY(dynamic_symbol_count(e, dynamic, entries, &count, err));
	if (!mpk_elf_at_address(e, address, &rest, &off))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base,
				       "the dynamic symbol table lies outside the file");
	/* the product cannot wrap: count is at most the size of the file */
	table = (struct mpk_elf_table){ off, count * gelf_fsize(e->elf, ELF_T_SYM, 1, EV_CURRENT),
					ELF_T_SYM, "dynamic symbol table" };
	MPK_TRY(mpk_elf_chunk(e, &table, &t.symbols, &t.count, err));
	t.off = off;
	*out = t;
	return MPK_OK;
}

enum mpk_code mpk_symtab_dynamic(const struct mpk_elf *e, struct mpk_symtab *out,
				 struct mpk_error *err)
{
	size_t index = find_section(e, SHT_DYNSYM);

	return index ? mpk_symtab_open(e, index, out, err) : open_loader_table(e, out, err);
}

/* Whether the table in a section is the one that PT_DYNAMIC names. */
static bool is_loaders(const struct mpk_elf *e, const struct mpk_symtab *listed)
{
	struct mpk_error ignored = { 0 };
	struct mpk_span rest;
	Elf_Data *dynamic;
	uint64_t address, off;
	size_t entries;

	return mpk_dynamic_open(e, &dynamic, &entries, &ignored) == MPK_OK && entries &&
	       mpk_dynamic_find(dynamic, entries, DT_SYMTAB, &address) &&
	       mpk_elf_at_address(e, address, &rest, &off) && off == listed->off;
}

enum mpk_code mpk_symtab_loaded(const struct mpk_elf *e, struct mpk_symtab *out,
				struct mpk_error *err)
{
	size_t index = find_section(e, SHT_DYNSYM);
	struct mpk_symtab listed = { 0 };
	struct mpk_error ignored = { 0 };
	enum mpk_code code;

	if (index &&
	    (mpk_symtab_open(e, index, &listed, &ignored) != MPK_OK || !is_loaders(e, &listed)))
		listed.count = 0;
	if (ignored.code == MPK_E_NOMEM)
		return mpk_fail_nomem(err);
	code = open_loader_table(e, out, listed.count ? &ignored : err);
	/* A hash table leaves out symbols; a damaged one gives no count, or a wrong one. */
	if (listed.count && code != MPK_E_NOMEM) {
		*out = listed;
		return MPK_OK;
	}
	return code == MPK_E_NOMEM ? mpk_fail_nomem(err) : code;
}

enum mpk_code mpk_symtab_static(const struct mpk_elf *e, struct mpk_symtab *out,
				struct mpk_error *err)
{
	size_t index = find_section(e, SHT_SYMTAB);

	if (index)
		return mpk_symtab_open(e, index, out, err);
	*out = (struct mpk_symtab){ .elf = e };
	return MPK_OK;
}

enum mpk_code mpk_symtab_get(const struct mpk_symtab *t, size_t index, struct mpk_symbol *out,
			     struct mpk_error *err)
{
	size_t each = gelf_fsize(t->elf->elf, ELF_T_SYM, 1, EV_CURRENT);
	Elf32_Word extended = 0;
	const char *name;
	GElf_Sym sym;

	if (!gelf_getsymshndx(t->symbols, t->extended, (int)index, &sym, &extended))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file",
				       t->elf->base + t->off + index * each,
				       "symbol %zu cannot be read", index);
	name = sym.st_name ? mpk_elf_string(t->strings, sym.st_name) : "";
	if (!name)
		return mpk_fail_offset(
			err, MPK_E_CORRUPT, "file", t->elf->base + t->off + index * each,
			"the name of symbol %zu lies outside the string table", index);
	*out = (struct mpk_symbol){
		.name = name,
		.value = sym.st_value,
		.bytes = sym.st_size,
		.section = sym.st_shndx == SHN_XINDEX     ? extended
			   : sym.st_shndx < SHN_LORESERVE ? sym.st_shndx
							  : 0,
		.type = GELF_ST_TYPE(sym.st_info),
		.bind = GELF_ST_BIND(sym.st_info),
		.visibility = GELF_ST_VISIBILITY(sym.st_other),
		.defined = sym.st_shndx != SHN_UNDEF && sym.st_shndx != SHN_COMMON,
		.common = sym.st_shndx == SHN_COMMON,
	};
	return MPK_OK;
}

static enum mpk_code no_bytes(const struct mpk_elf *e, const struct mpk_symbol *s, const char *why,
			      struct mpk_error *err)
{
	enum mpk_code code = mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base, "symbol %s %s",
					     MPK_QUOTE(mpk_span_str(s->name)), why);

	return code;
}

/* In ET_REL st_value counts from the beginning of the section. */
static enum mpk_code object_bytes(const struct mpk_elf *e, const struct mpk_symbol *s,
				  struct mpk_span *rest, uint64_t *off, struct mpk_error *err)
{
	GElf_Shdr shdr;

	if (!s->section)
		return no_bytes(e, s, "stands in no section", err);
	MPK_TRY(mpk_elf_section(e, s->section, &shdr, err));
	if (shdr.sh_type == SHT_NOBITS)
		return no_bytes(e, s, "stands in a section without bytes", err);
	if (s->value > shdr.sh_size ||
	    !mpk_span_sub(e->bytes, shdr.sh_offset + s->value, shdr.sh_size - s->value, rest))
		return no_bytes(e, s, "begins beyond the end of its section", err);
	*off = shdr.sh_offset + s->value;
	return MPK_OK;
}

/* Cuts the bytes of a symbol without a size at the end of its section, if the section header agrees
 * with the segment. */
static void cut_at_section(const struct mpk_elf *e, const struct mpk_symbol *s, uint64_t off,
			   struct mpk_span *rest)
{
	GElf_Shdr shdr;

	if (!s->section || mpk_elf_section(e, s->section, &shdr, NULL) != MPK_OK ||
	    shdr.sh_type == SHT_NOBITS || off < shdr.sh_offset)
		return;

	uint64_t into = off - shdr.sh_offset;
	if (into < shdr.sh_size && shdr.sh_size - into < rest->len)
		rest->len = (size_t)(shdr.sh_size - into);
}

enum mpk_registry mpk_registry_of(const char *symbol)
{
	static const struct {
		const char *symbol;
		enum mpk_registry kind;
	} registries[] = {
		{ "TVMFFIFunctionSetGlobal", MPK_REGISTRY_BYTES },
		{ "TVMFFIFunctionSetGlobalFromMethodInfo", MPK_REGISTRY_BYTES },
		{ "TVMFuncRegisterGlobal", MPK_REGISTRY_TEXT },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(registries); i++)
		if (strcmp(symbol, registries[i].symbol) == 0)
			return registries[i].kind;
	return MPK_REGISTRY_NONE;
}

/* The table of names is searched first: a library may have a hundred thousand symbols. */
bool mpk_symtab_registers(const struct mpk_symtab *t)
{
	const struct mpk_span names = t->strings;
	struct mpk_symbol s;

	if (!mpk_span_has(names, "TVMFFIFunctionSetGlobal") &&
	    !mpk_span_has(names, "TVMFuncRegisterGlobal"))
		return false;
	for (size_t i = 1; i < t->count; i++)
		if (mpk_symtab_get(t, i, &s, NULL) == MPK_OK && mpk_registry_of(s.name))
			return true;
	return false;
}

enum mpk_code mpk_symbol_bytes(const struct mpk_elf *e, const struct mpk_symbol *s,
			       struct mpk_span *out, uint64_t *off, struct mpk_error *err)
{
	struct mpk_span rest = { 0 };
	uint64_t at = 0;

	if (e->header.e_type == ET_REL)
		MPK_TRY(object_bytes(e, s, &rest, &at, err));
	else if (!mpk_elf_at_address(e, s->value, &rest, &at))
		return no_bytes(e, s, "lies outside of what the file loads", err);
	if (!s->bytes)
		cut_at_section(e, s, at, &rest);
	if (!mpk_span_sub(rest, 0, s->bytes ? s->bytes : rest.len, out))
		return no_bytes(e, s, "ends beyond the bytes of its section or segment", err);
	*off = at;
	return MPK_OK;
}

enum mpk_code mpk_elf_needed(const struct mpk_elf *e, struct mpk_arena *arena,
			     const char *const **out, size_t *count, struct mpk_error *err)
{
	struct mpk_span strings;
	Elf_Data *dynamic = NULL;
	size_t entries, n = 0;
	uint64_t bytes = 0;
	GElf_Dyn d;

	*count = 0;
	MPK_TRY(mpk_dynamic_open(e, &dynamic, &entries, err));
	if (!entries)
		return MPK_OK;
	MPK_TRY(mpk_dynamic_strings(e, dynamic, entries, &strings, err));

	const char **names = mpk_arena_array(arena, entries, sizeof *names);
	MPK_TRY_ALLOC(names, err);
	for (size_t i = 0; i < entries && gelf_getdyn(dynamic, (int)i, &d); i++) {
		if (d.d_tag == DT_NULL)
			break;
		if (d.d_tag != DT_NEEDED)
			continue;
		names[n] = mpk_elf_string(strings, d.d_un.d_val);
		if (!names[n++])
			return mpk_fail_offset(
				err, MPK_E_CORRUPT, "file", e->base,
				"the name of a needed library lies outside the dynamic string table");
		bytes += strlen(names[n - 1]);
		MPK_TRY(mpk_elf_check_names("needed libraries", e->base, e->bytes.len, n, bytes,
					    err));
	}
	*out = names;
	*count = n;
	return MPK_OK;
}

/* --- the dynamic section -------------------------------------------------------------------
 *
 * For libraries without section headers (sstrip, some packers), which a loader does not need. */

enum mpk_code mpk_dynamic_open(const struct mpk_elf *e, Elf_Data **out, size_t *count,
			       struct mpk_error *err)
{
	GElf_Phdr p;

	*count = 0;
	for (size_t i = 0; mpk_elf_segment(e, i, &p); i++)
		if (p.p_type == PT_DYNAMIC && p.p_filesz)
			return mpk_elf_chunk(e,
					     &(struct mpk_elf_table){ p.p_offset, p.p_filesz,
								      ELF_T_DYN,
								      "dynamic section" },
					     out, count, err);
	return MPK_OK;
}

bool mpk_dynamic_find(Elf_Data *dynamic, size_t count, int64_t tag, uint64_t *value)
{
	GElf_Dyn d;

	for (size_t i = 0; i < count && gelf_getdyn(dynamic, (int)i, &d); i++) {
		if (d.d_tag == DT_NULL)
			return false;
		if (d.d_tag == tag) {
			*value = d.d_un.d_val;
			return true;
		}
	}
	return false;
}

enum mpk_code mpk_dynamic_strings(const struct mpk_elf *e, Elf_Data *dynamic, size_t count,
				  struct mpk_span *out, struct mpk_error *err)
{
	uint64_t address, size, off;
	struct mpk_span rest;

	if (!mpk_dynamic_find(dynamic, count, DT_STRTAB, &address) ||
	    !mpk_dynamic_find(dynamic, count, DT_STRSZ, &size)) {
		*out = (struct mpk_span){ 0 };
		return MPK_OK;
	}
	if (!mpk_elf_at_address(e, address, &rest, &off) || !mpk_span_sub(rest, 0, size, out))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base,
				       "the dynamic string table lies outside the file");
	*out = mpk_elf_strings(*out);
	return MPK_OK;
}
