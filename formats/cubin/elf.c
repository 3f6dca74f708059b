/* SPDX-License-Identifier: Apache-2.0 */
/* elf.c - ELF files for GPUs, 64-bit little-endian, read by loads at fixed offsets
 *
 * Today's cubins and code objects all have this class and byte order, so nothing is converted and
 * no library is needed. Every offset and size in a header is compared with the file before it is
 * used. Sections are checked when they are asked for, because of thousands of sections often only a
 * few are read. */
#include "cubin/elf.h"

#include <inttypes.h>

#include "base/cursor.h"
#include "text/escape.h"

enum {
	HEADER_BYTES = 64,
	SECTION_BYTES = 64,
	/* Names may overlap: without a limit, reading n of them would take n * n steps. */
	NAME_LIMIT = 65536,
	READ_FACTOR = 16,
	READ_BASE = 65536,
};

static enum mpk_code cubin_fail_at(const struct mpk_cubin_elf *elf, struct mpk_error *err,
				   uint64_t off, const char *what)
{
	return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", off, "%s: %s", elf->what, what);
}

/* Reads header i, without its name. */
static void load_section(const struct mpk_cubin_elf *elf, size_t i, struct mpk_cubin_section *out,
			 uint32_t *name_off)
{
	const uint8_t *p = elf->bytes.data + elf->sections_off + i * SECTION_BYTES;

	*name_off = mpk_load_u32(p);
	*out = (struct mpk_cubin_section){
		.type = mpk_load_u32(p + 4),
		.flags = mpk_load_u64(p + 8),
		.address = mpk_load_u64(p + 16),
		.off = mpk_load_u64(p + 24),
		.size = mpk_load_u64(p + 32),
		.link = mpk_load_u32(p + 40),
		.info = mpk_load_u32(p + 44),
		.align = mpk_load_u64(p + 48),
	};
}

/* With more than 65279 sections, their number and the index of the name table are in the first
 * header. */
static enum mpk_code open_table(struct mpk_cubin_elf *elf, struct mpk_error *err)
{
	const uint8_t *p = elf->bytes.data;
	uint64_t count = mpk_load_u16(p + 60), names = mpk_load_u16(p + 62);
	struct mpk_cubin_section s;
	struct mpk_span table;
	uint32_t name_off;

	elf->sections_off = mpk_load_u64(p + 40);
	if (!mpk_span_sub(elf->bytes, elf->sections_off, SECTION_BYTES, &table))
		return cubin_fail_at(elf, err, 40, "the section table lies beyond the end");
	load_section(elf, 0, &s, &name_off);
	if (count == 0)
		count = s.size;
	if (names == 0xffff)
		names = s.link;
	if (count > (elf->bytes.len - elf->sections_off) / SECTION_BYTES)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", elf->sections_off,
				       "%s: %" PRIu64 " section headers do not fit in the file",
				       elf->what, count);
	if (names >= count)
		return cubin_fail_at(elf, err, 62, "no table of section names");
	elf->section_count = (size_t)count;
	load_section(elf, (size_t)names, &s, &name_off);
	if (s.type == MPK_CUBIN_SHT_NOBITS ||
	    !mpk_span_sub(elf->bytes, s.off, s.size, &elf->section_names))
		return cubin_fail_at(elf, err, 62,
				     "the table of section names lies beyond the end");
	return MPK_OK;
}

/* The machine is checked because an ELF file for a CPU would give misleading errors later. The
 * program headers are checked for existence only: everything that a driver loads through them is
 * also in sections. */
enum mpk_code mpk_cubin_elf_open(struct mpk_span bytes, uint16_t machine, const char *what,
				 struct mpk_cubin_elf *out, struct mpk_error *err)
{
	struct mpk_cubin_elf elf = { .bytes = bytes, .what = what };
	const uint8_t *p = bytes.data;
	struct mpk_span segments;

