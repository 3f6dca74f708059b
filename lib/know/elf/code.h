/* SPDX-License-Identifier: Apache-2.0 */
/* code.h - the functions of a library or object as machine code, and names for addresses in it */
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

/* Most bytes of line programs that are read for one file. */
#define MPK_CODE_LINE_BYTES (UINT64_C(256) << 20)

struct mpk_code_symbol;     /* a symbol, by address and by name */
struct mpk_code_mark;       /* marks of code and data */
struct mpk_code_relocation; /* what the linker will write into code */
struct mpk_code_fixups;     /* which section has the relocations of which */

/* One file. Zero-initialise; mpk_code_file_open; mpk_code_file_close. */
struct mpk_code_file {
	struct mpk_arena *arena;
	struct mpk_elf elf;
	bool is_elf;
	uint16_t machine; /* EM_*; 0: not known */
	unsigned bits;    /* 32 or 64 */
	bool big_endian;
	bool relocatable;       /* an object: addresses count from the beginning of each section */
	const char *amd_target; /* "gfx90a" of AMD's code objects; else "" */
	struct mpk_code_symbol *symbols;
	size_t symbol_count;
	const struct mpk_code_symbol **by_name;
	struct mpk_code_mark *marks; /* marks of code and data, on machines that have them */
	size_t mark_count;
	struct mpk_plt_names plt;       /* the slots of the global offset table and their symbols */
	struct mpk_code_fixups *fixups; /* the sections of relocations, by the section that they
					 * apply to */
	size_t fixup_count;
	struct mpk_code_relocation *relocations; /* the relocations of the section that was asked
						  * for last */
	size_t relocation_count, relocated;
	uint64_t line_budget; /* bytes of line programs that may still be read */
	uint64_t code_left;   /* bytes of functions that may still be disassembled; functions may
			    * overlap */
	bool has_no_lines;
};

struct mpk_code_function {
	const char *symbol;
	uint64_t address; /* address of the first instruction, without the mark of Thumb code */
	struct mpk_span bytes; /* borrowed from the file */
	size_t section;        /* section to pass to the functions below */
	size_t home;           /* index of the section that contains the function */
	bool thumb;
};

/* mpk_code_file_open - read the symbols of an ELF file, or of an object file in another format
 * @bytes   the file; borrowed until mpk_code_file_close
 * @format  the format of the file
 * @arena   receives the tables
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_UNSUPPORTED: C source, or a file without code; MPK_E_NOMEM.
 *          Call mpk_code_file_close in every case. */
enum mpk_code mpk_code_file_open(struct mpk_span bytes, enum mpk_file_format format,
				 struct mpk_arena *arena, struct mpk_code_file *out,
				 struct mpk_error *err) MPK_MUST_CHECK;
void mpk_code_file_close(struct mpk_code_file *f);

/* mpk_code_file_find - find a function by its symbol
 * A function without a size ends at the next symbol or at the end of its section.
 * Returns  false: no symbol has this name, it is data, or the file does not hold its bytes */
bool mpk_code_file_find(const struct mpk_code_file *f, const char *symbol,
			struct mpk_code_function *out);

/* mpk_code_file_symbols - the names of all functions, including those that the linker made, to
 * suggest one for a misspelt name
 * @out     receives at most `most` names
 * Returns  the number of names in out */
size_t mpk_code_file_symbols(const struct mpk_code_file *f, struct mpk_span *out, size_t most);

/* mpk_code_file_next - walk all functions in the order of their addresses
 * Where several symbols have one address, the best-known one is returned. Its bytes end at the next
 * address that has a function.
 * @at      the position of the walk; 0 at first
 * Returns  false: there are no more functions */
bool mpk_code_file_next(const struct mpk_code_file *f, size_t *at, struct mpk_code_function *out);

/* mpk_code_file_put_name - append a name for an address: "add", "add+0x10", "malloc@plt"; for a
 * slot of the global offset table, the symbol that fills it
 * @section the section of the code that refers to the address; ignored except in objects
 * Returns  false: no name is known, and nothing is appended */
bool mpk_code_file_put_name(const struct mpk_code_file *f, size_t section, uint64_t address,
			    struct mpk_strbuf *out);

/* mpk_code_file_is_data - whether the file marks the bytes at an address in its code as data, such
 * as the constants between ARM functions */
bool mpk_code_file_is_data(const struct mpk_code_file *f, size_t section, uint64_t address);

/* mpk_code_file_put_relocation - append what the linker will write into some bytes of an object's
 * code: "malloc", ".rodata+0x10"
 * Returns  false: the linker writes nothing there, or the relocations do not read; nothing is
 *          appended */
bool mpk_code_file_put_relocation(struct mpk_code_file *f, size_t section, uint64_t address,
				  size_t bytes, struct mpk_strbuf *out);

/* mpk_code_file_lines - the source lines of a function, from the debug information of a linked
 * little-endian ELF file
 * @arena   receives the lines
 * Returns  MPK_OK, also if the debug information is missing or does not read: then there are no
 *          lines; MPK_E_NOMEM */
enum mpk_code mpk_code_file_lines(struct mpk_code_file *f, const struct mpk_code_function *function,
				  struct mpk_arena *arena, const struct mpk_dwarf_row **out,
				  size_t *count, struct mpk_error *err) MPK_MUST_CHECK;

#endif
