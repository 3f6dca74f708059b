/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - the header, sections, segments and tables of an ELF file, each checked before it is
 * used
 *
 * libelf converts classes and byte orders; it does not check the sizes that a file states. So every
 * table is compared with the file's length once, before libelf is asked for it. What is read later
 * (a section, a string, a number at an offset) is checked each time.
 *
 * Addresses are looked up for every symbol and relocation, so the loaded segments are sorted once. */
#include "elf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/vec.h"

/* The header has been converted by libelf; the bytes have not. */
static bool is_big(const struct mpk_elf *e)
{
	return e->header.e_ident[EI_DATA] == ELFDATA2MSB;
}

static enum mpk_code corrupt(const struct mpk_elf *e, uint64_t off, const char *what,
			     struct mpk_error *err)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base + off, "%s", what);
}

/* A call of libelf failed: the file is damaged, or memory was out. libelf's error numbers are not
 * public, so errno, which was 0 before the call, decides. */
static enum mpk_code unreadable(const struct mpk_elf *e, uint64_t off, const char *what,
				struct mpk_error *err)
{
	return errno == ENOMEM ? mpk_fail_nomem(err) : corrupt(e, off, what, err);
}

/* Checks that a table of the header, count entries of size bytes at off, lies within the file. */
static enum mpk_code check_table(const struct mpk_elf *e, uint64_t off, uint64_t count,
				 uint64_t each, const char *what, struct mpk_error *err)
{
	struct mpk_span ignored;
	uint64_t total;

	if (!mpk_mul_u64(count, each, &total) || !mpk_span_sub(e->bytes, off, total, &ignored))
		return mpk_fail_offset(
			err, MPK_E_CORRUPT, "file", e->base + off,
			"the %s end beyond the end of the file (%zu bytes); is it truncated?", what,
			e->bytes.len);
	return MPK_OK;
}

/* A section with the large section numbers of a symbol table, which the table's own fields cannot
 * hold. Every section of relocations looks for it. */
struct mpk_elf_extended {
	size_t table, index;
};

MPK_ORDER_BY2(by_table, struct mpk_elf_extended, table, index)

/* If there are several, the first counts. */
size_t mpk_elf_extended(const struct mpk_elf *e, size_t table)
{
	const struct mpk_elf_extended key = { .table = table };
	size_t at = mpk_lower_bound(e->extended, e->extended_count, sizeof key, &key, by_table);

	return at < e->extended_count && e->extended[at].table == table ? e->extended[at].index : 0;
}

/* The section headers of a library are not loaded. If a library was cut after its segments, which
 * have been checked, it is read as if it had no sections. */
static enum mpk_code check_sections(struct mpk_elf *e, uint64_t count, struct mpk_error *err)
{
	struct mpk_error problem = { 0 };
	enum mpk_code code = check_table(e, e->header.e_shoff, count, e->header.e_shentsize,
					 "section headers", &problem);

	if (code == MPK_OK)
		return MPK_OK;
	e->is_cut = e->header.e_type == ET_DYN && e->load_count;
	return mpk_fail_offset(
		err, code, "file", e->base + e->header.e_shoff, "%s%s", problem.text,
		e->is_cut ? " All that the dynamic linker maps is there, and it does not mind"
			  : "");
}

static enum mpk_code open_sections(struct mpk_elf *e, struct mpk_error *err)
{
	const GElf_Ehdr *h = &e->header;
	size_t names;
	GElf_Shdr shdr;

	if (h->e_shoff == 0)
		return MPK_OK;
	if (h->e_shentsize != gelf_fsize(e->elf, ELF_T_SHDR, 1, EV_CURRENT))
		return corrupt(e, h->e_shoff, "section headers have an impossible size", err);
	MPK_TRY(check_sections(e, h->e_shnum ? h->e_shnum : 1, err));
	/* The first request reads all headers. */
	errno = 0;
	if (elf_getshdrnum(e->elf, &e->section_count) != 0 ||
	    (e->section_count && !gelf_getshdr(elf_getscn(e->elf, 0), &shdr)))
		return unreadable(e, h->e_shoff, "the section headers cannot be read", err);
	MPK_TRY(check_sections(e, e->section_count, err));

