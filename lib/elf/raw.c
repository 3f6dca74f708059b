#include "elf/raw.h"

#include <string.h>

#include "base/span.h"

uint64_t mpk_raw_get(const struct mpk_raw *e, uint64_t base, struct mpk_raw_field f)
{
	uint64_t v = 0;

	for (size_t i = 0; i < f.size; i++)
		v |= (uint64_t)e->data[base + f.off + i] << 8 * (e->big ? f.size - 1 - i : i);
	return v;
}

enum mpk_code mpk_raw_put(struct mpk_raw *e, uint64_t base, struct mpk_raw_field f, uint64_t v,
			  struct mpk_error *err)
{
	if (f.size < 8 && v >> 8 * f.size)
		return mpk_fail(err, MPK_E_RANGE,
				"a 32-bit ELF file cannot hold a blob of this size");
	for (size_t i = 0; i < f.size; i++)
		e->data[base + f.off + i] = (uint8_t)(v >> 8 * (e->big ? f.size - 1 - i : i));
	return MPK_OK;
}

static bool in_file(const struct mpk_raw *e, uint64_t off, uint64_t size)
{
	return off <= e->len && size <= e->len - off;
}

/* --- reading the tables ---------------------------------------------------------- */

static enum mpk_code open_tables(struct mpk_raw *e, struct mpk_error *err)
{
	uint64_t phsize = mpk_raw_get(e, 0, MPK_RAW_FIELD(e, Ehdr, e_phentsize));
	uint64_t shsize = mpk_raw_get(e, 0, MPK_RAW_FIELD(e, Ehdr, e_shentsize));
	uint64_t type = mpk_raw_get(e, 0, MPK_RAW_FIELD(e, Ehdr, e_type));

	e->linked = type == ET_DYN;
	e->phoff = mpk_raw_get(e, 0, MPK_RAW_FIELD(e, Ehdr, e_phoff));
	e->shoff = mpk_raw_get(e, 0, MPK_RAW_FIELD(e, Ehdr, e_shoff));
	e->phnum = mpk_raw_get(e, 0, MPK_RAW_FIELD(e, Ehdr, e_phnum));
	e->shnum = mpk_raw_get(e, 0, MPK_RAW_FIELD(e, Ehdr, e_shnum));
	if (type != ET_DYN && type != ET_REL)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "neither a shared library nor an object");
	if (e->shnum == 0 || shsize != MPK_RAW_SIZE(e, Shdr) ||
	    (e->phnum && phsize != MPK_RAW_SIZE(e, Phdr)))
		return mpk_fail(err, MPK_E_UNSUPPORTED, "ELF tables of unusual form");
	if (!in_file(e, e->shoff, e->shnum * shsize) || !in_file(e, e->phoff, e->phnum * phsize))
		return mpk_fail(err, MPK_E_CORRUPT, "ELF header tables leave the file");
	return MPK_OK;
}

uint64_t mpk_raw_section_at(const struct mpk_raw *e, size_t index)
{
	return e->shoff + index * MPK_RAW_SIZE(e, Shdr);
}

struct mpk_raw_section mpk_raw_section(const struct mpk_raw *e, size_t index)
{
	uint64_t at = mpk_raw_section_at(e, index);

	return (struct mpk_raw_section){
		.index = index,
		.type = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Shdr, sh_type)),
		.flags = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Shdr, sh_flags)),
		.addr = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Shdr, sh_addr)),
		.off = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Shdr, sh_offset)),
		.size = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Shdr, sh_size)),
		.align = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Shdr, sh_addralign)),
		.link = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Shdr, sh_link)),
		.entsize = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Shdr, sh_entsize)),
	};
}

bool mpk_raw_has_bytes(const struct mpk_raw_section *s)
{
	return s->type != SHT_NULL && s->type != SHT_NOBITS;
}

