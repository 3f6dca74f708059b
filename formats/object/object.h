/* SPDX-License-Identifier: Apache-2.0 */
/* object.h - what a file with compiled code, or with C source, defines and needs
 *
 * The readers of Mach-O, COFF, PE, WebAssembly and C all return this struct. ELF is read in
 * lib/know/elf, with a library that converts between classes and byte orders. */
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
	struct mpk_span content; /* empty if a loader fills the section with zeros */
	bool is_code;
	bool is_constant; /* not writable, and not code: texts may be here */
};

struct mpk_object_symbol {
	const char
		*name; /* as C spells it: without the underscore that Mach-O and 32-bit COFF add */
	bool defined, global, weak;
	bool is_function;        /* it is in code; false: in data, or not known */
	size_t section;          /* index of the section, from 1; 0: none */
	uint64_t address;        /* an address in the section */
	uint64_t bytes;          /* 0: the format does not say */
	struct mpk_span content; /* bytes of a defined symbol, up to the next symbol or the end of
				  * the section; in C the text of the initializer */
	uint64_t content_off;    /* offset of content in the file */
	uint32_t line;           /* in C: line where content begins, from 1 */
};

struct mpk_object {
	enum mpk_object_kind kind;
	uint16_t machine;         /* EM_* of ELF; 0: C, or a machine that ELF does not number */
	uint32_t machine_number;  /* number of the machine in the file */
	const char *machine_name; /* name of a machine that ELF does not number; NULL: use the
				   * number */
	struct mpk_object_section *sections;
	size_t section_count;
	struct mpk_object_symbol *symbols;
	size_t symbol_count;
	const char **needed; /* libraries, as the file names them */
	size_t needed_count;
};

/* A file format with compiled code or C.
 * @is      whether bytes are in this format; NULL: cannot be recognised by the bytes
 * @read    read sections, symbols and needed libraries
 *          bytes: the file; borrowed: contents and most names are views of it. arena receives the
 *          lists.
 *          Returns MPK_OK; MPK_E_CORRUPT with the offset in "file"; MPK_E_NOMEM; for a source also
 *          MPK_E_SYNTAX. Linear in the file, except for the sort of its symbols.
 * @bytes   convert the content of a symbol to bytes; NULL: the content is the bytes
 *          arena receives them. Returns MPK_OK; MPK_E_SYNTAX with line and column; MPK_E_NOMEM */
struct mpk_object_reader {
	bool (*is)(struct mpk_span bytes);
	enum mpk_code (*read)(struct mpk_span bytes, struct mpk_arena *arena,
			      struct mpk_object *out, struct mpk_error *err);
	enum mpk_code (*bytes)(const struct mpk_object_symbol *symbol, struct mpk_arena *arena,
			       struct mpk_span *out, struct mpk_error *err);
};

/* Little-endian Mach-O, of 32 or 64 bits (macho/FORMAT.md 1).
 * COFF objects of a known machine that have sections and symbols, also of /bigobj (coff/FORMAT.md
 * 1). They have no magic number; a module blob is never taken for one, because it has zeros where
 * COFF counts symbols.
 * PE: a DLL or a program, with its exported symbols (coff/FORMAT.md 2); not a program of DOS.
 * WebAssembly: an object, or a linked module with its exports and imports (wasm/FORMAT.md); not a
 * component.
 * C and C++: the functions and arrays of bytes that a text defines at file scope, in its order
 * (csource/FORMAT.md 1).
 *   Exports of a package with a C host have the blob as the text of an array, beside the source of
 *   the host code. The text is neither preprocessed nor compiled. Declarations without definitions
 *   are left out, and static definitions are not global. Both branches of an #if count; definitions
 *   by macros are not found. NULs at the end of the text do not count; one inside it is
 *   MPK_E_CORRUPT. The content of a symbol is numbers in braces or string literals, which are
 *   converted to bytes. Other content, a value beyond a byte, or another number of elements than
 *   declared is MPK_E_SYNTAX (csource/FORMAT.md 2). */
extern const struct mpk_object_reader mpk_macho_reader, mpk_coff_reader, mpk_pe_reader,
	mpk_csource_reader, mpk_wasm_reader;

/* mpk_object_name - the name at offset off of a string table
 * A name longer than any compiler's counts as none, so that reading overlapping names takes time
 * linear in their number.
 * Returns  NULL if off is beyond the table, or the last name has no NUL */
const char *mpk_object_name(struct mpk_span table, uint64_t off);

/* mpk_object_place - set the content of every defined symbol: these formats store no sizes, so a
 * symbol ends where the next one begins
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_object_place(struct mpk_object *object, struct mpk_error *err) MPK_MUST_CHECK;

/* mpk_csource_strings - the string literals of a source, one after the other and each with a NUL,
 * as a compiler stores them among the constants
 * Adjacent literals are one string. Invalid literals are left out.
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_csource_strings(struct mpk_span bytes, struct mpk_arena *arena,
				  struct mpk_span *out, struct mpk_error *err) MPK_MUST_CHECK;

/* A file in a universal file of Mach-O (macho/FORMAT.md 2). */
struct mpk_macho_slice {
	const char *name; /* "arm64", "x86_64"; in the arena if the machine has no name */
	struct mpk_span bytes;
	uint64_t off;
};

/* mpk_macho_is_universal - whether this is a universal file; Java class files, which have the same
 * magic number, are not */
bool mpk_macho_is_universal(struct mpk_span bytes);

/* mpk_macho_slices - list the files in a universal file
 * Returns  MPK_OK; MPK_E_CORRUPT with the offset in "file"; MPK_E_NOMEM
 * Format   macho/FORMAT.md 2 */
enum mpk_code mpk_macho_slices(struct mpk_span bytes, struct mpk_arena *arena,
			       struct mpk_macho_slice **out, size_t *count,
			       struct mpk_error *err) MPK_MUST_CHECK;

#endif