	/* Files with more than 65279 sections have such sections. The file decides their number, so they
	 * are kept in a growing list. */
	size_t cap = 0;
	GElf_Shdr s;

	for (size_t i = 1; i < e->section_count; i++) {
		if (!gelf_getshdr(elf_getscn(e->elf, i), &s) || s.sh_type != SHT_SYMTAB_SHNDX)
			continue;
		MPK_TRY_ALLOC(MPK_VEC_ROOM(e->extended, e->extended_count, cap), err);
		e->extended[e->extended_count++] = (struct mpk_elf_extended){ s.sh_link, i };
	}
	if (e->extended_count)
		qsort(e->extended, e->extended_count, sizeof *e->extended, by_table);

	if (elf_getshdrstrndx(e->elf, &names) != 0 || names == SHN_UNDEF)
		return MPK_OK;
	MPK_TRY(mpk_elf_section(e, names, &shdr, err));
	if (shdr.sh_type == SHT_STRTAB &&
	    !mpk_span_sub(e->bytes, shdr.sh_offset, shdr.sh_size, &e->names))
		return corrupt(e, shdr.sh_offset, "the section names lie beyond the file", err);
	e->names = mpk_elf_strings(e->names);
	return MPK_OK;
}

/* A PT_LOAD segment. A file may have thousands, and addresses are looked up for every symbol. */
struct mpk_elf_load {
	uint64_t address, off;
	uint64_t bytes;  /* bytes in the file */
	uint64_t memory; /* bytes in memory, with the zeros after those in the file */
	uint32_t flags;  /* PF_ */
	size_t index;
};

MPK_ORDER_BY2(reader_by_address, struct mpk_elf_load, address, index)

/* Sorts the segments by address. Those without bytes in memory are skipped. */
static enum mpk_code index_loads(struct mpk_elf *e, struct mpk_error *err)
{
	GElf_Phdr p;

	e->loads = calloc(e->segment_count ? e->segment_count : 1, sizeof *e->loads);
	MPK_TRY_ALLOC(e->loads, err);
	for (size_t i = 0; mpk_elf_segment(e, i, &p); i++)
		if (p.p_type == PT_LOAD && p.p_memsz)
			e->loads[e->load_count++] = (struct mpk_elf_load){
				p.p_vaddr, p.p_offset, p.p_filesz, p.p_memsz, p.p_flags, i,
			};
	if (e->load_count)
		qsort(e->loads, e->load_count, sizeof *e->loads, reader_by_address);
	return MPK_OK;
}

/* Every PT_LOAD must lie within the file: mpk_elf_at_address relies on it. */
static enum mpk_code open_segments(struct mpk_elf *e, struct mpk_error *err)
{
	const GElf_Ehdr *h = &e->header;
	GElf_Phdr p;

	if (h->e_phoff == 0)
		return MPK_OK;
	if (h->e_phentsize != gelf_fsize(e->elf, ELF_T_PHDR, 1, EV_CURRENT))
		return corrupt(e, h->e_phoff, "program headers have an impossible size", err);
	errno = 0;
	if (elf_getphdrnum(e->elf, &e->segment_count) != 0)
		return unreadable(e, h->e_phoff, "the program headers cannot be read", err);
	MPK_TRY(check_table(e, h->e_phoff, e->segment_count, h->e_phentsize, "program headers",
			    err));
	for (size_t i = 0; i < e->segment_count; i++) {
		struct mpk_span ignored;

		errno = 0;
		if (!mpk_elf_segment(e, i, &p))
			return unreadable(e, h->e_phoff, "a program header cannot be read", err);
		if (p.p_type == PT_LOAD &&
		    !mpk_span_sub(e->bytes, p.p_offset, p.p_filesz, &ignored))
			return mpk_fail_offset(
				err, MPK_E_CORRUPT, "file",
				e->base + h->e_phoff + i * h->e_phentsize,
				"segment %zu ends beyond the end of the file (%zu bytes); is it truncated?",
				i, e->bytes.len);
	}
	return index_loads(e, err);
}