static enum mpk_code check_sections(const struct mpk_raw *e, struct mpk_error *err)
{
	for (size_t i = 0; i < e->shnum; i++) {
		struct mpk_raw_section s = mpk_raw_section(e, i);
		bool is_table = s.type == SHT_SYMTAB || s.type == SHT_DYNSYM;

		if (mpk_raw_has_bytes(&s) && !in_file(e, s.off, s.size))
			return mpk_fail(err, MPK_E_CORRUPT, "section %zu leaves the file", i);
		if (is_table && (s.entsize != MPK_RAW_SIZE(e, Sym) || s.link >= e->shnum))
			return mpk_fail(err, MPK_E_CORRUPT, "symbol table %zu is malformed", i);
	}
	return MPK_OK;
}

enum mpk_code mpk_raw_open(struct mpk_raw *e, struct mpk_error *err)
{
	if (e->len < sizeof(Elf64_Ehdr) || memcmp(e->data, ELFMAG, SELFMAG) != 0)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "not an ELF file");
	e->wide = e->data[EI_CLASS] == ELFCLASS64;
	e->big = e->data[EI_DATA] == ELFDATA2MSB;
	MPK_TRY(open_tables(e, err));
	return check_sections(e, err);
}

/* --- the symbol ------------------------------------------------------------------ */

static bool name_is(const struct mpk_raw *e, const struct mpk_raw_section *strings, uint64_t at,
		    const char *symbol)
{
	size_t size = strlen(symbol) + 1;

	return mpk_raw_has_bytes(strings) && at <= strings->size && size <= strings->size - at &&
	       memcmp(e->data + strings->off + at, symbol, size) == 0;
}

/* The section that is loaded at an address; 0: none. objcopy --remove-section leaves the
 * section numbers of .dynsym as they were, and loaders do not mind: addresses count. */
static uint64_t section_at(const struct mpk_raw *e, uint64_t address)
{
	for (size_t i = 1; i < e->shnum; i++) {
		struct mpk_raw_section s = mpk_raw_section(e, i);

		if ((s.flags & SHF_ALLOC) && !(s.flags & SHF_TLS) && mpk_raw_has_bytes(&s) &&
		    address >= s.addr && address - s.addr < s.size)
			return i;
	}
	return 0;
}

static enum mpk_code take_symbol(const struct mpk_raw *e, uint64_t at, struct mpk_raw_symbol *found,
				 struct mpk_error *err)
{
	uint64_t index = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Sym, st_shndx));
	uint64_t value = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Sym, st_value));
	uint64_t size = mpk_raw_get(e, at, MPK_RAW_FIELD(e, Sym, st_size));

	if (e->linked && index != SHN_UNDEF)
		index = section_at(e, value);
	if (index == SHN_UNDEF || index >= e->shnum)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "the blob symbol has no section");
	if (found->count == 0) {
		found->home = mpk_raw_section(e, (size_t)index);
		found->value = value;
		found->size = size;
	} else if (found->count == 2 || found->home.index != index || found->value != value ||
		   found->size != size) {
		return mpk_fail(err, MPK_E_UNSUPPORTED, "the blob symbol stands there twice");
	}
	found->entries[found->count++] = at;
	return MPK_OK;
}

enum mpk_code mpk_raw_find(const struct mpk_raw *e, const char *symbol,
			   struct mpk_raw_symbol *found, struct mpk_error *err)
{
	for (size_t i = 0; i < e->shnum; i++) {
		struct mpk_raw_section s = mpk_raw_section(e, i);

		if (s.type != SHT_SYMTAB && s.type != SHT_DYNSYM)
			continue;
		struct mpk_raw_section strings = mpk_raw_section(e, (size_t)s.link);
		for (uint64_t at = 0; s.size - at >= s.entsize; at += s.entsize) {
			uint64_t name = mpk_raw_get(e, s.off + at, MPK_RAW_FIELD(e, Sym, st_name));

			if (name_is(e, &strings, name, symbol))
				MPK_TRY(take_symbol(e, s.off + at, found, err));
		}
	}
	if (found->count == 0)
		return mpk_fail(err, MPK_E_UNSUPPORTED, "it has no symbol for the blob");
	return MPK_OK;
}
