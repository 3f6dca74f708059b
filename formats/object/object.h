/* SPDX-License-Identifier: Apache-2.0 */
/* object.h - what a file with compiled code, or with C to be compiled, defines and wants
 *
 * The readers of Mach-O, COFF, PE and C all give this. ELF, which is converted between classes and
 * byte orders by a library, is read in lib/know/elf.
 */
#ifndef MPK_FORMATS_OBJECT_OBJECT_H
#define MPK_FORMATS_OBJECT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

enum mpk_object_kind {
	MPK_OBJECT_RELOCATABLE, /* to be linked */
	MPK_OBJECT_LIBRARY,     /* to be loaded */
	MPK_OBJECT_PROGRAM,
	MPK_OBJECT_SOURCE, /* to be compiled */
};

struct mpk_object_section {
	const char *name; /* "__TEXT,__const", ".rdata" */
	uint64_t address;
	uint64_t content_off;
	struct mpk_span content; /* empty for what a loader fills with zeros */
	bool is_code;
	bool is_constant; /* nor writable: texts stand here */
};

struct mpk_object_symbol {
	const char *name; /* as C says it: without the underscore that Mach-O and 32-bit COFF add */
	bool defined, global, weak;
	bool is_function;        /* it is in code; else in data, or nothing is known of it */
	size_t section;          /* from 1; 0: none */
	uint64_t address;        /* within the section's addresses */
	uint64_t bytes;          /* 0: the format does not tell */
	struct mpk_span content; /* of what is defined and has bytes: up to the next symbol or the
				  * end of the section; of C: the text of the initializer */
	uint64_t content_off;    /* in the file */
	uint32_t line;           /* of C: where content begins, from 1 */
};

struct mpk_object {
	enum mpk_object_kind kind;
	uint16_t machine;         /* EM_* of ELF; 0: C, or a machine without a number there */
	uint32_t machine_number;  /* as the file has it */
	const char *machine_name; /* of a machine that has no number in ELF; NULL: by its number */
	struct mpk_object_section *sections;
	size_t section_count;
	struct mpk_object_symbol *symbols;
	size_t symbol_count;
	const char **needed; /* libraries, as the file names them */
	size_t needed_count;
};

/* A format of such files.
 * @is      whether the bytes are of it; NULL: they do not tell
 * @read    sections, symbols and needed libraries
 *          bytes: the file; borrowed: contents and most names are views of it. arena receives the lists.
 *          Returns MPK_OK; MPK_E_CORRUPT with the offset in "file"; MPK_E_NOMEM; of a source MPK_E_SYNTAX,
 *          too. Linear in the file but for the sort of its symbols.
 * @bytes   the bytes that the content of a symbol describes; NULL: the content is the bytes
 *          arena receives them. Returns MPK_OK; MPK_E_SYNTAX with line and column; MPK_E_NOMEM */
struct mpk_object_reader {
	bool (*is)(struct mpk_span bytes);
	enum mpk_code (*read)(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_object *out, struct mpk_error *err);
	enum mpk_code (*bytes)(const struct mpk_object_symbol *symbol, struct mpk_arena *arena,
			       struct mpk_span *out, struct mpk_error *err);
};

/* Little-endian Mach-O, of 32 or 64 bit (macho/FORMAT.md 1).
 * COFF objects of a known machine that have sections and symbols, also of /bigobj (coff/FORMAT.md 1). They have
 * no magic number; a module blob is none, for it has zeros where symbols are counted.
 * PE: a DLL or a program, with its exported symbols (coff/FORMAT.md 2); programs of DOS are none.
 * WebAssembly: an object, or a linked module with what it exports and imports (wasm/FORMAT.md). A component is none.
 * C and C++: what a text defines at file scope, functions and arrays of bytes, in its order (csource/FORMAT.md 1).
 *   Exports of a package with a C host hold the blob as the text of an array, beside the source of the host code;
 *   neither is preprocessed nor compiled. Declarations alone are left out, static definitions are not global. Both
 *   branches of an #if count; what macros make is not found. NULs at the end of the text do not count, one inside
 *   it is MPK_E_CORRUPT. Of a symbol's content, numbers in braces or string literals, the bytes are made: it is
 *   MPK_E_SYNTAX when it is neither, has a value beyond a byte, or not as many as the array is declared to have
 *   (csource/FORMAT.md 2). */
extern const struct mpk_object_reader mpk_macho_reader, mpk_coff_reader, mpk_pe_reader,
	mpk_csource_reader, mpk_wasm_reader;

/* mpk_object_name - the name that begins at off of a table of strings
 * One that is longer than any compiler's is taken as none, so that names which overlap cost no
 * more than their number.
 * Returns  NULL when off is beyond the table, or the last name of it has no NUL */
const char *mpk_object_name(struct mpk_span table, uint64_t off);

/* mpk_object_place - give every defined symbol its content: these formats have no sizes, so that
 * a symbol ends where the next one begins
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_object_place(struct mpk_object *object, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_csource_strings - the texts of a source, one after the other and each with a NUL, as a
 * compiler would put them among the constants
 * Adjacent literals are one text. What is no literal that C allows is left out.
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_csource_strings(struct mpk_span bytes, struct mpk_arena *arena,
				  struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* One file of a universal file of Mach-O (macho/FORMAT.md 2). */
struct mpk_macho_slice {
	const char *name; /* "arm64", "x86_64"; in the arena when the machine has no name */
	struct mpk_span bytes;
	uint64_t off;
};

/* mpk_macho_is_universal - whether this is a universal file; class files of Java, which begin
 * alike, are none */
bool mpk_macho_is_universal(struct mpk_span bytes);

/* mpk_macho_slices - the files of a universal file
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "file"; MPK_E_NOMEM
 * Format   macho/FORMAT.md 2 */
enum mpk_code mpk_macho_slices(struct mpk_span bytes, struct mpk_arena *arena,
			       struct mpk_macho_slice **out, size_t *count,
			       struct mpk_error *err) MPK_MUST_CHECK;

#endif
