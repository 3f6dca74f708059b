/* SPDX-License-Identifier: Apache-2.0 */
/* code.h - the machine code of a library or object, function by function, and names for its addresses */
#ifndef MPK_ELF_CODE_H
#define MPK_ELF_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"
#include "base/strbuf.h"
#include "dwarf/dwarf.h"
#include "elf/image.h"
#include "elf/reader.h"
#include "elf/symbols.h"

/* bytes of line programs that are read for one file */
#define MPK_CODE_LINE_BYTES (UINT64_C(256) << 20)

struct mpk_code_symbol;     /* names of addresses */
struct mpk_code_mark;       /* marks of code and data */
struct mpk_code_relocation; /* what a linker will put into code */
struct mpk_code_fixups;     /* place of a section's relocations */

/* One file. Zero-initialise; mpk_code_file_open; mpk_code_file_close. */
struct mpk_code_file {
	struct mpk_arena *arena;
	struct mpk_elf elf;
	bool is_elf;
	uint16_t machine; /* EM_*; 0: not known */
	unsigned bits;    /* 32 or 64 */
	bool big_endian;
	bool relocatable;       /* addresses count from the beginning of each section */
	const char *amd_target; /* "gfx90a" of AMD's code objects; else "" */
	struct mpk_code_symbol *symbols;
	size_t symbol_count;
	const struct mpk_code_symbol **by_name;
	struct mpk_code_mark *marks; /* marks of code and data, on machines that have them */
	size_t mark_count;
	struct mpk_plt_names plt;       /* slots of the global offset table */
	struct mpk_code_fixups *fixups; /* sections of relocations, by the section they are for */
	size_t fixup_count;
	struct mpk_code_relocation *relocations; /* relocations of the section that was used last */
	size_t relocation_count, relocated;
	uint64_t line_budget; /* bytes of line programs that may still be read */
	uint64_t
		code_left; /* bytes of functions that may still be disassembled: they may overlap */
	bool has_no_lines;
};

struct mpk_code_function {
	const char *symbol;
	uint64_t address;      /* address of the first instruction, also of Thumb code */
	struct mpk_span bytes; /* borrowed from the file */
	size_t section;        /* for the questions below */
	size_t home;           /* number of the section that it is in */
	bool thumb;
};

/* mpk_code_file_open - read the symbols of an ELF file, or those of another object file
 * @bytes   the file; borrowed
 * @format  what it is
 * @arena   receives tables
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_UNSUPPORTED: C, or no file with code; MPK_E_NOMEM.
 *          mpk_code_file_close in every case. */
enum mpk_code mpk_code_file_open(struct mpk_span bytes, enum mpk_file_format format,
				 struct mpk_arena *arena, struct mpk_code_file *out,
				 struct mpk_error *err) MPK_MUST_CHECK;
void mpk_code_file_close(struct mpk_code_file *f);

/* mpk_code_file_find - a function by its symbol
 * A function whose size is not known ends where the next symbol is, or with its section.
 * Returns  false: there is none, it is data, or the file does not hold its bytes */
bool mpk_code_file_find(const struct mpk_code_file *f, const char *symbol,
			struct mpk_code_function *out);

/* mpk_code_file_symbols - the names of all functions, of the linker's own too, for "did you mean"
 * @out     receives at most most of them
 * Returns  how many there are in out */
size_t mpk_code_file_symbols(const struct mpk_code_file *f, struct mpk_span *out, size_t most);

/* mpk_code_file_next - all functions in the order of their places
 * Of several at one place the one whose name is meant there; its bytes end where the next place is.
 * @at      0 at first
 * Returns  false: there are no more */
bool mpk_code_file_next(const struct mpk_code_file *f, size_t *at, struct mpk_code_function *out);

/* mpk_code_file_put_name - append what is at an address: "add", "add+0x10", "malloc@plt", and of a slot of
 * the global offset table the symbol that fills it
 * @section of the code that asks; counts for objects alone
 * Returns  false: nobody knows; nothing is appended */
bool mpk_code_file_put_name(const struct mpk_code_file *f, size_t section, uint64_t address,
			    struct mpk_strbuf *out);

/* mpk_code_file_is_data - whether the file says that there is data among its code at an address, as the
 * constants of ARM functions are */
bool mpk_code_file_is_data(const struct mpk_code_file *f, size_t section, uint64_t address);

/* mpk_code_file_put_relocation - append what a linker will put into bytes of an object's code: "malloc",
 * ".rodata+0x10"
 * Returns  false: nothing; nothing is appended. Also when the relocations do not read. */
bool mpk_code_file_put_relocation(struct mpk_code_file *f, size_t section, uint64_t address,
				  size_t bytes, struct mpk_strbuf *out);

/* mpk_code_file_lines - the source lines of a function, from the debug information of a linked
 * little-endian ELF file
 * @arena   receives what is made
 * Returns  MPK_OK, also with none; where debug information does not read there is none; MPK_E_NOMEM */
enum mpk_code mpk_code_file_lines(struct mpk_code_file *f, const struct mpk_code_function *function,
				  struct mpk_arena *arena, const struct mpk_dwarf_row **out,
				  size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

#endif