static enum mpk_code open_header(struct mpk_elf *e, struct mpk_error *err)
{
	/* These bytes are checked first, because libelf's functions for both classes rely on them. */
	const uint8_t *ident = e->bytes.data;

	if (e->bytes.len < EI_NIDENT)
		return corrupt(e, 0, "the ELF header ends beyond the end of the file", err);
	if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64)
		return corrupt(e, EI_CLASS, "the ELF class is neither 32 nor 64 bit", err);
	if (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB)
		return corrupt(e, EI_DATA, "the ELF byte order is neither little nor big", err);
	if (ident[EI_VERSION] != EV_CURRENT)
		return corrupt(e, EI_VERSION, "the ELF version is not 1", err);

	size_t need = ident[EI_CLASS] == ELFCLASS64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
	if (e->bytes.len < need)
		return corrupt(e, 0, "the ELF header ends beyond the end of the file", err);

	(void)elf_version(EV_CURRENT);
	/* libelf takes a pointer to mutable bytes, but does not write to them in this mode */
	errno = 0;
	e->elf = elf_memory((char *)(uintptr_t)e->bytes.data, e->bytes.len);
	if (!e->elf || elf_kind(e->elf) != ELF_K_ELF || !gelf_getehdr(e->elf, &e->header))
		return unreadable(e, 0, "the ELF header cannot be read", err);
	MPK_TRY(open_segments(e, err));
	return open_sections(e, err);
}

enum mpk_code mpk_elf_open_mapped(struct mpk_span bytes, uint64_t base, struct mpk_elf *out,
				  struct mpk_error *cut, struct mpk_error *err)
{
	struct mpk_elf e = { .bytes = bytes, .base = base };
	struct mpk_error problem = { 0 };
	enum mpk_code code = open_header(&e, &problem);

	if (code != MPK_OK && !e.is_cut) {
		mpk_elf_close(&e);
		if (err)
			*err = problem;
		return code;
	}
	if (e.is_cut) {
		e.section_count = 0;
		if (cut)
			*cut = problem;
	}
	*out = e;
	return MPK_OK;
}

enum mpk_code mpk_elf_open(struct mpk_span bytes, uint64_t base, struct mpk_elf *out,
			   struct mpk_error *err)
{
	struct mpk_error cut = { 0 };
	struct mpk_elf e;

	MPK_TRY(mpk_elf_open_mapped(bytes, base, &e, &cut, err));
	if (e.is_cut) {
		mpk_elf_close(&e);
		if (err)
			*err = cut;
		return MPK_E_CORRUPT;
	}
	*out = e;
	return MPK_OK;
}

/* elf_end and free accept NULL, so a file that was opened in part can be closed, too. */
void mpk_elf_close(struct mpk_elf *e)
{
	(void)elf_end(e->elf);
	free(e->loads);
	free(e->extended);
	memset(e, 0, sizeof *e);
}

/* Also checks where the section's bytes are, so that callers may use sh_offset and sh_size.
 * SHT_NOBITS has no bytes in the file. */
enum mpk_code mpk_elf_section(const struct mpk_elf *e, size_t index, GElf_Shdr *out,
			      struct mpk_error *err)
{
	struct mpk_span ignored;
	GElf_Shdr shdr;

	if (index == 0 || index >= e->section_count ||
	    !gelf_getshdr(elf_getscn(e->elf, index), &shdr))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base + e->header.e_shoff,
				       "section %zu is named but there are only %zu", index,
				       e->section_count);
	if (shdr.sh_type != SHT_NOBITS &&
	    !mpk_span_sub(e->bytes, shdr.sh_offset, shdr.sh_size, &ignored))
		return mpk_fail_offset(
			err, MPK_E_CORRUPT, "file",
			e->base + e->header.e_shoff + index * e->header.e_shentsize,
			"section %zu ends beyond the end of the file (%zu bytes); is it truncated?",
			index, e->bytes.len);
	*out = shdr;
	return MPK_OK;
}

