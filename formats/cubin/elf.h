/* SPDX-License-Identifier: Apache-2.0 */
/* elf.h - sections and symbols of a little-endian ELF64 file, as far as cubins and AMD's code
 * objects need them
 *
 * lib/know/elf's reader is not used: it needs libelf, and formats/ depends on no library that opens
 * files. All these files have one class and byte order, so a few loads at fixed offsets are enough,
 * each after a check of its bounds. */
#ifndef MPK_FORMATS_CUBIN_ELF_H
#define MPK_FORMATS_CUBIN_ELF_H

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/error.h"
#include "base/span.h"

struct mpk_cubin_elf {
	struct mpk_span bytes;
	const char *what; /* its name in messages: "cubin" */
	uint8_t osabi, abi;
	uint16_t type, machine;
	uint32_t flags;
	uint64_t sections_off;
	size_t section_count;
	struct mpk_span section_names;
};

struct mpk_cubin_section {
	struct mpk_span name;
	uint32_t type, link, info;
	uint64_t flags;
	uint64_t address;
	uint64_t off, size, align;
};

struct mpk_cubin_symbol {
	struct mpk_span name;
	uint8_t type; /* STT_* */
	uint8_t other;
	uint16_t section;
	uint64_t value, size;
};

enum {
	MPK_CUBIN_SHT_SYMTAB = 2,
	MPK_CUBIN_SHT_RELA = 4,
	MPK_CUBIN_SHT_NOTE = 7,
	MPK_CUBIN_SHT_NOBITS = 8,
	MPK_CUBIN_SHT_REL = 9,
	MPK_CUBIN_SHT_DYNSYM = 11,
	MPK_CUBIN_SYMBOL_BYTES = 24,
	MPK_CUBIN_EM_CUDA = 190,
	MPK_CUBIN_ET_REL = 1,
};

/* mpk_cubin_elf_open - check the header, and find the section table
 * @machine EM_* that the file must have; @what names the file in messages
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_UNSUPPORTED (32-bit, big-endian) */
enum mpk_code mpk_cubin_elf_open(struct mpk_span bytes, uint16_t machine, const char *what,
				 struct mpk_cubin_elf *out, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cubin_elf_section - read section header i, i < section_count
 * Returns  MPK_OK; MPK_E_CORRUPT (its name lies outside the table of names or has 64 KiB or more) */
enum mpk_code mpk_cubin_elf_section(const struct mpk_cubin_elf *elf, size_t i,
				    struct mpk_cubin_section *out,
				    struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cubin_elf_data - the bytes of a section; MPK_E_CORRUPT if they lie beyond the end */
enum mpk_code mpk_cubin_elf_data(const struct mpk_cubin_elf *elf,
				 const struct mpk_cubin_section *section, struct mpk_span *out,
				 struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cubin_elf_symbol - read symbol i of a table; the caller has checked i
 * Returns  MPK_OK; MPK_E_CORRUPT (its name lies outside the strings or has 64 KiB or more) */
enum mpk_code mpk_cubin_elf_symbol(const struct mpk_cubin_elf *elf, struct mpk_span table,
				   struct mpk_span strings, size_t i, struct mpk_cubin_symbol *out,
				   struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cubin_spend - count the bytes of names and attributes that are read, since they may overlap
 * @spent   number of bytes so far, 0 at first
 * Returns  MPK_OK; MPK_E_CORRUPT: far more than the file has */
enum mpk_code mpk_cubin_spend(const struct mpk_cubin_elf *elf, uint64_t *spent, uint64_t bytes,
			      struct mpk_error *err) MPK_MUST_CHECK;

/* --- attribute lists of cubins: .nv.info, .nv.info.KERNEL, .nv.compat (FORMAT.md 4) ---------------------------- */

/* Attributes that are read; NVIDIA's numbers. */
enum {
	MPK_CUBIN_MAX_THREADS = 0x05,    /* u32 x, y, z */
	MPK_CUBIN_COMPAT_CLASS = 0x09,   /* .nv.compat: 1 = this architecture only */
	MPK_CUBIN_PARAM_BANK = 0x0a,     /* u32 symbol, u16 offset, u16 bytes */
	MPK_CUBIN_REQUIRED_BLOCK = 0x10, /* u32 x, y, z */
	MPK_CUBIN_FRAME_BYTES = 0x11,    /* u32 symbol, u32 bytes */
	MPK_CUBIN_STACK_BYTES = 0x12,    /* u32 symbol, u32 bytes; all ones: not known */
	MPK_CUBIN_PARAM = 0x17,          /* u32, u16 ordinal, u16 offset, u32 packed */
	MPK_CUBIN_PARAM_BYTES = 0x19,    /* u16 */
	MPK_CUBIN_REGISTERS = 0x2f,      /* u32 symbol, u32 count */
	MPK_CUBIN_CLUSTER = 0x3d,        /* u32 x, y, z */
	MPK_CUBIN_PARAM_V2 = 0x45,       /* u32, u16 ordinal, u16 offset, u16 bytes, u16 */
	MPK_CUBIN_BARRIERS = 0x4c,       /* u8 */
};

struct mpk_cubin_attribute {
	uint8_t id;
	uint16_t value;       /* value of the short forms; 0 for lists */
	struct mpk_span data; /* bytes of the long form; else empty */
	uint64_t off;         /* offset of the attribute in the payload */
};

/* mpk_cubin_attribute_next - read the next attribute of a section; the cursor must not be at its
 * end
 * Returns  MPK_OK; MPK_E_CORRUPT (cut off, or in an unknown form) */
enum mpk_code mpk_cubin_attribute_next(struct mpk_cursor *c, struct mpk_cubin_attribute *out,
				       struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_cubin_attribute_need - MPK_E_CORRUPT if data has fewer than n bytes */
enum mpk_code mpk_cubin_attribute_need(const struct mpk_cubin_attribute *a, size_t n,
				       struct mpk_error *err) MPK_MUST_CHECK;

#endif
