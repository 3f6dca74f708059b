/* SPDX-License-Identifier: Apache-2.0 */
/* code_tables.h - the tables of lib/know/elf/code.h; for its files only */
#ifndef MPK_ELF_INTERNAL_CODE_TABLES_H
#define MPK_ELF_INTERNAL_CODE_TABLES_H

#include "elf/code.h"

/* There may be millions: they are kept small. */
struct mpk_code_symbol {
	uint64_t address;
	uint64_t bytes;
	const char *name;
	const uint8_t *content; /* of files that are not ELF: its bytes */
	uint32_t
		section; /* 0 but for objects, so that addresses of different sections stay apart */
	uint32_t home;   /* the section that it is in */
	uint8_t rank;    /* of several at one address the least is meant */
	bool is_function, thumb;
};

/* Code or data begins: "$x", "$d". */
struct mpk_code_mark {
	uint64_t address;
	uint32_t section;
	bool is_data;
};

struct mpk_code_fixups {
	size_t target, index; /* section headers */
};

struct mpk_code_relocation {
	uint64_t off; /* from the section's beginning */
	int64_t addend;
	const char *name;
};

/* mpk_code_read_fixups - note which sections have relocations for which
 * Returns  MPK_OK; MPK_E_NOMEM */
enum mpk_code mpk_code_read_fixups(struct mpk_code_file *f, struct mpk_error *err) MPK_MUST_CHECK;

#endif