/* A file can be read without section names, so a bad name is NULL and not an error. */
const char *mpk_elf_section_name(const struct mpk_elf *e, size_t index)
{
	GElf_Shdr shdr;

	if (index == 0 || index >= e->section_count ||
	    !gelf_getshdr(elf_getscn(e->elf, index), &shdr))
		return NULL;
	return mpk_elf_string(e->names, shdr.sh_name);
}

bool mpk_elf_segment(const struct mpk_elf *e, size_t index, GElf_Phdr *out)
{
	return index < e->segment_count && gelf_getphdr(e->elf, (int)index, out);
}

/* Returns the last segment that begins at or before an address, or NULL. Segments of a valid file
 * do not overlap. */
static const struct mpk_elf_load *load_at(const struct mpk_elf *e, uint64_t address)
{
	const struct mpk_elf_load behind = { .address = address, .index = SIZE_MAX };
	size_t next =
		mpk_lower_bound(e->loads, e->load_count, sizeof behind, &behind, reader_by_address);

	return next ? &e->loads[next - 1] : NULL;
}

/* Includes the zeros after the file's bytes, which mpk_elf_at_address does not. */
bool mpk_elf_is_loaded(const struct mpk_elf *e, uint64_t address, uint64_t bytes, uint32_t *flags)
{
	const struct mpk_elf_load *load = load_at(e, address);
	uint64_t into = load ? address - load->address : 0;

	if (!load || into > load->memory || load->memory - into < bytes)
		return false;
	*flags = load->flags;
	return true;
}

bool mpk_elf_at_address(const struct mpk_elf *e, uint64_t address, struct mpk_span *out,
			uint64_t *off)
{
	const struct mpk_elf_load *load = load_at(e, address);

	if (!load || address - load->address >= load->bytes)
		return false;
	/* mpk_elf_open checked that the segment lies within the file */
	*off = load->off + (address - load->address);
	return mpk_span_sub(e->bytes, *off, load->bytes - (address - load->address), out);
}

const char *mpk_elf_string(struct mpk_span table, uint64_t at)
{
	/* The table ends with a NUL: no search is needed, which with overlapping names would read all of
	 * them for each. */
	if (at >= table.len ||
	    (table.data[table.len - 1] && !memchr(table.data + at, 0, table.len - (size_t)at)))
		return NULL;
	return (const char *)table.data + at;
}

enum mpk_code mpk_elf_chunk(const struct mpk_elf *e, const struct mpk_elf_table *table,
			    Elf_Data **out, size_t *count, struct mpk_error *err)
{
	size_t each = gelf_fsize(e->elf, table->type, 1, EV_CURRENT);
	uint64_t off = table->off, size = table->size;
	struct mpk_span ignored;

	if (!mpk_span_sub(e->bytes, off, size, &ignored))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base + off,
				       "the %s ends beyond the end of the file", table->what);
	/* A table has whole entries; a remainder is a sign of damage. */
	if (size % each)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "file", e->base + off,
				       "the %s has %" PRIu64 " bytes, which is no multiple of %zu",
				       table->what, size, each);

	if (size / each > INT_MAX) /* libelf's accessors take int */
		return corrupt(e, off, "a table has too many entries", err);

	errno = 0;
	Elf_Data *data = elf_getdata_rawchunk(e->elf, (int64_t)off, (size_t)size, table->type);
	if (!data)
		return unreadable(e, off, elf_errmsg(-1), err);
	*out = data;
	*count = (size_t)size / each;
	return MPK_OK;
}

