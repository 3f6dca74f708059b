/* SPDX-License-Identifier: Apache-2.0 */
/* cubin.h - what the sections and symbols of a cubin are to its digests */
#ifndef MPK_CANON_INTERNAL_CUBIN_H
#define MPK_CANON_INTERNAL_CUBIN_H

#include <stdbool.h>

#include "base/strmap.h"
#include "canon/internal/canon.h"
#include "cubin/elf.h"

enum mpk_canon_role {
	MPK_CANON_NOISE,
	MPK_CANON_TEXT,        /* code: a node of its own */
	MPK_CANON_OF_TEXT,     /* carries the name of such a section, and is a part of its node */
	MPK_CANON_DATA,        /* variables: a node, in which each variable counts */
	MPK_CANON_COMMON,      /* constants and all else: of node 0 */
	MPK_CANON_INFO,        /* .nv.info, of which each attribute is of a function */
	MPK_CANON_RELOCATIONS, /* for the section that it names */
};

struct mpk_canon_section {
	struct mpk_cubin_section head;
	enum mpk_canon_role role;
	uint32_t node;        /* that it belongs to */
	struct mpk_span base; /* its name, of MPK_CANON_OF_TEXT without that of the function */
};

/* Zero-initialise, set elf and left; mpk_canon_sections_read; mpk_canon_sections_fini. */
struct mpk_canon_sections {
	struct mpk_cubin_elf elf;
	uint64_t left;                   /* bytes that may still be read: parts may overlap */
	struct mpk_canon_section *items; /* malloc'ed, elf.section_count of them */
	struct mpk_strmap code;          /* names of functions: their section of code */
	struct mpk_span symbols, strings;
	size_t symbol_count;
};

/* mpk_canon_sections_read - find out what each section is
 * Returns  MPK_OK; MPK_E_CORRUPT; MPK_E_NOMEM */
enum mpk_code mpk_canon_sections_read(struct mpk_canon_sections *f,
				      struct mpk_error *err) MPK_MUST_CHECK;
void mpk_canon_sections_fini(struct mpk_canon_sections *f);

#endif