	if (!mpk_span_starts(bytes, "\177ELF"))
		return cubin_fail_at(&elf, err, 0, "no ELF file");
	if (bytes.len < HEADER_BYTES)
		return cubin_fail_at(&elf, err, bytes.len, "cut off inside the ELF header");
	elf.machine = mpk_load_u16(p + 18);
	if (p[4] != 2 || p[5] != 1)
		return mpk_fail_offset(err, MPK_E_UNSUPPORTED, "payload", 4,
				       "%s: only 64-bit little-endian files are read", what);
	if (elf.machine != machine)
		return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", 18,
				       "%s: an ELF file for machine %u, not for %s (%u)", what,
				       elf.machine,
				       machine == MPK_CUBIN_EM_CUDA ? "CUDA" : "this GPU", machine);
	elf.osabi = p[7];
	elf.abi = p[8];
	elf.type = mpk_load_u16(p + 16);
	elf.flags = mpk_load_u32(p + 48);
	if (mpk_load_u16(p + 58) != SECTION_BYTES)
		return cubin_fail_at(&elf, err, 58, "section headers are not of 64 bytes");
	/* in linked files they come last, so a file that was cut off lacks them */
	if (!mpk_span_sub(bytes, mpk_load_u64(p + 32),
			  (uint64_t)mpk_load_u16(p + 54) * mpk_load_u16(p + 56), &segments))
		return cubin_fail_at(&elf, err, 32,
				     "the program headers lie beyond the end; it was cut off");
	MPK_TRY(open_table(&elf, err));
	*out = elf;
	return MPK_OK;
}

/* Names may overlap. Each is read up to its own NUL, and to the limit at most. */
enum mpk_code mpk_cubin_elf_section(const struct mpk_cubin_elf *elf, size_t i,
				    struct mpk_cubin_section *out, struct mpk_error *err)
{
	struct mpk_cubin_section s;
	uint32_t name_off;

	load_section(elf, i, &s, &name_off);
	if (!mpk_span_text(elf->section_names, name_off, NAME_LIMIT, &s.name))
		return cubin_fail_at(
			elf, err, elf->sections_off + i * SECTION_BYTES,
			"a section's name is too long or lies beyond the table of names");
	*out = s;
	return MPK_OK;
}

/* A section without bytes in the file is an error here, because callers expect contents. */
enum mpk_code mpk_cubin_elf_data(const struct mpk_cubin_elf *elf,
				 const struct mpk_cubin_section *section, struct mpk_span *out,
				 struct mpk_error *err)
{
	if (section->type == MPK_CUBIN_SHT_NOBITS)
		return mpk_fail(err, MPK_E_CORRUPT, "%s: section '%s' has no bytes in the file",
				elf->what, MPK_QUOTE(section->name));
	if (!mpk_span_sub(elf->bytes, section->off, section->size, out))
		return mpk_fail_offset(err, MPK_E_CORRUPT, "payload", section->off,
				       "%s: section '%s' of %" PRIu64
				       " bytes reaches beyond the end; the file was cut off",
				       elf->what, MPK_QUOTE(section->name), section->size);
	return MPK_OK;
}

/* The caller has checked that the table has more than i symbols. */
enum mpk_code mpk_cubin_elf_symbol(const struct mpk_cubin_elf *elf, struct mpk_span table,
				   struct mpk_span strings, size_t i, struct mpk_cubin_symbol *out,
				   struct mpk_error *err)
{
	const uint8_t *p = table.data + i * MPK_CUBIN_SYMBOL_BYTES;
	struct mpk_cubin_symbol s = {
		.type = p[4] & 0xf,
		.other = p[5],
		.section = mpk_load_u16(p + 6),
		.value = mpk_load_u64(p + 8),
		.size = mpk_load_u64(p + 16),
	};

	if (!mpk_span_text(strings, mpk_load_u32(p), NAME_LIMIT, &s.name))
		return mpk_fail(err, MPK_E_CORRUPT,
				"%s: the name of symbol %zu is too long or lies beyond the strings",
				elf->what, i);
	*out = s;
	return MPK_OK;
}

enum mpk_code mpk_cubin_spend(const struct mpk_cubin_elf *elf, uint64_t *spent, uint64_t bytes,
			      struct mpk_error *err)
{
	if (bytes > READ_FACTOR * (uint64_t)elf->bytes.len + READ_BASE - *spent)
		return mpk_fail(
			err, MPK_E_CORRUPT,
			"cubin: names or sections overlap so that they are %u times the file",
			(unsigned)READ_FACTOR);
	*spent += bytes;
	return MPK_OK;
}