/* Reads the bytes without libelf, where the file has no table that libelf knows. */
bool mpk_elf_u32(const struct mpk_elf *e, uint64_t off, uint32_t *out)
{
	struct mpk_span s;
	uint32_t v = 0;

	if (!mpk_span_sub(e->bytes, off, sizeof v, &s))
		return false;
	for (size_t i = 0; i < sizeof v; i++)
		v = v << 8 | s.data[is_big(e) ? i : sizeof v - 1 - i];
	*out = v;
	return true;
}

size_t mpk_elf_word_bytes(const struct mpk_elf *e)
{
	return e->header.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
}

/* As long as an address of the file's class. */
bool mpk_elf_word(const struct mpk_elf *e, uint64_t off, uint64_t *out)
{
	uint32_t narrow;

	if (mpk_elf_word_bytes(e) == 8) {
		uint32_t first, second;

		if (off > UINT64_MAX - 4 || !mpk_elf_u32(e, off, &first) ||
		    !mpk_elf_u32(e, off + 4, &second))
			return false;
		*out = is_big(e) ? (uint64_t)first << 32 | second : (uint64_t)second << 32 | first;
		return true;
	}
	if (!mpk_elf_u32(e, off, &narrow))
		return false;
	*out = narrow;
	return true;
}

/* Returns the bytes of a relocation: offset, info, and in SHT_RELA an addend, each one word of the
 * class. */
static size_t relocation_bytes(const struct mpk_elf *e, const GElf_Shdr *section)
{
	return (section->sh_type == SHT_RELA ? 3 : 2) * mpk_elf_word_bytes(e);
}

size_t mpk_elf_relocations(const struct mpk_elf *e, const GElf_Shdr *section)
{
	return (size_t)(section->sh_size / relocation_bytes(e, section));
}

/* ELF32 packs symbol and type into 24 and 8 bits, ELF64 into 32 and 32; the result always has the
 * form of ELF64. */
bool mpk_elf_relocation(const struct mpk_elf *e, const GElf_Shdr *section, size_t index,
			GElf_Rela *out)
{
	uint64_t off = section->sh_offset + index * (uint64_t)relocation_bytes(e, section);
	uint64_t word = mpk_elf_word_bytes(e), at, info, addend = 0;

	if (!mpk_elf_word(e, off, &at) || !mpk_elf_word(e, off + word, &info) ||
	    (section->sh_type == SHT_RELA && !mpk_elf_word(e, off + 2 * word, &addend)))
		return false;
	if (word == 8)
		*out = (GElf_Rela){ at, info, (int64_t)addend };
	else
		*out = (GElf_Rela){ at, GELF_R_INFO(info >> 8, info & 0xff), (int32_t)addend };
	return true;
}

/* Returns the usual name of a machine; NULL for machines without a row. */
const char *mpk_elf_machine(uint16_t machine)
{
	static const struct {
		uint16_t machine;
		const char *name;
	} names[] = {
		{ EM_X86_64, "x86-64" },   { EM_AARCH64, "AArch64" },
		{ EM_386, "x86" },         { EM_ARM, "ARM" },
		{ EM_RISCV, "RISC-V" },    { EM_S390, "S390" },
		{ EM_PPC64, "PowerPC64" }, { EM_PPC, "PowerPC" },
		{ EM_MIPS, "MIPS" },       { EM_LOONGARCH, "LoongArch" },
		{ EM_QDSP6, "Hexagon" },   { EM_SPARCV9, "SPARC V9" },
		{ EM_SPARC, "SPARC" },     { EM_IA_64, "IA-64" },
		{ EM_XTENSA, "Xtensa" },   { EM_CSKY, "C-SKY" },
		{ EM_ALPHA, "Alpha" },     { EM_CUDA, "CUDA" },
		{ EM_AMDGPU, "AMD GPU" },  { EM_BPF, "BPF" },
		{ EM_68K, "m68k" },        { EM_SH, "SuperH" },
		{ EM_PARISC, "PA-RISC" },
	};

	for (size_t i = 0; i < MPK_ARRAY_COUNT(names); i++)
		if (names[i].machine == machine)
			return names[i].name;
	return NULL;
}
