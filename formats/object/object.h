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
	uint16_t machine;        /* EM_* of ELF; 0: C, or a machine without a number there */
	uint32_t machine_number; /* as the file has it */
	struct mpk_object_section *sections;
	size_t section_count;
	struct mpk_object_symbol *symbols;
	size_t symbol_count;
	const char **needed; /* libraries, as the file names them */
	size_t needed_count;
};

/* mpk_object_name - the name that begins at off of a table of strings
 * One that is longer than any compiler's is taken as none, so that names which overlap cost no
 * more than their number.
 * Returns  NULL when off is beyond the table, or the last name of it has no NUL */
const char *mpk_object_name(struct mpk_span table, uint64_t off);

/* mpk_object_place - give every defined symbol its content: these formats have no sizes, so that
 * a symbol ends where the next one begins
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_object_place(struct mpk_object *object, struct mpk_error *err) MPK_MUST_CHECK;

#endif
